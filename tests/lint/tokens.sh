#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Words that have no place in the sources, each with the reason.
set -euo pipefail
cd "$1"
status=0
# refuse REASON PATTERN FOLDER...
refuse() {
    local reason=$1 pattern=$2
    shift 2
    if grep -rnE --include='*.[ch]' --include='*.cmake' --include=CMakeLists.txt -- "$pattern" "$@"; then
        echo "^ $reason"
        status=1
    fi
}
sources=(core ring hash client tools)
refuse 'finish it or leave it out' '\b(TODO|FIXME|XXX|HACK)\b' "${sources[@]}" tests perf cmake
refuse 'shipped builds run on any x86-64: use run-time dispatch' 'march=native' "${sources[@]}" perf cmake CMakeLists.txt
refuse 'volatile does not order anything: use _Atomic' '\bvolatile\b' core ring hash client
refuse 'ThreadSanitizer does not model fences: use ordered accesses' '\batomic_(thread|signal)_fence\b' "${sources[@]}"
refuse 'unbounded copies' '\b(strcpy|strcat|sprintf|gets|alloca)\(' "${sources[@]}" tests perf
refuse 'tests wait for conditions, not for time' '\b(sleep|usleep)\(' tests
exit $status
