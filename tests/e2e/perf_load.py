#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torc-perf-load against real servers and against ones that answer wrongly:
   perf_load.py torcd|redis|none --load PROGRAM --torcd PROGRAM"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import threading

from torcd_harness import (
    Connection,
    Folder,
    Server,
    encode,
    free_port,
    listens,
    run_tests,
    skip,
    wait_until,
)

OK, USAGE, WRONG, REFUSED, LOST = 0, 2, 3, 4, 5
LATENCIES = ("min", "p50", "p90", "p99", "p999", "max")

# Every operation, in an order in which each finds the data it needs.
PHASES = (
    ("flush", 1, ()),
    ("ping", 200, ("--requests", 200)),
    ("load-whole", 20, ("--salt", 7)),
    ("verify", 20, ("--salt", 7)),
    ("hget", 600, ("--requests", 600, "--warm", 50)),
    ("hget", 300, ("--requests", 300, "--field-index", "last")),
    ("hget-miss", 300, ("--requests", 300)),
    ("hset-same", 300, ("--requests", 300)),
    ("hset-width", 300, ("--requests", 300)),
    ("hmget", 100, ("--requests", 100)),
    ("hgetall", 60, ("--requests", 60)),
    ("hexists", 100, ("--requests", 100)),
    ("hstrlen", 100, ("--requests", 100)),
    ("hlen", 100, ("--requests", 100)),
    ("hincrby", 100, ("--requests", 100)),
    ("hincrby", 100, ("--requests", 100)),
    ("hdel-hset", 300, ("--requests", 300)),
    ("insert", 30, ("--requests", 30)),
    ("insert", 30, ("--requests", 30, "--first", 30)),
    ("delete", 60, ("--requests", 60)),
    ("verify", 20, ()),
    ("grow", 100, ("--requests", 100, "--salt", 9)),
    ("grow", None, ("--first", 100, "--salt", 9)),
    ("verify", 20, ("--salt", 9)),
    ("delete-keys", 20, ()),
    ("load-fields", None, ()),
    ("verify", 20, ()),
    ("mixed", 500, ("--requests", 500)),
    ("flush", 1, ()),
)
# Not of redis-server 7.0, which has no times of fields.
TIME_PHASES = (
    ("load-whole-ex", 20, ("--salt", 9)),
    ("verify", 20, ("--salt", 9)),
    ("hgetex", 200, ("--requests", 200)),
    ("hexpire", 200, ("--requests", 200)),
    ("hsetex", 200, ("--requests", 200)),
    ("hsetex-at", 200, ("--requests", 200)),
    ("hdel-hsetex", 200, ("--requests", 200)),
    ("verify", 20, ()),
    ("flush", 1, ()),
    ("load-fields-ex", None, ("--ttl", 500000)),
    ("verify", 20, ()),
    ("flush", 1, ()),
)


