# SPDX-License-Identifier: Apache-2.0
"""Tails of writes that reshape a hash, one request at a time: closed loop, and open loop, which does not hide stalls
(latency counts from the moment a request should have been sent)."""

from ..plan import Phase, Scenario

SUMMARY = "tails of insert, update, delete and grow at depth one, closed and open loop"

FIELDS = 100000
SHAPE = {"shape": "million", "fields": FIELDS, "hashes": 1}
RENEW = (dict(SHAPE, op="flush", window=1), dict(SHAPE, op="load-whole", window=16))
METRICS = ("p50", "p99", "p999", "max")
RATE = 20000  # a second, for everyone: about a quarter of what RESP does in a closed loop


def plan(setup):
    n = setup.pick(5000, 20000)
    steps = []
    for case, op, requests in (("mixed", "mixed", n), ("insert", "insert", 2 * n)):
        closed = dict(SHAPE, op=op, window=1, requests=requests, warm=500)
        steps.append(Phase(case + "-closed", closed, METRICS, before=RENEW))
        # One request may wait for those before it: the window only bounds how many do.
        opened = dict(closed, window=1024, rate=RATE)
        steps.append(Phase(case + "-open", opened, METRICS, before=RENEW))
    return [Scenario("mixed", "mixed", setup.entrants(), steps)]
