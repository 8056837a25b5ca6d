#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The committed page of commands is the one that the server makes, and every command is on it.
# usage: commands_page.sh TORCD PAGE
set -eu
torcd=$1 page=$2

made=$(mktemp)
trap 'rm -f "$made"' EXIT
"$torcd" --commands-markdown >"$made" || { echo "a command is not described"; exit 1; }
diff "$page" "$made" || { echo "renew it: torcd --commands-markdown >docs/commands.md"; exit 1; }
