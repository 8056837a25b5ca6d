# SPDX-License-Identifier: Apache-2.0
"""Tests of public_faults.py about fields and keys that end at a time. Each runs over RESP and over a ring."""

import re

from faults_hash import close, expect_bytes, roads
from torcd_harness import Failure, Folder, Server, encode, wait_until

FAR = 32503680000  # seconds since 1970: the year 3000
REPRESENTATIONS = ((), ("--hash-max-listpack-entries", 0))


def ints(reply):
    """Of an array over a ring, whose numbers come as strings."""
    return [int(item) for item in reply]


def refused(client, *words):
    reply = client.call(*words)
    assert isinstance(reply, Failure), (words, reply)
    return bytes(reply)


def on_both_forms(arguments, test):
    """test(server, client) on compact and on full hashes, over each road, each time on an empty server."""
    for options in REPRESENTATIONS:
        with Folder() as folder, Server(arguments.torcd, folder, *options) as server:
            clients = roads(arguments, server)
            for client in clients:
                client.call("FLUSHALL")
                test(server, client)
            close(clients)


def wait_until_ended(client, key, field):
    wait_until(lambda: ints(client.call("HPTTL", key, "FIELDS", 1, field)) == [-2], "the field has ended")


def n_with_times(client):
    """Hashes of the database that have fields with times, as INFO counts them."""
    found = re.search(rb"subexpiry=(\d+)", client.call("INFO", "keyspace"))
    return int(found.group(1)) if found else 0


def a_field_named_twice_is_set_once(arguments):
    """redis/redis#14956: HSETEX with a field twice ended the server."""

    def test(_, client):
        client.call("HSET", "h", "f", "v")
        assert client.call("HSETEX", "h", "EXAT", FAR, "FIELDS", 2, "f", "a", "f", "b") == 1
        assert client.call("HSETEX", "n", "FNX", "EXAT", FAR, "FIELDS", 2, "g", "a", "g", "b") == 1
        for key, field in (("h", "f"), ("n", "g")):
            assert client.call("HGETALL", key) == [field.encode(), b"b"]
            assert ints(client.call("HEXPIRETIME", key, "FIELDS", 1, field)) == [FAR]
        assert n_with_times(client) == 2

    on_both_forms(arguments, test)


def blocks_without_a_number_are_refused(arguments):
    """redis/redis commit 3e2003e: FIELDS as the last word had what is behind it read."""

    def test(_, client):
        client.call("HSET", "k", "a", "1")
        for words in (
            ("HGETEX", "k", "EX", 10, "FIELDS"),
            ("HSETEX", "k", "KEEPTTL", "FNX", "FIELDS"),
            ("HSETEX", "k", "EX", 10, "KEEPTTL", "FIELDS"),
            ("HEXPIRE", "k", 10, "NX", "NX", "FIELDS"),
            ("HEXPIRE", "k", 10, "NX", "FIELDS", 1),
        ):
            assert refused(client, *words).startswith(b"ERR "), words
        assert ints(client.call("HTTL", "k", "FIELDS", 1, "a")) == [-1]

    on_both_forms(arguments, test)


def counts_match_the_fields_exactly(arguments):
    """redis/redis#13369: fields beyond the number were left out without a word."""

    def test(_, client):
        client.call("HSETEX", "h", "EXAT", FAR, "FIELDS", 2, "a", "1", "b", "2")
        for words in (
            ("HTTL", "h", "FIELDS", 1, "a", "b"),
            ("HPERSIST", "h", "FIELDS", 2, "a"),
            ("HPERSIST", "h", "FIELDS", 1, "a", "b"),
            ("HGETDEL", "h", "FIELDS", 1, "a", "b"),
            ("HEXPIRE", "h", 0, "FIELDS", 1, "a", "b"),
            ("HGETEX", "h", "PERSIST", "FIELDS", 1, "a", "b"),
        ):
            refused(client, *words)
        assert client.call("HMGET", "h", "a", "b") == [b"1", b"2"]
        assert ints(client.call("HEXPIRETIME", "h", "FIELDS", 2, "a", "b")) == [FAR, FAR]

    on_both_forms(arguments, test)


