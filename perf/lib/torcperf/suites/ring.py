# SPDX-License-Identifier: Apache-2.0
"""Small requests on every road: by window, by payload, by how the server waits, and on one core."""

from ..plan import Phase, Prepare, Scenario

SUMMARY = "PING, HGET, HSET by window, payload and waiting, ring beside RESP"

HOT = {"shape": "small14", "fields": 32, "hashes": 1}
TAILS = ("p50", "p99", "p999")
WARM = 1000


def _phase(setup, case, op, shape, window, metrics=None, floor=(), **more):
    options = dict(shape, op=op, window=window, warm=WARM, **more)
    chosen = metrics or (TAILS if window == 1 else ("rate",))
    return Phase(case, options, chosen, seconds=setup.seconds, floor=floor)


def _hot(setup):
    floors = {("ping", 1): ("floor-one-line", 1), ("hget", 1): ("floor-one-line", 1), ("hget", 64): ("ring-null", 64)}
    steps = [Prepare([dict(HOT, op="load-whole", window=16)])]
    for window in setup.pick((1, 4, 16, 64, 256), (1, 2, 4, 8, 16, 32, 64, 128, 256)):
        steps.append(_phase(setup, "ping-w%d" % window, "ping", HOT, window, floor=floors.get(("ping", window), ())))
        for name, op in (("hget", "hget"), ("hset", "hset-same")):
            more = {"field-index": "middle"}
            floor = floors.get((name, window), ())
            steps.append(_phase(setup, "%s-hot-w%d" % (name, window), op, HOT, window, floor=floor, **more))
    return Scenario("ring", "hot", setup.entrants(), steps)


def _random(setup):
    shape = {"shape": "small14", "fields": 32, "hashes": setup.pick(3125, 15625)}
    steps = [Prepare([dict(shape, op="load-whole", window=64)])]
    for window in setup.pick((1, 64), (1, 4, 16, 64, 256)):
        for name, op in (("hget", "hget"), ("hset", "hset-same")):
            more = {"field-index": "random"}
            steps.append(_phase(setup, "%s-random-w%d" % (name, window), op, shape, window, **more))
    return Scenario("ring", "random", setup.entrants(), steps)


def _payload(setup):
    steps = []
    for size in setup.pick((16, 4096, 65536), (16, 64, 256, 512, 1024, 4096, 16384, 65536)):
        shape = {"shape": "small14", "fields": 4, "hashes": 16, "value-bytes": size}
        steps.append(Prepare([dict(shape, op="flush", window=1), dict(shape, op="load-whole", window=4)]))
        for name, op in (("hget", "hget"), ("hset", "hset-same")):
            steps.append(_phase(setup, "%s-%dB-w1" % (name, size), op, shape, 1, metrics=("p50", "p99")))
    return Scenario("ring", "payload", setup.entrants(), steps)


def _waiting(setup):
    """The server spins without end, spins and then sleeps, or sleeps at once; the client sends at once or seldom."""
    scenarios = []
    for name, settings in (("busy", {"poll_mode": "busy"}), ("sleeping", {"poll_spin_us": 0})):
        steps = [Prepare([dict(HOT, op="load-whole", window=16)])]
        steps.append(_phase(setup, "hget-hot-%s-w1" % name, "hget", HOT, 1))
        if name == "sleeping":
            steps.append(_phase(setup, "hget-hot-sleeping-1k-per-s", "hget", HOT, 1, metrics=("p50", "p99"), rate=1000))
        else:
            steps.append(_phase(setup, "hget-hot-busy-w64", "hget", HOT, 64))
        scenarios.append(Scenario("ring", name, setup.entrants(**settings), steps))
    return scenarios


def _one_core(setup):
    """Both sides on one core: with the server's default way of waiting, and yielding on both sides."""
    scenarios = []
    for name, wait, settings in (("one-core", "adaptive", {}), ("one-core-yield", "yield", {"poll_mode": "yield"})):
        steps = [Prepare([dict(HOT, op="load-whole", window=16)])]
        for window in (1, 64):
            steps.append(_phase(setup, "hget-hot-%s-w%d" % (name, window), "hget", HOT, window, wait=wait))
        scenarios.append(Scenario("ring", name, setup.entrants(**settings), steps, is_one_core=True))
    return scenarios


def plan(setup):
    return [_hot(setup), _random(setup), _payload(setup), *_waiting(setup), *_one_core(setup)]
