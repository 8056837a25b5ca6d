#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torc-load and torc-bench against a real server on sockets in a scratch folder:
#   load.sh redis LOAD BENCH          Debian's redis-server, over RESP
#   load.sh torcd LOAD BENCH TORCD    ours, over the ring and over RESP
# TORC_DATA_DIR may name a folder with more CSV files to load and compare.
set -euo pipefail
kind=$1
load=$2
bench=$3
torcd=${4:-}

scratch=$(mktemp -d)
server=
cleanup() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $*" >&2
    [ ! -s "$scratch/log" ] || tail -n 20 "$scratch/log" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    [ -z "${TORC_REQUIRE_ALL:-}" ] || exit 1
    exit 77
}

resp=$scratch/resp.sock
control=$scratch/control.sock
case $kind in
redis)
    command -v redis-server >/dev/null || skip "there is no redis-server"
    redis-server --port 0 --unixsocket "$resp" --save '' --appendonly no --dir "$scratch" >"$scratch/log" 2>&1 &
    roads=(resp)
    wanted=("$resp")
    ;;
torcd)
    "$torcd" --port 0 --unixsocket "$resp" --control-socket "$control" --huge-pages no >"$scratch/log" 2>&1 &
    roads=(ring resp)
    wanted=("$resp" "$control")
    ;;
*) fail "no such kind of server: $kind" ;;
esac
server=$!
for socket in "${wanted[@]}"; do
    for _ in $(seq 200); do
        [ ! -S "$socket" ] || break
        kill -0 "$server" 2>/dev/null || fail "the server did not start"
        sleep 0.05
    done
    [ -S "$socket" ] || fail "there is no $socket"
done

# Arguments that choose a road.
road() {
    if [ "$1" = ring ]; then echo "-c $control"; else echo "--resp unix:$resp"; fi
}

# expect STATUS COMMAND...: what it prints is in $scratch/out and $scratch/err.
expect() {
    local status=$1 got=0
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" || got=$?
    if [ "$got" -ne "$status" ]; then
        cat "$scratch/out" "$scratch/err" >&2
        fail "ended with $got, not $status: $*"
    fi
}
# said FILE PATTERN: the last command printed a line like that.
said() {
    grep -qE "$2" "$scratch/$1" || { cat "$scratch/out" "$scratch/err" >&2; fail "no line like: $2"; }
}

# A thousand rows, with everything that cells can hold.
{
    printf 'id,text,empty,quoted "and" so on\r\n' | sed 's/quoted "and" so on/"quoted ""and"" so on"/'
    for i in $(seq 1000); do
        printf '%05d,"line %d\nnext, ""%d""",,\xff\xfe%d\r\n' "$i" "$i" "$i" "$((i * i))"
    done
} >"$scratch/rows.csv"
printf 'a,b\n1,2\n3\n4,5\n' >"$scratch/bad.csv"

