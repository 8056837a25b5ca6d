#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# torc-cli, the examples and the client's tests against a real torcd.
# usage: client.sh TORCD TORC_CLI TEST_CALLS TEST_PIPELINE QUOTES FEATURE_FETCH HASH_CALLS TEST_LOANS
#                  RANKING PRESENCE TIME_CALLS SESSIONS
set -u
torcd=$1 cli=$2 test_calls=$3 test_pipeline=$4 quotes=$5 feature_fetch=$6 hash_calls=$7 test_loans=$8
shift 8
ranking=$1 presence=$2 time_calls=$3 sessions=$4

folder=$(mktemp -d)
socket=$folder/torc.sock
failures=0
server=

finish() {
    [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server"
    rm -rf "$folder"
}
trap finish EXIT

fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# expect STATUS OUTPUT ARGUMENT...: torc-cli with the arguments (on our standard input) ends so.
expect() {
    status=$1 output=$2
    shift 2
    got=$("$cli" -c "$socket" "$@" 2>"$folder/stderr"; echo "status $?")
    want="$output
status $status"
    [ "$output" = - ] && want="status $status"
    if [ "$got" != "$want" ]; then
        fail "torc-cli $*"
        echo "--- expected"; echo "$want"; echo "--- got"; echo "$got"; cat "$folder/stderr"
    fi
}

# --- no server ---
expect 1 - PING </dev/null
grep -q "torc-cli: cannot attach to $socket: nobody listens there" "$folder/stderr" ||
    fail "the message without a server"

# Start the server, and wait until it says that it is ready.
mkfifo "$folder/log"
start_server() {
    "$torcd" --control-socket "$socket" --port 0 >"$folder/log" 2>&1 &
    server=$!
    exec 3<"$folder/log"
    ready=no
    while read -r line <&3; do
        case $line in
        *ready*) ready=yes; break ;;
        esac
    done
    cat <&3 >>"$folder/server-log" &
    [ $ready = yes ] || { fail "torcd does not start"; exit 1; }
}
start_server

# --- one command ---
expect 0 "PONG" PING </dev/null
expect 0 "2" HSET h a 1 b "two words" </dev/null
expect 0 "(integer) 0" --no-raw hset h a 2 </dev/null
expect 0 '"two words"' --no-raw HGET h b </dev/null
expect 0 "two words" --raw HGET h b </dev/null
expect 0 "(nil)" --no-raw HGET h zz </dev/null
expect 0 "" HGET h zz </dev/null
expect 0 '1) "2"
2) (nil)' --no-raw HMGET h a zz </dev/null
expect 0 '1) "a"
2) "2"
3) "b"
4) "two words"' --no-raw HGETALL h </dev/null
expect 0 "(empty array)" --no-raw HGETALL none </dev/null
expect 0 '1) "0"
2) 1) "h"' --no-raw SCAN 0 </dev/null
expect 0 "hash" TYPE h </dev/null
expect 0 '1) (integer) -1
2) (integer) -2' --no-raw httl h FIELDS 2 a zz </dev/null
expect 0 '-1
-2' HTTL h FIELDS 2 a zz </dev/null
expect 0 '(integer) -1' --no-raw TTL h </dev/null
expect 1 "(error) ERR wrong number of arguments for 'hset' command" --no-raw HSET h a </dev/null
expect 1 "ERR unknown command 'FOO', with args beginning with: 'a' 'b' " FOO a b </dev/null
expect 1 "ERR syntax error" SCAN 0 NONSENSE 5 </dev/null
printf 'a\nb\0' >"$folder/value"
expect 0 "1" -x HSET h bin <"$folder/value"
expect 0 '"a\nb\x00"' --no-raw HGET h bin </dev/null
"$cli" -c "$socket" --no-raw INFO server </dev/null | grep -q "^# Server" || fail "INFO as text"
TORC_SOCKET=$socket "$cli" PING </dev/null | grep -q "^PONG$" || fail "the socket of the environment"

# --- lines ---
expect 1 'OK
1
x y
(error) marks nothing here: raw
0' --raw <<'LINES'
FLUSHALL
hset k "f\x31" 'x y'

HGET k f1
"open
ECHO "(error) marks nothing here: raw"
HDEL k f2
quit
PING
LINES

# --- bad options ---
"$cli" --nonsense >/dev/null 2>&1 </dev/null && fail "an unknown option is refused"
"$cli" -n x PING >/dev/null 2>&1 </dev/null && fail "a database that is no number is refused"
"$cli" -t 0 PING >/dev/null 2>&1 </dev/null && fail "a timeout of 0 is refused"
"$cli" -x >/dev/null 2>&1 </dev/null && fail "-x without a command is refused"
"$cli" --version </dev/null | grep -q "^torc-cli [0-9]" || fail "--version"
"$cli" --help </dev/null | grep -q -- "--control-socket" || fail "--help"

