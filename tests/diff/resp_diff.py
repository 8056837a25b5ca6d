#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random commands to torcd and to a real redis-server 7.0 over RESP2; every reply is compared."""

import argparse
import sys

from comparing import Comparison, Failure, Known, add_arguments
from streams import LIMIT_ENTRIES, LIMIT_VALUE
from torcd_harness import Folder, Redis, Server

TAIL = b", with args beginning with: "

KNOWN = [
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
        "negative cursor",
        "an invalid cursor in Redis 8; 7.0 wraps it around",
        lambda words, ours, theirs: words[0].upper() in (b"SCAN", b"HSCAN")
        and words[1 if words[0].upper() == b"SCAN" else 2].startswith(b"-")
        and ours == Failure(b"ERR invalid cursor"),
        [[[b"SCAN", b"-1"]], [[b"HSET", b"h", b"f", b"v"], [b"HSCAN", b"h", b"-1"]]],
    ),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("torcd", help="the torcd program")
    add_arguments(parser, 100000, 500000)
    options = parser.parse_args()
    limits = ("--hash-max-listpack-entries", LIMIT_ENTRIES, "--hash-max-listpack-value", LIMIT_VALUE)
    with Folder() as folder, Redis(folder, *limits) as redis:
        with Server(options.torcd, folder, *limits) as server:
            comparison = Comparison(
                server.connect(), redis.connect(), ("torcd", "redis-server"), KNOWN
            )
            return comparison.run(options.seed, options.commands)


if __name__ == "__main__":
    sys.exit(main())
