# SPDX-License-Identifier: Apache-2.0
"""What the report says, as tables made from result lines only: the same for every way of showing them."""

import dataclasses
import re

from . import stats
from .progress import figure

OURS = "torc"
FLOOR = "floor"
PREFERRED_RIVAL = "redis"

# The figures that stand for their suites, in this order.
HEADLINES = (
    r"ring/ping-w1/p50", r"ring/hget-hot-w1/p(50|99)", r"ring/hset-hot-w1/p50", r"ring/h[gs]et-hot-w64",
    r"ring/h[gs]et-random-w64", r"ring/hget-hot-one-core-w1/p50",
    r"hset/million-load-(whole|fields)/(rate|peak)", r"hset/million-(hget|hget-miss|hmget-4|hset-same|hset-width)",
    r"hset/million-(loaded|grown-to-64)/(rss-idle|peak)", r"hset/small\d+-\d+-load-(whole|fields)/rate",
    r"hset/small\d+-\d+-loaded/rss-idle", r"threshold/threshold-\d+-hget-middle", r"threshold/threshold-\d+/rss-idle",
    r"mixed/(mixed|insert)-(closed|open)/(p50|p99|max)", r"wide/h.*-w1/p50", r"wide/h.*-w16", r"real/.*",
)  # fmt: skip


@dataclasses.dataclass
class Cell:
    """mood: "good", "bad" or "" (a figure without judgement)."""

    text: str
    mood: str = ""


@dataclasses.dataclass
class Table:
    title: str
    note: str
    columns: list
    rows: list  # of lists of Cell


class Case:
    """The newest lines of one case, by entrant."""

    def __init__(self, suite, name):
        self.suite = suite
        self.name = name
        self.lines = {}

    @property
    def title(self):
        return self.suite + "/" + self.name

    def ours(self):
        return [line for line in self.lines.values() if line["base"] == OURS]

    def floor(self):
        return next((line for line in self.lines.values() if line["base"] == FLOOR), None)

    def rivals(self):
        return [line for line in self.lines.values() if line["base"] not in (OURS, FLOOR)]

    def rival(self):
        """The line to compare with: Redis when it is there, else the first other server."""
        rivals = self.rivals()
        return next((line for line in rivals if line["base"] == PREFERRED_RIVAL), rivals[0] if rivals else None)


def cases(lines):
    """In the order in which they were first measured."""
    found = {}
    for line in lines:
        key = line["suite"], line["case"]
        found.setdefault(key, Case(*key)).lines[line["engine"]] = line
    return list(found.values())


def has_figures(line):
    return line is not None and line["status"] == "ok"


def shown(line):
    if line is None:
        return ""
    return figure(line["median"], line["unit"]) if has_figures(line) else line["status"]


def ratio(ours, theirs):
    """(median, low, high) of how many times better ours is, or None."""
    if not has_figures(ours) or not has_figures(theirs):
        return None
    return stats.paired(ours["rounds"], theirs["rounds"], ours["better"])


def times(value):
    return "%.2f" % value if value < 100 else "%.0f" % value


def _ratio_cells(found, line):
    if found is None:
        return [Cell(""), Cell("")]
    mood = ""
    if stats.is_beyond_noise(found, line):
        mood = "good" if found[0] > 1 else "bad"
    return [Cell(times(found[0]), mood), Cell("%s .. %s" % (times(found[1]), times(found[2])))]


def summary(all_cases):
    rows = []
    patterns = [re.compile(pattern + "$") for pattern in HEADLINES]
    for pattern in patterns:
        for case in all_cases:
            if not pattern.match(case.title):
                continue
            rival, floor = case.rival(), case.floor()
            for line in case.ours():
                row = [Cell(case.title), Cell(line["engine"]), Cell(shown(line)), Cell(shown(rival))]
                row += _ratio_cells(ratio(line, rival), line)
                of_floor = ratio(floor, line) if floor else None  # how many times better the floor is
                row += [Cell(shown(floor)), Cell(times(of_floor[0]) if of_floor else "")]
                rows.append(row)
    rival_name = next((case.rival()["engine"] for case in all_cases if case.rival()), "rival")
    columns = ["case", "torc as", "torc", rival_name, "times better", "spread", "floor", "times the floor"]
    note = (
        "Times better: above 1 torc wins, for rates, times and bytes alike; the median of the ratios of rounds that "
        "ran one after the other, and their quartiles (of fewer than 5 rounds the extremes). Coloured when beyond "
        "noise: the spread leaves out 1, and the difference is 5 % or more."
    )
    return Table("Summary", note, columns, rows)


