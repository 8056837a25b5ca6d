# SPDX-License-Identifier: Apache-2.0
"""Clients that stand still in the middle of something: nobody else notices, what the server holds for
them is bounded, and when they go on their data are right."""

import os
import random
import select
import signal
import socket
import subprocess

from torcd_harness import (
    Connection,
    Folder,
    Ring,
    Server,
    encode,
    is_stopped,
    parse_arguments,
    run_tests,
    wait_until,
)

ARGUMENTS = parse_arguments()
STOP_CLIENT = os.path.join(os.path.dirname(ARGUMENTS.ring), "stop_client")
SEED = int(os.environ.get("TORC_SEED", "31"))
MIB = 1 << 20
# What malloc keeps of what was freed is not what the server holds.
SLACK = 8 * MIB
# docs/decisions/0007-slow-readers.md: replies unread, what one visit adds, requests read ahead, whose
# buffer may be twice as large.
READER_MOST = (16 + 1 + 2 * 64) * MIB


class Innocents:
    """A ring client and a RESP client who want answers."""

    def __init__(self, server):
        self.clients = [Ring(ARGUMENTS.ring, server.control), server.connect()]
        self.number = 0

    def go_on(self, n):
        """Each writes and reads back n times."""
        for _ in range(n):
            self.number += 1
            for i, client in enumerate(self.clients):
                client.call("HSET", "innocent:%d" % i, "f%d" % (self.number % 50), self.number)
                value = client.call("HGET", "innocent:%d" % i, "f%d" % (self.number % 50))
                assert value == b"%d" % self.number, value

    def close(self):
        for client in self.clients:
            client.close()


def stop_and_continue(moment):
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        innocents = Innocents(server)
        connection = server.connect()
        process = subprocess.Popen([STOP_CLIENT, server.control, moment])
        wait_until(lambda: process.poll() is not None or is_stopped(process.pid), "it stopped")
        innocents.go_on(150)
        assert process.poll() is None and is_stopped(process.pid), process.poll()
        assert server.info(connection, "ring_sessions") == "2"
        # Two sessions, and of the stopped one a long message under way in each direction.
        memory = int(server.info(connection, "ring_session_memory"))
        assert memory < 4 * MIB, memory
        process.send_signal(signal.SIGCONT)
        assert process.wait(240) == 0  # many long replies, on a machine that may be busy
        wait_until(lambda: server.info(connection, "ring_sessions") == "1", "its session ended")
        innocents.go_on(10)
        innocents.close()
        connection.close()


def a_ring_client_stopped_with_a_full_window_costs_nobody_anything():
    stop_and_continue("window")


def a_ring_client_stopped_between_parts_of_a_request_costs_nobody_anything():
    stop_and_continue("request")


def a_ring_client_stopped_between_parts_of_a_reply_costs_nobody_anything():
    stop_and_continue("reply")


def a_ring_client_that_takes_no_long_replies_costs_a_bounded_memory():
    stop_and_continue("unread")


def pipeline_until_told(address, end):
    """In a child: write pipelines and check their replies, until the pipe `end` is readable."""
    connection = Connection(address)
    turn = 0
    while not select.select([end], [], [], 0)[0]:
        turn += 1
        value = b"%08d" % turn * 2000
        connection.write(encode("HSET", "stopped", "f", value) + encode("HGET", "stopped", "f") * 40)
        connection.read()
        for _ in range(40):
            assert connection.read() == value
    connection.close()


def a_resp_client_stopped_at_any_moment_costs_nobody_anything():
    rng = random.Random(SEED)
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        innocents = Innocents(server)
        end, told = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                pipeline_until_told(server.resp, end)
                status = 0
            finally:
                os._exit(status)
        for _ in range(25):
            innocents.go_on(rng.randrange(8))
            os.kill(child, signal.SIGSTOP)
            wait_until(lambda: is_stopped(child), "it stopped")
            innocents.go_on(20)
            assert is_stopped(child)
            os.kill(child, signal.SIGCONT)
        os.write(told, b"!")
        assert os.waitpid(child, 0)[1] == 0
        os.close(end)
        os.close(told)
        innocents.close()


