# SPDX-License-Identifier: Apache-2.0
"""Instruction counts: reading callgrind's dumps, the baseline file, and the verdict on a rise.

A baseline is text: a line `made-with TOOLS`, then one line per case,

    NAME/LEVEL  COUNT  BUDGET [beside NAME/LEVEL]

COUNT is instructions per request; BUDGET is a number or `-`; with `beside`, the budget is for what the case takes
more than the other one. Everything behind a # is a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

RISE_MAX = 0.05
EMPTY = "nothing"  # the case that measures the brackets around an operation

HEADER = """\
# Instructions per request, counted by callgrind: perf/instr measures and compares, perf/instr --update writes this.
# name/level of the vector instructions, count, budget, and what the budget does not include.
"""


class Problem(Exception):
    """What cannot be used, with a text for a person."""


@dataclass(frozen=True)
class Row:
    name: str
    count: float
    budget: float | None = None
    beside: str | None = None


@dataclass
class Baseline:
    made_with: str
    rows: dict[str, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """One line of the table. `problem` is None when the count may stay as it is."""
    name: str
    count: float | None
    baseline: float | None
    change: float | None  # 0.05: five per cent more than the baseline
    budget: float | None
    spent: float | None  # what is compared with the budget
    problem: str | None

    @property
    def reached(self):
        return None if self.budget is None or self.spent is None else self.spent <= self.budget


def parse_baseline(text):
    made_with, rows = None, {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        words = line.split()
        if words[0] == "made-with" and made_with is None and len(words) > 1:
            made_with = line.split(None, 1)[1]
            continue
        try:
            name, count, budget = words[0], float(words[1]), None if words[2] == "-" else float(words[2])
            beside = words[4] if len(words) == 5 and words[3] == "beside" else None
            if len(words) != (3 if beside is None else 5):
                raise ValueError
        except (IndexError, ValueError):
            raise Problem(f"line {number} of the baseline is not NAME COUNT BUDGET [beside NAME]: {line}") from None
        if count <= 0 or name in rows:
            raise Problem(f"line {number} of the baseline: {'no count' if count <= 0 else 'a second line for'} {name}")
        rows[name] = Row(name, count, budget, beside)
    if made_with is None:
        raise Problem("the baseline has no line made-with")
    for row in rows.values():
        if row.beside is not None and row.beside not in rows:
            raise Problem(f"the budget of {row.name} is beside {row.beside}, which the baseline does not have")
    return Baseline(made_with, rows)


def format_baseline(baseline):
    width = max((len(name) for name in baseline.rows), default=0)
    lines = [HEADER, f"made-with {baseline.made_with}\n"]
    for row in baseline.rows.values():
        budget = "-" if row.budget is None else f"{row.budget:g}"
        beside = "" if row.beside is None else f"  beside {row.beside}"
        lines.append(f"{row.name:<{width}}  {row.count:9.1f}  {budget:>5}{beside}\n")
    return "".join(lines)


def parse_dump(text):
    """(case, instructions) of one file that callgrind wrote at a request of the driver; None for any other file."""
    name = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.MULTILINE)
    total = re.search(r"^totals: (\d+)$", text, re.MULTILINE)
    return (name[1], int(total[1])) if name and total else None


def per_request(totals, sizes):
    """{case: instructions per request} from totals {case: instructions} and sizes {case: (operations, requests of
    one)}. What the brackets take is subtracted from each operation."""
    missing = sorted(set(sizes) - set(totals))
    if missing or EMPTY not in sizes:
        raise Problem(f"not counted: {' '.join(missing) or EMPTY}")
    brackets = totals[EMPTY] / sizes[EMPTY][0]
    return {name: round((totals[name] / operations - brackets) / requests, 1)
            for name, (operations, requests) in sizes.items() if name != EMPTY}


def compare(counts, baseline, rise_max=RISE_MAX):
    """Verdicts for all names in `counts` ({name: count}) or in the baseline, in the baseline's order."""
    verdicts = []
    for name in [*baseline.rows, *(n for n in counts if n not in baseline.rows)]:
        row, count = baseline.rows.get(name), counts.get(name)
        change = spent = problem = None
        if row is None:
            problem = "not in the baseline"
        elif count is None:
            problem = "not measured"
        else:
            change = count / row.count - 1
            if count > row.count * (1 + rise_max):
                problem = f"rose by {100 * change:.1f} %"
            spent = count - counts[row.beside] if row.beside in counts else None if row.beside else count
        verdicts.append(Verdict(name, count, row and row.count, change, row and row.budget, spent, problem))
    return verdicts


def updated(counts, made_with, old):
    """The baseline of these counts; budgets are kept from `old` (None: there was none)."""
    rows = {}
    for name in [*(old.rows if old else ()), *counts]:
        if name in counts:
            row = old.rows.get(name) if old else None
            rows[name] = replace(row, count=counts[name]) if row else Row(name, counts[name])
    return Baseline(made_with, rows)


def table(verdicts):
    def number(value):
        return "-" if value is None else f"{value:.1f}"

    lines = [f"{'name':<24}{'count':>10}{'baseline':>10}{'change':>9}{'budget':>8}{'spent':>9}  verdict"]
    for v in verdicts:
        change = "-" if v.change is None else f"{100 * v.change:+.1f} %"
        budget = "-" if v.budget is None else f"{v.budget:g}"
        notes = [v.problem] if v.problem else []
        if v.reached is not None:
            notes.append("reached" if v.reached else f"{v.spent / v.budget:.2f} x the budget")
        lines.append(f"{v.name:<24}{number(v.count):>10}{number(v.baseline):>10}{change:>9}{budget:>8}"
                     f"{number(v.spent if v.budget is not None else None):>9}  {', '.join(notes)}".rstrip())
    return "\n".join(lines)
