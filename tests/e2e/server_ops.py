# SPDX-License-Identifier: Apache-2.0
"""Every op, on compact and on full hashes, over RESP2, RESP3 and the ring: the replies are those of
a real redis-server, or those of expiry_steps. Prints the table that it went through, and writes it to the file of --table."""

import argparse
import sys

import expiry_steps
from op_table import OpTable
from torcd_harness import (
    Connection,
    Failure,
    Folder,
    Redis,
    Ring,
    Server,
    run_tests,
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torcd", required=True)
    parser.add_argument("--ring", required=True, help="path of ring_over_stdio")
    parser.add_argument("--table", help="file to write the table to")
    return parser.parse_args()


ARGUMENTS = parse_arguments()
TABLE = OpTable(ARGUMENTS.torcd)

BINARY = bytes(range(256))
WIDE = [word for i in range(300) for word in (b"field%03d" % i, b"value %d" % (i * i))]

# Steps run in this order, on an empty server. A set comes in any order (fields, keys).
EXACT, ANY_ORDER, KIND_ONLY, HELLO = "exact", "any order", "kind only", "but for what names a server"
STEPS = [
    (EXACT, ("PING",)),
    (EXACT, ("ping", "hello")),
    (EXACT, ("PING", "")),
    (EXACT, ("PING", "a", "b")),
    (EXACT, ("ECHO", BINARY)),
    (EXACT, ("ECHO",)),
    (EXACT, ("SELECT", 0)),
    (EXACT, ("SELECT", 99)),
    (EXACT, ("SELECT", "x")),
    (EXACT, ("HSET", "h", "a", "1")),
    (EXACT, ("HSET", "h", "a", "2", "b", "3")),
    (EXACT, ("HSET", "h", "c", "1", "d", "2", "c", "3")),
    (EXACT, ("HSET", "h", "", "")),
    (EXACT, ("HSET", "h", BINARY, BINARY)),
    (EXACT, ("HSET", "h")),
    (EXACT, ("HSET", "h", "a")),
    (EXACT, ("HSET", "h", "a", "1", "b")),
    (EXACT, ("HGET", "h", "a")),
    (EXACT, ("HGET", "h", "c")),
    (EXACT, ("HGET", "h", "")),
    (EXACT, ("HGET", "h", BINARY)),
    (EXACT, ("HGET", "h", "absent")),
    (EXACT, ("HGET", "absent", "a")),
    (EXACT, ("HGET", "h")),
    (EXACT, ("HGET", "h", "a", "b")),
    (EXACT, ("HMGET", "h", "a", "absent", "b", "a", "")),
    (EXACT, ("HMGET", "absent", "a", "b")),
    (EXACT, ("HMGET", "h")),
    (EXACT, ("HLEN", "h")),
    (EXACT, ("HLEN", "absent")),
    (EXACT, ("HLEN",)),
    (EXACT, ("HEXISTS", "h", "a")),
    (EXACT, ("HEXISTS", "h", "absent")),
    (EXACT, ("HEXISTS", "absent", "a")),
    (EXACT, ("HEXISTS", "h")),
    (ANY_ORDER, ("HGETALL", "h")),
    (EXACT, ("HGETALL", "absent")),
    (EXACT, ("HGETALL",)),
    (EXACT, ("TYPE", "h")),
    (EXACT, ("TYPE", "absent")),
    (EXACT, ("TYPE",)),
    (EXACT, ("OBJECT", "ENCODING", "h")),
    (EXACT, ("OBJECT", "encoding", "absent")),
    (EXACT, ("OBJECT", "ENCODING")),
    (KIND_ONLY, ("MEMORY", "USAGE", "h")),
    (KIND_ONLY, ("MEMORY", "USAGE", "h", "SAMPLES", 0)),
    (EXACT, ("MEMORY", "USAGE", "absent")),
    (EXACT, ("MEMORY", "USAGE", "h", "SAMPLES", -1)),
    (EXACT, ("MEMORY", "USAGE", "h", "SAMPLES", "x")),
    (EXACT, ("MEMORY", "USAGE", "h", "SAMPLES")),
    (EXACT, ("MEMORY", "USAGE", "h", "NONSENSE", 1)),
    (EXACT, ("MEMORY", "USAGE")),
    (KIND_ONLY, ("MEMORY", "STATS")),
    (EXACT, ("MEMORY", "STATS", "x")),
    (KIND_ONLY, ("MEMORY", "DOCTOR")),
    (EXACT, ("MEMORY", "DOCTOR", "x")),
    (EXACT, ("HDEL", "h", "a", "a", "absent")),
    (EXACT, ("HDEL", "h", "a")),
    (EXACT, ("HDEL", "absent", "a")),
    (EXACT, ("HDEL", "h")),
    (EXACT, ("HSET", "w", *WIDE)),
    (EXACT, ("HLEN", "w")),
    (ANY_ORDER, ("HGETALL", "w")),
    (EXACT, ("HMGET", "w", *WIDE[0::2])),
    (EXACT, ("HDEL", "w", *WIDE[0:400:2])),
    (ANY_ORDER, ("HGETALL", "w")),
    (EXACT, ("OBJECT", "ENCODING", "w")),
    (EXACT, ("HSET", "big", "f", b"x" * 1048576)),
    (EXACT, ("HGET", "big", "f")),
    (EXACT, ("HSET", "big", b"n" * 70000, "v")),
    (EXACT, ("HGET", "big", b"n" * 70000)),
    (EXACT, ("OBJECT", "ENCODING", "big")),
    (EXACT, ("HSET", BINARY, "f", "v")),
    (EXACT, ("HSET", "", "f", "v")),
    (EXACT, ("HGET", "", "f")),
    (EXACT, ("EXISTS", "h", "h", "absent", "w", "", BINARY)),
    (EXACT, ("EXISTS",)),
    (EXACT, ("DBSIZE",)),
    (EXACT, ("DBSIZE", "x")),
    (ANY_ORDER, ("SCAN", 0, "COUNT", 1000)),
    (ANY_ORDER, ("SCAN", 0, "COUNT", 1000, "MATCH", "[hw]")),
    (ANY_ORDER, ("SCAN", 0, "TYPE", "hash", "COUNT", 1000)),
    (ANY_ORDER, ("SCAN", 0, "TYPE", "string", "COUNT", 1000)),
    (ANY_ORDER, ("SCAN", 0, "TYPE", "nonsense", "COUNT", 1000)),
    (ANY_ORDER, ("scan", 0, "match", "\x00*", "count", 1000)),
    (EXACT, ("SCAN", "x")),
    (EXACT, ("SCAN", 0, "COUNT", 0)),
    (EXACT, ("SCAN", 0, "COUNT", "x")),
    (EXACT, ("SCAN", 0, "MATCH")),
    (EXACT, ("SCAN", 0, "NONSENSE", 1)),
    (EXACT, ("SCAN",)),
    (EXACT, ("HSETNX", "n", "a", "1")),
    (EXACT, ("HSETNX", "n", "a", "2")),
    (EXACT, ("HSETNX", "n", "b", "")),
    (EXACT, ("HSETNX", "n", "", BINARY)),
    (EXACT, ("HGET", "n", "a")),
    (EXACT, ("HSETNX", "n", "a")),
    (EXACT, ("HSETNX", "n", "a", "1", "b")),
    (EXACT, ("HMSET", "n", "c", "3", "d", "4", "c", "5")),
    (EXACT, ("HMSET", "n", "c", "3", "d")),
    (EXACT, ("HMSET", "n", "c")),
    (EXACT, ("HMGET", "n", "a", "b", "c", "d")),
    (ANY_ORDER, ("HKEYS", "n")),
    (ANY_ORDER, ("HVALS", "n")),
    (ANY_ORDER, ("HKEYS", "w")),
    (ANY_ORDER, ("HVALS", "w")),
    (EXACT, ("HKEYS", "absent")),
    (EXACT, ("HVALS", "absent")),
    (EXACT, ("HKEYS",)),
    (EXACT, ("HVALS", "n", "x")),
    (EXACT, ("HSTRLEN", "n", "")),
    (EXACT, ("HSTRLEN", "n", "b")),
    (EXACT, ("HSTRLEN", "n", "absent")),
    (EXACT, ("HSTRLEN", "absent", "a")),
    (EXACT, ("HSTRLEN", "big", "f")),
    (EXACT, ("HSTRLEN", "n")),
    (EXACT, ("HINCRBY", "n", "a", 5)),
    (EXACT, ("HINCRBY", "n", "new", -5)),
    (EXACT, ("HINCRBY", "n2", "f", "9223372036854775807")),
    (EXACT, ("HINCRBY", "n2", "f", 1)),
    (EXACT, ("HINCRBY", "n2", "f", "-9223372036854775808")),
    (EXACT, ("HINCRBY", "n2", "f", "9223372036854775808")),
    (EXACT, ("HINCRBY", "n2", "f", "1.5")),
    (EXACT, ("HINCRBY", "n2", "f", "")),
    (EXACT, ("HINCRBY", "n2", "f", "+1")),
    (EXACT, ("HINCRBY", "n2", "f")),
    (EXACT, ("HGET", "n2", "f")),
    (EXACT, ("HINCRBY", "n", "b", 1)),
    (EXACT, ("HSET", "n2", "zeros", "007", "plus", "+5", "blank", " 5", "point", "5.0")),
    (EXACT, ("HINCRBY", "n2", "zeros", 1)),
    (EXACT, ("HINCRBY", "n2", "plus", 1)),
    (EXACT, ("HINCRBY", "n2", "blank", 1)),
    (EXACT, ("HINCRBY", "n2", "point", 1)),
    (EXACT, ("HINCRBY", "absent", "f", "x")),
    (EXACT, ("EXISTS", "absent")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "0.1")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "0.2")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "-0.3")),
    (EXACT, ("HINCRBYFLOAT", "n", "a", "1e2")),
    (EXACT, ("HINCRBYFLOAT", "n", "long", "1e4000")),
    (EXACT, ("HINCRBYFLOAT", "n", "long", "1e4000")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "nan")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "inf")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "1e5000")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", "")),
    (EXACT, ("HINCRBYFLOAT", "n", "x", " 1")),
    (EXACT, ("HINCRBYFLOAT", "n", "b", "1")),
    (EXACT, ("HINCRBYFLOAT", "n2", "blank", "1")),
    (EXACT, ("HINCRBYFLOAT", "n2", "plus", "0x10")),
    (EXACT, ("HINCRBYFLOAT", "n", "x")),
    (EXACT, ("HINCRBYFLOAT", "absent", "f", "x")),
    (EXACT, ("HSET", "n2", "huge", "1.1e4932", "endless", "inf")),
    (EXACT, ("HINCRBYFLOAT", "n2", "huge", "1.1e4932")),
    (EXACT, ("HINCRBYFLOAT", "n2", "endless", "1")),
    (EXACT, ("EXISTS", "absent")),
    (ANY_ORDER, ("HSCAN", "n", 0, "COUNT", 1000)),
    (ANY_ORDER, ("HSCAN", "w", 0, "COUNT", 1000, "match", "field2[0-4]*")),
    (EXACT, ("HSCAN", "w", 0, "MATCH", "none", "COUNT", 1000)),
    (EXACT, ("HSCAN", "absent", 7)),
    (EXACT, ("HSCAN", "absent", 0, "NONSENSE")),
    (EXACT, ("HSCAN", "n", "x")),
    (EXACT, ("HSCAN", "n", "18446744073709551616")),
    (EXACT, ("HSCAN", "n", 0, "COUNT", 0)),
    (EXACT, ("HSCAN", "n", 0, "COUNT", -1)),
    (EXACT, ("HSCAN", "n", 0, "COUNT", "x")),
    (EXACT, ("HSCAN", "n", 0, "MATCH")),
    (EXACT, ("HSCAN", "n", 0, "TYPE", "hash")),
    (EXACT, ("HSCAN", "n", 0, "NONSENSE", 1)),
    (EXACT, ("HSCAN", "n")),
    (EXACT, ("HSET", "one", "f", "v")),
    (EXACT, ("HRANDFIELD", "one")),
    (EXACT, ("HRANDFIELD", "one", 1)),
    (EXACT, ("HRANDFIELD", "one", 5)),
    (EXACT, ("HRANDFIELD", "one", -1)),
    (EXACT, ("HRANDFIELD", "one", -3)),
    (EXACT, ("HRANDFIELD", "one", 0)),
    (EXACT, ("HRANDFIELD", "one", 1, "WITHVALUES")),
    (EXACT, ("HRANDFIELD", "one", 4, "withvalues")),
    (EXACT, ("HRANDFIELD", "one", -2, "WITHVALUES")),
    (EXACT, ("HRANDFIELD", "one", 0, "WITHVALUES")),
    (KIND_ONLY, ("HRANDFIELD", "w")),
    (ANY_ORDER, ("HRANDFIELD", "w", 1000)),
    (ANY_ORDER, ("HRANDFIELD", "w", 1000, "WITHVALUES")),
    (EXACT, ("HRANDFIELD", "absent")),
    (EXACT, ("HRANDFIELD", "absent", 1)),
    (EXACT, ("HRANDFIELD", "absent", -1000000000000)),
    (EXACT, ("HRANDFIELD", "absent", -1, "WITHVALUES")),
    (EXACT, ("HRANDFIELD", "one", "x")),
    (EXACT, ("HRANDFIELD", "one", "-9223372036854775808")),
    (EXACT, ("HRANDFIELD", "one", "4611686018427387904", "WITHVALUES")),
    (EXACT, ("HRANDFIELD", "one", "-4611686018427387904", "WITHVALUES")),
    (EXACT, ("HRANDFIELD", "one", "9223372036854775807")),
    (EXACT, ("HRANDFIELD", "one", 1, "NONSENSE")),
    (EXACT, ("HRANDFIELD", "one", 1, "WITHVALUES", "x")),
    (EXACT, ("HRANDFIELD",)),
    (EXACT, ("TOUCH", "h", "h", "absent", "w")),
    (EXACT, ("TOUCH",)),
    (ANY_ORDER, ("KEYS", "*")),
    (ANY_ORDER, ("KEYS", "n*")),
    (EXACT, ("KEYS", "none")),
    (EXACT, ("KEYS",)),
    (KIND_ONLY, ("RANDOMKEY",)),
    (EXACT, ("RANDOMKEY", "x")),
    (EXACT, ("UNLINK", "n", "n", "absent", "n2")),
    (EXACT, ("UNLINK",)),
    (KIND_ONLY, ("TIME",)),
    (EXACT, ("TIME", "x")),
    (EXACT, ("CONFIG",)),
    (EXACT, ("CONFIG", "GET")),
    (EXACT, ("CONFIG", "NONSENSE")),
    (EXACT, ("CONFIG", "GET", "nonsense")),
    (EXACT, ("CONFIG", "GET", "APPENDONLY")),
    (ANY_ORDER, ("CONFIG", "GET", "save", "hash-max-*-value", "nonsense")),
    (EXACT, ("CONFIG", "RESETSTAT")),
    (EXACT, ("CONFIG", "RESETSTAT", "x")),
    (EXACT, ("DEL", "h", "h", "absent")),
    (EXACT, ("DEL",)),
    (EXACT, ("DBSIZE",)),
    (EXACT, ("FLUSHALL", "NONSENSE")),
    (EXACT, ("FLUSHALL", "ASYNC", "SYNC")),
    (EXACT, ("FLUSHALL", "async")),
    (EXACT, ("DBSIZE",)),
    (EXACT, ("HSET", "h", "a", "1")),
    (EXACT, ("HDEL", "h", "a")),
    (EXACT, ("EXISTS", "h")),
    (EXACT, ("FLUSHDB", "NONSENSE")),
    (EXACT, ("HSET", "h", "a", "1")),
    (EXACT, ("FLUSHDB",)),
    (EXACT, ("FLUSHDB", "async")),
    (EXACT, ("DBSIZE",)),
    (EXACT, ("RANDOMKEY",)),
    (EXACT, ("FLUSHALL", "SYNC")),
    (EXACT, ("FLUSHALL",)),
    (KIND_ONLY, ("INFO",)),
    (KIND_ONLY, ("INFO", "server", "clients", "memory", "stats", "keyspace", "commandstats")),
    (EXACT, ("INFO", "nonsense")),
    (KIND_ONLY, ("COMMAND", "COUNT")),
    (KIND_ONLY, ("COMMAND",)),
    (EXACT, ("COMMAND", "DOCS", "nonsense")),
    (EXACT, ("COMMAND", "NONSENSE")),
    (EXACT, ("COMMAND", "COUNT", "x")),
    (EXACT, ("COMMAND", "LIST", "x")),
    (EXACT, ("COMMAND", "LIST", "FILTERBY", "NONSENSE", "x")),
    (EXACT, ("COMMAND", "LIST", "FILTERBY", "MODULE", "x")),
    (ANY_ORDER, ("COMMAND", "LIST", "FILTERBY", "PATTERN", "H[gs]et")),
    (EXACT, ("COMMAND", "GETKEYS")),
    (EXACT, ("COMMAND", "GETKEYS", "hset", "k", "f", "v")),
    (EXACT, ("COMMAND", "GETKEYS", "del", "a", "b", "c")),
    (EXACT, ("COMMAND", "GETKEYS", "memory", "usage", "k")),
    (EXACT, ("COMMAND", "GETKEYS", "hset", "k")),
    (EXACT, ("COMMAND", "GETKEYS", "nonsense", "k")),
    (EXACT, ("COMMAND", "GETKEYS", "ping", "k")),
    (EXACT, ("QUIT",)),
]
# What only the gateway has, and texts that only it makes.
GATEWAY_STEPS = [
    (EXACT, ("NONSENSE",)),
    (EXACT, ("NONSENSE", "a", b"b\r\n", "x" * 200, "y")),
    (EXACT, (b"no\r\nsense",)),
    (EXACT, ("MEMORY",)),
    (EXACT, ("MEMORY", "NONSENSE")),
    (EXACT, ("OBJECT", "NONSENSE", "h")),
    (EXACT, ("CLIENT",)),
    (EXACT, ("CLIENT", "NONSENSE")),
    (KIND_ONLY, ("CLIENT", "ID")),
    (EXACT, ("CLIENT", "GETNAME")),
    (EXACT, ("CLIENT", "SETNAME", "me")),
    (EXACT, ("CLIENT", "GETNAME")),
    (EXACT, ("CLIENT", "SETNAME", "a b")),
    (EXACT, ("CLIENT", "SETNAME")),
    (EXACT, ("CLIENT", "SETNAME", "")),
    (EXACT, ("CLIENT", "GETNAME")),
    (HELLO, ("HELLO",)),
    (EXACT, ("HELLO", 4)),
    (EXACT, ("HELLO", "x")),
    (EXACT, ("HELLO", 3, "NONSENSE")),
    (EXACT, ("HELLO", 3, "SETNAME")),
    (EXACT, ("HELLO", 3, "AUTH", "nobody", "x")),
    (EXACT, ("HELLO", 3, "SETNAME", "a b")),
    (EXACT, ("COMMAND", "INFO", "nonsense")),
]


