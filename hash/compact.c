/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/compact.h"
