# SPDX-License-Identifier: Apache-2.0
"""Feature rows: 94 of 123 fields of a hash, and all of them."""

from ..plan import Phase, Prepare, Scenario

SUMMARY = "HMGET of 94 of 123 fields, HGETALL of 123"

SHAPE = {"shape": "wide", "fields": 123, "hashes": 500}


def plan(setup):
    steps = [Prepare([dict(SHAPE, op="load-whole", window=16)])]
    for case, op, more in (("hmget-94-of-123", "hmget", {"ask": 94}), ("hgetall-123", "hgetall", {})):
        for window, metrics in ((1, ("p50", "p99", "p999")), (16, ("rate",))):
            options = dict(SHAPE, op=op, window=window, warm=500, **more)
            steps.append(Phase("%s-w%d" % (case, window), options, metrics, seconds=setup.seconds))
    return [Scenario("wide", "wide", setup.entrants(), steps)]
