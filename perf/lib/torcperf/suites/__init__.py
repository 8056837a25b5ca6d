# SPDX-License-Identifier: Apache-2.0
"""The suites: each module has SUMMARY, one line, and plan(setup), which returns its scenarios."""

from . import expiry, floor, hset, micro, mixed, real, reshape, ring, threshold, wide

# In the order in which they run.
ALL = {
    "floor": floor,
    "ring": ring,
    "hset": hset,
    "reshape": reshape,
    "threshold": threshold,
    "mixed": mixed,
    "expiry": expiry,
    "wide": wide,
    "micro": micro,
    "real": real,
}
