# SPDX-License-Identifier: Apache-2.0
"""What a suite consists of: scenarios, each with fresh servers; in a scenario, steps; each step for every entrant."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Entrant:
    """An engine on a road, by the name that the results show. Entrants with the same `server` share one process."""

    name: str
    engine: typing.Any  # engines.Engine
    road: str  # "ring" or "resp"
    settings: tuple = ()  # pairs, for torcd
    server: str = ""  # empty: one of its own


@dataclasses.dataclass
class Prepare:
    """Fill the servers, once each and untimed; `phases` are options of torc-perf-load."""

    phases: list

    case = None


@dataclasses.dataclass
class Phase:
    """Timed runs of torc-perf-load, alternated between the entrants for some rounds.

    metrics: "rate" or percentiles of the latency; each gives a figure of its own
    before:  options of untimed runs before every timed one
    fresh:   a new server for every round, whose memory afterwards is recorded too (`memory_per` = (count, unit))
    cells:   fields that a run writes, where the rate is that of fields and not of requests
    floor:   name and window of the line of `floor` that runs in the same rounds, or None
    changes: whether later steps depend on what this one leaves behind
    """

    case: str
    options: dict
    metrics: tuple = ("rate",)
    rounds: int = 0  # 0: the run's
    seconds: float = 0.0  # 0: the options say how much is done
    before: tuple = ()
    fresh: bool = False
    memory_per: tuple = ()
    cells: int = 0
    floor: tuple = ()
    changes: bool = False


@dataclasses.dataclass
class Memory:
    """Bytes resident now, after an idle time, and at most since the start; divided by `per`, called `unit`."""

    case: str
    per: int
    unit: str
    changes = False


@dataclasses.dataclass
class CsvLoad:
    """torc-load of a file into a fresh server in every round; rows per second and memory."""

    case: str
    options: dict  # "csv", "arguments"
    rounds: int = 0
    changes = True


@dataclasses.dataclass
class Program:
    """A program that prints JSON lines about what it measured in itself."""

    case: str
    command: list
    rounds: int = 1
    changes = False


@dataclasses.dataclass
class Scenario:
    """A step is a case, with as many figures for each entrant as it has metrics."""

    suite: str
    name: str
    entrants: list
    steps: list
    is_one_core: bool = False


@dataclasses.dataclass
class Setup:
    """What a suite may ask when it makes its plan."""

    engines: list
    bin_folder: str
    is_quick: bool
    rounds: int
    seconds: float
    csv: str = ""
    csv_key: str = ""

    def pick(self, quick, full):
        return quick if self.is_quick else full

    def entrants(self, roads=("ring", "resp"), shared=False, **settings):
        """Every engine on every one of these roads it has. `shared`: the roads of an engine lead to one process."""
        chosen = []
        pairs = tuple((name.replace("_", "-"), value) for name, value in settings.items())
        for engine in self.engines:
            if engine.kind == "torc":
                for road in roads:
                    server = engine.name if shared else ""
                    chosen.append(Entrant("%s-%s" % (engine.name, road), engine, road, pairs, server))
            elif "resp" in roads:
                chosen.append(Entrant(engine.name, engine, "resp"))
        return chosen
