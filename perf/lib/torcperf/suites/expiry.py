# SPDX-License-Identifier: Apache-2.0
"""Fields that end at a time: what setting, changing and keeping times costs beside plain HSET, HSET and HGET of the same
run, in time and in memory; and the tail of HGET while very many fields end at once."""

from ..plan import Phase, Prepare, Scenario

SUMMARY = "times of fields beside plain fields: operations, memory, and HGET while a million fields end at once"

WINDOW = 64
WARM = 2000
VALUES = (2, 10, 30, 100)  # bytes
METRICS = ("p50", "p99", "p999", "max")
LATER_MS = 1000000  # beyond the end of any run
SOON_MS = 1500  # after loading began, which takes less
AROUND_S = 3.0  # of HGET, so that the end of the fields lies inside


def _compared(setup, name, shape, total, values):
    """Every operation with a time, and its plain counterpart, on the same servers. First the plain ones: what they are
    compared with has no times anywhere."""
    scenarios = []
    for value in values:
        case = "%s-%d" % (name, value)
        shaped = dict(shape, window=WINDOW, **{"value-bytes": value})
        built = {"rounds": setup.pick(2, 5), "fresh": True, "cells": total, "memory_per": (total, "field")}
        steps = [
            Phase(case + "-load-hset", dict(shaped, op="load-fields"), changes=True, **built),
            Phase(case + "-load-hsetex", dict(shaped, op="load-fields-ex"), changes=True, **built),
            Prepare([dict(shaped, op="flush"), dict(shaped, op="load-whole")]),
        ]
        for op in ("hget", "hset-same", "hdel-hset", "hexpire", "hgetex", "hsetex", "hsetex-at", "hdel-hsetex"):
            options = dict(shaped, op=op, warm=WARM)
            steps.append(Phase("%s-%s" % (case, op), options, seconds=setup.seconds, changes=op != "hget"))
        # All fields with times, and renewed, so that servers without them are n/a and not lost.
        timed = (dict(shaped, op="flush"), dict(shaped, op="load-whole-ex"))
        options = dict(shaped, op="hget", warm=WARM)
        steps.append(Phase(case + "-hget-timed", options, rounds=setup.pick(2, 5), seconds=setup.seconds, before=timed))
        scenarios.append(Scenario("expiry", case, setup.entrants(huge_pages="no"), steps))
    return scenarios


def _mass(setup):
    """HGET of hashes that stay, one at a time, while as many fields as there are elsewhere end within 100 ms; and the same
    with fields that end later."""
    total = setup.pick(100000, 1000000)
    ending = {"shape": "small14", "hashes": 1000, "fields": total // 1000, "window": WINDOW}
    staying = {"shape": "wide"}  # keys of its own
    steps = []
    for case, ttl in (("mass-later", LATER_MS), ("mass-soon", SOON_MS)):
        before = (
            dict(staying, op="flush"),
            dict(staying, op="load-whole", window=WINDOW),
            dict(ending, op="load-whole-ex", ttl=ttl),
        )
        options = dict(staying, op="hget", window=1)
        steps.append(Phase(case, options, METRICS, seconds=AROUND_S, before=before, changes=True))
    return Scenario("expiry", "mass", setup.entrants(huge_pages="no"), steps)


def plan(setup):
    total = setup.pick(100000, 1000000)
    values = setup.pick((10,), VALUES)
    one = {"shape": "small14", "hashes": 1, "fields": total}
    many = {"shape": "small14", "hashes": total // 100, "fields": 100}
    return [
        *_compared(setup, "one", one, total, values),
        *_compared(setup, "many", many, total, values),
        _mass(setup),
    ]
