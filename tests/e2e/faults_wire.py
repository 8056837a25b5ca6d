# SPDX-License-Identifier: Apache-2.0
"""Public faults of what goes over the wire and of who is at its ends: parsers, protocol, memory of
clients, shared memory, processes that die. Each function is named by what must hold; its first line
has the thread. public_faults.py runs them."""

import itertools
import os
import re
import signal
import socket
import subprocess

from torcd_harness import (
    Connection,
    Failure,
    Folder,
    Ring,
    Server,
    encode,
    is_stopped,
    wait_until,
)

MIB = 1 << 20


def lines_may_end_with_lf_alone(arguments):
    """redis/redis#2981, #1468, #1470, #4678: the first byte of the next command was eaten."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        client.write(b"PING\nPING\r\nECHO x\n*1\r\n$4\r\nPING\r\n")
        assert [client.read() for _ in range(4)] == [b"PONG", b"PONG", b"x", b"PONG"]
        client.close()


def a_long_argument_may_come_in_any_pieces(arguments):
    """redis/redis#5304: a 33,000-byte argument in pieces closed the connection."""
    body = bytes(i * 7 % 256 for i in range(33000))
    head = b"*4\r\n$4\r\nHSET\r\n$1\r\nh\r\n$1\r\nf\r\n$33000\r\n"
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        other = server.connect()
        for pieces in (
            (head, body, b"\r\n"),
            (head, body + b"\r", b"\n"),
            (head[:-1], b"\n" + body[:1], body[1:] + b"\r\n"),
            (head + body[:16384], body[16384:], b"\r", b"\n"),
        ):
            client = server.connect()
            for piece in pieces:
                client.write(piece)
                assert other.call("PING") == b"PONG"  # the server has had its turn
            assert client.read() in (0, 1)
            assert client.call("HGET", "h", "f") == body
            client.close()
        other.close()


def an_argument_may_take_more_than_half_of_the_memory(arguments):
    """redis/redis#14327, #11830, #11833: a second buffer was reserved for what might come."""
    with Folder() as folder, Server(arguments.torcd, folder, "--maxmemory", "100mb") as server:
        client = server.connect()
        value = b"x" * (60 * MIB)
        client.write(encode("HSET", "h", "f", value) + encode("HSTRLEN", "h", "f"))
        assert client.read() == 1
        assert client.read() == len(value)
        assert client.call("HGET", "h", "f") == value
        client.close()


def empty_arguments_are_ordinary_at_every_edge(arguments):
    """RedisLabs/redis-cluster-proxy#88: $0 across the edge of a buffer broke the parser."""
    request = b"".join(
        encode("HSET", "h", "f%d" % i, b"" if i % 2 else b"thirteen byte") for i in range(1000)
    )
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for size in (1, 7, 1460, 16384):
            client = server.connect()
            client.call("DEL", "h")
            for at in range(0, len(request), size):
                client.socket.sendall(request[at : at + size])
            assert [client.read() for _ in range(1000)] == [1] * 1000
            assert client.call("HGET", "h", "f999") == b""
            assert client.call("HGET", "h", "f998") == b"thirteen byte"
            client.close()


def headers_alone_reserve_nothing(arguments):
    """redis/redis#9588: a few bytes of header reserved much memory."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        other = server.connect()
        before = server.resident()
        crowd = [server.connect() for _ in range(300)]
        heads = (
            b"*10\r\n$16384\r\n",
            b"*1000000\r\n$16385\r\n",
            b"*3\r\n$4\r\nHGET\r\n$536870912\r\n",
        )
        for client, head in zip(crowd, itertools.cycle(heads)):
            client.write(head)
        assert other.call("PING") == b"PONG"
        grown = server.resident() - before
        assert grown < len(crowd) * 40000 or server.has_sanitizer(), grown
        for client in crowd:
            client.close()
        wait_until(lambda: server.info(other, "connected_clients") == "1", "they are gone")
        other.close()


def one_command_has_a_bounded_size(arguments):
    """io-no/CVE-Reports#1 (CVE-2025-46686): arguments of a command to be refused were collected."""
    with Folder() as folder, Server(
        arguments.torcd, folder, "--client-query-buffer-limit", "16mb"
    ) as server:
        other = server.connect()
        before = server.resident()
        client = server.connect()
        argument = b"$524288\r\n" + b"x" * 524288 + b"\r\n"
        sent = 0
        try:
            client.socket.sendall(b"*1000000\r\n$4\r\nNONE\r\n")
            for _ in range(200):
                client.socket.sendall(argument)
                sent += len(argument)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 32 * MIB, sent
        wait_until(lambda: server.info(other, "connected_clients") == "1", "it is cut")
        assert server.resident() - before < 40 * MIB or server.has_sanitizer()
        client.close()
        other.close()


