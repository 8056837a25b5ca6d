#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of the server as its clients see it: eviction at maxmemory, MEMORY, TORC.OPTIMIZE, and
realtime mode, over RESP and over a ring."""

import ctypes
import random
import resource

import torcd_harness as harness
from torcd_harness import Failure, Folder, Redis, Ring, Server, run_tests, wait_until

ARGUMENTS = harness.parse_arguments()
MIB = 1 << 20
OOM = b"OOM command not allowed when used memory > 'maxmemory'."
PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14


def roads(server):
    """A connection for INFO, and both ways to send commands."""
    resp = server.connect()
    return resp, {"resp": server.connect(), "ring": Ring(ARGUMENTS.ring, server.control)}


def close(*streams):
    for stream in streams:
        stream.close()


def number(server, connection, field):
    return int(server.info(connection, field))


# --- eviction ---


def writes_go_on_at_the_limit_and_keys_go():
    for policy in ("allkeys-random", "allkeys-lru"):
        options = ("--maxmemory", "16mb", "--maxmemory-policy", policy)
        with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
            info, ways = roads(server)
            n = 0
            for stream in ways.values():
                for _ in range(25):
                    commands = [("HSET", "key:%d" % (n + i), "f", "x" * 100) for i in range(2500)]
                    assert stream.pipeline(commands) == [1] * 2500
                    n += 2500
                    used = number(server, info, "used_memory")
                    assert used <= 16 * MIB, used
            evicted = number(server, info, "evicted_keys")
            assert evicted > n / 10, evicted
            assert info.call("DBSIZE") + evicted == n
            assert number(server, info, "used_memory") > 12 * MIB
            assert server.info(info, "maxmemory_policy") == policy
            # The peak is of samples: it may have passed the limit by a segment of the cleaner.
            assert number(server, info, "used_memory_peak") <= 16 * MIB + 256 * 1024
            info.call("CONFIG", "RESETSTAT")
            assert number(server, info, "evicted_keys") == 0
            assert info.call("CONFIG", "GET", "maxmemory-policy")[1] == policy.encode()
            assert info.call("CONFIG", "GET", "maxmemory-samples")[1] == b"5"
            close(info, *ways.values())


def keys_that_are_read_stay():
    options = ("--maxmemory", "16mb", "--maxmemory-policy", "allkeys-lru")
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
        info, ways = roads(server)
        hot = ["hot:%d" % i for i in range(1000)]
        touches = {"resp": "HGET", "ring": "HEXISTS"}
        for name, stream in ways.items():
            stream.pipeline([("HSET", key, "f", "v") for key in hot])
            for i in range(30):
                stream.pipeline([("HSET", "%s:%d:%d" % (name, i, j), "f", "x" * 100) for j in range(4000)])
                stream.pipeline([(touches[name], key, "f") for key in hot])
            left = sum(info.pipeline([("EXISTS", key) for key in hot]))
            assert left >= 950, left
            # TOUCH is a use as well, EXISTS is none.
            info.call("TOUCH", *hot)
        assert number(server, info, "evicted_keys") > 50000
        close(info, *ways.values())


def noeviction_refuses_with_the_words_of_redis():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--maxmemory", "4mb") as server:
        info, ways = roads(server)
        with Redis(folder, "--maxmemory", "4mb") as redis:
            ways["redis"] = redis.connect()
            for name, stream in ways.items():
                reply, i = 1, 0
                while reply == 1:
                    i += 1
                    reply = stream.call("HSET", "%s:%d" % (name, i), "f", "x" * 20000)
                assert isinstance(reply, Failure) and reply == OOM, (name, reply)
                assert stream.call("EXISTS", "%s:%d" % (name, i)) == 0
                assert stream.call("HGET", "%s:1" % name, "f") in (b"x" * 20000, None)
                assert stream.call("FLUSHALL") == b"OK"
                wait_until(lambda s=stream: s.call("HSET", "again", "f", "x" * 100000) in (0, 1), "room")
            close(*ways.values())
        assert number(server, info, "evicted_keys") == 0
        close(info)


def what_never_fits_is_refused_and_evicts_nothing():
    options = ("--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random")
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
        info, ways = roads(server)
        for stream in ways.values():
            stream.pipeline([("HSET", "k%d" % i, "f", "v") for i in range(1000)])
            reply = stream.call("HSET", "huge", "f", b"x" * (20 * MIB))
            assert isinstance(reply, Failure) and reply == OOM, reply
            assert stream.call("EXISTS", "huge") == 0
            assert stream.call("DBSIZE") == 1000
            # One that fits the limit, but not beside the others, has them go.
            assert stream.call("HSET", "large", "f", b"x" * (2 * MIB)) == 1
            assert stream.call("HSTRLEN", "large", "f") == 2 * MIB
            assert stream.call("FLUSHALL") == b"OK"
        close(info, *ways.values())


def counters_are_kept_by_the_write_that_evicts():
    """HINCRBY at the limit: the hash that is written never goes, so no count is lost."""
    options = ("--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random")
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
        info, ways = roads(server)
        for name, stream in ways.items():
            for i in range(300):
                fills = [("HSET", "%s:%d:%d" % (name, i, j), "f", "x" * 200) for j in range(100)]
                stream.pipeline(fills)
                before = stream.call("HGET", "counter", "n")
                after = stream.call("HINCRBY", "counter", "n", 1)
                assert after == (int(before) if before else 0) + 1, (before, after)
        assert number(server, info, "evicted_keys") > 0
        close(info, *ways.values())


def the_names_of_policies_are_those_of_redis():
    with Folder() as folder:
        for policy in ("noeviction", "allkeys-lru", "allkeys-random"):
            options = ("--maxmemory", "64mb", "--maxmemory-policy", policy, "--maxmemory-samples", "7")
            with Server(ARGUMENTS.torcd, folder, *options) as server, Redis(folder, *options) as redis:
                mine, theirs = server.connect(), redis.connect()
                for name in ("maxmemory", "maxmemory-policy", "maxmemory-samples"):
                    asked = ("CONFIG", "GET", name)
                    assert mine.call(*asked) == theirs.call(*asked), name
                close(mine, theirs)


# --- MEMORY, TORC.OPTIMIZE ---


def as_dict(items):
    return {items[i].decode(): items[i + 1] for i in range(0, len(items), 2)}


def memory_stats_add_up():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server, Redis(folder) as redis:
        info, ways = roads(server)
        fields = [word for i in range(2000) for word in ("f%d" % i, "v" * 40)]
        info.call("HSET", "full", *fields)
        info.pipeline([("HSET", "c%d" % i, "a", i, "b", i) for i in range(500)])
        stats = {name: as_dict(stream.call("MEMORY", "STATS")) for name, stream in ways.items()}
        resp, ring = stats["resp"], stats["ring"]
        nested = as_dict(resp.pop("db.0"))
        assert list(nested) == ["overhead.hashtable.main"]
        assert int(ring.pop("db.0.overhead.hashtable.main")) == nested["overhead.hashtable.main"]
        assert set(resp) == set(ring)
        parts = ("index", "roots", "segments", "extents")
        assert sum(resp["torc.%s.bytes" % p] for p in parts) == resp["total.allocated"]
        assert resp["total.allocated"] == int(ring["total.allocated"])
        assert resp["total.allocated"] == number(server, info, "used_memory")
        assert resp["keys.count"] == 501 == resp["torc.keys.looked-at"]
        assert (resp["torc.compact.keys"], resp["torc.full.keys"]) == (500, 1)
        assert resp["torc.full.bytes"] == info.call("MEMORY", "USAGE", "full")
        usage = sum(info.pipeline([("MEMORY", "USAGE", "c%d" % i) for i in range(500)]))
        assert resp["torc.compact.bytes"] == usage
        assert resp["torc.sessions.count"] == 1 and resp["torc.connections.count"] == 2
        theirs = as_dict(redis.connect().call("MEMORY", "STATS"))
        own = {name for name in resp if name.startswith("torc.")}
        assert set(resp) - own <= set(theirs), set(resp) - own - set(theirs)
        for name in set(resp) - own:
            assert isinstance(theirs[name], type(resp[name])), name
        # Of many keys a part is looked at.
        info.pipeline([("HSET", "m%d" % i, "a", i) for i in range(20000)])
        resp = as_dict(ways["resp"].call("MEMORY", "STATS"))
        assert resp["torc.keys.looked-at"] == 1024
        assert 19500 <= resp["torc.compact.keys"] <= 20501
        close(info, *ways.values())


def the_doctor_sees_a_full_server():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--maxmemory", "4mb") as server:
        info, ways = roads(server)
        assert b"noeviction" not in info.call("MEMORY", "DOCTOR")
        reply, i = 1, 0
        while reply == 1:
            i += 1
            reply = info.call("HSET", "k%d" % i, "f", "x" * 20000)
        for stream in ways.values():
            assert b"writes will be refused" in stream.call("MEMORY", "DOCTOR")
        close(info, *ways.values())


def optimize_packs_one_key_or_all():
    # A busy poller is one that has no quiet time, in which memory would be packed anyway.
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        info, ways = roads(server)
        for name, stream in ways.items():
            # Built field by field, and every third field removed: slack and dead records.
            keys = ["%s:%d" % (name, k) for k in range(300)]
            for f in range(40):
                info.pipeline([("HSET", key, "field:%d" % f, "value-%d" % f) for key in keys])
            info.pipeline([("HDEL", key, *["field:%d" % f for f in range(0, 40, 3)]) for key in keys])
            before = info.call("MEMORY", "USAGE", keys[0])
            won = stream.call("TORC.OPTIMIZE", keys[0])
            assert won >= 0 and info.call("MEMORY", "USAGE", keys[0]) == before - won, (before, won)
            assert stream.call("TORC.OPTIMIZE", keys[0]) == 0
            assert stream.call("TORC.OPTIMIZE", "absent") is None
            promised = stream.call("TORC.OPTIMIZE", "ALL")
            assert promised > 0

            def is_clean():
                # Keeps it from being quiet: 100 commands each time.
                info.pipeline([("PING",)] * 100)
                stats = as_dict(info.call("MEMORY", "STATS"))
                dead, live = (stats["torc.shared-records.%s.bytes" % w] for w in ("dead", "live"))
                return dead <= 256 * 1024 + live // 50

            wait_until(is_clean, "all is packed")
            assert info.call("HLEN", keys[5]) == 26
        close(info, *ways.values())


# --- realtime ---


def mixed_load(stream, seed, n_rounds):
    rng = random.Random(seed)
    for _ in range(n_rounds):
        commands = []
        for _ in range(500):
            key = "k%d" % rng.randrange(20000)
            commands.append(("HSET", key, "f%d" % rng.randrange(30), "v" * rng.randrange(200)))
            commands.append(rng.choice((("HGETALL", key), ("HMGET", key, "f1", "f2"), ("HDEL", key, "f3"))))
        commands.append(("SCAN", 0, "COUNT", 200))
        commands.append(("HSET", "big", "f", "x" * rng.randrange(200000)))
        commands.append(("HGET", "big", "f"))
        stream.pipeline(commands)


def in_realtime_mode_the_poller_takes_no_page_faults():
    options = ("--realtime", "yes", "--maxmemory", "24mb", "--maxmemory-policy", "allkeys-lru")
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
        info, ways = roads(server)
        assert server.info(info, "realtime") == "yes"
        if server.has_sanitizer():
            print("# faults are not counted: the sanitizer's own memory takes them")
            close(info, *ways.values())
            return
        if server.info(info, "process_locked") != "yes":
            print("# memory may not be locked here: " + server.info(info, "process_locked_why"))
        for seed, stream in enumerate(ways.values()):
            mixed_load(stream, seed, 2)
        # The kernel may move or merge pages now and then; a cause of ours comes each time.
        faults = []
        for attempt in range(3):
            before = number(server, info, "poller_faults")
            for seed, stream in enumerate(ways.values()):
                mixed_load(stream, 10 * attempt + seed, 20)
            for _ in range(20):
                other = server.connect()
                other.pipeline([("PING",), ("INFO", "all"), ("MEMORY", "STATS")])
                other.close()
            late = Ring(ARGUMENTS.ring, server.control)
            mixed_load(late, 7, 2)
            late.close()
            faults.append(number(server, info, "poller_faults") - before)
            if faults[-1] == 0:
                break
        assert faults[-1] == 0, faults
        assert number(server, info, "poller_major_faults") == 0
        assert number(server, info, "evicted_keys") > 0 or number(server, info, "used_memory") > 0
        close(info, *ways.values())


def without_realtime_there_are_faults_to_count():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--maxmemory", "24mb") as server:
        info, ways = roads(server)
        mixed_load(ways["resp"], 1, 4)
        assert number(server, info, "poller_faults") > 10
        assert server.info(info, "process_locked") == "no"
        close(info, *ways.values())


def in_realtime_mode_exhaustion_is_an_error_that_changes_nothing():
    options = ("--realtime", "yes", "--maxmemory", "4mb")
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
        info, ways = roads(server)
        for name, stream in ways.items():
            reply, i = 1, 0
            while reply == 1:
                i += 1
                reply = stream.call("HSET", "%s:%d" % (name, i), "f", "x" * 5000)
            assert reply == OOM, reply
            n, used = info.call("DBSIZE"), number(server, info, "used_memory")
            for _ in range(100):
                assert stream.call("HSET", "more", "f", "x" * 5000) == OOM
            assert info.call("DBSIZE") == n and info.call("EXISTS", "more") == 0
            assert number(server, info, "used_memory") <= used
            assert stream.call("HGET", "%s:1" % name, "f") in (b"x" * 5000, None)
            assert info.call("FLUSHALL") == b"OK"
            wait_until(lambda: number(server, info, "used_memory") < MIB, "room after a flush")
        close(info, *ways.values())


def may_lock_nothing():
    """Runs in the child: neither the right nor the limit to lock memory."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))


