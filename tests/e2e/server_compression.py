#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""value-compression-min-bytes over both roads: every command that reads or writes values of a full
hash answers the same with it as without; memory falls; wrong settings are refused."""

import json
import random
import subprocess

from torcd_harness import Failure, Folder, Ring, Server, parse_arguments

N_FIELDS = 60


def document(number, length):
    """JSON of about `length` bytes."""
    rng = random.Random(number)
    rows = []
    made = 0
    while made < length:
        row = {"id": rng.randrange(10**6), "name": "sensor-%d" % rng.randrange(100),
               "unit": "degrees", "value": round(rng.uniform(-50, 50), 2)}
        rows.append(json.dumps(row))
        made += len(rows[-1])
    return "\n".join(rows).encode()


def fill(client):
    """Documents, noise of the same lengths, numbers. The values by field."""
    values = {}
    for i in range(N_FIELDS):
        kind = i % 3
        values[b"f%d" % i] = (
            document(i, 100 + 97 * i) if kind == 0
            else random.Random(i).randbytes(100 + i) if kind == 1
            else b"%d" % (i * 1000)
        )
    values[b"large"] = document(1000, 300000)
    values[b"largest"] = b"x" * ((1 << 20) + 1)
    for field, value in values.items():
        assert client.call("HSET", "h", field, value) == 1
    assert client.call("OBJECT", "ENCODING", "h") == b"hashtable"
    return values


def pairs_of(flat):
    return dict(zip(flat[::2], flat[1::2]))


def every_command_sees_the_text(client):
    values = fill(client)
    names = list(values)
    for field, value in values.items():
        assert client.call("HGET", "h", field) == value
        assert client.call("HSTRLEN", "h", field) == len(value)
        assert client.call("HEXISTS", "h", field) == 1
        assert client.call("HSETNX", "h", field, "other") == 0
    assert client.call("HMGET", "h", *names, "none") == [*values.values(), None]
    # More text than the server has room for at a time.
    assert client.call("HMGET", "h", *["large"] * 50) == [values[b"large"]] * 50
    assert pairs_of(client.call("HGETALL", "h")) == values
    assert sorted(client.call("HKEYS", "h")) == sorted(names)
    assert sorted(client.call("HVALS", "h")) == sorted(values.values())
    cursor, page = client.call("HSCAN", "h", 0, "COUNT", 10000)
    assert cursor == b"0" and pairs_of(page) == values
    cursor, page = client.call("HSCAN", "h", 0, "COUNT", 10000, "NOVALUES")
    assert sorted(page) == sorted(names)
    cursor, page = client.call("HSCAN", "h", 0, "MATCH", "f3*", "COUNT", 10000)
    assert pairs_of(page) == {f: v for f, v in values.items() if f.startswith(b"f3")}
    assert sorted(client.call("HRANDFIELD", "h", 1000)) == sorted(names)
    for count in (5, 40, 1000, -50):
        flat = client.call("HRANDFIELD", "h", count, "WITHVALUES")
        if flat and isinstance(flat[0], list):
            flat = [word for row in flat for word in row]
        assert all(values[f] == v for f, v in zip(flat[::2], flat[1::2])), count
        assert len(flat) == 2 * (min(count, len(values)) if count > 0 else -count)
    # Numbers: what is compressed is none, and stays; what takes its place is one.
    failure = client.call("HINCRBY", "h", "f0", 1)
    assert isinstance(failure, Failure) and b"not an integer" in failure
    assert isinstance(client.call("HINCRBYFLOAT", "h", "f0", "1.5"), Failure)
    assert client.call("HGET", "h", "f0") == values[b"f0"]
    assert client.call("HSET", "h", "f0", 10) == 0
    assert client.call("HINCRBY", "h", "f0", 5) == 15
    assert client.call("HSET", "h", "f0", values[b"f0"]) == 0
    assert client.call("HGET", "h", "f0") == values[b"f0"]
    usage = client.call("MEMORY", "USAGE", "h")
    assert client.call("HDEL", "h", *names) == len(names)
    assert client.call("EXISTS", "h") == 0
    return usage


def a_refused_write_changes_nothing(arguments):
    with Folder() as folder, Server(
        arguments.torcd, folder, "--value-compression-min-bytes", 64, "--maxmemory", "4mb",
        "--hash-max-listpack-entries", 0,
    ) as server:
        client = server.connect()
        kept = {}
        for i in range(100000):
            value = document(i % 50, 5000)
            reply = client.call("HSET", "h", "f%d" % i, value)
            if isinstance(reply, Failure):
                assert reply.startswith(b"OOM"), reply
                break
            kept[b"f%d" % i] = value
        else:
            raise AssertionError("never full")
        assert sum(map(len, kept.values())) > 2 * (4 << 20)
        assert pairs_of(client.call("HGETALL", "h")) == kept
        client.close()


def wrong_settings_are_refused(arguments):
    for value in ("-1", "1", "63", "1048577", "no"):
        run = subprocess.run(
            [arguments.torcd, "--port", "0", "--value-compression-min-bytes", value],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert run.returncode != 0 and b"value-compression-min-bytes" in run.stdout, run


def main():
    arguments = parse_arguments()
    usages = {}
    for least in (0, 64, 1000):
        with Folder() as folder, Server(
            arguments.torcd, folder, "--value-compression-min-bytes", least,
            "--hash-max-listpack-entries", 0,
        ) as server:
            for client in (server.connect(), Ring(arguments.ring, server.control)):
                usages[least] = every_command_sees_the_text(client)
                client.close()
    print("# bytes of the hash by value-compression-min-bytes: %s" % usages)
    assert usages[64] < usages[1000] < usages[0]
    a_refused_write_changes_nothing(arguments)
    wrong_settings_are_refused(arguments)
    print("ok")


if __name__ == "__main__":
    main()
