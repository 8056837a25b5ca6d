# SPDX-License-Identifier: Apache-2.0
"""Commands on times, copies and names, with the reply of each: for those that the redis-server at
hand does not know, and those whose reply depends on a clock. They leave no key behind. Texts and
replies: Redis 8.8."""

from torcd_harness import Failure, Simple

FAR = 4102444800  # 2100
LAST_MS = 2**46 - 1
NO_BLOCK = Failure(b"ERR Mandatory argument FIELDS is missing or not at the right position")
NOT_POSITIVE = Failure(b"ERR Number of fields must be a positive integer")
MISMATCH = Failure(b"ERR The `numfields` parameter must match the number of arguments")
TIME_OF = "ERR invalid expire time in '%s' command"


def failure(text):
    return Failure(text.encode())


def expire_family():
    """HEXPIRE and its like answer alike."""
    for name, when in (
        ("HEXPIRE", 1000000),
        ("HPEXPIRE", 1000000000),
        ("HEXPIREAT", FAR),
        ("HPEXPIREAT", FAR * 1000),
    ):
        yield (name, "t", when, "FIELDS", 2, "a", "absent"), [1, -2]
        yield (name, "t", when, "NX", "FIELDS", 1, "a"), [0]
        yield (name, "t", when, "FIELDS", 1, "b", "XX"), [0]
        yield (name, "absent", when, "FIELDS", 1, "a"), [-2]
        yield (name, "t", 0, "XX", "FIELDS", 1, "b"), [0]
        yield (name, "t", 0, "FIELDS", 2, "gone", "gone"), [2, -2]
        yield ("HSET", "t", "gone", "again"), 1
        yield (name, "t", -1, "FIELDS", 1, "a"), failure("ERR invalid expire time, must be >= 0")
        yield (name, "t", 2**63 - 1, "FIELDS", 1, "a"), failure(TIME_OF % name.lower())
        yield (name, "t", when, "FIELDS", 0, "a"), failure(
            "ERR Parameter `numFields` should be greater than 0"
        )
        yield (name, "t", when, "FIELDS", 1, "a", "b"), failure("ERR unknown argument: b")
        yield ("HPERSIST", "t", "FIELDS", 3, "a", "b", "absent"), [1, -1, -2]
    yield ("HPEXPIREAT", "t", LAST_MS, "FIELDS", 1, "a"), [1]
    yield ("HPEXPIRETIME", "t", "FIELDS", 1, "a"), [LAST_MS]
    yield ("HPEXPIREAT", "t", LAST_MS + 1, "FIELDS", 1, "a"), failure(TIME_OF % "hpexpireat")


def times_of_fields():
    yield ("HEXPIREAT", "t", FAR, "FIELDS", 1, "a"), [1]
    yield ("HEXPIRETIME", "t", "FIELDS", 3, "a", "b", "absent"), [FAR, -1, -2]
    yield ("HPEXPIRETIME", "t", "FIELDS", 1, "a"), [FAR * 1000]
    yield ("HPEXPIREAT", "t", FAR * 1000 + 1, "FIELDS", 1, "a"), [1]
    yield ("HEXPIRETIME", "t", "FIELDS", 1, "a"), [FAR + 1]
    for name in ("HTTL", "HPTTL", "HEXPIRETIME", "HPEXPIRETIME", "HPERSIST", "HGETDEL"):
        if name != "HGETDEL":
            yield (name, "absent", "FIELDS", 2, "a", "b"), [-2, -2]
        yield (name, "t", "FIELDS", 0, "a"), NOT_POSITIVE
        yield (name, "t", "FIELDS", 2, "a"), MISMATCH
        yield (name, "t", "FIELD", 1, "a"), NO_BLOCK
    for name in ("HTTL", "HPTTL"):
        yield (name, "t", "FIELDS", 2, "b", "absent"), [-1, -2]
    yield ("HINCRBY", "t", "n", 1), 1
    yield ("HEXPIREAT", "t", FAR, "FIELDS", 1, "n"), [1]
    yield ("HINCRBY", "t", "n", 1), 2
    yield ("HINCRBYFLOAT", "t", "n", "0.5"), b"2.5"
    yield ("HEXPIRETIME", "t", "FIELDS", 1, "n"), [FAR]
    yield ("HSET", "t", "n", "1"), 0
    yield ("HEXPIRETIME", "t", "FIELDS", 1, "n"), [-1]


