/* SPDX-License-Identifier: Apache-2.0
 *
 * Checksums, by ISA-L (https://github.com/intel/isa-l), which picks the best code for the CPU:
 * about a byte a cycle and better for long inputs. Pure; any thread. Both start with 0 and chain:
 * f(f(0, a), b) is the checksum of a followed by b. `data` may be NULL when `len` is 0.
 */
#ifndef TORC_CORE_CHECKSUM_H
#define TORC_CORE_CHECKSUM_H

#include "core/base.h"

/* CRC32C (Castagnoli, RFC 3720 B.4), for our formats. "123456789" -> e3069283. */
uint32_t torc_crc32c(uint32_t crc, const void *data, size_t len);

/* CRC-64 Jones, reflected, neither inverted before nor after, as Redis appends to RDB files and
 * DUMP payloads. "123456789" -> e9c6d914c4b8d9ca. */
uint64_t torc_crc64(uint64_t crc, const void *data, size_t len);

#endif
