# SPDX-License-Identifier: Apache-2.0
"""Public faults of hashes: forms, scans, random picks, numbers. Each function is named by what must
hold; its first line has the thread. public_faults.py runs them."""

import random

from torcd_harness import Failure, Folder, Ring, Server, encode, wait_until


def roads(arguments, server):
    """The two ways to ask: each test that can asks both."""
    return [server.connect(), Ring(arguments.ring, server.control)]


def close(clients):
    for client in clients:
        client.close()


def put_fields(client, key, numbers, value="v"):
    numbers = list(numbers)
    for at in range(0, len(numbers), 5000):
        words = [w for i in numbers[at : at + 5000] for w in ("f%d" % i, value)]
        client.call("HSET", key, *words)


def every_write_path_keeps_the_limits(arguments):
    """redis/redis#10479: the value limit was checked by HSET only."""
    with Folder() as folder, Server(
        arguments.torcd, folder, "--hash-max-listpack-value", 8
    ) as server:
        for client in roads(arguments, server):
            for words in (
                ("HINCRBY", "h", "a" * 12, 1),
                ("HINCRBYFLOAT", "h", "f", "1.000000000005"),
                ("HINCRBYFLOAT", "h", "a" * 12, "1"),
                ("HSETNX", "h", "f", "123456789"),
                ("HMSET", "h", "f", "123456789"),
            ):
                assert client.call("HSET", "h", "a", "1") == 1
                assert client.call("OBJECT", "ENCODING", "h") == b"listpack"
                client.call(*words)
                assert client.call("OBJECT", "ENCODING", "h") == b"hashtable", words
                assert client.call("DEL", "h") == 1
            client.close()


def one_command_with_many_pairs_counts_each_field_once(arguments):
    """redis/redis#12019: many pairs in one HSET, with a linear check for each."""
    with Folder() as folder, Server(
        arguments.torcd, folder, "--hash-max-listpack-entries", 128
    ) as server:
        for client in roads(arguments, server):
            words = [w for i in range(1300) for w in ("f%d" % i, i)]
            assert client.call("HSET", "many", *words) == 1300
            assert client.call("HLEN", "many") == 1300
            assert client.call("OBJECT", "ENCODING", "many") == b"hashtable"
            assert client.call("HSET", "h", *(["a", "1"] * 600)) == 1
            assert client.call("HLEN", "h") == 1
            assert client.call("DEL", "many", "h") == 2
            client.close()


def no_setting_makes_a_compact_block_too_large(arguments):
    """redis/redis#9589: sums of sizes overflowed with limits set very large."""
    with Folder() as folder, Server(
        arguments.torcd, folder, "--hash-max-listpack-value", 32767
    ) as server:
        client = server.connect()
        value = b"x" * (30 << 20)
        for i in range(4):
            assert client.call("HSET", "h", "f%d" % i, value) == 1
        assert client.call("OBJECT", "ENCODING", "h") == b"hashtable"
        for i in range(4):
            assert client.call("HGET", "h", "f%d" % i) == value
        # Many short ones: the block's own limit converts, whatever the settings allow.
        put_fields(client, "wide", range(20000), "0123456789")
        assert client.call("OBJECT", "ENCODING", "wide") == b"hashtable"
        assert client.call("HLEN", "wide") == 20000
        client.close()


def one_command_may_delete_nearly_everything(arguments):
    """redis/redis#14783: the table shrank again and again within one HDEL."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            put_fields(client, "h", range(100000))
            gone = ["f%d" % i for i in range(95000)]
            assert client.call("HDEL", "h", *gone) == 95000
            assert client.call("HLEN", "h") == 5000
            assert client.call("HGET", "h", "f99999") == b"v"
            assert client.call("HDEL", "h", *["f%d" % i for i in range(100000)]) == 5000
            assert client.call("EXISTS", "h") == 0
            client.close()


def the_second_mention_sees_the_first(arguments):
    """apache/kvrocks#1651: one command that names a field twice counted it twice."""
    with Folder() as folder:
        for entries in (0, 512):
            with Server(
                arguments.torcd, folder, "--hash-max-listpack-entries", entries
            ) as server:
                for client in roads(arguments, server):
                    assert client.call("HSET", "h", "a", "1", "a", "2", "b", "3") == 2
                    assert client.call("HGET", "h", "a") == b"2"
                    assert client.call("HDEL", "h", "a", "a", "b") == 2
                    assert client.call("EXISTS", "h") == 0
                    assert client.call("HLEN", "h") == 0
                    client.close()


