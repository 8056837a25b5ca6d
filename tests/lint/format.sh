#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The tree is formatted as .clang-format says.
set -euo pipefail
cd "$1"
find core ring hash client tools tests perf -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run --Werror