def negative_times_are_refused_for_fields_and_past_for_keys(arguments):
    """redis/redis#13310: negative times of fields were taken."""

    def test(_, client):
        client.call("HSET", "h", "a", "1")
        for name in ("HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT"):
            for time in (-1, -(2**63)):
                text = refused(client, name, "h", time, "FIELDS", 1, "a")
                assert text == b"ERR invalid expire time, must be >= 0", text
        assert client.call("HGET", "h", "a") == b"1"
        assert client.call("EXPIRE", "h", -1) == 1
        assert client.call("EXISTS", "h") == 0

    on_both_forms(arguments, test)


def counters_of_times_are_right_after_every_command(arguments):
    """redis/redis#13470: a hash was counted though its last field with a time was gone."""

    def test(_, client):
        def with_time():
            client.call("HSETEX", "h", "EXAT", FAR, "FIELDS", 1, "a", "1")
            client.call("HSET", "h", "b", "2")
            assert n_with_times(client) == 1

        for words in (
            ("HDEL", "h", "a"),
            ("HPERSIST", "h", "FIELDS", 1, "a"),
            ("HGETEX", "h", "PERSIST", "FIELDS", 1, "a"),
            ("HSET", "h", "a", "3"),
            ("HSETEX", "h", "FIELDS", 1, "a", "3"),
            ("HGETDEL", "h", "FIELDS", 1, "a"),
            ("HPEXPIRE", "h", 0, "FIELDS", 1, "a"),
            ("DEL", "h"),
            ("FLUSHALL",),
        ):
            with_time()
            assert not isinstance(client.call(*words), Failure), words
            assert n_with_times(client) == 0, words
        with_time()
        client.call("HINCRBY", "h", "a", 1)
        client.call("HSETEX", "h", "KEEPTTL", "FIELDS", 1, "a", "5")
        assert n_with_times(client) == 1
        client.call("RENAME", "h", "i")
        client.call("COPY", "i", "j")
        assert n_with_times(client) == 2
        client.call("HSETEX", "i", "PX", 1, "FIELDS", 1, "a", "1")
        wait_until(lambda: n_with_times(client) == 1, "the field of i is not counted any more")
        client.call("EXPIRE", "j", 0)
        assert n_with_times(client) == 0

    on_both_forms(arguments, test)


def a_refused_condition_creates_nothing(arguments):
    """valkey-io/valkey#2716: FXX on an absent key left an empty one."""

    def test(_, client):
        assert client.call("HSETEX", "n", "FXX", "EX", 10, "FIELDS", 1, "a", "1") == 0
        assert client.call("EXISTS", "n") == 0 and client.call("DBSIZE") == 0
        assert client.call("HSETEX", "n", "FNX", "FIELDS", 1, "a", "1") == 1
        assert client.call("HSETEX", "n", "FNX", "FIELDS", 2, "b", "1", "a", "2") == 0
        assert client.call("HGETALL", "n") == [b"a", b"1"]

    on_both_forms(arguments, test)


def absent_keys_have_an_array_of_nils(arguments):
    """valkey-io/valkey#2462: HGETEX of an absent key answered one nil."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for client in roads(arguments, server):
            for options in ([], ["EX", 10], ["PERSIST"]):
                assert client.call("HGETEX", "none", *options, "FIELDS", 2, "a", "b") == [None, None]
            assert client.call("PING") == b"PONG"
            client.close()
        for protocol, nil in ((2, b"$-1\r\n"), (3, b"_\r\n")):
            client = server.connect(protocol)
            expect_bytes(client, ["HGETEX", "none", "FIELDS", 2, "a", "b"], b"*2\r\n" + nil + nil)
            expect_bytes(client, ["HGETDEL", "none", "FIELDS", 1, "a"], b"*1\r\n" + nil)
            expect_bytes(client, ["ECHO", "x"], b"$1\r\nx\r\n")
            client.close()


def words_of_times_are_read_in_any_case(arguments):
    """valkey-io/valkey#3000: `fields` in lower case was not known."""

    def test(_, client):
        assert client.call("hsetex", "h", "ex", 10, "fields", 1, "a", "1") == 1
        assert client.call("HgEtEx", "h", "pErSiSt", "FiElDs", 1, "a") == [b"1"]
        assert ints(client.call("hexpireat", "h", FAR, "nx", "fields", 1, "a")) == [1]
        assert ints(client.call("hexpiretime", "h", "fields", 1, "a")) == [FAR]
        assert client.call("expireat", "h", FAR, "nX") == 1
        assert client.call("copy", "h", "i", "rEpLaCe") == 1

    on_both_forms(arguments, test)