def normal(how, words, reply):
    """The reply in the form that is compared."""
    if how == KIND_ONLY:
        return type(reply).__name__
    if how == HELLO:
        facts = list(zip(reply[0::2], reply[1::2]))
        own = (b"server", b"version", b"id")
        return [(name, type(fact) if name in own else fact) for name, fact in facts]
    if how == ANY_ORDER and not isinstance(reply, Failure):
        if words[0].upper() == "SCAN":
            return [reply[0], sorted(reply[1])]
        if words[0] == "HSCAN":
            return [reply[0], sorted(zip(reply[1][0::2], reply[1][1::2]))]
        if words[0] in ("HGETALL", "CONFIG") or (
            words[-1] == "WITHVALUES" and not isinstance(reply[0], list)
        ):
            return sorted(zip(reply[0::2], reply[1::2]))
        return sorted(reply)
    if isinstance(reply, Failure) and reply.endswith(b", with args beginning with: "):
        # Redis 7.0 has the tail even without arguments; from 7.2 on it is gone, and torc follows.
        return Failure(reply[: -len(b", with args beginning with: ")])
    return reply


def show(words):
    text = " ".join(repr(w)[1:] if isinstance(w, bytes) else str(w) for w in words)
    return text if len(text) <= 44 else text[:41] + "..."