def bad(all_cases):
    """Where torc loses: beyond noise first, the worst on top."""
    losses = []
    for case in all_cases:
        for line in case.ours():
            for rival in case.rivals():
                found = ratio(line, rival)
                if found and found[0] < 1:
                    losses.append((not stats.is_beyond_noise(found, line), found[0], case, line, rival, found))
    losses.sort(key=lambda loss: loss[:2])
    rows = []
    for is_noise, _, case, line, rival, found in losses:
        row = [Cell(case.title), Cell(line["engine"]), Cell(shown(line)), Cell(rival["engine"]), Cell(shown(rival))]
        rows.append(row + _ratio_cells(found, line) + [Cell("within noise" if is_noise else "loses")])
    columns = ["case", "torc as", "torc", "beside", "its figure", "times better", "spread", ""]
    note = "Every case in which the median of torc is the worse one, on any road, beside any server."
    return Table("What is bad", note, columns, rows)


def without_figures(all_cases):
    rows = []
    for case in all_cases:
        for line in case.lines.values():
            if not has_figures(line):
                mood = "bad" if line["status"] == "failed" else ""
                row = [Cell(case.title), Cell(line["engine"]), Cell(line["status"], mood), Cell(line.get("why", ""))]
                rows.append(row)
    note = "n/a: the engine does not know the command. failed: no figure, for this reason."
    return Table("Without figures", note, ["case", "engine", "", "reason"], rows)


def _relative_spread(line):
    if not has_figures(line) or not line["median"] or len(line["rounds"]) < 2:
        return ""
    spread = line["spread"]
    return " ±%.0f%%" % (50 * abs((spread["q3"] - spread["q1"]) / line["median"]))


def suite(all_cases, name):
    """All figures of a suite, with the ratio of each of torc's to the rival."""
    own = [case for case in all_cases if case.suite == name]
    entrants = list(dict.fromkeys(engine for case in own for engine in case.lines))
    rows = []
    for case in own:
        row = [Cell(case.name)]
        rival = case.rival()
        for engine in entrants:
            line = case.lines.get(engine)
            cell = Cell(shown(line) + (_relative_spread(line) if line else ""))
            if line is not None and line["base"] == OURS:
                found = ratio(line, rival)
                if found:
                    cell = Cell("%s (x%s)" % (cell.text, times(found[0])), _ratio_cells(found, line)[0].mood)
            row.append(cell)
        rows.append(row)
    note = "Median of the rounds, ± half the distance of the quartiles; in brackets: times better than the rival."
    return Table("Suite " + name, note, ["case", *entrants], rows)


def runs(lines):
    """What was run where: one row for each fact."""
    facts = {}

    def add(name, value):
        facts.setdefault(name, {})[str(value)] = True

    for line in lines:
        add("commit", line["commit"])
        add("programs", line["build"])
        add("compiler", line.get("compiler", "unknown"))
        add("extent", "quick" if line["quick"] else "full")
        add("seed", line["seed"])
        for name, value in line.get("machine", {}).items():
            add(name.replace("_", " "), value)
    rows = [[Cell(name), Cell(", ".join(values))] for name, values in facts.items()]
    if lines:
        steal = [line.get("steal_percent", 0.0) for line in lines]
        load = [line.get("load_average", 0.0) for line in lines]
        stamps = sorted(line["time"] for line in lines if "time" in line)
        for name, column, unit in (("steal during cases", steal, " %"), ("load average", load, "")):
            text = "median %.1f%s, most %.1f%s" % (stats.median(column), unit, max(column), unit)
            rows.append([Cell(name), Cell(text)])
        rows.append([Cell("measured"), Cell("%s to %s" % (stamps[0], stamps[-1]) if stamps else "unknown")])
    mixed = [name for name in ("commit", "programs", "extent") if len(facts.get(name, {})) > 1]
    note = "Differing: %s. Only lines of one run are comparable." % ", ".join(mixed) if mixed else ""
    return Table("The run", note, ["", ""], rows)


def warnings(lines):
    """What makes the figures doubtful."""
    texts = []
    if any(line["quick"] for line in lines):
        texts.append("Part of this is a quick run: few rounds, small data. Do not quote its figures.")
    steal = [line.get("steal_percent", 0.0) for line in lines]
    if steal and max(steal) > 2:
        texts.append("The hypervisor took up to %.1f %% of the CPU time during a case." % max(steal))
    if any(line.get("rounds_on_one_core") for line in lines):
        texts.append("The two CPUs shared a core for a while, the floor shows: ring figures look better than they are.")
    shares = [stats.median(line["cpu_share"]) for line in lines if line.get("cpu_share")]
    if shares and min(shares) < 0.9:
        percents = 100 * stats.median(shares), 100 * min(shares)
        few = "%.0f %% of its CPU in the median case, %.0f %% in the worst" % percents
        texts.append("The client, which spins, got only %s: rates on the ring are too low by as much." % few)
    busy = max((line.get("load_average", 0.0) - line.get("machine", {}).get("cores", 1) for line in lines), default=0)
    if busy > 0.5:
        texts.append("Others kept the machine busy (load average up to %.1f above the number of cores)." % busy)
    return texts