def increments_do_not_wrap_round(arguments):
    """redis/redis#330: HINCRBY wrapped where INCRBY did not."""
    wrong = Failure(b"ERR increment or decrement would overflow")
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            for start, by in (
                ("-9223372036854775484", "-10000"),
                ("9223372036854775484", "10000"),
                ("-1", "-9223372036854775808"),
                ("1", "9223372036854775807"),
            ):
                client.call("HSET", "h", "n", start)
                assert client.call("HINCRBY", "h", "n", by) == wrong, (start, by)
                assert client.call("HGET", "h", "n") == start.encode()
            client.close()


def keywords_are_read_in_any_case(arguments):
    """valkey-io/valkey#3000: `fields` in lower case was not known."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            client.call("hSeT", "h", "a", "1")
            assert client.call("hscan", "h", 0, "mAtCh", "a", "cOuNt", 5) == [b"0", [b"a", b"1"]]
            assert client.call("HSCAN", "h", 0, "novalues") == [b"0", [b"a"]]
            assert client.call("hrandfield", "h", 1, "wItHvAlUeS") == [b"a", b"1"]
            assert client.call("scan", 0, "type", "HASH", "count", 10) == [b"0", [b"h"]]
            client.close()


def commands_that_change_nothing_keep_no_memory(arguments):
    """valkey-io/valkey#2973: a path without success forgot what it had built."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        client.call("HSET", "h", "f", "text")
        nothing = (
            encode("HDEL", "h", "none", "none")
            + encode("HSETNX", "h", "f", "x")
            + encode("HINCRBY", "h", "f", 1)
            + encode("HINCRBYFLOAT", "new", "f", "junk")
            + encode("HSET", "h", "odd")
            + encode("HRANDFIELD", "h", -2, "junk")
        )

        def repeat(n):
            for _ in range(n):
                client.write(nothing * 200)
                for _ in range(200 * 6):
                    client.read()
            return int(server.info(client, "used_memory")), server.resident()

        used, resident = repeat(5)
        used_later, resident_later = repeat(60)
        assert used_later == used, (used, used_later)
        assert resident_later - resident < 1 << 20 or server.has_sanitizer()
        client.close()


def scan_through(client, words, change):
    """All that a scan shows, while change() is called between its pages."""
    seen = set()
    cursor = b"0"
    for _ in range(100000):
        cursor, page = client.call(*words[:-1], cursor, *words[-1])
        seen.update(page)
        if cursor == b"0":
            return seen
        change()
    raise AssertionError("a scan does not end")


def scans_show_what_stays_while_the_rest_changes(arguments):
    """valkey-io/valkey#1146, #1147: a scan left out entries while the table was rebuilt."""
    with Folder() as folder, Server(
        arguments.torcd, folder, "--hash-max-listpack-entries", 64
    ) as server:
        for road, client in enumerate(roads(arguments, server)):
            for seed in range(4):
                rng = random.Random(seed)
                stay = {b"stay:%d" % i for i in range(300)}
                extra = [b"extra:%d" % i for i in range(4000)]
                key = "h:%d:%d" % (road, seed)

                def change():
                    some = rng.sample(extra, rng.randrange(1, 150))
                    if rng.random() < 0.5:
                        client.call("HSET", key, *[w for f in some for w in (f, "v")])
                        for name in some[:20]:
                            client.call("HSET", name, "f", "v")
                    else:
                        client.call("HDEL", key, *some)
                        client.call("DEL", *some)

                client.call("HSET", key, *[w for f in sorted(stay)[:50] for w in (f, "v")])
                assert client.call("OBJECT", "ENCODING", key) == b"listpack"
                client.call("HSET", key, *[w for f in stay for w in (f, "v")])
                assert client.call("OBJECT", "ENCODING", key) == b"hashtable"
                for name in stay:
                    client.call("HSET", name, "f", "v")
                count = rng.choice((1, 2, 5))
                seen = scan_through(client, ("HSCAN", key, ("COUNT", count, "NOVALUES")), change)
                assert stay <= seen and seen <= stay | set(extra), (seed, stay - seen)
                seen = scan_through(client, ("SCAN", ("COUNT", count)), change)
                assert stay <= seen, (seed, stay - seen)
            client.call("FLUSHALL")
            client.close()


