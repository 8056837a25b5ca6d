# SPDX-License-Identifier: Apache-2.0
"""Where the compact form of a hash stops paying: the same hashes compact, forced full, and in other servers."""

from ..plan import Entrant, Memory, Phase, Prepare, Scenario

SUMMARY = "compact against full hashes by number of fields, beside other servers"

WINDOW = 64
WARM = 2000
NEVER_COMPACT = (("huge-pages", "no"), ("hash-max-listpack-entries", 0))
COMPACT = (("huge-pages", "no"),)


def _entrants(setup):
    entrants = []
    for engine in setup.engines:
        if engine.kind == "torc":
            compact, full = engine.name + "-compact", engine.name + "-full"
            entrants.append(Entrant(compact, engine, "ring", COMPACT, compact))
            entrants.append(Entrant(full, engine, "ring", NEVER_COMPACT, full))
            entrants.append(Entrant(engine.name + "-resp", engine, "resp", COMPACT, compact))
        else:
            entrants.append(Entrant(engine.name, engine, "resp"))
    return entrants


def _size(setup, fields):
    hashes = max(setup.pick(100000, 500000) // fields, 1)
    shape = {"shape": "small14", "fields": fields, "hashes": hashes}
    name = "threshold-%d" % fields
    steps = [Prepare([dict(shape, op="load-whole", window=16)]), Memory(name, hashes, "hash")]
    point = dict(shape, window=WINDOW, warm=WARM)
    for place in ("first", "middle", "last"):
        options = dict(point, op="hget", **{"field-index": place})
        steps.append(Phase("%s-hget-%s" % (name, place), options, seconds=setup.seconds))
    steps.append(Phase(name + "-hget-miss", dict(point, op="hget-miss"), seconds=setup.seconds))
    options = dict(point, op="hset-same", **{"field-index": "middle"})
    steps.append(Phase(name + "-hset-middle", options, seconds=setup.seconds))
    return Scenario("threshold", name, _entrants(setup), steps)


def plan(setup):
    sizes = setup.pick((16, 64, 256, 1024), (16, 32, 64, 128, 256, 512, 1024, 1625, 2048))
    return [_size(setup, fields) for fields in sizes]