def a_lock_that_is_refused_is_reported():
    options = ("--realtime", "yes", "--maxmemory", "4mb")
    with Folder() as folder, Server(
        ARGUMENTS.torcd, folder, *options, preexec_fn=may_lock_nothing
    ) as server:
        connection = server.connect()
        if not server.has_sanitizer():  # which does not let the process lock all of itself
            assert server.info(connection, "process_locked") == "no"
            assert "limit of locked memory" in server.info(connection, "process_locked_why")
            assert "warning server: the process is not locked in memory" in server.text()
        assert server.info(connection, "memory_locked") == "no"
        assert "limit of locked memory" in server.info(connection, "memory_locked_why")
        assert "warning server: memory is not locked" in server.text()
        assert b"memory is not locked" in connection.call("MEMORY", "DOCTOR")
        assert connection.call("HSET", "h", "f", "v") == 1
        connection.close()


if __name__ == "__main__":
    run_tests(
        [
            writes_go_on_at_the_limit_and_keys_go,
            keys_that_are_read_stay,
            noeviction_refuses_with_the_words_of_redis,
            what_never_fits_is_refused_and_evicts_nothing,
            counters_are_kept_by_the_write_that_evicts,
            the_names_of_policies_are_those_of_redis,
            memory_stats_add_up,
            the_doctor_sees_a_full_server,
            optimize_packs_one_key_or_all,
            in_realtime_mode_the_poller_takes_no_page_faults,
            without_realtime_there_are_faults_to_count,
            in_realtime_mode_exhaustion_is_an_error_that_changes_nothing,
            a_lock_that_is_refused_is_reported,
        ]
    )
