# SPDX-License-Identifier: Apache-2.0
"""torc-cli --export and --pipe: everything comes back, times included, in a torcd and in a
redis-server; what goes wrong is said."""

import argparse
import os
import shutil
import subprocess

from torcd_harness import (
    DEADLINE_S,
    Connection,
    Folder,
    Server,
    encode,
    run_tests,
    skip,
    wait_until,
)

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--torcd", required=True)
PARSER.add_argument("--cli", required=True)
ARGUMENTS = PARSER.parse_args()

PAIRS_MAX = 512
BYTES_MAX = 1 << 20


def cli(server, *arguments, **kwargs):
    return subprocess.run(
        [ARGUMENTS.cli, "-c", server.control, *arguments],
        capture_output=True,
        timeout=DEADLINE_S,
        **kwargs
    )


def binary(seed, n):
    """Bytes that look like anything, RESP included."""
    return (b"\r\n$5\r\n\0\xff*3" + bytes((seed + 7 * i) % 256 for i in range(256))) * (n // 266 + 1)


def make_data():
    mib = 1 << 20
    data = {
        b"plain": {b"a": b"1", b"b": b"two words"},
        b"": {b"": b"", b"f": b""},
        b"\0\r\n\xff key": {binary(i, 40)[:40] + bytes([i]): binary(i, 100)[:i] for i in range(100)},
        b"many": {b"field:%d" % i: b"%d" % (i * i) for i in range(5000)},
        b"long": {b"v%d" % i: binary(i, mib)[:mib] for i in range(3)},
        b"mixed": {b"small": b"x", b"longer": binary(3, mib + 1)[: mib + 1], b"last": b""},
    }
    for i in range(2000):
        data[b"user:%d" % i] = {b"name": b"n%d" % i, b"born": b"%d" % (1900 + i % 100)}
    return data


def fill(connection, data):
    for key, fields in data.items():
        words = [word for pair in fields.items() for word in pair]
        for at in range(0, len(words), 200):
            connection.call("HSET", key, *words[at : at + 200])


def read_all(connection):
    keys = set()
    cursor = b"0"
    while True:
        cursor, page = connection.call("SCAN", cursor, "COUNT", 1000)
        keys.update(page)
        if cursor == b"0":
            break
    data = {}
    for key in keys:
        words = connection.call("HGETALL", key)
        data[key] = dict(zip(words[0::2], words[1::2]))
    return data


def assert_same(got, wanted):
    assert got.keys() == wanted.keys(), (len(got), len(wanted))
    for key, fields in wanted.items():
        assert got[key] == fields, key


def commands_of(stream):
    """The commands of a RESP stream."""
    at = 0
    while at < len(stream):
        end = stream.index(b"\r\n", at)
        assert stream[at : at + 1] == b"*"
        n = int(stream[at + 1 : end])
        at = end + 2
        words = []
        for _ in range(n):
            end = stream.index(b"\r\n", at)
            length = int(stream[at + 1 : end])
            words.append(stream[end + 2 : end + 2 + length])
            at = end + 2 + length + 2
        yield words


class Redis:
    """A redis-server on a Unix socket."""

    def __init__(self, folder):
        self.address = os.path.join(folder, "redis.sock")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.address, "--save", "", "--dir"]
            + [folder],
            stdout=subprocess.DEVNULL,
        )
        wait_until(self._is_ready, "redis-server")

    def _is_ready(self):
        assert self.process.poll() is None
        try:
            Connection(self.address).close()
            return True
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def everything_comes_back():
    data = make_data()
    with Folder() as folder:
        path = os.path.join(folder, "backup.resp")
        with Server(ARGUMENTS.torcd, folder, name="a") as server:
            connection = server.connect()
            fill(connection, data)
            encodings = {connection.call("OBJECT", "ENCODING", key) for key in data}
            assert len(encodings) == 2, encodings
            connection.close()
            with open(path, "wb") as out:
                done = subprocess.run(
                    [ARGUMENTS.cli, "-c", server.control, "--export"],
                    stdout=out,
                    stderr=subprocess.PIPE,
                    timeout=DEADLINE_S,
                )
            assert (done.returncode, done.stderr) == (0, b""), done
        with open(path, "rb") as f:
            stream = f.read()
        n = 0
        for words in commands_of(stream):
            n += 1
            assert words[0] == b"HSET"
            assert len(words) <= 2 + 2 * PAIRS_MAX
            assert len(words) == 4 or sum(map(len, words[2:])) <= BYTES_MAX
        with Server(ARGUMENTS.torcd, folder, name="b") as server, open(path, "rb") as f:
            done = cli(server, "--pipe", stdin=f)
            assert done.returncode == 0, done
            assert done.stdout == b"errors: 0, replies: %d\n" % n, done
            connection = server.connect()
            assert_same(read_all(connection), data)
            connection.close()
        if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
            skip("no redis-server and redis-cli")
        with Redis(folder) as redis, open(path, "rb") as f:
            done = subprocess.run(
                ["redis-cli", "-s", redis.address, "--pipe"], stdin=f, capture_output=True
            )
            assert b"errors: 0, replies: %d" % n in done.stdout, done
            connection = Connection(redis.address)
            assert_same(read_all(connection), data)
            connection.close()