def patterns_see_names_as_printed_and_keep_pairs_together(arguments):
    """redis/redis#1354: MATCH ran over entries stored as integers."""
    with Folder() as folder:
        for entries in (0, 512):
            with Server(
                arguments.torcd, folder, "--hash-max-listpack-entries", entries
            ) as server:
                for client in roads(arguments, server):
                    client.call("HSET", "h", 1, "a", 2, "b", "key1", 3)
                    for pattern, wanted in (
                        ("1", [b"1", b"a"]),
                        ("key1", [b"key1", b"3"]),
                        ("zz", []),
                        ("3", []),
                    ):
                        page = client.call("HSCAN", "h", 0, "MATCH", pattern, "COUNT", 100)
                        assert page == [b"0", wanted], (pattern, page)
                    page = client.call("HSCAN", "h", 0, "MATCH", "*", "COUNT", 100)[1]
                    pairs = dict(zip(page[::2], page[1::2]))
                    assert pairs == {b"1": b"a", b"2": b"b", b"key1": b"3"}, pairs
                    client.close()


def random_fields_have_the_shape_of_their_arguments(arguments):
    """dragonflydb/dragonfly#2249, #1707: the shape depended on the number of results."""
    shapes = (
        ((), b"$1\r\na\r\n", b"$1\r\na\r\n", b"$-1\r\n", b"_\r\n"),
        ((1,), b"*1\r\n$1\r\na\r\n", b"*1\r\n$1\r\na\r\n", b"*0\r\n", b"*0\r\n"),
        ((-1,), b"*1\r\n$1\r\na\r\n", b"*1\r\n$1\r\na\r\n", b"*0\r\n", b"*0\r\n"),
        (
            (1, "WITHVALUES"),
            b"*2\r\n$1\r\na\r\n$1\r\n1\r\n",
            b"*1\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n",
            b"*0\r\n",
            b"*0\r\n",
        ),
        (
            (4, "WITHVALUES"),
            b"*2\r\n$1\r\na\r\n$1\r\n1\r\n",
            b"*1\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n",
            b"*0\r\n",
            b"*0\r\n",
        ),
    )
    with Folder() as folder:
        for entries in (0, 512):
            with Server(
                arguments.torcd, folder, "--hash-max-listpack-entries", entries
            ) as server:
                for protocol in (2, 3):
                    client = server.connect(protocol)
                    client.call("HSET", "h", "a", "1")
                    for shape in shapes:
                        expect_bytes(client, ("HRANDFIELD", "h") + shape[0], shape[protocol - 1])
                        expect_bytes(client, ("HRANDFIELD", "no") + shape[0], shape[protocol + 1])
                    client.close()


def expect_bytes(client, words, wanted):
    """The reply to `words`, and nothing but it, before that of a PING behind it."""
    client.write(encode(*words) + encode("PING"))
    got = client.take(len(wanted) + len(b"+PONG\r\n"))
    assert got == wanted + b"+PONG\r\n", (words, got, wanted)