for name in "${roads[@]}"; do
    read -ra to <<<"$(road "$name")"
    template="$name:{id}"
    rows=("${to[@]}" --key id --key-template "$template" "$scratch/rows.csv")

    expect 0 "$load" --verify "${rows[@]}"
    said out '^1000 rows, 4000 fields in [0-9.]+ s: [0-9,]+ rows/s over (ring|RESP)$'
    said out '^1000 rows, 4000 fields compared in '
    expect 0 "$load" --verify-only "${rows[@]}"
    expect 0 "$load" --verify --pipeline 1 --limit 50 "${rows[@]}"
    said out '^50 rows, 200 fields in '
    said out '^50 rows replaced fields that were there already$'
    # Another spelling of one value.
    sed 's/^00007,"line 7/00007,"lime 7/' "$scratch/rows.csv" >"$scratch/other.csv"
    expect 1 "$load" --verify-only "${to[@]}" --key id --key-template "$template" "$scratch/other.csv"
    said out '^1 row differs$'
    said err "other.csv:14: field 'text' is 'lime 7.next, \"7\"' in the file, 'line 7.next, \"7\"' on the server"

    expect 1 "$load" "${to[@]}" --key-template "$name-bad:{key}" "$scratch/bad.csv"
    said err 'bad.csv:3: wrong number of columns: 1 instead of 2$'
    expect 1 "$load" "${to[@]}" --keep-going --verify --key-template "$name-bad:{key}" "$scratch/bad.csv"
    said out '^2 rows, 4 fields compared in '
    said out '^1 row left out: faulty$'

    if [ -n "${TORC_DATA_DIR:-}" ]; then
        for file in "$TORC_DATA_DIR"/*.csv; do
            expect 0 "$load" --verify "${to[@]}" --key-template "$name:$(basename "$file"):{key}" "$file"
            cat "$scratch/out"
        done
    fi

    for op in ping hget hset; do
        expect 0 "$bench" "${to[@]}" --seconds 1 --op "$op" --keys 3 --fields 5 --json "$scratch/json"
    done
done
[ "$(grep -c '"n":[1-9]' "$scratch/json")" -eq $((6 * ${#roads[@]})) ] || fail "a benchmark measured nothing"

# A summary that nobody gets is a failure.
for mode in --limit=5 --verify-only; do
    read -ra to <<<"$(road "${roads[0]}")"
    got=0
    "$load" "$mode" "${to[@]}" --key id --key-template "${roads[0]}:{id}" "$scratch/rows.csv" \
        >/dev/full 2>"$scratch/err" || got=$?
    [ "$got" -eq 1 ] || fail "torc-load $mode into a full device ended with $got"
    grep -q '^torc-load: standard output: No space left on device$' "$scratch/err" || fail "nothing said of a full device"
done

# Ways to wait, and the default by the number of CPUs.
cpus=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)
one_cpu=${cpus%%[-,]*}
for name in "${roads[@]}"; do
    read -ra to <<<"$(road "$name")"
    for how in busy adaptive yield; do
        expect 0 "$bench" "${to[@]}" --seconds 1 --op hset --keys 3 --fields 5 --wait "$how"
        said out "^waiting for replies: $how\$"
    done
    expect 0 taskset -c "$one_cpu" "$bench" "${to[@]}" --seconds 1 --op ping
    said out '^waiting for replies: adaptive$'
    if [ "$cpus" != "$one_cpu" ]; then
        expect 0 "$bench" "${to[@]}" --seconds 1 --op ping --cpu "$one_cpu"
        said out '^waiting for replies: busy$'
        expect 0 "$bench" "${to[@]}" --seconds 1 --op ping
        said out '^waiting for replies: busy$'
    fi
done

if [ "$kind" = torcd ]; then
    # What one road wrote the other reads.
    expect 0 "$load" --verify-only -c "$control" --key id --key-template 'resp:{id}' "$scratch/rows.csv"
    expect 0 "$load" --verify-only --resp "unix:$resp" --key id --key-template 'ring:{id}' "$scratch/rows.csv"
    expect 0 "$bench" -c "$control" --resp "unix:$resp" --seconds 1 --histogram
    said out 'ahead by'
fi

# Interrupted, it reports what it has and leaves nothing behind.
read -ra to <<<"$(road "${roads[0]}")"
"$bench" "${to[@]}" --seconds 60 --key-prefix gone >"$scratch/out" 2>"$scratch/err" &
running=$!
if command -v redis-cli >/dev/null; then
    for _ in $(seq 200); do
        [ "$(redis-cli -s "$resp" EXISTS gone1:00000099)" = 0 ] || break
        sleep 0.05
    done
else
    sleep 2
fi
kill -INT "$running"
wait "$running" || fail "torc-bench did not end well when interrupted"
said out '^hget, 100 hashes'
if command -v redis-cli >/dev/null; then
    [ "$(redis-cli -s "$resp" EXISTS gone1:00000099)" = 0 ] || fail "torc-bench left hashes behind"
fi

# A server that is not there.
kill "$server"
wait "$server" || true
server=
for name in "${roads[@]}"; do
    read -ra to <<<"$(road "$name")"
    expect 1 "$load" "${to[@]}" "$scratch/rows.csv"
    expect 1 "$bench" "${to[@]}"
done
# A file for the figures that cannot be opened is told before there is anything to measure.
expect 1 "$bench" --resp "unix:$resp" --json "$scratch/no/such/folder"
said err '^torc-bench: .*/no/such/folder: No such file or directory$'

for port in 0 65536 127.0.0.1:71915; do
    expect 1 "$load" --resp "$port" "$scratch/rows.csv"
    said err 'is not a port'
    expect 1 "$bench" --resp "$port"
    said err 'is not a port'
done
expect 0 "$load" --version
said out '^torc-load [0-9]'
expect 0 "$bench" --version
said out '^torc-bench [0-9]'
expect 64 "$bench" --wait forever
expect 64 "$load"
expect 64 "$load" --resp 1 -c x y
expect 64 "$bench" --op nothing
echo "all good"
