/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums, by ISA-L: CRC32C (Castagnoli, RFC 3720 B.4) for our formats, CRC-64 Jones (reflected,
 * as in Redis RDB files and DUMP payloads). Pure; any thread.
 */
#ifndef TORC_CORE_CHECKSUM_H
#define TORC_CORE_CHECKSUM_H

#include "core/base.h"

uint32_t torc_crc32c(uint32_t crc, const void *data, size_t len); /* start with 0; chains */
uint64_t torc_crc64(uint64_t crc, const void *data,
                    size_t len); /* start with 0; chains; "123456789" -> e9c6d914c4b8d9ca */

#endif