def what_replaces_a_hash_leaves_none_of_its_times(arguments):
    """valkey-io/valkey#3003: times of a hash that was replaced were followed in what replaced it."""

    def test(_, client):
        def with_time():
            client.call("HSETEX", "h", "PX", 20, "FIELDS", 1, "a", "1")
            client.call("PEXPIRE", "h", 25)

        for i, replace in enumerate(
            (
                lambda: client.call("COPY", "other", "h", "REPLACE"),
                lambda: (client.call("COPY", "other", "o"), client.call("RENAME", "o", "h")),
                lambda: (client.call("DEL", "h"), client.call("HSET", "h", "a", "stays")),
                lambda: (client.call("FLUSHDB"), client.call("HSET", "h", "a", "stays")),
            )
        ):
            client.call("HSET", "other", "a", "stays")
            with_time()
            replace()
            clock = "clock%d" % i
            client.call("HSETEX", clock, "PX", 40, "FIELDS", 1, "a", "1")
            wait_until_ended(client, clock, "a")
            assert client.call("HGETALL", "h") == [b"a", b"stays"], i
            assert ints(client.call("HTTL", "h", "FIELDS", 1, "a")) == [-1]
            assert client.call("TTL", "h") == -1
            wait_until(lambda: n_with_times(client) == 0, "nothing is counted")

    on_both_forms(arguments, test)


def times_of_absent_fields_keep_no_memory(arguments):
    """valkey-io/valkey#2973: HEXPIRE of absent fields kept what it had built."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        client.call("HSET", "h", "f", "text")
        nothing = (
            encode("HEXPIRE", "h", 0, "FIELDS", 1, "none")
            + encode("HGETEX", "h", "EX", 0, "FIELDS", 1, "none")
            + encode("HSETEX", "h", "FXX", "EX", 9, "FIELDS", 2, "f", "1", "none", "2")
            + encode("HGETDEL", "h", "FIELDS", 2, "none", "none")
            + encode("HPERSIST", "h", "FIELDS", 1, "f")
            + encode("EXPIRE", "none", 10)
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


def ended_fields_are_not_revived(arguments):
    """valkey-io/valkey#4732: commands that name a field that has ended beside one that lives changed it, too."""

    def test(_, client):
        for words, codes in (
            (("HPERSIST", "h", "FIELDS", 2, "dead", "live"), [-2, 1]),
            (("HEXPIRE", "h", 100, "FIELDS", 2, "dead", "live"), [-2, 1]),
        ):
            client.call("HSET", "h", "stays", "0")
            client.call("HSETEX", "h", "EX", 1000, "FIELDS", 1, "live", "1")
            client.call("HSETEX", "h", "PX", 1, "FIELDS", 1, "dead", "1")
            wait_until_ended(client, "h", "dead")
            assert ints(client.call(*words)) == codes
            assert client.call("HMGET", "h", "dead", "live") == [None, b"1"]
            assert client.call("HLEN", "h") == 2
        client.call("HSETEX", "h", "PX", 1, "FIELDS", 1, "dead", "1")
        wait_until_ended(client, "h", "dead")
        assert client.call("HGETDEL", "h", "FIELDS", 2, "dead", "live") == [None, b"1"]
        client.call("HSETEX", "h", "PX", 1, "FIELDS", 1, "dead", "1")
        wait_until_ended(client, "h", "dead")
        assert client.call("HDEL", "h", "dead", "stays") == 1
        assert client.call("EXISTS", "h") == 0

    on_both_forms(arguments, test)


