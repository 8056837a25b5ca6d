# SPDX-License-Identifier: Apache-2.0
"""Clients that die, come in crowds or do nothing: the server is as it was before."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time

from torcd_harness import (
    Connection,
    Folder,
    Ring,
    Server,
    encode,
    free_port,
    parse_arguments,
    run_tests,
    wait_until,
)

ARGUMENTS = parse_arguments()


def settled(server, connection, sessions, connections, descriptors):
    def as_before():
        return (
            server.info(connection, "ring_sessions") == str(sessions)
            and server.info(connection, "connected_clients") == str(connections)
            and server.descriptors() == descriptors
        )

    wait_until(as_before, "sessions, connections and descriptors as before")


def killed_ring_clients_leave_nothing_behind():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        connection = server.connect()
        ring = Ring(ARGUMENTS.ring, server.control)
        ring.call("HSET", "h", *[w for i in range(200) for w in ("f%d" % i, "v%d" % i)])
        descriptors = server.descriptors()
        memory = server.info(connection, "used_memory")
        for i in range(12):
            victims = [Ring(ARGUMENTS.ring, server.control) for _ in range(3)]
            # Killed while requests are in flight: none, some, many.
            for victim in victims:
                victim.write(encode("HGETALL", "h") * (i * 40))
            for victim in victims:
                victim.kill()
            assert ring.call("HLEN", "h") == 200
        settled(server, connection, 1, 1, descriptors)
        assert server.info(connection, "used_memory") == memory
        assert server.info(connection, "total_ring_sessions") == "37"
        wait_until(
            lambda: int(server.info(connection, "ring_session_memory")) < 1 << 20,
            "memory of one session",
        )
        ring.close()
        settled(server, connection, 0, 1, descriptors - 3)
        connection.close()


def stopped_ring_clients_cost_the_others_nothing_but_their_memory():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        sleeper = Ring(ARGUMENTS.ring, server.control)
        sleeper.call("HSET", "h", "f", "v" * 5000)
        sleeper.process.send_signal(signal.SIGSTOP)
        sleeper.write(encode("HGET", "h", "f") * 500)
        ring = Ring(ARGUMENTS.ring, server.control)
        for _ in range(200):
            assert ring.call("HGET", "h", "f") == b"v" * 5000
        sleeper.process.send_signal(signal.SIGCONT)
        for _ in range(500):
            assert sleeper.read() == b"v" * 5000
        sleeper.close()
        ring.close()


def killed_resp_clients_leave_nothing_behind():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        connection = server.connect()
        connection.call("HSET", "h", "f", "v" * 100000)
        descriptors = server.descriptors()
        for i in range(200):
            victim = server.connect()
            # Half a request, or more replies than the sockets hold: never read.
            victim.write(encode("HGET", "h", "f") * (i % 40) + b"*3\r\n$4\r\nHG")
            victim.close()
        settled(server, connection, 0, 1, descriptors)
        connection.close()


def more_clients_than_descriptors_are_turned_away_without_spinning():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    with Folder() as folder, Server(ARGUMENTS.torcd, folder, preexec_fn=few) as server:
        assert "limit of open files" in server.text()
        first = server.connect()
        assert first.call("PING") == b"PONG"
        crowd = []
        for _ in range(60):
            s = socket.socket(socket.AF_UNIX)
            s.connect(server.resp)
            crowd.append(s)
        wait_until(lambda: "out of descriptors" in server.text(), "the log to say so")
        assert first.call("HSET", "h", "f", "v") == 1
        before = server.cpu_ticks()
        seconds = watch(1.0)
        used = (server.cpu_ticks() - before) / os.sysconf("SC_CLK_TCK")
        assert used < 0.25 * seconds, "%f s of CPU in %f s" % (used, seconds)
        for s in crowd:
            s.close()

        def serves():
            again = server.connect()
            try:
                return again.call("PING") == b"PONG"
            except (EOFError, OSError):
                return False
            finally:
                again.close()

        wait_until(serves, "new connections")

        def attaches():
            try:
                ring = Ring(ARGUMENTS.ring, server.control)
            except (EOFError, AssertionError):
                return False
            ring.close()
            return True

        wait_until(attaches, "new sessions")
        first.close()


def watch(seconds):
    """Let time pass for a measurement, and tell how much did."""
    start = time.monotonic()
    time.sleep(seconds)
    return time.monotonic() - start


def cpu_share(server, seconds):
    before = server.cpu_ticks()
    passed = watch(seconds)
    return (server.cpu_ticks() - before) / os.sysconf("SC_CLK_TCK") / passed


def an_idle_server_uses_less_than_one_per_cent_of_a_core():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        connection = server.connect()
        for i in range(2000):
            connection.call("HSET", "k%d" % (i % 100), "f%d" % i, "v")
        descriptors = server.descriptors()
        rings = [Ring(ARGUMENTS.ring, server.control) for _ in range(8)]
        for ring in rings:
            assert ring.call("PING") == b"PONG"
        # After a second the server makes its memory compact; then there is nothing to do.
        wait_until(lambda: cpu_share(server, 0.5) < 0.03, "quiet")
        share = cpu_share(server, 3.0)
        assert share < 0.01, "with sessions: %.2f %%" % (100 * share)
        for ring in rings:
            ring.close()
        settled(server, connection, 0, 1, descriptors)
        wait_until(lambda: cpu_share(server, 0.5) < 0.03, "quiet")
        share = cpu_share(server, 2.0)
        assert share < 0.01, "without sessions: %.2f %%" % (100 * share)
        connection.close()


def tools_of_redis_work():
    cli = shutil.which("redis-cli")
    benchmark = shutil.which("redis-benchmark")
    if cli is None or benchmark is None:
        print("# redis-cli or redis-benchmark is missing")
        assert os.environ.get("TORC_REQUIRE_ALL") != "1"
        return
    port = free_port()
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--port", port) as server:

        def run(program, *words, stdin=b""):
            done = subprocess.run(
                [program, "-p", str(port), *words], input=stdin, capture_output=True, timeout=60
            )
            assert done.returncode == 0, (words, done)
            return done.stdout

        assert run(cli, "PING") == b"PONG\n"
        assert run(cli, "-3", "HSET", "h", "a", "1") == b"1\n"
        assert run(cli, stdin=b"hget h a\nhgetall h\n") == b"1\na\n1\n"
        assert run(cli, "--scan", "--pattern", "h*") == b"h\n"
        assert b"Biggest   hash found" in run(cli, "--bigkeys")
        assert b"h" in run(cli, "--memkeys")
        pipe = encode("HSET", "p", "f", "v") * 500 + b"HSET q f v\r\n\r\n"
        assert b"errors: 0, replies: 501" in run(cli, "--pipe", stdin=pipe)
        text = run(benchmark, "-q", "-n", "2000", "-P", "16", "-t", "hset").decode()
        assert "HSET: " in text and "WARN" not in text, text
        run(benchmark, "-q", "-n", "2000", "HGET", "myhash", "element:1")
        assert server.process.poll() is None


if __name__ == "__main__":
    run_tests(
        [
            killed_ring_clients_leave_nothing_behind,
            stopped_ring_clients_cost_the_others_nothing_but_their_memory,
            killed_resp_clients_leave_nothing_behind,
            more_clients_than_descriptors_are_turned_away_without_spinning,
            an_idle_server_uses_less_than_one_per_cent_of_a_core,
            tools_of_redis_work,
        ]
    )