def types_of_replies_do_not_depend_on_emptiness(arguments):
    """valkey-io/valkey#3939: an empty list of subcommands came as another type."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        # name, arity, flags, three numbers; then acl, tips, key specs, subcommands, each by its type
        top = [b"$", b":", b"~", b":", b":", b":", b"~", b"~", b"~", b"*"]
        for kinds in (top_level(server, "ping"), top_level(server, "config")):
            assert kinds == top, kinds


def raw_types(client):
    """The type bytes of one reply, in their order."""
    line = client._line()
    kind = line[:1]
    if kind in b"$=":
        client._bytes(int(line[1:]))
    kinds = [kind]
    n = int(line[1:]) * (2 if kind == b"%" else 1) if kind in b"*~%" else 0
    for _ in range(n):
        kinds += raw_types(client)
    return kinds


def top_level(server, name):
    """The types of the elements of COMMAND INFO `name`."""
    client = server.connect(3)
    client.write(encode("COMMAND", "INFO", name))
    assert client._line() == b"*1"
    n = int(client._line()[1:])
    kinds = [raw_types(client)[0] for _ in range(n)]
    client.close()
    return kinds


def hello_answers_with_bulk_strings(arguments):
    """infinispan/infinispan#14559: simple strings in HELLO made a client fail."""
    pattern = (
        rb"%%7\r\n\$6\r\nserver\r\n\$\d+\r\n[a-z]+\r\n\$7\r\nversion\r\n\$\d+\r\n[0-9.]+\r\n"
        rb"\$5\r\nproto\r\n:3\r\n\$2\r\nid\r\n:\d+\r\n\$4\r\nmode\r\n\$10\r\nstandalone\r\n"
        rb"\$4\r\nrole\r\n\$6\r\nmaster\r\n\$7\r\nmodules\r\n\*0\r\n\+PONG\r\n"
    ).replace(b"%%", b"%")
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        client.write(encode("HELLO", 3) + encode("PING"))
        text = b""
        while not text.endswith(b"+PONG\r\n"):
            text += client.take(1)
        assert re.fullmatch(pattern, text), text
        client.close()


def depth_is_refused_at_once(arguments):
    """redis/hiredis#1335: deep nesting overflowed a stack."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        try:
            client.socket.sendall(b"*1\r\n" * 100000)
        except (BrokenPipeError, ConnectionResetError):
            pass
        reply = client.read()
        assert reply == Failure(b"ERR Protocol error: expected '$', got '*'"), reply
        client.close()
        again = server.connect()
        assert again.call("PING") == b"PONG"
        again.close()


def replies_survive_a_slow_reader(arguments):
    """valkey-io/valkey#2786, #2769: a buffer was resized between two partial writes."""
    value = bytes(i * 31 % 251 for i in range(1 << 16)) * 80
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        other = server.connect()
        other.call("HSET", "h", "f", value)
        client = server.connect()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.write(encode("HGET", "h", "f") * 3)
        got = b""
        wanted = (b"$%d\r\n" % len(value) + value + b"\r\n") * 3
        chunks = []
        length = 0
        while length < len(wanted):
            got = client.socket.recv(10000)
            assert got
            chunks.append(got)
            length += len(got)
            if len(chunks) % 8 == 0:
                other.call("PING")
        assert b"".join(chunks) == wanted
        client.close()
        other.close()


def expect_clients_gone(server):
    """All of them, with their memory. A connection that was busy keeps a buffer: this one is new."""
    watcher = server.connect()
    wait_until(lambda: server.info(watcher, "connected_clients") == "1", "they are gone")
    wait_until(lambda: int(server.info(watcher, "mem_clients_normal")) < MIB, "all is freed")
    watcher.close()


def readers_who_do_not_read_cost_no_data(arguments):
    """redis/redis#4496: output buffers counted as data, and the data were thrown away for them."""
    with Folder() as folder, Server(arguments.torcd, folder, "--maxmemory", "64mb") as server:
        other = server.connect()
        for i in range(20):
            words = [w for j in range(20) for w in ("f%d" % j, b"x" * 50000)]
            assert other.call("HSET", "h%d" % i, *words) == 20
        used = server.info(other, "used_memory")
        crowd = [server.connect() for _ in range(40)]
        for client in crowd:
            client.write(encode("HGETALL", "h1") * 10)
        assert other.call("DBSIZE") == 20
        assert server.info(other, "used_memory") == used
        assert other.call("HSET", "new", "f", "v") == 1
        for client in crowd + [other]:
            client.close()
        expect_clients_gone(server)


