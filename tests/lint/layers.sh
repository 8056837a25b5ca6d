#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Include directions: core <- ring, hash <- client (never hash) <- tools. The link line cannot show a header that is only included.
set -euo pipefail
cd "$1"
status=0
while read -r layer forbidden; do
    if grep -rnE "#include [\"<]($forbidden)/" --include='*.[ch]' "$layer"; then
        echo "^ $layer/ must not include $forbidden"
        status=1
    fi
done <<'RULES'
core ring|hash|client|torc|tools|perf|tests
ring hash|client|torc|tools|perf|tests
hash ring|client|torc|tools|perf|tests
client hash|tools|perf|tests
tools perf|tests
RULES
# Library layers neither log nor exit.
if grep -rnE '\b(printf|fprintf|perror|exit|abort|syslog)\(' --include='*.c' core ring hash client/*.c; then
    echo '^ only tools/ talk to people or end the process'
    status=1
fi
exit $status