def compare(steps, oracle, ours, encoding, road):
    """Run the steps on both; every difference is printed. Returns the number of differences."""
    wrong = 0
    label = "%s %s" % (encoding.decode(), road)
    for how, words in steps:
        if words[0] == "QUIT":
            continue
        wanted = normal(how, words, oracle.call(*words))
        reply = ours.call(*words)
        got = normal(how, words, reply)
        TABLE.count(encoding, road, words, reply)
        # Types too: a simple string is no bulk string.
        is_right = type(wanted) is type(got) and wanted == got
        if not is_right:
            wrong += 1
            print("DIFFERS %s %s: redis %.300r, torcd %.300r" % (label, show(words), wanted, got))
    return wrong


def on_ring(reply):
    """The reply as a ring has it: numbers inside an array are text."""
    if isinstance(reply, list):
        return [b"%d" % item if isinstance(item, int) else item for item in reply]
    return reply


def answer_as_written(ours, encoding, road):
    """Steps whose replies are written down. Returns the number of differences."""
    wrong = 0
    for words, wanted in expiry_steps.STEPS:
        wanted = on_ring(wanted) if road == "ring" else wanted
        got = ours.call(*words)
        TABLE.count(encoding, road, words, got)
        if type(wanted) is not type(got) or wanted != got:
            wrong += 1
            label = "%s %s %s" % (encoding.decode(), road, show(words))
            print("DIFFERS %s: wanted %.300r, torcd %.300r" % (label, wanted, got))
    return wrong


