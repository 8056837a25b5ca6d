# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests of the server share: starting it, RESP in plain Python, rings through
ring_over_stdio, and waiting for conditions. Standard library only."""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# Only ends a test that would hang: generous, because sanitizers and busy machines are slow.
DEADLINE_S = 60.0
# Less than a pipe or a socket holds by default.
PIPELINE_BYTES = 32 * 1024


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torcd", required=True)
    parser.add_argument("--ring", required=True, help="path of ring_over_stdio")
    return parser.parse_args()


def wait_until(condition, what):
    """Poll until condition() is true; its value is returned."""
    end = time.monotonic() + DEADLINE_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("not in %d s: %s" % (DEADLINE_S, what))
        time.sleep(0.002)


def listens(path):
    """Does someone listen on this Unix socket? The file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def skip(reason):
    """End with 77, a skip; where everything is required that is a failure."""
    print("skipped: " + reason)
    sys.exit(1 if os.environ.get("TORC_REQUIRE_ALL") == "1" else 77)


class Simple(bytes):
    """A simple string."""

    def __repr__(self):
        return "+" + bytes.__repr__(self)


class Failure(bytes):
    """An error reply."""

    def __repr__(self):
        return "-" + bytes.__repr__(self)


class Stream:
    """RESP2 and RESP3 over two callables."""

    def __init__(self, read, write):
        self._read = read
        self.write = write
        self._buffer = bytearray()  # bytes before _at are used up
        self._at = 0

    def _fill(self):
        if self._at > 1 << 16 and 2 * self._at > len(self._buffer):
            del self._buffer[: self._at]
            self._at = 0
        data = self._read()
        if not data:
            raise EOFError
        self._buffer += data

    def _line(self):
        while (end := self._buffer.find(b"\r\n", self._at)) < 0:
            self._fill()
        line = bytes(self._buffer[self._at : end])
        self._at = end + 2
        return line

    def take(self, n):
        """The next n bytes, as they come."""
        while len(self._buffer) - self._at < n:
            self._fill()
        data = bytes(self._buffer[self._at : self._at + n])
        self._at += n
        return data

    def _bytes(self, n):
        data = self.take(n)
        end = self.take(2)
        assert end == b"\r\n", end
        return data

    def read(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Simple(rest)
        if kind == b"-":
            return Failure(rest)
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"_":
            return None
        if kind in b"$=":
            n = int(rest)
            if n < 0:
                return None
            data = self._bytes(n)
            return data[4:] if kind == b"=" else data
        if kind in b"*~":
            n = int(rest)
            return None if n < 0 else [self.read() for _ in range(n)]
        if kind == b"%":
            return [self.read() for _ in range(2 * int(rest))]
        raise AssertionError("not RESP: %r" % line)

    def call(self, *words):
        self.write(encode(*words))
        return self.read()

    def pipeline(self, commands):
        """The replies of all commands. So few are on their way that neither side can block."""
        replies, waiting, n_bytes = [], 0, 0
        for words in commands:
            request = encode(*words)
            if waiting and n_bytes + len(request) > PIPELINE_BYTES:
                replies.extend(self.read() for _ in range(waiting))
                waiting = n_bytes = 0
            self.write(request)
            waiting += 1
            n_bytes += len(request)
        replies.extend(self.read() for _ in range(waiting))
        return replies


def encode(*words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Connection(Stream):
    """To a Unix socket path or (host, port)."""

    def __init__(self, address, protocol=2):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        # With a timeout set, connecting to a Unix socket whose queue is full would fail at once.
        self.socket.connect(address)
        self.socket.settimeout(DEADLINE_S)
        Stream.__init__(self, lambda: self.socket.recv(1 << 20), self.socket.sendall)
        if protocol == 3:
            self.call("HELLO", 3)

    def close(self):
        self.socket.close()


class Ring(Stream):
    """A ring session, held by a process of its own."""

    def __init__(self, program, control_path):
        self.process = subprocess.Popen(
            [program, control_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        out = self.process.stdout.fileno()
        Stream.__init__(self, lambda: os.read(out, 1 << 20), self._write)
        assert self.read() == b"attached"

    def _write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Folder:
    """A temporary folder, short enough for socket paths."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="torc-e2e-", dir="/tmp")

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_stopped(process):
    """Whether the process of that id is stopped (state T)."""
    with open("/proc/%d/stat" % process) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


class Server:
    """A torcd that is ready when the constructor returns."""

    def __init__(self, program, folder, *options, name="t", **popen):
        self.resp = os.path.join(folder, name + ".resp")
        self.control = os.path.join(folder, name + ".ring")
        self.log_path = os.path.join(folder, name + ".log")
        command = [program, "--port", "0", "--unixsocket", self.resp]
        command += ["--control-socket", self.control, *map(str, options)]
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, **popen)
        wait_until(self._is_ready, "server ready: " + self.log_path)

    def _is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError("server ended: " + self.text())
        return " server: ready" in self.text()

    def text(self):
        with open(self.log_path, "rb") as f:
            return f.read().decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print("# a test failed; the server's exit status: %s, its log:" % self.process.poll())
            print("# " + self.text().replace("\n", "\n# "))
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(DEADLINE_S)
            assert self.process.returncode == 0, self.text()
        self.log.close()

    def connect(self, protocol=2):
        return Connection(self.resp, protocol)

    def info(self, connection, field):
        text = connection.call("INFO", "all").decode()
        for line in text.split("\r\n"):
            if line.startswith(field + ":"):
                return line.split(":", 1)[1]
        raise AssertionError("INFO has no " + field)

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def _status(self, name):
        with open("/proc/%d/status" % self.process.pid) as f:
            for line in f:
                if line.startswith(name + ":"):
                    return int(line.split()[1]) << 10
        raise AssertionError("no " + name)

    def resident(self):
        """Bytes of memory that are its own: not the arena's."""
        return self._status("RssAnon")

    def has_sanitizer(self):
        """Sanitizers keep what was freed for a while. Their shadow takes terabytes of addresses."""
        return self._status("VmSize") > 4 << 40

    def cpu_ticks(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])


class Redis:
    """A redis-server to compare with; the test is skipped where there is none."""

    def __init__(self, folder, *options):
        program = shutil.which("redis-server")
        if program is None:
            skip("no redis-server to compare with")
        self.path = os.path.join(folder, "redis.sock")
        command = [program, "--port", "0", "--unixsocket", self.path, "--save", ""]
        self.process = subprocess.Popen(
            command + ["--dir", folder, *map(str, options)], stdout=subprocess.DEVNULL
        )
        wait_until(self._answers, "redis-server")

    def _answers(self):
        try:
            Connection(self.path).close()
            return True
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def connect(self, protocol=2):
        return Connection(self.path, protocol)


def run_tests(tests):
    """Each is a function without arguments; prints one line for each."""
    for test in tests:
        test()
        print("ok - " + test.__name__.replace("_", " "))
        sys.stdout.flush()
