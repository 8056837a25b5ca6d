# SPDX-License-Identifier: Apache-2.0
"""Hashes: one of a million fields, and many small ones; construction, single operations, memory at each stage."""

from ..plan import Memory, Phase, Prepare, Scenario

SUMMARY = "one hash of a million fields and many small ones: construction, operations, memory"

WINDOW = 64
WARM = 2000


def _point(setup, case, op, shape, **more):
    options = dict(shape, op=op, window=WINDOW, warm=WARM, **more)
    return Phase(case, options, seconds=setup.seconds, changes=op.startswith("hset"))


def _construct(setup, case, op, shape, total, per, rounds):
    options = dict(shape, op=op, window=WINDOW)
    memory_per = (per, "hash") if per else (total, "field")
    return Phase(case, options, rounds=rounds, fresh=True, cells=total, memory_per=memory_per, changes=True)


def _million(setup):
    n = setup.pick(100000, 1000000)
    shape = {"shape": "million", "fields": n, "hashes": 1}
    grown = dict(shape, op="grow", window=WINDOW, **{"value-bytes": 16, "value-bytes2": 64})
    grow = Phase("million-grow-to-64", grown, rounds=1, changes=True)
    steps = [
        _construct(setup, "million-load-whole", "load-whole", shape, n, 0, setup.pick(3, 5)),
        Memory("million-loaded", n, "field"),
        _point(setup, "million-hget", "hget", shape),
        _point(setup, "million-hget-miss", "hget-miss", shape),
        _point(setup, "million-hexists", "hexists", shape),
        _point(setup, "million-hstrlen", "hstrlen", shape),
        _point(setup, "million-hlen", "hlen", shape),
        _point(setup, "million-hmget-4", "hmget", shape, ask=4),
        _point(setup, "million-hincrby", "hincrby", shape),
        _point(setup, "million-hset-same", "hset-same", shape),
        Memory("million-updated", n, "field"),
        _point(setup, "million-hset-width", "hset-width", shape, **{"value-bytes": 16, "value-bytes2": 24}),
        Memory("million-resized", n, "field"),
        grow,
        Memory("million-grown-to-64", n, "field"),
    ]
    fields = [_construct(setup, "million-load-fields", "load-fields", shape, n, 0, setup.pick(2, 3))]
    entrants = setup.entrants(huge_pages="no")
    return [Scenario("hset", "million", entrants, steps), Scenario("hset", "million-fields", entrants, fields)]


def _small(setup, shape_name, fields):
    hashes = setup.pick(100000, 500000) // fields
    total = hashes * fields
    shape = {"shape": shape_name, "fields": fields, "hashes": hashes}
    name = "%s-%d" % (shape_name, fields)
    rounds = setup.pick(2, 5)
    steps = [
        _construct(setup, name + "-load-fields", "load-fields", shape, total, hashes, rounds),
        _construct(setup, name + "-load-whole", "load-whole", shape, total, hashes, rounds),
        Memory(name + "-loaded", hashes, "hash"),
        _point(setup, name + "-hget", "hget", shape),
        _point(setup, name + "-hget-miss", "hget-miss", shape),
        _point(setup, name + "-hset-middle", "hset-same", shape, **{"field-index": "middle"}),
    ]
    return Scenario("hset", name, setup.entrants(huge_pages="no"), steps)


def _values(setup):
    """Updates that change the width of a value, in hashes of a middle size."""
    shape = {"shape": "small14", "fields": 32, "hashes": setup.pick(3125, 15625)}
    widths = {"value-bytes": 16, "value-bytes2": 24}
    steps = [Prepare([dict(shape, op="load-whole", window=WINDOW)])]
    steps.append(_point(setup, "small14-32-hset-width", "hset-width", shape, **widths))
    return Scenario("hset", "widths", setup.entrants(huge_pages="no"), steps)


def plan(setup):
    small5 = setup.pick((8, 128), (8, 32, 64, 128, 512))
    small14 = setup.pick((32, 512), (8, 32, 64, 128, 512))
    scenarios = _million(setup)
    scenarios += [_small(setup, "small5", n) for n in small5]
    scenarios += [_small(setup, "small14", n) for n in small14]
    return scenarios + [_values(setup)]
