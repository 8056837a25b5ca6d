# SPDX-License-Identifier: Apache-2.0
"""Very many fields and keys end at once while clients work: nothing that is past is ever shown or counted, everything
goes, and scans keep what they promise of what stays. Times are those of the server; nothing waits for its result by
sleeping."""

import threading

from torcd_harness import Folder, Ring, Server, parse_arguments, run_tests, wait_until

ARGUMENTS = parse_arguments()
FULL = ("--hash-max-listpack-entries", "0")
HASHES, FIELDS = 40, 250


def server_ms(connection):
    seconds, us = connection.call("TIME")
    return int(seconds) * 1000 + int(us) // 1000


def fill(connection, when, spread_ms):
    """Hashes of fields that end from `when` on, within spread_ms; every tenth field of every second hash stays."""
    for h in range(HASHES):
        ends = [w for i in range(FIELDS) for w in ("f%d" % i, "v")]
        connection.call("HSETEX", "h%d" % h, "PXAT", when + h % spread_ms, "FIELDS", FIELDS, *ends)
        if h % 2 == 0:
            stays = ["f%d" % i for i in range(0, FIELDS, 10)]
            connection.call("HPERSIST", "h%d" % h, "FIELDS", len(stays), *stays)


def counts_never_show_what_is_past(*limits):
    """Polls from before the first end to behind the last one: a count taken at a time between two readings of the
    server's clock lies between what is there at these."""
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *limits) as server:
        ring = Ring(ARGUMENTS.ring, server.control)
        connection = server.connect()
        spread = 20
        first = server_ms(connection) + 400
        fill(connection, first, spread)
        stays = len(range(0, FIELDS, 10))
        seen = set()

        def there(h, now):
            return (stays if h % 2 == 0 else 0) if first + h % spread <= now else FIELDS

        def poll(road):
            for h in (0, 1, 18, 19):
                before = server_ms(connection)
                n = road.call("HLEN", "h%d" % h)
                keys = road.call("DBSIZE")
                after = server_ms(connection)
                assert there(h, after) <= n <= there(h, before), (h, n, before, after)
                least, most = (sum(there(i, at) > 0 for i in range(HASHES)) for at in (after, before))
                assert least <= keys <= most, (keys, least, most)
                seen.add(n)
            return server_ms(connection) > first + spread

        while not poll(ring) or not poll(connection):
            pass
        # The last poll was behind the end: exactly what stays.
        assert seen >= {FIELDS, stays, 0}, seen
        assert connection.call("DBSIZE") == HASHES // 2
        n_gone = HASHES * FIELDS - HASHES // 2 * stays
        wait_until(lambda: server.info(connection, "expired_subkeys") == str(n_gone), "all are removed")
        assert int(server.info(connection, "used_memory")) > 0
        ring.close()
        connection.close()


def counts_are_exact_on_compact_hashes():
    counts_never_show_what_is_past()


def counts_are_exact_on_full_hashes():
    counts_never_show_what_is_past(*FULL)


def scans_show_what_stays_while_the_rest_ends():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *FULL) as server:
        connection, other = server.connect(), server.connect()
        stays = {b"s%d" % i for i in range(500)}
        connection.call("HSET", "h", *[w for name in sorted(stays) for w in (name, "v")])
        connection.pipeline([("HSET", b"key" + name, "f", "v") for name in sorted(stays)])
        stop = threading.Event()

        def churn():
            """Fields and keys that end within milliseconds, all the time."""
            n = 0
            while not stop.is_set():
                names = ["e%d" % (n + i) for i in range(200)]
                n += 200
                other.call("HSETEX", "h", "PX", 3, "FIELDS", 200, *[w for x in names for w in (x, "v")])
                other.pipeline(
                    [command for x in names[:20] for command in (("HSET", x, "f", "v"), ("PEXPIRE", x, 3))]
                )

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            for _ in range(20):
                fields, cursor = [], b"0"
                while True:
                    cursor, page = connection.call("HSCAN", "h", cursor, "COUNT", 20)
                    fields += page[::2]
                    if cursor == b"0":
                        break
                assert stays <= set(fields), sorted(stays - set(fields))[:5]
                keys = []
                while True:
                    cursor, page = connection.call("SCAN", cursor, "COUNT", 50)
                    keys += page
                    if cursor == b"0":
                        break
                assert {b"key" + name for name in stays} <= set(keys)
        finally:
            stop.set()
            thread.join()
        wait_until(lambda: connection.call("HLEN", "h") == len(stays), "only what stays is left")
        wait_until(lambda: connection.call("DBSIZE") == len(stays) + 1, "only what stays is left")
        assert set(connection.call("HKEYS", "h")) == stays
        connection.close()
        other.close()


if __name__ == "__main__":
    run_tests(
        [
            counts_are_exact_on_compact_hashes,
            counts_are_exact_on_full_hashes,
            scans_show_what_stays_while_the_rest_ends,
        ]
    )
