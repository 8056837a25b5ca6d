# SPDX-License-Identifier: Apache-2.0
"""Seeded random streams of commands, in blocks that start from an empty server.

A block is a function of (seed, number of the block), so a failing one can be made again alone.
"""

import bisect
import itertools
import random

BLOCK = 1000  # commands

# Limits of compact hashes that the servers are started with: small, so that hashes change their
# form often.
LIMIT_ENTRIES, LIMIT_VALUE = 24, 40

ODD_KEYS = [b"", b"\x00\r\n", b"k" * 300]
ODD_FIELDS = [
    b"",
    b"\x00",
    b"a\r\nb",
    b"x" * 41,
    b"17",
    b"-5",
    b"123e4567-e89b-12d3-a456-426614174000",
    b"f" * 200,
]
INTEGERS = [0, 1, -1, 7, 10, 255, 256, 65535, 65536, 2**31, 2**63 - 1, -(2**63), 2**64 - 1]
# Almost numbers, numbers in other forms, and what the value codec takes for a UUID.
ODD_VALUES = [
    *(b"", b"0", b"-0", b"007", b"+5", b" 5", b"5 ", b"1.5", b"3.0", b"5.0e3", b"abc", b"nan"),
    *(b"inf", b"0x10", b"1e400", b"123e4567-e89b-12d3-a456-426614174000"),
    *(b"123E4567-E89B-12D3-A456-426614174000", b"00112233445566778899aabbccddeeff"),
]
LONG_VALUES = [41, 107, 108, 127, 128, 1000, 20000]  # bytes
CURSORS = [
    *(b"0", b"00", b"0" * 25, b" 0", b"\t\n 0", b"", b" ", b"0 ", b"+0", b"-1", b"-0", b"abc", b"0x0"),
    *(b"18446744073709551616", b"0\x00"),
]
PATTERNS = [b"*", b"f*", b"key:[0-2]", b"*1*", b"f?", b"[^f]*", b"\\f1", b"", b"f[1-", b"*\x00*"]
INCREMENTS = [
    *(b"0", b"1", b"-1", b"10", b"100", b"-5", b"9223372036854775807", b"-9223372036854775808"),
    *(b"9223372036854775808", b"abc", b"", b"1.5", b" 1", b"01", b"+1"),
]
DECIMALS = [
    *(b"0.1", b"0.2", b"-0.3", b"1e3", b"5.0e3", b"10.43", b"3.0e-17", b"nan", b"inf", b"-inf"),
    *(b"abc", b"", b" 1", b"1 ", b"0x10", b"1e5000"),
]
RANDFIELD_TAILS = [
    *([], [b"3"], [b"-3"], [b"100"], [b"0"], [b"5", b"WITHVALUES"], [b"-5", b"withvalues"]),
    *([b"abc"], [b"1", b"FOO"], [b"-9223372036854775808"]),
    [b"4611686018427387904", b"WITHVALUES"],
]