def huge_random_counts_are_refused_and_nobody_waits(arguments):
    """redis/redis#8429: the answer to a huge negative count was allocated first."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        other = server.connect()
        other.call("HSET", "h", "a", "1", "b", "2", "c", "3")
        clients = roads(arguments, server)
        before = server.resident()
        counts = (-(10**9), -(10**8), -(2**62), -(2**21))
        for count in counts:
            for extra in ((), ("WITHVALUES",)):
                for client in clients:
                    client.write(encode("HRANDFIELD", "h", count, *extra))
                for _ in range(20):
                    assert other.call("HLEN", "h") == 3
                for client in clients:
                    reply = client.read()
                    assert isinstance(reply, Failure), (count, reply)
        for client in clients:
            assert sorted(client.call("HRANDFIELD", "h", 2**62)) == [b"a", b"b", b"c"]
            assert len(client.call("HRANDFIELD", "h", 10**9, "WITHVALUES")) == 6
            reply = client.call("HRANDFIELD", "h", 2**63 - 1, "WITHVALUES")
            assert reply == Failure(b"ERR value is out of range"), reply
        assert server.resident() - before < 4 << 20 or server.has_sanitizer()
        # What is not refused is answered in full, and what it took is not kept.
        for client in clients:
            assert len(client.call("HRANDFIELD", "h", -(2**13))) == 2**13
        close(clients)
        other.close()


def every_random_count_has_exactly_one_reply(arguments):
    """microsoft/garnet#2038: some counts had no reply, and later replies shifted."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            client.call("HSET", "h", "a", "1", "b", "2", "c", "3")
            sizes = (0, 1, 2**29, 2**30, 2**31 - 1, 2**31, 2**32, 2**62)
            for count in sizes + tuple(-n for n in sizes):
                nonce = "nonce%d" % count
                client.write(encode("HRANDFIELD", "h", count) + encode("ECHO", nonce))
                reply = client.read()
                if count >= 0:
                    assert len(reply) == min(count, 3), (count, reply)
                else:
                    assert isinstance(reply, Failure) or len(reply) == -count, (count, reply)
                assert client.read() == nonce.encode()
            client.close()


def decimal_sums_are_those_of_redis(arguments):
    """redis/redis#10618, apache/kvrocks#166: 80 bits, printed with 17 places."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            for before, by, after in (
                ("5200", "10.43", b"5210.43000000000000016"),
                ("1000", "0.1", b"1000.09999999999999998"),
                ("76.52", "145.94", b"222.45999999999999999"),
                ("10.50", "0.1", b"10.6"),
                ("17179869184", "1.5", b"17179869185.5"),
                ("9007199254740993", "1", b"9007199254740994"),
                ("99999999999999999999", "1", b"100000000000000000000"),
            ):
                client.call("HSET", "h", "n", before)
                assert client.call("HINCRBYFLOAT", "h", "n", by) == after, (before, by)
                assert client.call("HGET", "h", "n") == after
            client.close()


def empty_replies_are_the_same_in_every_form(arguments):
    """Snapchat/KeyDB#61, redis/redis#7776, #7781: what is empty had another type in one form."""
    wanted = {
        ("HKEYS", "no"): (b"*0\r\n", b"*0\r\n"),
        ("HVALS", "no"): (b"*0\r\n", b"*0\r\n"),
        ("HGETALL", "no"): (b"*0\r\n", b"%0\r\n"),
        ("HMGET", "h", "x", "y"): (b"*2\r\n$-1\r\n$-1\r\n", b"*2\r\n_\r\n_\r\n"),
        ("HMGET", "no", "x", "y"): (b"*2\r\n$-1\r\n$-1\r\n", b"*2\r\n_\r\n_\r\n"),
        ("HGET", "h", "x"): (b"$-1\r\n", b"_\r\n"),
        ("HLEN", "no"): (b":0\r\n", b":0\r\n"),
        ("HSTRLEN", "h", "x"): (b":0\r\n", b":0\r\n"),
        ("HEXISTS", "h", "x"): (b":0\r\n", b":0\r\n"),
        ("HRANDFIELD", "no", "3"): (b"*0\r\n", b"*0\r\n"),
        ("HSCAN", "no", "0"): (b"*2\r\n$1\r\n0\r\n*0\r\n",) * 2,
        ("HSCAN", "h", "0", "MATCH", "x"): (b"*2\r\n$1\r\n0\r\n*0\r\n",) * 2,
        ("SCAN", "0", "MATCH", "none"): (b"*2\r\n$1\r\n0\r\n*0\r\n",) * 2,
        ("KEYS", "none"): (b"*0\r\n", b"*0\r\n"),
    }
    with Folder() as folder:
        for entries in (0, 512):
            with Server(
                arguments.torcd, folder, "--hash-max-listpack-entries", entries
            ) as server:
                for protocol in (2, 3):
                    client = server.connect(protocol)
                    client.call("HSET", "h", "a", "1")
                    for words, replies in wanted.items():
                        expect_bytes(client, words, replies[protocol - 2])
                    client.close()