FAR_MS = 4102444800000  # 2100-01-01


def times_of(connection, data):
    """The times of all keys, and of their fields; -1 none."""
    keys = {key: connection.call("PEXPIRETIME", key) for key in data}
    fields = {}
    for key, pairs in data.items():
        names = list(pairs)
        for at in range(0, len(names), 500):
            part = names[at : at + 500]
            times = connection.call("HPEXPIRETIME", key, "FIELDS", len(part), *part)
            fields.update(((key, name), when) for name, when in zip(part, times))
    return keys, fields


def set_times(connection, data):
    """Of every other key, and of every third field of each hash; some are alike."""
    for i, (key, pairs) in enumerate(data.items()):
        for j, name in enumerate(list(pairs)[::3]):
            got = connection.call("HPEXPIREAT", key, FAR_MS + j % 40, "FIELDS", 1, name)
            assert got == [1], (key, name, got)
        if i % 2 == 1:
            assert connection.call("PEXPIREAT", key, FAR_MS + i) == 1, key


def timed_data():
    data = {
        b"compact": {b"a": b"1", b"b": b"2", b"c": b"3", b"d": b"4"},
        b"\0\r\n key": {b"\r\n%d" % i: binary(i, 40)[:i] for i in range(20)},
        b"full": {b"field:%d" % i: b"v%d" % i for i in range(3000)},
    }
    for i in range(100):
        data[b"user:%d" % i] = {b"name": b"n%d" % i}
    return data


def times_come_back_and_what_has_ended_does_not():
    data = timed_data()
    with Folder() as folder:
        with Server(ARGUMENTS.torcd, folder, name="a") as server:
            connection = server.connect()
            fill(connection, data)
            set_times(connection, data)
            times = times_of(connection, data)
            assert sorted({when > 0 for when in times[0].values()}) == [False, True]
            assert sorted({when > 0 for when in times[1].values()}) == [False, True]
            # These end before the export: a key, a field, and the only field of a hash.
            fill(connection, {key: {b"f": b"v", b"g": b"w"} for key in (b"ends", b"less")})
            fill(connection, {b"empty": {b"f": b"v"}})
            assert connection.call("PEXPIRE", "ends", 1) == 1
            assert connection.call("HPEXPIRE", "less", 1, "FIELDS", 1, "f") == [1]
            assert connection.call("HPEXPIRE", "empty", 1, "FIELDS", 1, "f") == [1]
            wait_until(
                lambda: connection.call("EXISTS", "ends", "empty") == 0
                and connection.call("HLEN", "less") == 1,
                "the end of what has a time",
            )
            connection.close()
            done = cli(server, "--export")
            assert (done.returncode, done.stderr) == (0, b""), done.stderr
            stream = done.stdout
        wanted = {**data, b"less": {b"g": b"w"}}
        # A stream that was kept for long has times that are past by now.
        late = (
            encode("HSET", "late", "f", "v")
            + encode("PEXPIREAT", "late", "1")
            + encode("HSET", "later", "f", "v", "g", "w")
            + encode("HPEXPIREAT", "later", "1", "FIELDS", "1", "f")
        )
        wanted[b"later"] = {b"g": b"w"}
        with Server(ARGUMENTS.torcd, folder, name="b") as server:
            done = cli(server, "--pipe", input=stream + late)
            assert done.returncode == 0, done
            connection = server.connect()
            assert_same(read_all(connection), wanted)
            assert times_of(connection, data) == times
            assert connection.call("PEXPIRETIME", "less") == -1
            connection.close()


def times_of_keys_go_to_a_redis_server():
    """Only those, since the redis-server may be too old for times of fields."""
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        skip("no redis-server and redis-cli")
    data = timed_data()
    with Folder() as folder:
        with Server(ARGUMENTS.torcd, folder) as server:
            connection = server.connect()
            fill(connection, data)
            for i, key in enumerate(data):
                if i % 2 == 1:
                    assert connection.call("PEXPIREAT", key, FAR_MS + i) == 1
            times = {key: connection.call("PEXPIRETIME", key) for key in data}
            connection.close()
            done = cli(server, "--export")
            assert (done.returncode, done.stderr) == (0, b""), done.stderr
        n = sum(1 for _ in commands_of(done.stdout))
        with Redis(folder) as redis:
            piped = subprocess.run(
                ["redis-cli", "-s", redis.address, "--pipe"],
                input=done.stdout,
                capture_output=True,
                timeout=DEADLINE_S,
                check=False,
            )
            assert b"errors: 0, replies: %d" % n in piped.stdout, piped
            connection = Connection(redis.address)
            assert_same(read_all(connection), data)
            assert {key: connection.call("PEXPIRETIME", key) for key in data} == times
            connection.close()


