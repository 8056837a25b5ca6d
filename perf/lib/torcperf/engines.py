# SPDX-License-Identifier: Apache-2.0
"""The servers that are measured: how each kind is started, reached, and how much memory it holds."""

import contextlib
import ctypes
import os
import shlex
import signal
import socket
import subprocess
import time

# Only ends a start that would hang.
START_S = 30.0

# Redis as its rivals measured it: nothing persistent, no background defragmentation, one thread.
REDIS_SETTINGS = (
    "--save", "", "--appendonly", "no", "--maxmemory", "0", "--maxmemory-policy", "noeviction", "--activedefrag", "no",
    "--io-threads", "1", "--hash-max-listpack-entries", "128", "--hash-max-listpack-value", "64",
)  # fmt: skip


class EngineError(Exception):
    """A server that does not start, or has ended."""


class Engine:
    """What to start. kind: "torc" (rings and RESP) or "resp" (RESP only)."""

    def __init__(self, name, kind, binary, arguments=()):
        self.name = name
        self.kind = kind
        self.binary = binary
        self.arguments = list(arguments)

    def command(self, folder, port, settings):
        """`settings` are torcd's own, by name; other engines do not know them."""
        resp = os.path.join(folder, "resp")
        if self.kind == "torc":
            command = [self.binary, "--port", "0", "--unixsocket", resp]
            command += ["--control-socket", os.path.join(folder, "ring")]
            for name, value in settings.items():
                command += ["--" + name, str(value)]
            return command + self.arguments
        if not self.arguments:
            return [self.binary, "--port", "0", "--unixsocket", resp]
        words = [w.replace("{socket}", resp).replace("{port}", str(port)) for w in self.arguments]
        if not self.uses_port() and not any("{socket}" in w for w in self.arguments):
            words += ["--port", "0", "--unixsocket", resp]
        return [self.binary] + words

    def uses_port(self):
        return any("{port}" in word for word in self.arguments)


def redis(binary):
    return Engine("redis", "resp", binary, REDIS_SETTINGS)


def parse_engine(text):
    """name=NAME,binary=PATH[,kind=torc|resp][,args=WORDS]: args takes the rest. Raises ValueError with the reason."""
    head, has_args, args = text.partition(",args=")
    given = {}
    for part in head.split(","):
        key, equals, value = part.partition("=")
        if key not in ("name", "binary", "kind") or not equals or not value:
            raise ValueError("%r is not name=..., binary=..., kind=torc|resp or args=..." % part)
        given[key] = value
    for key in ("name", "binary"):
        if key not in given:
            raise ValueError("%s=... is missing" % key)
    if not given["name"].replace("-", "").replace(".", "").isalnum():
        raise ValueError("the name %r is not made of letters, digits, . and -" % given["name"])
    if not os.access(given["binary"], os.X_OK):
        raise ValueError("%s is not a program" % given["binary"])
    kind = given.get("kind") or ("torc" if os.path.basename(given["binary"]) == "torcd" else "resp")
    if kind not in ("torc", "resp"):
        raise ValueError("kind=%s is neither torc nor resp" % kind)
    return Engine(given["name"], kind, os.path.abspath(given["binary"]), shlex.split(args) if has_args else ())


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def _prepare_child(cpu):
    """Runs in the new process: its CPU, and an end with this one even when this one is killed."""
    os.sched_setaffinity(0, {cpu})
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    """One running server, warmed with one hash that was created and deleted; use as a context or stop() it."""

    def __init__(self, engine, settings, cpu, folder):
        self.engine = engine
        self.folder = folder
        self._port = _free_port() if engine.uses_port() else 0
        os.makedirs(folder, exist_ok=True)
        command = engine.command(folder, self._port, settings)
        self._log = open(os.path.join(folder, "log"), "wb")
        try:
            self._process = subprocess.Popen(
                command, stdout=self._log, stderr=self._log, stdin=subprocess.DEVNULL, cwd=folder,
                start_new_session=True, preexec_fn=lambda: _prepare_child(cpu),
            )  # fmt: skip
        except OSError as error:
            self._log.close()
            raise EngineError("%s does not start: %s" % (engine.binary, error)) from None
        try:
            self._await_ready()
            self._ask("HSET", "warm", "field", "value")
            self._ask("DEL", "warm")
            self.forget_peak()
            self._resident_before = self._memory("VmRSS", "HugetlbPages")
        except BaseException:
            self.stop()
            raise

    def address(self, road):
        """What torc-perf-load takes as --connect."""
        if road == "ring":
            return "ring:" + os.path.join(self.folder, "ring")
        return "tcp:127.0.0.1:%d" % self._port if self._port else "unix:" + os.path.join(self.folder, "resp")

    def _connect(self):
        if self._port:
            return socket.create_connection(("127.0.0.1", self._port), START_S)
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(START_S)
        try:
            link.connect(os.path.join(self.folder, "resp"))
        except OSError:
            link.close()
            raise
        return link

    def _ask(self, *words):
        """The first line of the reply."""
        with self._connect() as link:
            link.sendall(_encode(words))
            reply = b""
            while b"\r\n" not in reply:
                data = link.recv(4096)
                if not data:
                    raise EngineError("%s closed the connection on %s" % (self.engine.name, words[0]))
                reply += data
        return reply.split(b"\r\n")[0].decode(errors="replace")

    def _await_ready(self):
        end = time.monotonic() + START_S
        while True:
            if self._process.poll() is not None:
                raise EngineError("%s ended at its start: %s" % (self.engine.name, self._last_words()))
            try:
                if self._ask("PING") == "+PONG":
                    return
            except (OSError, EngineError):
                pass
            if time.monotonic() > end:
                raise EngineError("%s does not answer in %d s" % (self.engine.name, START_S))
            time.sleep(0.005)

    def _last_words(self):
        with open(os.path.join(self.folder, "log"), "rb") as f:
            lines = f.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _memory(self, *names):
        total = 0
        try:
            with open("/proc/%d/status" % self._process.pid, encoding="ascii", errors="replace") as f:
                for line in f:
                    name, _, rest = line.partition(":")
                    if name in names:
                        total += int(rest.split()[0]) * 1024
        except OSError:
            raise EngineError("%s has ended" % self.engine.name) from None
        return total

    def resident(self):
        """Bytes resident beyond those of the warmed server."""
        return self._memory("VmRSS", "HugetlbPages") - self._resident_before

    def peak(self):
        """The most bytes resident since forget_peak(), beyond those of the warmed server. Pages of hugetlbfs are not
        counted by the kernel here: run with huge-pages no."""
        return self._memory("VmHWM") - self._resident_before

    def forget_peak(self):
        with contextlib.suppress(OSError):  # without the right, the peak of the start stays in it
            with open("/proc/%d/clear_refs" % self._process.pid, "w", encoding="ascii") as f:
                f.write("5")

    def is_alive(self):
        return self._process.poll() is None

    def pause(self):
        """Take the server off its CPU while another one is measured there."""
        if self.is_alive():
            self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        if self.is_alive():
            self._process.send_signal(signal.SIGCONT)

    def stop(self):
        """Its data are of no use to anyone: no time is lost with an orderly end."""
        if self.is_alive():
            self._process.kill()
        self._process.wait()
        self._log.close()