def run(arguments, *options):
    """Exit status and the JSON object, None where nothing was printed."""
    command = [arguments.load, "--wait", "yield", *map(str, options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = done.stdout.decode().splitlines()
    assert len(lines) <= 1, (command, lines)
    if not lines:
        assert done.stderr, command
        return done.returncode, None
    return done.returncode, json.loads(lines[0])


def check_phase(arguments, address, shape, window, phase):
    op, requests, options = phase
    status, line = run(
        arguments, "--connect", address, "--shape", *shape, "--op", op, "--window", window, *options
    )
    what = (address, shape, window, phase, line)
    assert status == OK and line, what
    assert line["op"] == op and line["window"] == window, what
    assert line["road"] == address.split(":")[0], what
    if requests is None:
        requests = line["cells"] - line["first"]
    assert line["requests"] == requests and line["checked"] >= requests, what
    assert line["wrong"] == 0 and line["errors"] == 0 and line["first_bad"] is None, what
    assert line["seconds"] > 0 and line["rate"] > 0, what
    values = [line[name] for name in LATENCIES]
    assert values == sorted(values) and values[0] > 0, what
    if op == "mixed":
        assert sum(kind["requests"] for kind in line["kinds"].values()) == requests, what
        assert sorted(line["kinds"]) == ["delete", "grow", "insert", "update"], what
    else:
        assert "kinds" not in line, what


SHAPES = (
    ("small5", "--fields", 9, "--hashes", 20),
    ("small14", "--hashes", 20),
    ("wide", "--hashes", 20, "--value-bytes", 60),
    ("feast", "--hashes", 20),
)


def check_all_phases(arguments, address, phases):
    for shape in SHAPES:
        for window in (1, 33):
            for phase in phases:
                check_phase(arguments, address, shape, window, phase)
    # The one that loads in parts, and is verified in parts.
    for op, requests, options in (
        ("load-whole", 40, ("--salt", 3)),
        ("verify", 41, ("--salt", 3)),
        ("hget", 500, ("--requests", 500)),
        ("grow", 5000, ()),
        ("hgetall", 3, ("--requests", 3)),
        ("flush", 1, ()),
    ):
        check_phase(arguments, address, ("million", "--fields", 5000), 16, (op, requests, options))


def check_other_modes(arguments, address, connection):
    small = ("--connect", address, "--hashes", 20)
    assert run(arguments, *small, "--op", "load-whole")[0] == OK
    # Open loop, and a time limit.
    status, line = run(arguments, *small, "--rate", 2000, "--requests", 200, "--window", 64)
    assert status == OK and line["requests"] == 200 and line["asked_rate"] == 2000, line
    assert line["seconds"] > 0.09, line
    status, line = run(arguments, *small, "--rate", 2000, "--seconds", 0.1, "--window", 64)
    assert status == OK and line["requests"] == 200, line
    status, line = run(arguments, *small, "--seconds", 0.05)
    assert status == OK and line["requests"] > 0 and line["seconds"] > 0.04, line
    # Each way to wait.
    for wait in ("busy", "adaptive", "yield"):
        status, line = run(arguments, *small, "--wait", wait, "--requests", 20, "--window", 4)
        assert status == OK and line["wait"] == wait, line
    # One value of all is changed behind its back; a field too many; a field that is missing.
    key, field = b"h:000000000003", b"field:00000005"
    value = connection.call("HGET", key, field)
    other = value[:-1] + (b"0" if value[-1:] != b"0" else b"1")
    assert connection.call("HSET", key, field, other) == 0
    status, line = run(arguments, *small, "--op", "verify", "--window", 8)
    assert status == WRONG and line["wrong"] == 1 and line["checked"] == 20, line
    assert line["rate"] is None and "p50" not in line, line
    for part in (key, field, other, b"not a value of this field"):
        assert part.decode() in line["first_bad"], line
    assert connection.call("HSET", key, field, value, b"more", b"1") == 1
    assert run(arguments, *small, "--op", "verify")[0] == WRONG
    assert connection.call("HDEL", key, field, b"more") == 2
    status, line = run(arguments, *small, "--op", "hlen", "--requests", 500)
    assert status == WRONG and "not 32" in line["first_bad"], line
    # The salt is demanded where it is given.
    assert connection.call("HSET", key, field, value) == 1
    assert run(arguments, *small, "--op", "verify")[0] == OK
    assert run(arguments, *small, "--op", "verify", "--salt", 5)[0] == WRONG
    # An error of the server.
    assert connection.call("DEL", key) == 1 and connection.call("SET", key, "x") == b"OK"
    status, line = run(arguments, *small, "--op", "hlen", "--requests", 2000, "--window", 4)
    assert status == REFUSED and line["errors"] == 1 and line["rate"] is None, line
    assert "WRONGTYPE" in line["first_bad"], line
    assert connection.call("FLUSHALL") == b"OK"


def torcd_tests(arguments):
    def test(check):
        with Folder() as folder, Server(arguments.torcd, folder, "--huge-pages", "no") as server:
            for address in ("ring:" + server.control, "unix:" + server.resp):
                check(server, address)

    def every_operation_over_ring_and_unix():
        test(lambda server, address: check_all_phases(arguments, address, PHASES + TIME_PHASES))

    def other_modes_and_wrong_data_over_unix():
        with Folder() as folder, Server(arguments.torcd, folder, "--huge-pages", "no") as server:
            # torcd holds hashes only: an error is asked for by a key of another type elsewhere.
            connection = server.connect()
            address = "unix:" + server.resp
            small = ("--connect", address, "--hashes", 20)
            assert run(arguments, *small, "--op", "load-whole")[0] == OK
            assert connection.call("HSET", "h:000000000001", "field:00000002", "x") == 0
            for road in (address, "ring:" + server.control):
                status, line = run(arguments, "--connect", road, "--hashes", 20, "--op", "verify")
                assert status == WRONG and line["wrong"] == 1, line
                status, line = run(
                    arguments, "--connect", road, "--hashes", 20, "--rate", 1000, "--requests", 100,
                    "--op", "hexists", "--window", 8,
                )
                assert status == OK and line["requests"] == 100, line
            connection.call("HSET", "n:000000000000", "n", "text")
            for road in (address, "ring:" + server.control):
                status, line = run(arguments, "--connect", road, "--op", "hincrby", "--requests", 9)
                assert status == REFUSED and "not an integer" in line["first_bad"], line
            connection.close()

    def a_server_that_ends_is_noticed():
        for road in ("ring", "unix"):
            with Folder() as folder:
                server = Server(arguments.torcd, folder, "--huge-pages", "no")
                address = road + ":" + (server.control if road == "ring" else server.resp)
                process = subprocess.Popen(
                    [arguments.load, "--connect", address, "--op", "ping", "--seconds", "60",
                     "--wait", "yield"],
                    stdout=subprocess.PIPE,
                )
                connection = server.connect()
                wait_until(lambda: busy(server, connection), "requests are under way")
                server.process.kill()
                server.process.wait()
                out, _ = process.communicate()
                server.log.close()
                line = json.loads(out)
                assert process.returncode == LOST and line["rate"] is None, line
                assert line["first_bad"], line

    def busy(server, connection):
        return int(server.info(connection, "total_commands_processed")) > 100

    return [
        every_operation_over_ring_and_unix,
        other_modes_and_wrong_data_over_unix,
        a_server_that_ends_is_noticed,
    ]


def redis_tests(arguments):
    program = shutil.which("redis-server")
    if program is None:
        skip("there is no redis-server")

    def with_redis(check):
        with Folder() as folder:
            path = os.path.join(folder, "redis")
            port = free_port()
            command = [program, "--port", str(port), "--unixsocket", path, "--save", ""]
            command += ["--appendonly", "no", "--dir", folder]
            with open(os.path.join(folder, "log"), "wb") as log:
                process = subprocess.Popen(command, stdout=log, stderr=log)
                try:
                    wait_until(lambda: listens(path), "redis-server")
                    check(path, port)
                finally:
                    process.terminate()
                    process.wait()

    def every_operation_over_unix():
        with_redis(lambda path, port: check_all_phases(arguments, "unix:" + path, PHASES))

    def other_modes_wrong_data_and_tcp():
        def check(path, port):
            connection = Connection(path)
            check_other_modes(arguments, "unix:" + path, connection)
            connection.close()
            for host in ["127.0.0.1"] + (["localhost"] if resolves("localhost") else []):
                address = "tcp:%s:%d" % (host, port)
                status, line = run(arguments, "--connect", address, "--op", "ping", "--requests", 9)
                assert status == OK and line["road"] == "tcp", line

        with_redis(check)

    return [every_operation_over_unix, other_modes_wrong_data_and_tcp]


class Fake:
    """Answers the first connection with what `answer(request number)` gives: bytes, or None to
    close the connection. Requests are counted by their '*'."""

    def __init__(self, folder, answer):
        self.path = os.path.join(folder, "fake")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.thread = threading.Thread(target=self._serve, args=(answer,))
        self.thread.start()

    def _serve(self, answer):
        connection, _ = self.listener.accept()
        number = 0
        with connection:
            while True:
                try:
                    data = connection.recv(65536)
                except ConnectionResetError:  # it went away with replies unread
                    return
                if not data:
                    return
                for _ in range(data.count(b"*")):
                    reply = answer(number)
                    number += 1
                    if reply is None:
                        return
                    try:
                        connection.sendall(reply)
                    except OSError:
                        return

    def __enter__(self):
        return "unix:" + self.path

    def __exit__(self, *_):
        self.thread.join()
        self.listener.close()


def resolves(name):
    """Whether this machine has a name service, or a hosts file, that knows the name."""
    try:
        return bool(socket.getaddrinfo(name, None, socket.AF_INET))
    except OSError:
        return False


def none_tests(arguments):
    def ask(answer, *options):
        with Folder() as folder, Fake(folder, answer) as address:
            return run(arguments, "--connect", address, "--requests", 100, *options)

    def wrong_answers_are_counted_and_the_first_is_kept():
        nil = b"$-1\r\n"
        for op, reply in (
            ("ping", b"+PANG\r\n"),
            ("hget", b"$16\r\ng10019bf9e4d9c62\r\n"),
            ("hget", nil),
            ("hget", b":1\r\n"),
            ("hget-miss", b"$1\r\nx\r\n"),
            ("hset-same", b":1\r\n"),
            ("hmget", b"*1\r\n$-1\r\n"),
            ("hmget", b"*10\r\n" + 10 * nil),
            ("hgetall", b"*0\r\n"),
            ("hgetall", b"*64\r\n" + 64 * b"$14\r\nfield:00000001\r\n"),
            ("hexists", b":0\r\n"),
            ("hstrlen", b":15\r\n"),
            ("hlen", nil),
            ("hdel-hset", b":7\r\n"),
            ("hsetex", b":0\r\n"),
            ("hgetex", b"*1\r\n" + nil),
            ("hexpire", b"*1\r\n:2\r\n"),
            ("hexpire", b"*1\r\n:-2\r\n"),
            ("hexpire", b":1\r\n"),
            ("mixed", b":2\r\n"),
        ):
            status, line = ask(lambda number, reply=reply: reply, "--op", op, "--window", 7)
            what = (op, reply, line)
            assert status == WRONG and line["wrong"] >= 100 and line["errors"] == 0, what
            assert line["rate"] is None and "p50" not in line and line["first_bad"], what
        # One among many.
        status, line = ask(lambda number: b":9\r\n" if number == 50 else b"+PONG\r\n", "--op", "ping")
        assert status == WRONG and line["wrong"] == 1 and line["requests"] == 100, line
        assert line["first_bad"] == "PING : 9, not PONG", line

    def a_counter_that_misses_a_step_is_wrong():
        status, line = ask(lambda number: b":%d\r\n" % (number + 5), "--op", "hincrby")
        assert status == OK, line
        status, line = ask(lambda number: b":%d\r\n" % (number + number // 50), "--op", "hincrby")
        assert status == WRONG and line["wrong"] == 1, line

    def bytes_that_are_no_reply_are_wrong():
        for garbage in (b"HTTP/1.1 400 Bad Request\r\n", b"$5\r\nabcdefg\r\n", b"*1\r\n:x\r\n"):
            status, line = ask(lambda number, garbage=garbage: garbage, "--op", "hget")
            assert status == WRONG and line["first_bad"] == "these bytes are no reply of RESP2", line

    def an_error_ends_the_run():
        status, line = ask(
            lambda number: b"+PONG\r\n" if number < 10 else b"-ERR unknown command 'PING'\r\n",
            "--op", "ping", "--window", 5,
        )
        assert status == REFUSED and line["errors"] == 1 and line["checked"] == 11, line
        assert "ERR unknown command" in line["first_bad"] and line["rate"] is None, line

    def a_server_that_dies_in_the_middle_is_lost():
        for options in ((), ("--window", 9), ("--rate", 100000), ("--wait", "adaptive")):
            status, line = ask(
                lambda number: b"+PONG\r\n" if number < 50 else None, "--op", "ping", *options
            )
            assert status == LOST and line["checked"] == 50 and line["rate"] is None, line
        # In the middle of a reply.
        status, line = ask(lambda number: b"+PO" if number == 0 else None, "--op", "ping",
                           "--window", 2)
        assert status == LOST and line["checked"] == 0, line

    def no_reply_in_time_is_lost():
        for options in ((), ("--wait", "adaptive"), ("--wait", "busy"), ("--rate", 1000)):
            status, line = ask(lambda number: b"", "--op", "ping", "--timeout", 0.2, *options)
            assert status == LOST and "no reply" in line["first_bad"], line

    def nobody_there_is_lost():
        with Folder() as folder:
            for address in (
                "unix:" + folder + "/nobody",
                "ring:" + folder + "/nobody",
                "tcp:127.0.0.1:%d" % free_port(),
            ):
                status, line = run(arguments, "--connect", address, "--op", "ping")
                assert status == LOST and line["requests"] == 0 and line["first_bad"], line
                assert line["rate"] is None, line

    def a_server_that_reads_late_does_not_jam():
        """More is sent than the socket holds before the first reply comes."""
        with Folder() as folder:
            path = os.path.join(folder, "late")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen(1)
                command = [arguments.load, "--connect", "unix:" + path, "--op", "load-whole",
                           "--hashes", "300", "--value-bytes", "5000", "--window", "256"]
                process = subprocess.Popen(command, stdout=subprocess.PIPE)
                connection, _ = listener.accept()
                with connection:
                    seen = 0
                    head = encode("HSET")[4:]
                    rest = b""
                    while seen < 300:
                        data = rest + connection.recv(1 << 20)
                        count = data.count(head)
                        rest = data[-(len(head) - 1) :] if not data.endswith(head) else b""
                        connection.sendall(count * b":32\r\n")
                        seen += count
                    # Bytes of the last request.
                    out = wait_for_end(process, connection)
                line = json.loads(out)
                assert process.returncode == OK and line["requests"] == 300, line

    def wait_for_end(process, connection):
        drain = threading.Thread(target=lambda: read_all(connection))
        drain.start()
        out, _ = process.communicate()
        drain.join()
        return out

    def read_all(connection):
        while connection.recv(1 << 20):
            pass

    def mistakes_on_the_command_line_are_told():
        there = ("--connect", "unix:/nowhere")
        for options in (
            (),
            ("--connect", "nowhere"),
            ("--connect", "tcp:host"),
            ("--connect", "tcp:host:0"),
            ("--connect", "unix:"),
            there + ("word",),
            there + ("--op", "hgett"),
            there + ("--shape", "small"),
            there + ("--window", 0),
            there + ("--window", 4097),
            there + ("--requests", "many"),
            there + ("--requests", 5, "--seconds", 1),
            there + ("--seconds", 0),
            there + ("--rate", "nan"),
            there + ("--cpu", 1023),
            there + ("--field-index", 32),
            there + ("--field-index", "second"),
            there + ("--ask", 33, "--op", "hmget"),
            there + ("--op", "load-whole", "--requests", 15626),
            there + ("--op", "grow", "--value-bytes2", 16),
            there + ("--op", "insert", "--shape", "wide", "--fields", 1000),
            there + ("--wait", "sleep"),
            there + ("--shape", "small5", "--fields", 1001),
        ):
            status, line = run(arguments, *options)
            assert status == USAGE and line is None, (options, status, line)

    def help_tells_every_operation():
        done = subprocess.run([arguments.load, "--help"], stdout=subprocess.PIPE, check=True)
        text = done.stdout.decode()
        for op, _, _ in PHASES + TIME_PHASES:
            assert "  %s " % op in text, op

    return [
        wrong_answers_are_counted_and_the_first_is_kept,
        a_counter_that_misses_a_step_is_wrong,
        bytes_that_are_no_reply_are_wrong,
        an_error_ends_the_run,
        a_server_that_dies_in_the_middle_is_lost,
        no_reply_in_time_is_lost,
        nobody_there_is_lost,
        a_server_that_reads_late_does_not_jam,
        mistakes_on_the_command_line_are_told,
        help_tells_every_operation,
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=("torcd", "redis", "none"))
    parser.add_argument("--load", required=True)
    parser.add_argument("--torcd", required=True)
    arguments = parser.parse_args()
    tests = {"torcd": torcd_tests, "redis": redis_tests, "none": none_tests}
    run_tests(tests[arguments.engine](arguments))


if __name__ == "__main__":
    main()