def quit_ends(connection, encoding, road):
    reply = connection.call("QUIT")
    assert reply == b"OK"
    TABLE.count(encoding, road, ("QUIT",), reply)
    try:
        connection.read()
    except (EOFError, ConnectionResetError):
        return
    raise AssertionError("QUIT does not close")


def check_encoding(ours, encoding):
    ours.call("HSET", "probe", "f", "v")
    assert ours.call("OBJECT", "ENCODING", "probe") == encoding
    ours.call("DEL", "probe")


def go_through(limits, encoding):
    """All paths, with hashes that stay compact, or are full from their first field."""
    with Folder() as folder:
        with Redis(folder, *limits) as redis, Server(
            ARGUMENTS.torcd, folder, *limits, "--maxmemory", "1gb"
        ) as server:
            wrong = 0
            for protocol in (2, 3):
                ours = server.connect(protocol)
                check_encoding(ours, encoding)
                wrong += answer_as_written(ours, encoding, "RESP%d" % protocol)
                oracle = Connection(redis.path, protocol)
                road = "RESP%d" % protocol
                hello = [(HELLO, ("HELLO", protocol))]
                wrong += compare(STEPS + GATEWAY_STEPS + hello, oracle, ours, encoding, road)
                quit_ends(ours, encoding, road)
                oracle.close()
            ring = Ring(ARGUMENTS.ring, server.control)
            check_encoding(ring, encoding)
            wrong += answer_as_written(ring, encoding, "ring")
            oracle = Connection(redis.path)
            wrong += compare(STEPS, oracle, ring, encoding, "ring")
            reply = ring.call("QUIT")
            assert reply == b"OK"
            TABLE.count(encoding, "ring", ("QUIT",), reply)
            oracle.close()
            ring.close()
            assert wrong == 0


