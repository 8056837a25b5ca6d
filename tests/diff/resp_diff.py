#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random commands to torcd and to a real redis-server; every reply is compared.

Streams are seeded and come in blocks that start from an empty server. When a block differs it is shrunk to the
fewest commands that still differ, and printed as commands that can be typed. Replies whose order Redis leaves open are
compared as sets; replies that are random by nature are checked against the content of the hash.
"""
import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BLOCK = 1000
LIMIT_ENTRIES, LIMIT_VALUE = 24, 40  # small, so that hashes change their form often; the same on both sides


class Error(bytes):
    """An error reply."""


class Simple(bytes):
    """A simple string."""


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self.buffer, self.at = b"", 0

    def send(self, commands):
        out = []
        for words in commands:
            out.append(b"*%d\r\n" % len(words))
            out.extend(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        self.socket.sendall(b"".join(out))

    def more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer, self.at = self.buffer[self.at:] + data, 0

    def line(self):
        while True:
            end = self.buffer.find(b"\r\n", self.at)
            if end >= 0:
                line, self.at = self.buffer[self.at:end], end + 2
                return line
            self.more()

    def reply(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Simple(rest)
        if kind == b"-":
            return Error(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            n = int(rest)
            if n < 0:
                return None
            while len(self.buffer) - self.at < n + 2:
                self.more()
            data = self.buffer[self.at:self.at + n]
            if self.buffer[self.at + n:self.at + n + 2] != b"\r\n":
                raise ValueError("bulk string without its end")
            self.at += n + 2
            return data
        if kind == b"*":
            n = int(rest)
            return None if n < 0 else [self.reply() for _ in range(n)]
        raise ValueError("unknown reply %r" % line)

    def run(self, commands):
        replies = []
        for start in range(0, len(commands), 100):
            part = commands[start:start + 100]
            self.send(part)
            replies.extend(self.reply() for _ in part)
        return replies


class Generator:
    """Random commands over few keys and fields, so that they meet."""

    def __init__(self, rng):
        self.rng = rng

    def key(self):
        return b"key:%d" % self.rng.randrange(6) if self.rng.random() < 0.98 else self.rng.choice([b"", b"\x00\r\n", b"k" * 300])

    def field(self):
        r = self.rng.random()
        if r < 0.8:
            return b"f%d" % self.rng.randrange(12)
        if r < 0.95:
            return b"field-%d" % self.rng.randrange(60)
        return self.rng.choice([b"", b"\x00", b"a\r\nb", b"x" * 41, b"17", b"-5", b"123e4567-e89b-12d3-a456-426614174000", b"f" * 200])

    def value(self):
        r = self.rng.random()
        if r < 0.3:
            return b"%d" % self.rng.choice([0, 1, -1, 7, 10, 255, 256, 65535, 65536, 2**31, 2**63 - 1, -2**63, 2**64 - 1, self.rng.randrange(10**6)])
        if r < 0.45:
            return self.rng.choice([b"", b"0", b"-0", b"007", b"+5", b" 5", b"5 ", b"1.5", b"3.0", b"5.0e3", b"abc", b"nan", b"inf", b"0x10", b"1e400",
                                    b"123e4567-e89b-12d3-a456-426614174000", b"123E4567-E89B-12D3-A456-426614174000", b"00112233445566778899aabbccddeeff"])
        if r < 0.97:
            return bytes(self.rng.getrandbits(8) for _ in range(self.rng.randrange(1, 40)))
        return b"v" * self.rng.choice([41, 107, 108, 127, 128, 1000, 20000])

    def pairs(self):
        # Never more pairs than LIMIT_ENTRIES: from 7.2 on Redis converts such a hash even if fields repeat, as torc does; 7.0 does not.
        out = []
        for _ in range(self.rng.choice([1, 1, 1, 2, 3, 8, 20])):
            out += [self.field(), self.value()]
        return out

    def fields(self):
        return [self.field() for _ in range(self.rng.choice([1, 1, 2, 3, 10]))]

    def pattern(self):
        return self.rng.choice([b"*", b"f*", b"key:[0-2]", b"*1*", b"f?", b"[^f]*", b"\\f1", b"", b"f[1-", b"*\x00*"])

    def number(self):
        return self.rng.choice([b"0", b"1", b"-1", b"10", b"100", b"-5", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808",
                                b"abc", b"", b"1.5", b" 1", b"01", b"+1", b"%d" % self.rng.randrange(-50, 50)])

    def decimal(self):
        return self.rng.choice([b"0.1", b"0.2", b"-0.3", b"1e3", b"5.0e3", b"10.43", b"3.0e-17", b"nan", b"inf", b"-inf", b"abc", b"", b" 1", b"1 ", b"0x10", b"1e5000",
                                b"%.3f" % self.rng.uniform(-1000, 1000)])

    def option_words(self):
        words = []
        if self.rng.random() < 0.4:
            words += [self.rng.choice([b"MATCH", b"match"]), self.pattern()]
        if self.rng.random() < 0.4:
            words += [b"COUNT", self.rng.choice([b"1", b"10", b"1000", b"0", b"-1", b"abc"])]
        return words

    def command(self):
        r, k, f = self.rng.random, self.key, self.field
        table = [
            (14, lambda: [b"HSET", k(), *self.pairs()]),
            (8, lambda: [b"HGET", k(), f()]),
            (5, lambda: [b"HMGET", k(), *self.fields()]),
            (6, lambda: [b"HDEL", k(), *self.fields()]),
            (3, lambda: [b"HGETALL", k()]),
            (3, lambda: [b"HLEN", k()]),
            (3, lambda: [b"HEXISTS", k(), f()]),
            (1, lambda: [b"DEL", *[k() for _ in range(self.rng.choice([1, 2, 3]))]]),
            (1, lambda: [b"EXISTS", *[k() for _ in range(self.rng.choice([1, 2, 3]))]]),
            (1, lambda: [b"TYPE", k()]),
            (1, lambda: [b"DBSIZE"]),
            (1, lambda: [b"OBJECT", b"ENCODING", k()]),
            (0.5, lambda: [b"ECHO", self.value()]),
            (0.5, lambda: [b"PING", *([self.value()] if r() < 0.5 else [])]),
            (1, lambda: [b"SCAN", b"0", *self.option_words(), b"COUNT", b"1000"]),
            (0.3, lambda: [b"SCAN", self.rng.choice([b"abc", b"-1", b"18446744073709551616", b"0"]), b"COUNT", b"1000"]),
            (0.3, lambda: [b"SELECT", self.rng.choice([b"0", b"-1", b"99999", b"abc"])]),
            (0.05, lambda: [b"FLUSHALL", *([self.rng.choice([b"ASYNC", b"sync", b"now"])] if r() < 0.5 else [])]),
            (1, self.mistake),
            (2, lambda: [b"HSETNX", k(), f(), self.value()]),
            (2, lambda: [b"HMSET", k(), *self.pairs()]),
            (1, lambda: [b"HKEYS", k()]),
            (1, lambda: [b"HVALS", k()]),
            (2, lambda: [b"HSTRLEN", k(), f()]),
            (5, lambda: [b"HINCRBY", k(), f(), self.number()]),
            (5, lambda: [b"HINCRBYFLOAT", k(), f(), self.decimal()]),
            (2, lambda: [b"HSCAN", k(), b"0", *self.option_words(), b"COUNT", b"10000"]),
            (0.5, lambda: [b"HSCAN", k(), self.rng.choice([b"abc", b"-1", b"0"]), self.rng.choice([b"MATCH", b"COUNT", b"FOO"])]),
            (1, lambda: [b"HRANDFIELD", k(), *self.rng.choice([[], [b"3"], [b"-3"], [b"100"], [b"0"], [b"5", b"WITHVALUES"], [b"-5", b"withvalues"],
                                                               [b"abc"], [b"1", b"FOO"], [b"-9223372036854775808"], [b"4611686018427387904", b"WITHVALUES"]])]),
            (1, lambda: [b"UNLINK", k(), k()]),
            (1, lambda: [b"TOUCH", k(), k()]),
            (0.5, lambda: [b"KEYS", self.pattern()]),
            (0.3, lambda: [b"RANDOMKEY"]),
            (0.05, lambda: [b"FLUSHDB"]),
            (0.3, lambda: [b"SCAN", b"0", b"TYPE", self.rng.choice([b"hash", b"string", b"HASH", b"nosuch"]), b"COUNT", b"1000"]),
        ]
        total = sum(weight for weight, _ in table)
        pick = r() * total
        for weight, make in table:
            pick -= weight
            if pick <= 0:
                return make()
        return [b"PING"]

    def mistake(self):
        """Wrong numbers of words, unknown commands and subcommands."""
        words = self.rng.choice([
            [b"HSET", b"key:1"], [b"HSET", b"key:1", b"a"], [b"HSET", b"key:1", b"a", b"1", b"b"], [b"HGET", b"key:1"], [b"HGET", b"key:1", b"a", b"b"],
            [b"HMGET", b"key:1"], [b"HDEL", b"key:1"], [b"HGETALL"], [b"HLEN"], [b"HEXISTS", b"key:1"], [b"DEL"], [b"EXISTS"], [b"TYPE"], [b"SCAN"],
            [b"SCAN", b"0", b"MATCH"], [b"SCAN", b"0", b"COUNT", b"0"], [b"SCAN", b"0", b"COUNT", b"x"], [b"SCAN", b"0", b"FOO", b"1"], [b"DBSIZE", b"x"], [b"ECHO"],
            [b"PING", b"a", b"b"], [b"nosuch"], [b"nosuch", b"a", b"b c"], [b"NOSUCH", b"x" * 200, b"y"], [b"OBJECT"], [b"OBJECT", b"ENCODING"],
            [b"OBJECT", b"FOO", b"key:1"], [b"MEMORY", b"USAGE"], [b"MEMORY", b"FOO"], [b"MEMORY", b"USAGE", b"key:1", b"SAMPLES", b"-1"], [b"hset", b"key:1", b"a"], [b"SELECT"],
            [b"FLUSHALL", b"a", b"b"], [b"COMMAND", b"FOO"], [b"HSETNX", b"key:1", b"a"], [b"HMSET", b"key:1", b"a", b"1", b"b"], [b"HKEYS"],
            [b"HINCRBY", b"key:1", b"a"], [b"HINCRBYFLOAT", b"key:1", b"a", b"1", b"2"], [b"HSCAN", b"key:1"], [b"HRANDFIELD"], [b"HRANDFIELD", b"key:1", b"1", b"WITHVALUES", b"x"],
            [b"KEYS"], [b"RANDOMKEY", b"x"], [b"TIME", b"x"], [b"FLUSHDB", b"now"], [b"CONFIG", b"RESETSTAT", b"x"],
        ])
        return list(words)


# Differences that are known and meant. Each is (what, test of command and both replies).
KNOWN = [
    ("Redis 8 names no arguments where there are none; 7.0 has the tail always",
     lambda words, ours, theirs: isinstance(theirs, Error) and theirs.startswith(b"ERR unknown command") and len(words) == 1
     and theirs.startswith(ours + b", with args beginning with: ")),
    ("a negative cursor is an invalid cursor (Redis 8); 7.0 wraps it around",
     lambda words, ours, theirs: b"SCAN" in words[0].upper() and b"-1" in words[1:3] and ours == b"ERR invalid cursor"),
]


def pairs_of(flat):
    return sorted(zip(flat[::2], flat[1::2]))


def normalise(words, reply):
    """What of a reply is not left open by Redis."""
    name = words[0].upper()
    if isinstance(reply, (Error, Simple)) or reply is None or isinstance(reply, int):
        return reply
    if name == b"HGETALL" and isinstance(reply, list):
        return pairs_of(reply)
    if name in (b"HKEYS", b"HVALS", b"KEYS") and isinstance(reply, list):
        return sorted(reply)
    if name == b"SCAN" and isinstance(reply, list):
        return [sorted(set(reply[1]))] if reply[0] == b"0" else ["not at the end", reply[0]]
    if name == b"HSCAN" and isinstance(reply, list):
        return [pairs_of(reply[1])] if reply[0] == b"0" else ["not at the end", reply[0]]
    return reply


def is_random(words):
    return words[0].upper() in (b"HRANDFIELD", b"RANDOMKEY")


def random_is_plausible(words, ours, theirs):
    """Both replies are random: compare their shape; members are checked by the model below."""
    if isinstance(ours, Error) or isinstance(theirs, Error):
        return ours == theirs
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return False
        if len(words) > 2 and not words[2].startswith(b"-"):
            names = ours[::2] if len(words) > 3 else ours
            return len(set(names)) == len(names)
        return True
    return (ours is None) == (theirs is None)


def differs(words, ours, theirs):
    if is_random(words):
        return not random_is_plausible(words, ours, theirs)
    if normalise(words, ours) == normalise(words, theirs) and isinstance(ours, Error) == isinstance(theirs, Error):
        return False
    return not any(test(words, ours, theirs) for _, test in KNOWN)


def first_difference(connections, commands):
    ours, theirs = (c.run([[b"FLUSHALL"], *commands])[1:] for c in connections)
    for i, (words, a, b) in enumerate(zip(commands, ours, theirs)):
        if differs(words, a, b):
            return i, a, b
    return None


def shrink(connections, commands):
    """Fewest commands that still differ, by leaving out ever smaller parts."""
    found = first_difference(connections, commands)
    commands = commands[:found[0] + 1]
    size = len(commands) // 2
    while size >= 1:
        start = 0
        while start < len(commands):
            shorter = commands[:start] + commands[start + size:]
            found = first_difference(connections, shorter) if shorter else None
            if found:
                commands = shorter[:found[0] + 1]
            else:
                start += size
        size //= 2
    return commands


def text(word):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else "\\x%02x" % b for b in word) + '"'


def start(argv, path, log):
    process = subprocess.Popen(argv, stdout=log, stderr=log)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return process, Connection(path)
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.02)
    process.kill()
    raise SystemExit("%s does not start" % argv[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("torcd", help="the torcd program")
    parser.add_argument("--commands", type=int, default=int(os.environ.get("TORC_OPS", "50000")), help="how many (default 50,000, or $TORC_OPS)")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TORC_SEED", "1")))
    options = parser.parse_args()
    redis = shutil.which("redis-server")
    if redis is None:
        print("skipped: redis-server is not installed")
        return 77
    print("seed: TORC_SEED=%d TORC_OPS=%d" % (options.seed, options.commands), flush=True)
    folder = tempfile.mkdtemp(prefix="torc-diff-")
    processes = []
    try:
        with open(os.path.join(folder, "log"), "wb") as log:
            ours_path, theirs_path = os.path.join(folder, "torc.resp"), os.path.join(folder, "redis.resp")
            limits = ["--hash-max-listpack-entries", str(LIMIT_ENTRIES), "--hash-max-listpack-value", str(LIMIT_VALUE)]
            process, ours = start([options.torcd, "--port", "0", "--unixsocket", ours_path, "--control-socket", os.path.join(folder, "torc.sock"), *limits], ours_path, log)
            processes.append(process)
            process, theirs = start([redis, "--port", "0", "--unixsocket", theirs_path, "--save", "", "--dir", folder, *limits], theirs_path, log)
            processes.append(process)
            connections = (ours, theirs)
            done = 0
            block = 0
            while done < options.commands:
                rng = random.Random(options.seed * 1000003 + block)
                generator = Generator(rng)
                commands = [generator.command() for _ in range(min(BLOCK, options.commands - done))]
                if first_difference(connections, commands):
                    commands = shrink(connections, commands)
                    _, a, b = first_difference(connections, commands)
                    print("DIFFERENCE in block %d, shrunk to %d commands:" % (block, len(commands)))
                    for words in commands:
                        print("   ", " ".join(text(w) for w in words))
                    print("  torcd:", repr(a)[:400])
                    print("  redis:", repr(b)[:400])
                    return 1
                done += len(commands)
                block += 1
            print("%d commands, no unexplained difference" % done)
            return 0
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
