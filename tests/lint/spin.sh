#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The models in docs/models hold, and each fault that their heads name is found. A model that accepts everything proves
# nothing, so the second half matters as much as the first.
set -euo pipefail
command -v spin >/dev/null || { echo 'skipped: spin is not installed'; exit 77; }
command -v gcc >/dev/null || { echo 'skipped: gcc is not installed'; exit 77; }
models=$(cd "$1" && pwd)/docs/models
work=$(mktemp -d "$2/spin.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
status=0

# verify EXPECTED MODEL DEFINE...: `holds` or `fails`.
verify() {
    local expected=$1 model=$2 result optimise=-O0
    shift 2
    [ "$expected" = fails ] || optimise=-O1 # a fault is found in few states
    rm -f pan pan.*
    spin -a "${@/#/-D}" "$models/$model.pml" >spin.log 2>&1 || { cat spin.log; exit 1; }
    gcc $optimise -w -DSAFETY -DMEMLIM=1000 -o pan pan.c
    ./pan -m200000 >pan.log 2>&1 || true
    # Only a finished search says that a model holds.
    if grep -qE 'error: max search depth|reached -DMEMLIM|Search not completed' pan.log && [ "$expected" = holds ]; then
        result='was not searched in full'
    elif grep -q 'errors: 0' pan.log; then
        result=holds
    elif grep -qE 'errors: [1-9]' pan.log; then
        result=fails
    else
        result='gave no result'
    fi
    printf '%-8s %-24s %s, %s\n' "$model" "$*" "$result" "$(grep -oE '[0-9]+ states, stored' pan.log | head -1)"
    if [ "$result" != "$expected" ]; then
        echo "^ expected: $expected"
        cat pan.log
        status=1
    fi
}

verify holds publish
for fault in NO_S1 NO_S2 NO_S3 NO_S4; do
    verify fails publish $fault
done
for form in SYMMETRIC ASYMMETRIC; do
    verify holds wakeup $form
    for fault in NO_W1 NO_W3 NO_W4 FUTEX_LATE NO_RECHECK; do
        verify fails wakeup $form $fault
    done
done
verify fails wakeup SYMMETRIC NO_W2
verify holds attach
for fault in SEAL_AFTER_SENDING POPULATE_FIRST READY_FIRST FORGET_ON_DEATH; do
    verify fails attach $fault
done
verify holds long
for fault in AREA_WHILE_HELD PULL_IN_A_NEW_SLOT; do
    verify fails long $fault
done
exit $status