def compact_hashes_answer_as_redis():
    limits = ("--hash-max-listpack-entries", "65535", "--hash-max-listpack-value", "32767")
    go_through(limits, b"listpack")


def full_hashes_answer_as_redis():
    limits = ("--hash-max-listpack-entries", "0", "--hash-max-listpack-value", "64")
    go_through(limits, b"hashtable")


def client_setinfo_which_redis_7_0_lacks_is_as_in_redis_8():
    for limit, encoding in ((65535, b"listpack"), (0, b"hashtable")):
        with Folder() as folder, Server(
            ARGUMENTS.torcd, folder, "--hash-max-listpack-entries", limit
        ) as server:
            for protocol in (2, 3):
                ours = server.connect(protocol)
                for words, wanted in (
                    (("CLIENT", "SETINFO", "lib-name", "x"), b"OK"),
                    (("CLIENT", "SETINFO", "LIB-VER", "1.0"), b"OK"),
                    (("CLIENT", "SETINFO", "FOO", "x"), Failure(b"ERR Unrecognized option 'FOO'")),
                ):
                    reply = ours.call(*words)
                    assert reply == wanted, reply
                    TABLE.count(encoding, "RESP%d" % protocol, words, reply)
                ours.close()


def what_redis_7_0_does_not_know_is_as_in_redis_8():
    for limit, protocol in ((65535, 2), (65535, 3), (0, 2), (0, 3)):
        with Folder() as folder, Server(
            ARGUMENTS.torcd, folder, "--hash-max-listpack-entries", limit
        ) as server:
            ring = Ring(ARGUMENTS.ring, server.control)
            for ours in (server.connect(protocol), ring):
                ours.call("HSET", "h", "a", "1", "b", "2")
                page = ours.call("HSCAN", "h", 0, "COUNT", 100, "novalues", "MATCH", "*")
                assert page[0] == b"0" and sorted(page[1]) == [b"a", b"b"], page
                page = ours.call("HSCAN", "h", 0, "NOVALUES")
                assert sorted(page[1]) == [b"a", b"b"], page
                assert ours.call("HSCAN", "h", "-1") == Failure(b"ERR invalid cursor")
                assert ours.call("SCAN", 0, "NOVALUES") == Failure(b"ERR syntax error")
                text = b"ERR The command has no key arguments"
                assert ours.call("COMMAND", "GETKEYS", "ping") == Failure(text)
                text = b"ERR Invalid command specified"
                assert ours.call("COMMAND", "GETKEYS", "nonsense") == Failure(text)
                ours.close()


