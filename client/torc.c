/* SPDX-License-Identifier: Apache-2.0 */
#include "torc/torc.h"