def clients_that_leave_in_the_middle_leave_nothing(arguments):
    """redis/redis-py#2665: a cancelled call left its reply for the next one."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        other = server.connect()
        put = [w for i in range(100) for w in ("f%d" % i, b"x" * 30000)]
        other.call("HSET", "h", *put)
        descriptors = server.descriptors()
        for i in range(400):
            client = server.connect()
            client.write(encode("HGETALL", "h"))
            client.socket.recv(1000)
            client.close()
            fresh = server.connect()
            assert fresh.call("ECHO", "nonce%d" % i) == b"nonce%d" % i
            fresh.close()
        other.close()
        expect_clients_gone(server)
        wait_until(lambda: server.descriptors() < descriptors, "descriptors")


def a_reply_has_one_shape_in_a_protocol(arguments):
    """cunla/fakeredis-py#491: the shape of HGETALL depended on where it stood."""
    pairs = b"$1\r\na\r\n$1\r\n1\r\n"
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for protocol, head in ((2, b"*2\r\n"), (3, b"%1\r\n")):
            client = server.connect(protocol)
            client.call("HSET", "h", "a", "1")
            client.write(encode("HGETALL", "h") * 3)
            assert client.take(3 * len(head + pairs)) == (head + pairs) * 3
            client.close()


def what_is_not_known_is_answered_and_the_connection_stays(arguments):
    """redis/go-redis#2616, #2515: a HELLO that was not understood closed the connection."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = server.connect()
        for words in (
            ("HELLO", "junk"),
            ("HELLO", 99),
            ("HELLO", 3, "JUNK"),
            ("HELLO", 3, "SETNAME"),
            ("FOO",),
            ("FOO", "bar", "baz"),
            ("CLIENT", "REPLY", "OFF"),
            ("CLIENT", "JUNK"),
            ("CONFIG", "JUNK"),
        ):
            assert isinstance(client.call(*words), Failure), words
            assert client.call("PING") == b"PONG"
        client.close()


def prose_is_verbatim_in_resp3(arguments):
    """redis/hiredis#802: INFO is a verbatim string in RESP3, and some clients did not know it."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        for protocol, kind in ((2, b"$"), (3, b"=")):
            client = server.connect(protocol)
            client.write(encode("INFO"))
            line = client._line()
            assert line[:1] == kind, line
            text = client._bytes(int(line[1:]))
            assert text.startswith(b"txt:# " if protocol == 3 else b"# "), text[:10]
            client.close()


def a_killed_server_can_be_started_again_whatever_is_left(arguments):
    """eclipse-iceoryx/iceoryx2#601, #149, #80: what was left behind kept the next one from starting."""
    with Folder() as folder:
        for n in range(3):
            for gone in itertools.combinations((".resp", ".ring"), n):
                server = Server(arguments.torcd, folder)
                ring = Ring(arguments.ring, server.control)
                assert ring.call("HSET", "h", "f", "v") == 1
                server.process.kill()
                server.process.wait()
                server.log.close()
                for end in gone:
                    os.unlink(os.path.join(folder, "t" + end))
                with Server(arguments.torcd, folder) as again:
                    fresh = Ring(arguments.ring, again.control)
                    assert fresh.call("DBSIZE") == 0
                    fresh.close()
                ring.kill()
            # Nothing but the log stays of one that ended in order.
            assert os.listdir(folder) == ["t.log"], os.listdir(folder)


def a_client_stopped_beyond_its_time_ends_with_a_clear_error(arguments):
    """aeron-io/aeron#1675: what a stalled reader was reading was unmapped under it."""
    stop_client = os.path.join(os.path.dirname(arguments.ring), "stop_client")
    with Folder() as folder, Server(
        arguments.torcd, folder, "--session-stall-timeout", 1
    ) as server:
        other = server.connect()
        process = subprocess.Popen(
            [stop_client, server.control, "unread"], stderr=subprocess.PIPE
        )
        wait_until(lambda: is_stopped(process.pid), "it stopped")
        wait_until(lambda: server.info(other, "ring_sessions") == "0", "its session is cut")
        assert server.info(other, "ring_sessions_dropped") == "1"
        process.send_signal(signal.SIGCONT)
        _, text = process.communicate(timeout=60)
        assert process.returncode == 1 and b"TORC_EPIPE" in text, (process.returncode, text)
        other.close()


def clients_that_say_nothing_keep_nobody_out(arguments):
    """aeron-io/aeron#1419, #384, #163: a full control queue, and nobody could attach."""
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        silent = []
        for _ in range(50):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(server.control)
            silent.append(s)
        rings = [Ring(arguments.ring, server.control) for _ in range(5)]
        for ring in rings:
            assert ring.call("PING") == b"PONG"
            ring.close()
        for s in silent:
            s.close()
        client = server.connect()
        wait_until(lambda: server.info(client, "ring_sessions_half_open") == "0", "they are gone")
        client.close()


def a_pipe_of_both_directions_does_not_stand_still(arguments):
    """valkey-io/valkey-glide#5892, #5900: each side waited for the other to read."""
    value = b"v" * (10 * MIB)
    with Folder() as folder, Server(arguments.torcd, folder) as server:
        client = Connection(server.resp)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            client.socket.setsockopt(socket.SOL_SOCKET, option, 4096)
        client.call("HSET", "h", "f", value)
        client.write(encode("HGET", "h", "f") + encode("HSET", "h", "g", value))
        assert client.read() == value
        assert client.read() == 1
        client.close()
