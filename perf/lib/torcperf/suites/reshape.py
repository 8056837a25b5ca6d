# SPDX-License-Identifier: Apache-2.0
"""Hashes that change their shape: built one HSET a field, updated to other widths, fields deleted and put back; and what
that leaves of the memory."""

from ..plan import Memory, Phase, Prepare, Scenario

SUMMARY = "building field by field, changes of width, delete and add again, memory under churn"

WINDOW = 64
WARM = 2000
HOT = 100  # hashes that are changed again and again, of all


def _built(setup):
    fields = 128
    hashes = setup.pick(100000, 500000) // fields
    shape = {"shape": "small14", "fields": fields, "hashes": hashes, "window": WINDOW}
    first = dict(shape, op="load-whole", fields=1)
    turns = dict(shape, op="insert", fields=1, requests=(fields - 1) * hashes)
    memory_per = (hashes, "hash")
    rounds = setup.pick(2, 5)
    steps = [
        Phase("build-hash-after-hash", dict(shape, op="load-fields"), rounds=rounds, fresh=True, memory_per=memory_per),
        Phase("build-round-robin", turns, rounds=rounds, before=(dict(shape, op="flush"), first), changes=True),
        Memory("built-round-robin", hashes, "hash"),
    ]
    return Scenario("reshape", "built", setup.entrants(huge_pages="no"), steps)


def _hot(setup):
    shape = {"shape": "small14", "fields": 8, "hashes": setup.pick(20000, 200000), "window": WINDOW}
    hot = dict(shape, hashes=HOT, warm=WARM)
    widths = {"value-bytes": 16, "value-bytes2": 24}
    steps = [
        Prepare([dict(shape, op="load-whole")]),
        Phase("hot-width", dict(hot, op="hset-width", **widths), seconds=setup.seconds, changes=True),
        Phase("hot-delete-add", dict(hot, op="hdel-hset"), seconds=setup.seconds, changes=True),
    ]
    return Scenario("reshape", "hot", setup.entrants(huge_pages="no"), steps)


def _churn(setup):
    hashes = setup.pick(20000, 200000)
    shape = {"shape": "small14", "fields": 8, "hashes": hashes, "window": WINDOW}
    times = 2  # of all fields, for each of the phases below; each phase does it twice, there and back
    widths = {"value-bytes": 16, "value-bytes2": 24}
    steps = [Prepare([dict(shape, op="load-whole")]), Memory("churn-before", hashes, "hash")]
    for i in range(1, times + 1):
        steps.append(Phase("churn-width-%d" % i, dict(shape, op="hset-width", requests=16 * hashes, **widths),
                           rounds=1, changes=True))
        steps.append(Phase("churn-delete-add-%d" % i, dict(shape, op="hdel-hset", requests=16 * hashes),
                           rounds=1, changes=True))
    steps.append(Memory("churn-after", hashes, "hash"))
    return Scenario("reshape", "churn", setup.entrants(huge_pages="no"), steps)


def plan(setup):
    return [_built(setup), _hot(setup), _churn(setup)]