def names_are_opaque_bytes(arguments):
    """feast-dev/feast#2264: what one side normalised the other did not find."""
    names = [
        b"",
        b"\x00",
        b"\r\n",
        b"\x0d\x0a\xff\x00",
        b"{a}{b}",
        b"\x7b\x7d\x22\x27",
        b" lead and trail ",
        b"\xff\xfe\xfd\xfc",
        "ä€".encode(),
        b"007",
        b"-0",
        b"1e3",
    ]
    with Folder() as folder:
        for entries in (0, 512):
            with Server(
                arguments.torcd, folder, "--hash-max-listpack-entries", entries
            ) as server:
                clients = roads(arguments, server)
                for i, name in enumerate(names):
                    writer = clients[i % 2]
                    assert writer.call("HSET", name, *[w for n in names for w in (n, n)]) == len(
                        names
                    )
                for client in clients:
                    assert set(client.call("KEYS", "*")) == set(names)
                    assert set(client.call("SCAN", 0, "COUNT", 1000)[1]) == set(names)
                    for key in names:
                        page = client.call("HSCAN", key, 0, "COUNT", 1000)[1]
                        assert sorted(page[::2]) == sorted(names) and page[::2] == page[1::2]
                        assert client.call("HMGET", key, *names) == names
                close(clients)


def repeated_names_are_answered_each_time(arguments):
    """feast-dev/feast#6841: one name asked for over and over."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            client.call("HSET", "h", "f", "v", "g", "w")
            for n in (1, 100, 10000):
                assert client.call("HMGET", "h", *(["f"] * n)) == [b"v"] * n
            assert client.call("HMGET", "h", "f", "none", "g", "f") == [b"v", None, b"w", b"v"]
            client.close()


def deleted_fields_give_their_memory_back(arguments):
    """redis/redis#13612: memory kept growing though it was made compact."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        put_fields(client, "h", range(200000), "value of some length")
        full = int(server.info(client, "arena_committed"))
        for at in range(0, 200000, 5000):
            client.call("HDEL", "h", *["f%d" % i for i in range(at, at + 5000) if i % 32])
        assert client.call("HLEN", "h") == 6250

        def is_compact():
            used = int(server.info(client, "used_memory"))
            committed = int(server.info(client, "arena_committed"))
            # The arena keeps 4 MiB of free pages, and segments are 256 KiB.
            return used < full // 8 and committed < 2 * used + (5 << 20)

        wait_until(is_compact, "memory is given back")
        assert client.call("HGET", "h", "f32") == b"value of some length"
        client.close()


def churn_stays_near_the_limit_of_memory(arguments):
    """redis/redis#2136: the limit held, but the pages behind it were a fifth more."""
    limit = 24 << 20
    rng = random.Random(5)
    with Folder() as folder, Server(arguments.torcd, folder, "--maxmemory", limit) as server:
        client = server.connect()
        n = 0
        while True:
            words = [w for i in range(n, n + 500) for w in ("f%d" % i, b"x" * 100)]
            if isinstance(client.call("HSET", "h%d" % (n // 500 % 20), *words), Failure):
                break
            n += 500
        assert n * 100 > limit // 2, n
        refused = 0
        for turn in range(6):
            size = 60 if turn % 2 == 0 else 180
            for at in rng.sample(range(0, n, 500), n // 1000):
                words = [w for i in range(at, at + 500) for w in ("f%d" % i, b"y" * size)]
                refused += isinstance(client.call("HSET", "h%d" % (at // 500 % 20), *words), Failure)
            committed = int(server.info(client, "arena_committed"))
            # Free pages that are kept, and a segment or two for the cleaner.
            assert committed <= limit + (6 << 20), committed
            assert int(server.info(client, "used_memory")) <= limit + (1 << 20)
        print("# %d fields, %d commands refused, %.2f of the limit" % (n, refused, committed / limit))
        client.close()
