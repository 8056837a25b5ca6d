#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random commands to torcd and to a real redis-server 7.0 over RESP2; every reply is compared."""

import argparse
import sys

from comparing import Comparison, Failure, Known, add_arguments, settings_of
from streams import LIMIT_ENTRIES, LIMIT_VALUE
from torcd_harness import Folder, Redis, Server

BAD_CURSOR = Failure(b"ERR invalid cursor")
SIGNS = (b"-", b"+")
TAIL = b", with args beginning with: "


def cursor(words):
    """The word that is a cursor, or None."""
    at = {b"SCAN": 1, b"HSCAN": 2}.get(words[0].upper())
    return words[at] if at is not None and at < len(words) else None


NOT_AN_INTEGER = Failure(b"ERR value is not an integer or out of range")
EXPIRE = (b"EXPIRE", b"PEXPIRE", b"EXPIREAT", b"PEXPIREAT")
CONDITION_FAULTS = (b"ERR NX and XX, ", b"ERR GT and LT ", b"ERR Unsupported option ")
KNOWN = [
    Known(
        "two faults at once",
        "numbers are read before a command sees them: of a time that is no number and conditions that do not go "
        "together, the time is named; Redis names the conditions",
        lambda words, ours, theirs: words[0].upper() in EXPIRE
        and ours == NOT_AN_INTEGER
        and isinstance(theirs, Failure)
        and theirs.startswith(CONDITION_FAULTS),
        [[[b"EXPIRE", b"h", b"1.5", b"GT", b"LT"]], [[b"PEXPIREAT", b"h", b"abc", b"FOO"]]],
    ),
    Known(
        "times beyond the year 4199",
        "refused, as Redis refuses them for fields; of keys it takes all that fit 63 bits",
        lambda words, ours, theirs: words[0].upper() in EXPIRE
        and isinstance(ours, Failure)
        and ours.startswith(b"ERR invalid expire time in ")
        and theirs in (0, 1),
        [
            [[b"HSET", b"h", b"f", b"v"], [b"PEXPIREAT", b"h", b"70368744177664"]],
            [[b"HSET", b"h", b"f", b"v"], [b"EXPIRE", b"h", b"9000000000000"]],
        ],
    ),
    Known(
        "very many picks",
        "a negative count of HRANDFIELD below -1048576 is refused (docs/decisions/0013-random-fields.md)",
        lambda words, ours, theirs: words[0].upper() == b"HRANDFIELD"
        and isinstance(ours, Failure)
        and ours.endswith(b"must be at least -1048576"),
        [[[b"HSET", b"h", b"f", b"v"], [b"HRANDFIELD", b"h", b"-1048577"]]],
    ),
    Known(
        "unknown command without arguments",
        "Redis 8 names no arguments where there are none; 7.0 has the tail always",
        lambda words, ours, theirs: len(words) == 1
        and isinstance(ours, Failure)
        and ours.startswith(b"ERR unknown command")
        and theirs == Failure(ours + TAIL),
        [[[b"nosuch"]]],
    ),
    Known(
        "sign before a cursor",
        "an invalid cursor; strtoul() of 7.0 takes it, and wraps what is negative around",
        lambda words, ours, theirs: ours == BAD_CURSOR and (cursor(words) or b"")[:1] in SIGNS,
        [
            [[b"SCAN", b"-1"]],
            [[b"SCAN", b"+0"]],
            [[b"HSET", b"h", b"f", b"v"], [b"HSCAN", b"h", b"-1"]],
        ],
    ),
    Known(
        "empty cursor",
        "an invalid cursor in Redis 8; 0 in 7.0",
        lambda words, ours, theirs: ours == BAD_CURSOR and cursor(words) == b"",
        [[[b"SCAN", b""]], [[b"HSCAN", b"h", b""]]],
    ),
    Known(
        "NUL in a cursor",
        "an invalid cursor; Redis sees only what is in front of it",
        lambda words, ours, theirs: ours == BAD_CURSOR and b"\x00" in (cursor(words) or b""),
        [[[b"SCAN", b"0\x00"]]],
    ),
    Known(
        "blanks before a cursor",
        "left out in Redis 8; an invalid cursor in 7.0",
        lambda words, ours, theirs: theirs == BAD_CURSOR and (cursor(words) or b"")[:1].isspace(),
        [[[b"SCAN", b" 0"]], [[b"HSCAN", b"h", b"\t\n 0"]]],
    ),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("torcd", help="the torcd program")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE",
                        help="a further setting of torcd; may be repeated")
    add_arguments(parser, 100000, 500000)
    options = parser.parse_args()
    limits = ("--hash-max-listpack-entries", LIMIT_ENTRIES, "--hash-max-listpack-value", LIMIT_VALUE)
    with Folder() as folder, Redis(folder, *limits) as redis:
        with Server(options.torcd, folder, *limits, *settings_of(options.setting)) as server:
            comparison = Comparison(
                server.connect(), redis.connect(), ("torcd", "redis-server"), KNOWN
            )
            return comparison.run(options.seed, options.commands)


if __name__ == "__main__":
    sys.exit(main())
