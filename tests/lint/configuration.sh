#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/configuration.md is what torcd says of its own settings.
# usage: configuration.sh TORCD SOURCE_FOLDER
set -euo pipefail
if ! "$1" --options-markdown | diff -u "$2/docs/configuration.md" -; then
    echo "docs/configuration.md is out of date: torcd --options-markdown >docs/configuration.md"
    exit 1
fi
