#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
command -v shellcheck >/dev/null || { echo 'skipped: shellcheck is not installed'; exit 77; }
cd "$1"
shellcheck -x .ci/run tools/check tools/quickstart tools/setup.sh tests/lint/*.sh