def an_empty_server_gives_an_empty_stream():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        done = cli(server, "--export")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done
        done = cli(server, "--pipe", input=b"")
        assert (done.returncode, done.stdout) == (0, b"errors: 0, replies: 0\n"), done


def errors_are_counted_and_a_malformed_stream_has_a_place():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        good = encode("HSET", "k", "f", "v")
        done = cli(server, "--pipe", input=good + encode("SCAN", "x") + good)
        assert (done.returncode, done.stdout) == (1, b"errors: 1, replies: 3\n"), done
        assert b"command at byte %d: ERR invalid cursor" % len(good) in done.stderr, done
        done = cli(server, "--pipe", input=good + b"*1\r\n!4\r\n")
        assert (done.returncode, done.stdout) == (1, b"errors: 0, replies: 1\n"), done
        assert b"malformed stream at byte %d: expected '$'" % (len(good) + 4) in done.stderr, done
        done = cli(server, "--pipe", input=good + good[:-3])
        assert done.returncode == 1
        assert b"within the command at byte %d" % len(good) in done.stderr, done
        for arguments in (("--pipe", "--export"), ("--pipe", "PING"), ("--export", "-x")):
            assert cli(server, *arguments, input=b"").returncode == 1, arguments


def an_output_that_cannot_be_written_is_an_error():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        connection = server.connect()
        fill(connection, {b"k%d" % i: {b"f": b"x" * 100000} for i in range(100)})
        connection.close()
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [ARGUMENTS.cli, "-c", server.control, "--export"], stdout=full, stderr=subprocess.PIPE
            )
        assert done.returncode == 1, done
        assert b"No space left" in done.stderr and b"not complete" in done.stderr, done
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [ARGUMENTS.cli, "-c", server.control, "--export"], stdout=write, stderr=subprocess.PIPE
        )
        os.close(write)
        assert done.returncode == 1 and b"Broken pipe" in done.stderr, done


def a_server_that_dies_is_said():
    with Folder() as folder:
        server = Server(ARGUMENTS.torcd, folder)
        connection = server.connect()
        fill(connection, {b"k%d" % i: {b"f": b"x" * 100000} for i in range(200)})
        connection.close()
        export = subprocess.Popen(
            [ARGUMENTS.cli, "-c", server.control, "--export"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        first = export.stdout.read(1)  # and then it waits for us, with most still to come
        pipe = subprocess.Popen(
            [ARGUMENTS.cli, "-c", server.control, "--pipe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        pipe.stdin.write(encode("HSET", "piped", "f", "v"))
        pipe.stdin.flush()
        connection = server.connect()
        wait_until(lambda: connection.call("EXISTS", "piped"), "the first command of the stream")
        connection.close()
        server.process.kill()
        server.process.wait()
        server.log.close()

        out, errors = export.communicate(timeout=DEADLINE_S)
        assert first == b"*" and len(out) < 200 * 100000
        assert export.returncode == 1, errors
        assert b"the server is gone" in errors and b"not complete" in errors, errors
        out, errors = pipe.communicate(encode("HSET", "piped", "g", "v"), timeout=DEADLINE_S)
        assert pipe.returncode == 1, (out, errors)
        assert out == b"errors: 0, replies: 1\n", (out, errors)
        assert b"the server is gone" in errors and b"is not known" in errors, errors


def a_hash_above_the_longest_reply_is_scanned_or_named():
    data = {
        b"full": {b"f%d" % i: b"v" * 65536 for i in range(100)},
        b"compact": {b"f%d" % i: b"v" * 30000 for i in range(100)},
        b"small": {b"f": b"v"},
    }
    with Folder() as folder:
        with Server(
            ARGUMENTS.torcd, folder, "--session-long-message-max", "2mb", name="a"
        ) as server:
            connection = server.connect()
            fill(connection, data)
            can_scan = connection.call("COMMAND", "INFO", "hscan")[0] is not None
            connection.close()
            done = cli(server, "--export")
        if not can_scan:
            assert done.returncode == 1, done
            assert b"' is too long for one reply" in done.stderr, done.stderr
            return
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        with Server(ARGUMENTS.torcd, folder, name="b") as server:
            assert cli(server, "--pipe", input=done.stdout).returncode == 0
            connection = server.connect()
            assert_same(read_all(connection), data)
            connection.close()


if __name__ == "__main__":
    run_tests(
        [
            an_empty_server_gives_an_empty_stream,
            errors_are_counted_and_a_malformed_stream_has_a_place,
            an_output_that_cannot_be_written_is_an_error,
            a_server_that_dies_is_said,
            a_hash_above_the_longest_reply_is_scanned_or_named,
            times_come_back_and_what_has_ended_does_not,
            everything_comes_back,
            times_of_keys_go_to_a_redis_server,
        ]
    )