# Absolute times are past, or so far away that both servers say the same whenever they are asked.
FAR_SECONDS = [b"32503680000", b"32503680001", b"32503690000", b"70368744177"]
FAR_MS = [b"32503680000000", b"32503680000499", b"32503680000500", b"32503690000001", b"70368744177663"]
PAST = [b"0", b"1", b"100", b"999999999"]
ODD_TIMES = [b"abc", b"", b"1.5", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808"]
CONDITIONS = [
    *([], [], [], [b"NX"], [b"XX"], [b"GT"], [b"LT"], [b"xx", b"gt"], [b"LT", b"XX"]),
    *([b"NX", b"GT"], [b"GT", b"LT"], [b"NX", b"NX"], [b"FOO"]),
]

# Wrong numbers of words, unknown commands and subcommands. A line is a command.
MISTAKES = [
    line.split(b" ")
    for line in (
        *(b"HSET key:1", b"HSET key:1 a", b"HSET key:1 a 1 b", b"hset key:1 a"),
        *(b"HGET key:1", b"HGET key:1 a b", b"HMGET key:1", b"HDEL key:1", b"HGETALL", b"HLEN"),
        *(b"HEXISTS key:1", b"HSETNX key:1 a", b"HMSET key:1 a 1 b", b"HKEYS", b"HVALS a b"),
        *(b"HINCRBY key:1 a", b"HINCRBYFLOAT key:1 a 1 2", b"HSTRLEN key:1"),
        *(b"HSCAN key:1", b"HRANDFIELD", b"HRANDFIELD key:1 1 WITHVALUES x"),
        *(b"DEL", b"UNLINK", b"TOUCH", b"EXISTS", b"TYPE", b"KEYS", b"RANDOMKEY x", b"TIME x"),
        *(b"SCAN", b"SCAN 0 MATCH", b"SCAN 0 COUNT 0", b"SCAN 0 COUNT x", b"SCAN 0 FOO 1"),
        *(b"DBSIZE x", b"ECHO", b"PING a b", b"SELECT", b"FLUSHALL a b", b"FLUSHDB now"),
        *(b"nosuch", b"nosuch a b", b"NOSUCH " + b"x" * 200 + b" y"),
        *(b"EXPIRE key:1", b"PEXPIRE", b"EXPIREAT key:1", b"PEXPIREAT key:1", b"TTL", b"PTTL a b"),
        *(b"EXPIRETIME", b"PEXPIRETIME a b", b"PERSIST", b"PERSIST a b", b"RENAME key:1", b"RENAMENX"),
        *(b"COPY key:1", b"COPY key:1 key:2 FOO", b"COPY key:1 key:2 DB", b"COPY key:1 key:2 DB -1"),
        *(b"COPY key:1 key:2 DB abc", b"RENAME a b c"),
        *(b"OBJECT", b"OBJECT ENCODING", b"OBJECT FOO key:1", b"CONFIG RESETSTAT x"),
        *(b"MEMORY USAGE", b"MEMORY FOO", b"MEMORY USAGE key:1 SAMPLES -1", b"COMMAND FOO"),
    )
]


class Generator:
    """Random commands over few keys and fields, so that they meet."""

    def __init__(self, rng, has_field_times=False):
        self.rng = rng
        self.n_relative = 0
        k, f, v = self.key, self.field, self.value
        some = rng.choice
        table = [
            (14, lambda: [b"HSET", k(), *self.pairs()]),
            (8, lambda: [b"HGET", k(), f()]),
            (5, lambda: [b"HMGET", k(), *self.fields()]),
            (6, lambda: [b"HDEL", k(), *self.fields()]),
            (3, lambda: [b"HGETALL", k()]),
            (3, lambda: [b"HLEN", k()]),
            (3, lambda: [b"HEXISTS", k(), f()]),
            (2, lambda: [b"HSETNX", k(), f(), v()]),
            (2, lambda: [b"HMSET", k(), *self.pairs()]),
            (1, lambda: [b"HKEYS", k()]),
            (1, lambda: [b"HVALS", k()]),
            (2, lambda: [b"HSTRLEN", k(), f()]),
            (5, lambda: [b"HINCRBY", k(), f(), self.increment()]),
            (5, lambda: [b"HINCRBYFLOAT", k(), f(), self.decimal()]),
            (1, lambda: [b"HRANDFIELD", k(), *some(RANDFIELD_TAILS)]),
            (2, lambda: [b"HSCAN", k(), b"0", *self.scan_options(), b"COUNT", b"10000"]),
            (0.5, self.bad_hscan),
            (1, lambda: [b"SCAN", b"0", *self.scan_options(), b"COUNT", b"1000"]),
            (0.3, self.bad_scan),
            (0.3, self.typed_scan),
            (1, lambda: [b"DEL", *self.keys()]),
            (1, lambda: [b"EXISTS", *self.keys()]),
            (1, lambda: [b"UNLINK", k(), k()]),
            (1, lambda: [b"TOUCH", k(), k()]),
            (1, lambda: [b"TYPE", k()]),
            (1, lambda: [b"DBSIZE"]),
            (1, lambda: [b"OBJECT", b"ENCODING", k()]),
            (0.3, lambda: [b"MEMORY", b"USAGE", k()]),
            (0.5, lambda: [b"KEYS", self.pattern()]),
            (0.3, lambda: [b"RANDOMKEY"]),
            (0.5, lambda: [b"ECHO", v()]),
            (0.5, lambda: [b"PING", *some([[], [v()]])]),
            (0.3, lambda: [b"SELECT", some([b"0", b"-1", b"99999", b"abc"])]),
            (0.05, lambda: [b"FLUSHALL", *some([[], [b"ASYNC"], [b"sync"], [b"now"]])]),
            (0.05, lambda: [b"FLUSHDB"]),
            (1, lambda: list(some(MISTAKES))),
        ]
        table += [
            (4, self.expire),
            (2, lambda: [some([b"TTL", b"PTTL"]), k()]),
            (2, lambda: [some([b"EXPIRETIME", b"PEXPIRETIME"]), k()]),
            (1, lambda: [b"PERSIST", k()]),
            (1, lambda: [some([b"RENAME", b"RENAMENX"]), k(), k()]),
            (1, lambda: [b"COPY", k(), k(), *some([[], [b"REPLACE"], [b"replace"]])]),
        ]
        if has_field_times:
            table += [
                (4, self.expire_fields),
                (2, self.times_of_fields),
                (2, self.get_and_expire),
                (3, self.set_and_expire),
                (1, lambda: [some([b"HPERSIST", b"HGETDEL"]), k(), *self.field_block()]),
            ]
        self.makers = [make for _, make in table]
        self.weights = list(itertools.accumulate(weight for weight, _ in table))

    def command(self):
        pick = self.rng.random() * self.weights[-1]
        return self.makers[bisect.bisect_right(self.weights, pick)]()

    def key(self):
        if self.rng.random() < 0.98:
            return b"key:%d" % self.rng.randrange(6)
        return self.rng.choice(ODD_KEYS)

    def keys(self):
        return [self.key() for _ in range(self.rng.choice([1, 2, 3]))]

    def field(self):
        r = self.rng.random()
        if r < 0.8:
            return b"f%d" % self.rng.randrange(12)
        if r < 0.95:
            return b"field-%d" % self.rng.randrange(60)
        return self.rng.choice(ODD_FIELDS)

    def fields(self):
        return [self.field() for _ in range(self.rng.choice([1, 1, 2, 3, 10]))]

    def value(self):
        r = self.rng.random()
        if r < 0.3:
            return b"%d" % self.rng.choice([*INTEGERS, self.rng.randrange(10**6)])
        if r < 0.45:
            return self.rng.choice(ODD_VALUES)
        if r < 0.97:
            return self.rng.randbytes(self.rng.randrange(1, 40))
        return b"v" * self.rng.choice(LONG_VALUES)

    def pairs(self):
        # Never more pairs than LIMIT_ENTRIES: from 7.2 on Redis converts such a hash even if fields
        # repeat, as torc does; 7.0 does not.
        out = []
        for _ in range(self.rng.choice([1, 1, 1, 2, 3, 8, 20])):
            out += [self.field(), self.value()]
        return out

    def pattern(self):
        return self.rng.choice(PATTERNS)

    def increment(self):
        return self.rng.choice([*INCREMENTS, b"%d" % self.rng.randrange(-50, 50)])

    def decimal(self):
        return self.rng.choice([*DECIMALS, b"%.3f" % self.rng.uniform(-1000, 1000)])

    def scan_options(self):
        words = []
        if self.rng.random() < 0.4:
            words += [self.rng.choice([b"MATCH", b"match"]), self.pattern()]
        if self.rng.random() < 0.4:
            words += [b"COUNT", self.rng.choice([b"1", b"10", b"1000", b"0", b"-1", b"abc"])]
        return words

    def bad_scan(self):
        return [b"SCAN", self.rng.choice(CURSORS), b"COUNT", b"1000"]

    def bad_hscan(self):
        cursor = self.rng.choice(CURSORS)
        tail = self.rng.choice([[b"MATCH"], [b"COUNT"], [b"FOO"], [b"COUNT", b"10000"]])
        return [b"HSCAN", self.key(), cursor, *tail]

    def time_of(self, is_absolute, is_ms):
        """A time as a word, for a form of it."""
        r = self.rng.random()
        if r < 0.05:
            # As a time of a key in milliseconds, 7.0 takes all of 63 bits.
            odd = self.rng.choice(ODD_TIMES)
            return odd if not (is_absolute and is_ms and odd == b"9223372036854775807") else b"abc"
        if r < 0.2:
            return self.rng.choice([*PAST, b"-1", b"-100"] if is_absolute else [b"0", b"-1", b"-1000"])
        if is_absolute:
            return self.rng.choice(FAR_MS if is_ms else FAR_SECONDS)
        # From now on: no two within a few seconds of each other, or GT and LT would depend on the clock.
        self.n_relative += 1
        return b"%d" % ((5000 + 10 * (self.n_relative * 7919 % 100003)) * (1000 if is_ms else 1))

    def expire(self):
        name, is_absolute, is_ms = self.rng.choice(
            [(b"EXPIRE", 0, 0), (b"PEXPIRE", 0, 1), (b"EXPIREAT", 1, 0), (b"PEXPIREAT", 1, 1)]
        )
        return [name, self.key(), self.time_of(is_absolute, is_ms), *self.rng.choice(CONDITIONS)]

    def field_block(self, has_values=False):
        """FIELDS and what follows, now and then with a number that is wrong."""
        fields = self.fields()
        n = len(fields) if self.rng.random() < 0.95 else self.rng.choice([0, -1, len(fields) + 1, 2**63 - 1])
        words = [w for f in fields for w in ((f, self.value()) if has_values else (f,))]
        return [self.rng.choice([b"FIELDS", b"fields"]), b"%d" % n, *words]

    def expire_fields(self):
        key, block = self.key(), self.field_block()
        name, is_absolute, is_ms = self.rng.choice(
            [(b"HEXPIRE", 0, 0), (b"HPEXPIRE", 0, 1), (b"HEXPIREAT", 1, 0), (b"HPEXPIREAT", 1, 1)]
        )
        conditions = self.rng.choice(CONDITIONS)
        tail = block + conditions if self.rng.random() < 0.2 else conditions + block
        return [name, key, self.time_of(is_absolute, is_ms), *tail]

    def times_of_fields(self):
        name = self.rng.choice([b"HTTL", b"HPTTL", b"HEXPIRETIME", b"HPEXPIRETIME"])
        return [name, self.key(), *self.field_block()]

    def time_words(self):
        """EX, PX, EXAT or PXAT and a time."""
        name, is_absolute, is_ms = self.rng.choice(
            [(b"EX", 0, 0), (b"px", 0, 1), (b"EXAT", 1, 0), (b"PXAT", 1, 1)]
        )
        return [name, self.time_of(is_absolute, is_ms)]

    def get_and_expire(self):
        options = self.rng.choice([[], [b"PERSIST"], [b"FOO"], self.time_words(), self.time_words()])
        return [b"HGETEX", self.key(), *options, *self.field_block()]

    def set_and_expire(self):
        existence = self.rng.choice([[], [], [], [b"FNX"], [b"fxx"]])
        options = self.rng.choice([[], [b"KEEPTTL"], [b"PERSIST"], self.time_words(), self.time_words()])
        return [b"HSETEX", self.key(), *existence, *options, *self.field_block(has_values=True)]

    def typed_scan(self):
        name = self.rng.choice([b"hash", b"string", b"HASH", b"nosuch"])
        return [b"SCAN", b"0", b"TYPE", name, b"COUNT", b"1000"]


def block(seed, number, n_commands, has_field_times=False):
    """The first n_commands commands of block `number` of the stream of `seed`."""
    generator = Generator(random.Random(seed * 1000003 + number), has_field_times)
    return [generator.command() for _ in range(n_commands)]


def blocks(seed, n_commands, has_field_times=False):
    """All blocks of n_commands commands, one list at a time. `has_field_times`: with commands on times of fields,
    which redis-server 7.0 does not know."""
    for number, start in enumerate(range(0, n_commands, BLOCK)):
        yield block(seed, number, min(BLOCK, n_commands - start), has_field_times)
