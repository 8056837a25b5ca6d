#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bytes of resident memory for each hash of a CSV file, torcd beside redis-server: VmRSS + HugetlbPages of the server, as the
# difference to the same server warmed with one hash that was created and deleted. Also the load rates.
set -euo pipefail

usage() {
    echo 'Usage: perf/memory.sh BIN-FOLDER CSV-FILE [KEY-COLUMN]'
    echo 'Example: perf/memory.sh build/release/bin zipcodes.csv zip_code'
}
if [ $# -lt 2 ] || [ "$1" = --help ]; then
    usage
    exit 2
fi
bin=$1 file=$2 key=${3:-}
command -v redis-server >/dev/null || { echo 'needs redis-server' >&2; exit 1; }

scratch=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$scratch"' EXIT

await() { for _ in $(seq 200); do [ -S "$1" ] && return 0; sleep 0.05; done; echo "no $1" >&2; exit 1; }
resident() { awk '/^(VmRSS|HugetlbPages):/ { kb += $2 } END { print kb * 1024 }' "/proc/$1/status"; }

"$bin/torcd" --port 0 --huge-pages no --control-socket "$scratch/torc.sock" --unixsocket "$scratch/torc.resp" >"$scratch/torcd.log" 2>&1 &
torcd=$!
redis-server --port 0 --save '' --unixsocket "$scratch/redis.resp" >"$scratch/redis.log" 2>&1 &
redis=$!
pids=("$torcd" "$redis")
await "$scratch/torc.resp"
await "$scratch/redis.resp"
for socket in torc redis; do
    redis-cli -s "$scratch/$socket.resp" HSET warm field value >/dev/null
    redis-cli -s "$scratch/$socket.resp" DEL warm >/dev/null
done
torcd_before=$(resident "$torcd")
redis_before=$(resident "$redis")

load=("$bin/torc-load" --no-progress)
[ -z "$key" ] || load+=(--key "$key")
printf 'redis-server over RESP:  %s\n' "$("${load[@]}" --resp "unix:$scratch/redis.resp" "$file")"
redis_bytes=$(($(resident "$redis") - redis_before))
printf 'torcd over a ring:       %s\n' "$("${load[@]}" -c "$scratch/torc.sock" "$file")"
torcd_bytes=$(($(resident "$torcd") - torcd_before))
n=$(redis-cli -s "$scratch/torc.resp" DBSIZE)
torcd_used=$(redis-cli -s "$scratch/torc.resp" INFO memory | tr -d '\r' | sed -n 's/^used_memory://p')
redis-cli -s "$scratch/torc.resp" FLUSHALL >/dev/null
printf 'torcd over RESP:         %s\n' "$("${load[@]}" --resp "unix:$scratch/torc.resp" "$file")"
printf 'resident bytes a hash:   torcd %d, redis-server %d, ratio %.2f (%d hashes; torcd used_memory %d a hash)\n' \
    $((torcd_bytes / n)) $((redis_bytes / n)) "$(echo "$torcd_bytes $redis_bytes" | awk '{ print $1 / $2 }')" "$n" $((torcd_used / n))
