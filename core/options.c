/* SPDX-License-Identifier: Apache-2.0 */
#include "core/options.h"