def values():
    yield ("HSETEX", "s", "FXX", "FIELDS", 1, "a", "1"), 0
    yield ("EXISTS", "s"), 0
    yield ("HSETEX", "s", "FNX", "EXAT", FAR, "FIELDS", 2, "a", "1", "EX", "10"), 1
    yield ("HSETEX", "s", "FNX", "FIELDS", 1, "a", "2"), 0
    yield ("HEXPIRETIME", "s", "FIELDS", 2, "a", "EX"), [FAR, FAR]
    yield ("HSETEX", "s", "FIELDS", 1, "a", "2", "KEEPTTL"), 1
    yield ("HEXPIRETIME", "s", "FIELDS", 1, "a"), [FAR]
    yield ("HGETEX", "s", "FIELDS", 2, "a", "absent", "PERSIST"), [b"2", None]
    yield ("HEXPIRETIME", "s", "FIELDS", 1, "a"), [-1]
    yield ("HGETEX", "s", "PXAT", FAR * 1000, "FIELDS", 1, "a"), [b"2"]
    yield ("HPEXPIRETIME", "s", "FIELDS", 1, "a"), [FAR * 1000]
    yield ("HSETEX", "s", "FIELDS", 1, "a", "3"), 1
    yield ("HEXPIRETIME", "s", "FIELDS", 1, "a"), [-1]
    yield ("HGETEX", "s", "EX", 0, "FIELDS", 2, "a", "a"), [b"3", None]
    yield ("HGETEX", "absent", "FIELDS", 2, "a", "b"), [None, None]
    yield ("HGETDEL", "s", "FIELDS", 3, "EX", "EX", "absent"), [b"10", None, None]
    yield ("EXISTS", "s"), 0
    yield ("HSETEX", "s", "PXAT", 1, "FIELDS", 1, "a", "1"), 1
    yield ("EXISTS", "s"), 0
    yield ("HSETEX", "s", "EX", 1, "KEEPTTL", "FIELDS", 1, "a", "1"), failure(
        "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"
    )
    yield ("HGETEX", "s", "KEEPTTL", "FIELDS", 1, "a"), failure("ERR unknown argument: KEEPTTL")


def keys():
    yield ("HSET", "k", "f", "v"), 1
    for name, when in (
        ("EXPIRE", 1000000),
        ("PEXPIRE", 1000000000),
        ("EXPIREAT", FAR),
        ("PEXPIREAT", FAR * 1000),
    ):
        yield (name, "k", when, "NX"), 1
        yield (name, "k", when, "NX"), 0
        yield ("PERSIST", "k"), 1
        yield ("PERSIST", "k"), 0
        yield (name, "absent", when), 0
        yield (name, "k", 2**63 - 1), failure(TIME_OF % name.lower())
        yield (name, "k", when, "FOO"), failure("ERR Unsupported option FOO")
        yield (name, "k", when, "NX", "XX"), failure(
            "ERR NX and XX, GT or LT options at the same time are not compatible"
        )
    for name in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"):
        yield (name, "k"), -1
        yield (name, "absent"), -2
    yield ("PEXPIREAT", "k", FAR * 1000 + 500), 1
    yield ("EXPIRETIME", "k"), FAR + 1
    yield ("PEXPIRETIME", "k"), FAR * 1000 + 500
    yield ("COPY", "k", "copy"), 1
    yield ("COPY", "k", "copy"), 0
    yield ("COPY", "k", "copy", "REPLACE", "DB", 0), 1
    yield ("PEXPIRETIME", "copy"), FAR * 1000 + 500
    yield ("COPY", "k", "k"), failure("ERR source and destination objects are the same")
    yield ("COPY", "absent", "copy"), 0
    yield ("RENAMENX", "k", "copy"), 0
    yield ("RENAME", "k", "copy"), Simple(b"OK")
    yield ("RENAMENX", "copy", "k"), 1
    yield ("PEXPIRETIME", "k"), FAR * 1000 + 500
    yield ("RENAME", "absent", "k"), failure("ERR no such key")
    yield ("RENAME", "k", "k"), Simple(b"OK")
    yield ("EXPIRE", "k", -1), 1
    yield ("DBSIZE",), 0


def all_steps():
    yield ("HSET", "t", "a", "1", "b", "2", "gone", "3"), 3
    yield from expire_family()
    yield from times_of_fields()
    yield ("DEL", "t"), 1
    yield from values()
    yield from keys()


STEPS = list(all_steps())