# --- the library's tests and the examples ---
TORC_TEST_SOCKET=$socket "$test_calls" || fail "calls"
TORC_TEST_SOCKET=$socket "$test_pipeline" || fail "pipeline"
TORC_TEST_SOCKET=$socket "$hash_calls" || fail "hash calls"
TORC_TEST_SOCKET=$socket "$time_calls" || fail "time calls"
"$quotes" "$socket" >"$folder/quotes" || fail "quotes"
grep -q "^EURUSD  1\.08" "$folder/quotes" || fail "the quote of EURUSD"
"$feature_fetch" "$socket" >"$folder/features" || fail "feature_fetch"
grep -q "20 features of 512 entities .* 12 entities unknown" "$folder/features" || fail "features"
grep -q "^user 42, feature_07: 42.07$" "$folder/features" || fail "the feature of user 42"

TORC_TEST_SOCKET=$socket "$test_loans" || fail "loans"
"$cli" -c "$socket" HSET player:dan points many >/dev/null </dev/null
"$ranking" "$socket" >"$folder/ranking" 2>"$folder/stderr" <<'LINES' && fail "wrong lines end with 1"
ada 30
bob 12
cyd 7
bob 25
eve x

dan 1
LINES
grep -q "^1\. player:bob: 37 points, 1 fields$" "$folder/ranking" || fail "the best player"
grep -q "^5 players, 3 lines refused$" "$folder/ranking" || fail "players and refused lines"
grep -q "^line 5: ERR value is not an integer" "$folder/stderr" || fail "a line refused before it is sent"
grep -q "^line 6: not \"player points\"" "$folder/stderr" || fail "an empty line"
grep -q "^line 7: ERR hash value is not an integer" "$folder/stderr" || fail "a line refused by the server"

# --- sessions whose tokens end ---
"$sessions" "$socket" >"$folder/sessions" 2>"$folder/stderr" <<'LINES' && fail "wrong lines end with 1"
login ada phone 3600000
login ada desk 3600000
login bob desk 3600000
login ada desk 3600000
check ada desk 3600000
devices ada
logout ada desk
check ada desk 3600000
login bob phone 0
check bob phone 3600000
devices ada
devices eve
dance ada
login ada phone soon
LINES
cat >"$folder/wanted" <<'LINES'
ada: logged in on phone
ada: logged in on desk
bob: logged in on desk
ada: already on desk
ada: desk is good
ada: 2 devices
ada: logged out of desk
ada: desk is unknown
bob: logged in on phone
bob: phone is unknown
ada: 1 devices
eve: 0 devices
LINES
cmp "$folder/sessions" "$folder/wanted" || fail "what becomes of the sessions"
grep -q "^line 13: not a command" "$folder/stderr" || fail "an unknown command"
grep -q "^line 14: not a command" "$folder/stderr" || fail "a time that is no number"
"$cli" -c "$socket" --raw HPTTL session:ada FIELDS 1 phone </dev/null | grep -q "^[1-9]" ||
    fail "a session has a time"

# --- a program that survives a restart of the server ---
mkfifo "$folder/beats"
"$presence" "$socket" svc 3 2 >"$folder/beats" 2>"$folder/presence-errors" &
service=$!
exec 5<"$folder/beats"
read -r first <&5
kill -9 "$server"
wait "$server" 2>/dev/null
start_server
read -r second <&5
read -r last <&5
exec 5<&-
wait "$service" || { fail "presence ends well"; cat "$folder/presence-errors"; }
case $first in "registered with run "*) ;; *) fail "the first registration: $first" ;; esac
case $second in "registered with run "*) ;; *) fail "the second registration: $second" ;; esac
[ "$first" != "$second" ] || fail "the second run of the server is another one"
[ "$last" = "3 beats" ] || fail "beats after the restart: $last"
expect 0 "3" HGET presence:svc beats </dev/null
grep -q "^TORC_EPIPE: the server is gone" "$folder/presence-errors" || fail "the death is noticed"

# --- the server dies under a session ---
mkfifo "$folder/commands"
"$cli" -c "$socket" <"$folder/commands" >"$folder/replies" 2>"$folder/stderr" &
session=$!
exec 4>"$folder/commands"
echo PING >&4
kill -9 "$server"
wait "$server" 2>/dev/null
server=
(trap '' PIPE; echo PING >&4) 2>/dev/null # it may have noticed
exec 4>&-
wait "$session" && fail "a session whose server died ends with 1"
grep -q "torc-cli: the server is gone" "$folder/stderr" ||
    grep -q "torc-cli: cannot attach" "$folder/stderr" || fail "the message after a death"

[ "$failures" -eq 0 ] && echo "all good"
exit "$failures"
