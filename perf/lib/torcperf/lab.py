# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios: fresh servers, entrants alternated in short rounds, every figure written at once."""

import contextlib
import os
import time

from . import engines, machine, stats, work
from .plan import CsvLoad, Entrant, Memory, Phase, Prepare, Program
from .progress import figure

UNITS = {"rate": ("op/s", "higher")}
PROCESS_S = 0.06  # about what starting a program costs, for the estimated end
FLOOR = "floor"
# Parameters of micro benches that tell what came out, not what was asked: no part of a name, or builds that differ in
# them could not be compared.
OUTCOMES = ("block_bytes", "kept_bytes")


class Figures:
    """The rounds of one entrant in one step."""

    def __init__(self):
        self.rounds = []  # result lines
        self.memory = []  # (resident, peak)
        self.trouble = None  # (status, why)

    def column(self, name):
        return [line[name] for line in self.rounds]


def _latency(lines):
    """{"p50": [of every round]} of those percentiles that every round has."""
    return {p: [line[p] for line in lines] for p in work.PERCENTILES if all(p in line for line in lines)}


class Field:
    """The running servers of one scenario."""

    def __init__(self, scenario, cpus, folder):
        self._server_cpu = cpus[1] if scenario.is_one_core else cpus[0]
        self._folder = folder
        self._servers = {}
        self._starts = 0
        self.lost = {}  # server -> why
        self._owners = {}
        for entrant in scenario.entrants:
            self._owners.setdefault(self.key(entrant), entrant)

    @staticmethod
    def key(entrant):
        return entrant.server or entrant.name

    def owners(self):
        """One entrant for every server."""
        return list(self._owners.values())

    def start(self, entrant):
        """A new server; the old one, if any, is stopped first."""
        key = self.key(entrant)
        self.stop(key)
        self._starts += 1
        owner = self._owners[key]
        folder = os.path.join(self._folder, "%s.%d" % (owner.name[:16], self._starts))
        try:
            self._servers[key] = engines.Server(owner.engine, dict(owner.settings), self._server_cpu, folder)
        except (engines.EngineError, OSError) as error:
            self.lost[key] = str(error)

    def turn(self, entrant):
        """Only this entrant's server may run. Raises Failed when it has ended."""
        key = self.key(entrant)
        if key in self.lost:
            raise work.Failed(self.lost[key])
        for other, server in self._servers.items():
            if other != key:
                server.pause()
        server = self._servers[key]
        server.resume()
        if not server.is_alive():
            self.lose(entrant, "the server has ended")
            raise work.Failed(self.lost[key])
        return server

    def lose(self, entrant, why):
        self.lost[self.key(entrant)] = why

    def resume_all(self):
        for server in self._servers.values():
            server.resume()

    def server(self, entrant):
        return self._servers.get(self.key(entrant))

    def stop(self, key):
        server = self._servers.pop(key, None)
        if server:
            server.stop()

    def stop_all(self):
        for key in list(self._servers):
            self.stop(key)