def many_fields_of_one_second_and_one_of_the_next(arguments):
    """valkey-io/valkey#3950: removing all but the last of many due fields left the index broken."""

    def test(_, client):
        pairs = [word for i in range(200) for word in ("f%d" % i, "v")]
        for last in (
            ("HDEL", "h", "last"),
            ("HSETEX", "h", "FIELDS", 1, "last", "w"),
            ("HPERSIST", "h", "FIELDS", 1, "last"),
        ):
            client.call("DEL", "h")
            client.call("HSETEX", "h", "EXAT", FAR, "FIELDS", 1, "last", "v")
            client.call("HSETEX", "h", "PX", 5, "FIELDS", 200, *pairs)
            # Read once and again while fields of a second go, in steps of the server's choosing.
            wait_until(lambda: client.call("HLEN", "h") == 1, "one field is left")
            assert client.call("HGETALL", "h") == [b"last", b"v"]
            assert not isinstance(client.call(*last), Failure)
            assert client.call("HLEN", "h") == (last[0] != "HDEL") and n_with_times(client) == 0

    on_both_forms(arguments, test)


def increments_keep_the_time(arguments):
    """dragonflydb/dragonfly#6184: HINCRBY took the time away."""

    def test(_, client):
        client.call("HSETEX", "h", "EXAT", FAR, "FIELDS", 2, "f", "9", "long", "1" + "0" * 62)
        assert client.call("HINCRBY", "h", "f", 1) == 10
        assert client.call("HINCRBYFLOAT", "h", "f", "1.5") == b"11.5"
        assert len(client.call("HINCRBYFLOAT", "h", "long", "9" + "0" * 62)) == 64
        assert ints(client.call("HEXPIRETIME", "h", "FIELDS", 2, "f", "long")) == [FAR, FAR]

    on_both_forms(arguments, test)


def only_the_public_form_of_hsetex(arguments):
    """dragonflydb/dragonfly#6187: a private form with a time behind the key was taken."""

    def test(_, client):
        assert refused(client, "HSETEX", "h", 100, "f", "v").startswith(b"ERR ")
        assert refused(client, "HSETEX", "h", 100, "f", "v", "g", "w").startswith(b"ERR ")
        assert client.call("EXISTS", "h") == 0

    on_both_forms(arguments, test)


def a_view_of_many_has_times_of_its_own(arguments):
    """feast-dev/feast#3596: a time for each view needs a hash for each view."""

    def test(_, client):
        names = [["view%d:%d" % (v, i) for i in range(12)] for v in range(10)]
        for v, fields in enumerate(names):
            client.call("HSET", "entity", *[word for f in fields for word in (f, "%d" % v)])
            assert ints(client.call("HEXPIREAT", "entity", FAR + v, "FIELDS", 12, *fields)) == [1] * 12
        replies = client.pipeline([("HMGET", "entity", *fields) for fields in names] * 50)
        assert replies == [[b"%d" % v] * 12 for v in range(10)] * 50
        assert ints(client.call("HPEXPIRE", "entity", 0, "FIELDS", 12, *names[3])) == [2] * 12
        assert client.call("HLEN", "entity") == 108
        for v, fields in enumerate(names):
            wanted = [-2] * 12 if v == 3 else [FAR + v] * 12
            assert ints(client.call("HEXPIRETIME", "entity", "FIELDS", 12, *fields)) == wanted

    on_both_forms(arguments, test)


def a_time_that_is_only_ever_extended(arguments):
    """feast-dev/feast#555: keys lived for ever, and a later write may only extend their time."""

    def test(_, client):
        client.call("HSET", "k", "f", "v")
        assert client.call("EXPIRE", "k", 100) == 1
        assert client.call("EXPIRE", "k", 10, "GT") == 0 and client.call("TTL", "k") > 10
        assert client.call("EXPIREAT", "k", FAR, "GT") == 1
        assert client.call("EXPIRETIME", "k") == FAR

    on_both_forms(arguments, test)