def torc_optimize_packs_and_answers_bytes():
    for limit, encoding in ((65535, b"listpack"), (0, b"hashtable")):
        with Folder() as folder, Server(
            ARGUMENTS.torcd, folder, "--hash-max-listpack-entries", limit
        ) as server:
            roads = {"RESP%d" % protocol: server.connect(protocol) for protocol in (2, 3)}
            roads["ring"] = Ring(ARGUMENTS.ring, server.control)
            for road, ours in roads.items():
                ours.call("HSET", "h", "a", "1", "b", "2")
                for words in (("TORC.OPTIMIZE", "h"), ("torc.optimize", "all")):
                    reply = ours.call(*words)
                    assert isinstance(reply, int) and reply >= 0, reply
                    TABLE.count(encoding, road, words, reply)
                assert ours.call("TORC.OPTIMIZE", "absent") is None
                assert ours.call("HGET", "h", "b") == b"2"
                ours.close()


def config_resetstat_sets_the_statistics_back():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        c = server.connect()
        c.call("HGET", "absent", "f")
        c.call("HSET", "h")
        assert server.info(c, "keyspace_misses") == "1"
        assert server.info(c, "total_error_replies") == "1"
        assert c.call("CONFIG", "RESETSTAT") == b"OK"
        assert server.info(c, "keyspace_misses") == "0"
        assert server.info(c, "total_error_replies") == "0"
        assert server.info(c, "connected_clients") == "1"
        assert int(server.info(c, "total_commands_processed")) < 10
        c.call("HGET", "absent", "f")
        assert server.info(c, "keyspace_misses") == "1"
        c.close()


def every_op_was_answered_in_every_form_over_every_road():
    text = TABLE.text()
    print(text, end="")
    if ARGUMENTS.table:
        with open(ARGUMENTS.table, "w") as file:
            file.write(text)
    TABLE.check()


if __name__ == "__main__":
    run_tests(
        [
            compact_hashes_answer_as_redis,
            full_hashes_answer_as_redis,
            client_setinfo_which_redis_7_0_lacks_is_as_in_redis_8,
            what_redis_7_0_does_not_know_is_as_in_redis_8,
            torc_optimize_packs_and_answers_bytes,
            config_resetstat_sets_the_statistics_back,
            every_op_was_answered_in_every_form_over_every_road,
        ]
    )
    sys.exit(0)