class Lab:
    """`run` holds what does not change: programs, CPUs, seed, rounds, seconds, timeout_s, stamp (see main.py)."""

    def __init__(self, run, results, progress, folder):
        self._run = run
        self._results = results
        self._progress = progress
        self._folder = folder
        self._salt = 0
        self.counts = {"ok": 0, "n/a": 0, "failed": 0}
        self.troubles = {}

    # What a step costs, in seconds, and what it writes.

    def _rounds(self, step):
        return step.rounds or self._run.rounds

    def cost(self, scenario, step):
        runs = len(scenario.entrants)
        if isinstance(step, Phase):
            extra = 0.15 * (step.fresh + len(step.before)) + PROCESS_S
            return runs * self._rounds(step) * ((step.seconds or 0.15) + extra)
        if isinstance(step, Memory):
            return self._run.idle_s
        if isinstance(step, CsvLoad):
            return runs * self._rounds(step)
        if isinstance(step, Program):
            return self._rounds(step) * self._run.program_s
        return 0.3 * runs * len(step.phases)

    def _params(self, scenario, step, entrant):
        params = dict(getattr(step, "options", {}))
        for name in ("seconds", "per"):
            if getattr(step, name, None):
                params[name] = getattr(step, name)
        if isinstance(step, Program):
            params["program"] = step.case
        if not isinstance(step, Memory):
            params["rounds"] = self._rounds(step)
        if entrant and entrant.settings:
            params["settings"] = dict(entrant.settings)
        if scenario.is_one_core:
            params["one-core"] = True
        return params

    @staticmethod
    def _cases(step):
        """(case, metric) of every figure of a step."""
        if isinstance(step, Memory):
            return [("%s/%s" % (step.case, kind), kind) for kind in ("rss", "rss-idle", "peak")]
        if isinstance(step, CsvLoad):
            return [(step.case + "/" + kind, kind) for kind in ("rate", "rss", "peak")]
        metrics = list(step.metrics)
        many = len(metrics) > 1 or step.fresh
        cases = [("%s/%s" % (step.case, m) if many else step.case, m) for m in metrics]
        if step.fresh and step.memory_per:
            cases += [("%s/%s" % (step.case, kind), kind) for kind in ("rss", "peak")]
        return cases

    def _stub(self, scenario, step, case, entrant):
        return {
            "suite": scenario.suite,
            "case": case,
            "engine": entrant.name if entrant else "torc",
            "base": entrant.engine.name if entrant and entrant.engine else FLOOR if entrant else "torc",
            "road": entrant.road if entrant else "in-process",
            "status": "ok",
            "params": self._params(scenario, step, entrant),
            "seed": self._run.seed,
            "quick": self._run.is_quick,
            "commit": self._run.commit,
            "build": self._run.build,
        }

    def _is_done(self, scenario, step):
        if isinstance(step, Prepare):
            return True
        if isinstance(step, Program):
            return self._results.has_program(self._stub(scenario, step, step.case, None))
        entrants = self._entrants(scenario, step)
        return all(
            self._results.has(self._stub(scenario, step, case, entrant))
            for case, _ in self._cases(step)
            for entrant in entrants
        )

    @staticmethod
    def _entrants(scenario, step):
        """Who has figures in this step: of memory, one entrant for each server; else all, and the floor if asked."""
        if isinstance(step, Memory):
            return list({Field.key(e): e for e in reversed(scenario.entrants)}.values())[::-1]
        if isinstance(step, Phase) and step.floor:
            return [*scenario.entrants, Entrant(FLOOR, None, "cache-line")]
        return list(scenario.entrants)

    # Writing.

    def _write(self, scenario, step, entrant, case, steal, status="ok", why="", **more):
        line = self._stub(scenario, step, case, entrant)
        line["status"] = status
        if why:
            line["why"] = why
        line.update(more)
        if "rounds" in more:
            line["median"] = stats.median(more["rounds"])
            line["spread"] = stats.spread(more["rounds"])
        line.update(self._run.stamp)
        line["load_average"] = machine.load_average()
        line["steal_percent"] = steal.percent()
        line["time"] = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        self._results.add(line)
        self.counts[status] += 1
        if status == "failed":
            # Once for all figures of a step.
            self.troubles["%s/%s %s: %s" % (scenario.suite, step.case, line["engine"], why)] = True
        return line

    def _write_trouble(self, scenario, step, entrant, steal, trouble):
        """The reason in place of every figure of the step."""
        return [
            self._write(scenario, step, entrant, case, steal, status=trouble[0], why=trouble[1])
            for case, _ in self._cases(step)
        ]

    def _write_figures(self, scenario, step, entrant, steal, figures):
        if figures.trouble:
            return self._write_trouble(scenario, step, entrant, steal, figures.trouble)
        written = []
        latency = _latency(figures.rounds)
        for case, metric in self._cases(step):
            if metric in ("rss", "peak"):
                per, unit = step.memory_per if isinstance(step, Phase) else (figures.rounds[0]["rows"], "row")
                column = [m[metric == "peak"] / per for m in figures.memory]
                unit, better, more = "bytes/" + unit, "lower", {}
            else:
                column = figures.column(metric)
                unit, better = UNITS.get(metric, ("ns", "lower"))
                if isinstance(step, CsvLoad):
                    unit = "rows/s"
                elif metric == "rate" and step.cells:
                    unit = "fields/s"
                    column = [step.cells / line["seconds"] for line in figures.rounds]
                more = {"latency": latency} if latency else {}
                if "rate" in figures.rounds[0]:
                    more["rates"] = figures.column("rate")
                if all(line.get("wait") == "busy" and line.get("cpu_seconds") for line in figures.rounds):
                    more["cpu_share"] = [line["cpu_seconds"] / line["seconds"] for line in figures.rounds]
                kinds = [line.get("kinds") for line in figures.rounds]
                if all(kinds):
                    more["kinds"] = {kind: _latency([k[kind] for k in kinds]) for kind in kinds[0]}
            more.update(metric=metric, unit=unit, better=better, rounds=column)
            written.append(self._write(scenario, step, entrant, case, steal, **more))
        return written

    def _tell(self, scenario, lines):
        """A line for the user about each case: every entrant's figure, and its ratio to the first."""
        by_case = {}
        for line in lines:
            by_case.setdefault(line["case"], []).append(line)
        for case, entries in by_case.items():
            parts = []
            for line in entries:
                if line["status"] == "ok":
                    parts.append("%s %s" % (line["engine"], figure(line["median"], line["unit"])))
                else:
                    parts.append("%s %s" % (line["engine"], line["status"]))
            self._progress.say("%-44s %s" % ("%s/%s" % (scenario.suite, case), "   ".join(parts)))

    # Running.

    def _load(self, field, entrant, options, seconds=0.0, seed=None):
        """One run of torc-perf-load against this entrant's server. Raises Failed, NotAvailable."""
        options = dict(options, seed=seed or self._run.seed)
        if options["op"] != "verify":
            self._salt += 1
        options["salt"] = self._salt
        if seconds:
            options["seconds"] = seconds
        server = field.turn(entrant)
        try:
            address = server.address(entrant.road)
            return work.load(self._run.load_program, address, self._run.cpus[1], options, self._run.timeout_s)
        except work.Failed as error:
            if not server.is_alive():
                field.lose(entrant, "the server has ended")
                raise work.Failed("the server ended in the middle (%s)" % error, True) from None
            if error.is_lost:
                field.lose(entrant, str(error))
            raise

    def _floor(self, step):
        name, window = step.floor
        cpus = "%d,%d" % self._run.cpus
        for line in work.lines([self._run.floor_program, "--quick", "--cpus", cpus], self._run.timeout_s):
            if line["name"] == name and line.get("window") == window:
                missing = [metric for metric in step.metrics if metric not in line]
                if missing:
                    raise work.Failed("floor has no %s of %s" % (missing[0], name))
                return line
        raise work.Failed("floor printed no %s of window %d" % (name, window))

    def _round(self, field, step, entrant, number, figures):
        if entrant.name == FLOOR:
            figures.rounds.append(self._floor(step))
            return
        if isinstance(step, CsvLoad) or step.fresh:
            field.start(entrant)
        if isinstance(step, CsvLoad):
            server = field.turn(entrant)
            line = work.load_csv(
                self._run.csv_program, server.address(entrant.road), self._run.cpus[1], step.options,
                self._run.timeout_s, verify=number == 0,
            )  # fmt: skip
        else:
            for options in step.before:
                self._load(field, entrant, options)
            line = self._load(field, entrant, step.options, step.seconds, self._run.seed + number)
        if isinstance(step, CsvLoad) or step.fresh:
            server = field.server(entrant)
            figures.memory.append((server.resident(), server.peak()))
            if number == 0 and isinstance(step, Phase):
                self._load(field, entrant, dict(step.options, op="verify"))
        figures.rounds.append(line)

    def _measure(self, scenario, field, step, is_recorded):
        entrants = self._entrants(scenario, step)
        figures = {entrant.name: Figures() for entrant in entrants}
        steal = machine.Steal()
        for number in range(self._rounds(step) if is_recorded else 1):
            for entrant in entrants if number % 2 == 0 else reversed(entrants):
                own = figures[entrant.name]
                if own.trouble:
                    continue
                try:
                    self._round(field, step, entrant, number, own)
                except work.NotAvailable as error:
                    own.trouble = ("n/a", str(error))
                except (work.Failed, engines.EngineError) as error:
                    own.trouble = ("failed", str(error))
        if not is_recorded:
            return
        written = []
        for entrant in entrants:
            written += self._write_figures(scenario, step, entrant, steal, figures[entrant.name])
        self._tell(scenario, written)

    def _memory(self, scenario, field, step):
        steal = machine.Steal()
        field.resume_all()
        owners = field.owners()
        read, trouble = {}, {}
        for moment in ("rss", "rss-idle"):
            if moment == "rss-idle":
                time.sleep(self._run.idle_s)
            for entrant in owners:
                try:
                    if Field.key(entrant) in field.lost:
                        raise engines.EngineError(field.lost[Field.key(entrant)])
                    server = field.server(entrant)
                    read[entrant.name, moment] = server.resident()
                    read[entrant.name, "peak"] = server.peak()
                except engines.EngineError as error:
                    trouble[entrant.name] = ("failed", str(error))
        written = []
        for entrant in owners:
            if entrant.name in trouble:
                written += self._write_trouble(scenario, step, entrant, steal, trouble[entrant.name])
                continue
            for case, kind in self._cases(step):
                more = {"unit": "bytes/" + step.unit, "better": "lower", "metric": kind}
                more["rounds"] = [read[entrant.name, kind] / step.per]
                written.append(self._write(scenario, step, entrant, case, steal, **more))
        self._tell(scenario, written)

    def _prepare(self, field, step):
        for entrant in field.owners():
            if Field.key(entrant) in field.lost:
                continue
            try:
                for options in step.phases:
                    self._load(field, entrant, options)
            except (work.Failed, work.NotAvailable) as error:
                field.lose(entrant, "its data could not be loaded: %s" % error)

    def _program(self, scenario, step):
        steal = machine.Steal()
        rounds = {}
        try:
            for _ in range(self._rounds(step)):
                for line in work.lines(step.command, self._run.timeout_s):
                    given = {k: v for k, v in (line.get("param") or {}).items() if k not in OUTCOMES}
                    if "window" in line:
                        given["window"] = line["window"]
                    name = " ".join([line["name"]] + ["%s=%s" % pair for pair in given.items()])
                    rounds.setdefault(name, []).append(line)
        except work.Failed as error:
            line = self._write(scenario, step, None, step.case, steal, status="failed", why=str(error))
            self._tell(scenario, [line])
            return
        for name, found in rounds.items():
            better = "higher" if found[0].get("unit", "ns").endswith("/s") else "lower"
            # A program that alternates rounds of its own says what each came to.
            column = [value for line in found for value in line.get("seen") or [line["p50"]]]
            more = {"unit": found[0].get("unit", "ns"), "better": better, "metric": "p50", "rounds": column}
            more["param"] = found[0].get("param")
            if "on_one_core" in found[0]:
                more["rounds_on_one_core"] = sum(line["on_one_core"]["rounds"] for line in found)
            line = self._write(scenario, step, None, name, steal, latency=_latency(found), **more)
            self._tell(scenario, [line])

    def run(self, scenario):
        """Everything of a scenario that is not in the results yet."""
        open_steps = [not self._is_done(scenario, step) for step in scenario.steps]
        if not any(open_steps):
            self._progress.advance(sum(self.cost(scenario, step) for step in scenario.steps), skipped=True)
            return
        last = max(i for i, is_open in enumerate(open_steps) if is_open)
        field = Field(scenario, self._run.cpus, os.path.join(self._folder, scenario.name[:24]))
        with contextlib.ExitStack() as stack:
            stack.callback(field.stop_all)
            for entrant in field.owners():
                field.start(entrant)
            for i, (step, is_open) in enumerate(zip(scenario.steps, open_steps)):
                self._progress.doing("%s/%s" % (scenario.suite, step.case or scenario.name))
                if isinstance(step, Prepare):
                    if i < last:
                        self._prepare(field, step)
                elif isinstance(step, Program):
                    if is_open:
                        self._program(scenario, step)
                elif isinstance(step, Memory):
                    if is_open:
                        self._memory(scenario, field, step)
                elif is_open or (step.changes and i < last):
                    self._measure(scenario, field, step, is_open)
                self._progress.advance(self.cost(scenario, step), skipped=not is_open)
