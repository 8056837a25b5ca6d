#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random commands over a ring to one torcd and over RESP2 to another; every reply is compared.

Nothing is known to differ: what stands in the streams is answered by the same handlers.
"""

import argparse
import sys

from comparing import Comparison, add_arguments, settings_of
from streams import LIMIT_ENTRIES, LIMIT_VALUE
from torcd_harness import Folder, Ring, Server


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("torcd", help="the torcd program")
    parser.add_argument("ring", help="the ring_over_stdio program")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE",
                        help="a further setting of the torcd with the ring; may be repeated")
    add_arguments(parser, 50000, 250000)
    options = parser.parse_args()
    limits = ("--hash-max-listpack-entries", LIMIT_ENTRIES, "--hash-max-listpack-value", LIMIT_VALUE)
    # Three busy programs, and commands one at a time: on few CPUs spinning only delays the others.
    settings = (*limits, "--poll-spin-us", 0)
    more = settings_of(options.setting)
    with Folder() as folder, Server(options.torcd, folder, *settings, *more, name="ring") as rings:
        with Server(options.torcd, folder, *settings, name="resp") as resp:
            ring = Ring(options.ring, rings.control)
            comparison = Comparison(ring, resp.connect(), ("ring", "RESP"), [], has_field_times=True)
            status = comparison.run(options.seed, options.commands)
            ring.close()
            return status


if __name__ == "__main__":
    sys.exit(main())