def a_ring_client_stopped_at_any_moment_costs_nobody_anything():
    rng = random.Random(SEED)
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        innocents = Innocents(server)
        ring = Ring(ARGUMENTS.ring, server.control)
        for turn in range(25):
            value = b"%08d" % turn * 40000
            ring.write(encode("HSET", "stopped", "f", value))
            ring.write(encode("HGET", "stopped", "f"))
            innocents.go_on(rng.randrange(4))
            ring.process.send_signal(signal.SIGSTOP)
            wait_until(lambda: is_stopped(ring.process.pid), "it stopped")
            innocents.go_on(20)
            assert is_stopped(ring.process.pid)
            ring.process.send_signal(signal.SIGCONT)
            assert ring.read() == (1 if turn == 0 else 0)
            assert ring.read() == value
        ring.close()
        innocents.close()


def write_only(server, innocents):
    """A client that sends until the kernel takes no more, and still does not when the server had its
    turns. Returns its connection and the bytes sent."""
    greedy = server.connect()
    greedy.socket.setblocking(False)
    request = encode("HGET", "h", "f") * 2000
    sent = 0
    quiet = 0
    while quiet < 100:
        try:
            sent += greedy.socket.send(request[sent % len(request) :])
            quiet = 0
        except BlockingIOError:
            quiet += 1
            innocents.go_on(2)
    return greedy, sent


def a_resp_client_that_never_reads_costs_a_bounded_memory():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        innocents = Innocents(server)
        connection = server.connect()
        connection.call("HSET", "h", "f", "v" * 100000)
        before = server.resident()
        # One after the other: what the allocator keeps of one is used for the next.
        for _ in range(3):
            greedy, sent = write_only(server, innocents)
            assert sent < (64 + 8) * MIB, sent
            grown = server.resident() - before
            assert grown < READER_MOST + SLACK or server.has_sanitizer(), grown
            print("# %d bytes of requests taken, %d of memory for them" % (sent, grown))
            innocents.go_on(50)
            greedy.close()
            wait_until(lambda: server.info(connection, "connected_clients") == "2", "it is gone")
            wait_until(
                lambda: int(server.info(connection, "mem_clients_normal")) < 4 * MIB,
                "what was pending is freed",
            )
        innocents.close()
        connection.close()


def a_client_that_writes_all_before_it_reads_gets_all():
    """More than the mark of unread replies, and large requests behind them."""
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        connection = server.connect()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        large = b"l" * (10 * MIB)
        connection.call("HSET", "h", "f", large)
        connection.write(encode("HGET", "h", "f") * 4)
        connection.write(encode("HSET", "h", "g", large[1:]))
        connection.write(encode("HSTRLEN", "h", "g") * 100000)
        for _ in range(4):
            assert connection.read() == large
        assert connection.read() == 1
        for _ in range(100000):
            assert connection.read() == len(large) - 1
        connection.close()


if __name__ == "__main__":
    print("seed: TORC_SEED=%d" % SEED)
    run_tests(
        [
            a_ring_client_stopped_with_a_full_window_costs_nobody_anything,
            a_ring_client_stopped_between_parts_of_a_request_costs_nobody_anything,
            a_ring_client_stopped_between_parts_of_a_reply_costs_nobody_anything,
            a_ring_client_that_takes_no_long_replies_costs_a_bounded_memory,
            a_ring_client_stopped_at_any_moment_costs_nobody_anything,
            a_resp_client_stopped_at_any_moment_costs_nobody_anything,
            a_resp_client_that_never_reads_costs_a_bounded_memory,
            a_client_that_writes_all_before_it_reads_gets_all,
        ]
    )
