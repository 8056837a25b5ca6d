# SPDX-License-Identifier: Apache-2.0
"""Keys and fields end at their times, over both roads, whether anybody asks or not; who asks about
a whole database while very many are due waits for an exact answer, and others are served."""

from torcd_harness import Folder, Ring, Server, parse_arguments, run_tests, wait_until

ARGUMENTS = parse_arguments()
FULL = ("--hash-max-listpack-entries", "0")
MANY = 20000


def server_ms(connection):
    seconds, us = connection.call("TIME")
    return int(seconds) * 1000 + int(us) // 1000


def end_on_both_roads(*limits):
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *limits) as server:
        ring = Ring(ARGUMENTS.ring, server.control)
        connection = server.connect()
        for road in (ring, connection):
            road.call("HSET", "h", "stays", "1", "ends", "2")
            road.call("HSET", "k", "f", "v")
            soon = server_ms(connection) + 50
            road.call("HPEXPIREAT", "h", soon, "FIELDS", 1, "ends")
            road.call("PEXPIREAT", "k", soon)
            wait_until(lambda: server_ms(connection) > soon, "the time is past")
            assert road.call("HPTTL", "h", "FIELDS", 2, "stays", "ends") in (
                [-1, -2],
                [b"-1", b"-2"],
            )
            assert road.call("HGET", "h", "ends") is None
            assert road.call("HLEN", "h") == 1
            assert road.call("PTTL", "k") == -2
            assert road.call("EXISTS", "h", "k") == 1
            assert road.call("DBSIZE") == 1
            assert road.call("HSETNX", "h", "ends", "3") == 1
            assert road.call("HPEXPIRE", "h", 0, "FIELDS", 2, "stays", "ends") in (
                [2, 2],
                [b"2", b"2"],
            )
            assert road.call("DBSIZE") == 0
        ring.close()
        connection.close()


def compact_hashes_and_keys_end():
    end_on_both_roads()


def full_hashes_end():
    end_on_both_roads(*FULL)


def what_ends_is_removed_though_nobody_asks():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        connection = server.connect()
        connection.call("HSET", "k", "f", "v")
        connection.call("HSETEX", "h", "PX", 30, "FIELDS", 1, "f", "v")
        connection.call("PEXPIRE", "k", 30)
        wait_until(lambda: server.info(connection, "expired_keys") == "1", "the key is removed")
        wait_until(lambda: server.info(connection, "expired_subkeys") == "1", "the field is removed")
        assert connection.call("INFO", "keyspace") == b"# Keyspace\r\n"
        connection.close()


def a_postponed_command_is_exact_counted_once_and_starves_nobody():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *FULL) as server:
        connection = server.connect()
        ring = Ring(ARGUMENTS.ring, server.control)
        soon = server_ms(connection) + 1500
        commands = [("HSETEX", "k%d" % i, "PXAT", soon, "FIELDS", 1, "f", "v") for i in range(MANY)]
        connection.pipeline(commands)
        pairs = [word for i in range(1000) for word in ("f%d" % i, "v")]
        connection.call("HSETEX", "h", "PXAT", soon, "FIELDS", 1000, *pairs)
        connection.call("HSET", "stays", "f", "v")
        connection.call("CONFIG", "RESETSTAT")
        wait_until(lambda: server_ms(connection) > soon, "the time is past")
        replies = connection.pipeline([("HLEN", "h"), ("DBSIZE",), ("HGET", "stays", "f")])
        assert replies == [0, 1, b"v"], replies
        assert ring.call("DBSIZE") == 1
        stats = connection.call("INFO", "commandstats").decode()
        assert "cmdstat_dbsize:calls=2," in stats, stats
        assert "cmdstat_hlen:calls=1," in stats, stats
        ring.close()
        connection.close()


def a_long_reply_that_removes_is_not_lost():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        ring = Ring(ARGUMENTS.ring, server.control)
        for n, size in ((1, 100), (40, 1000), (8, 100000), (3, 4000000)):
            pairs = [w for i in range(n) for w in ("f%d" % i, b"%d" % i + b"x" * size)]
            ring.call("HSET", "h", *pairs)
            names = pairs[0::2]
            assert ring.call("HGETEX", "h", "EX", 1000, "FIELDS", n, *names) == pairs[1::2]
            assert ring.call("HLEN", "h") == n
            assert ring.call("HGETDEL", "h", "FIELDS", n, *names) == pairs[1::2]
            assert ring.call("EXISTS", "h") == 0
        ring.close()


if __name__ == "__main__":
    run_tests(
        [
            compact_hashes_and_keys_end,
            full_hashes_end,
            what_ends_is_removed_though_nobody_asks,
            a_postponed_command_is_exact_counted_once_and_starves_nobody,
            a_long_reply_that_removes_is_not_lost,
        ]
    )
