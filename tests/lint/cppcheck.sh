#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
command -v cppcheck >/dev/null || { echo 'skipped: cppcheck is not installed'; exit 77; }
# Version 2.10 ignores a --std it does not know; c11 is the nearest.
cppcheck --project="$2/compile_commands.json" --std=c11 --enable=warning,performance,portability --inline-suppr \
    --suppress=missingIncludeSystem --suppress='*:/usr/*' -i"$2" --error-exitcode=1 --quiet -j2
