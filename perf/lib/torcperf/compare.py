# SPDX-License-Identifier: Apache-2.0
"""The command line of perf/compare: two files of results, or two engines of one, case by case."""

import argparse
import sys

from . import results, stats
from .progress import figure

EPILOG = """better x: how many times B is better than A, for rates, times and bytes alike. Of two files it is the
ratio of the medians, with the ratios of the quartiles that stand furthest apart; of two engines of one file it is the
median of the ratios of rounds that ran one after the other, with their quartiles. Extremes stand in for the quartiles
of fewer than 5 rounds. WORSE and better: the spread leaves out 1 and the difference is 5 % or more. Ends with 0; with
--strict 1 when something is WORSE; 2 for a faulty command line or file.
"""


def _parser():
    parser = argparse.ArgumentParser(
        prog="perf/compare", description="Compares two results.jsonl of perf/run, case by case.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("a", metavar="A.jsonl")
    add("b", metavar="B.jsonl", nargs="?", help="left out: A again, for two engines of one file")
    add("--engine-a", metavar="NAME", help="this engine of A, beside ...")
    add("--engine-b", metavar="NAME", help="... this engine of B (default: every engine beside itself)")
    add("--only-differing", action="store_true", help="leave out what is within noise")
    add("--strict", action="store_true", help="end with 1 when B is worse in a case")
    return parser


def _figures(lines, engine):
    """{(suite, case, engine or nothing): line} of those with figures."""
    chosen = {}
    for line in results.latest(lines):
        if line["status"] == "ok" and engine in (None, line["engine"]):
            chosen[line["suite"], line["case"], line["engine"] if engine is None else ""] = line
    return chosen


def compare(a, b, is_one_run):
    """Rows (title, line of A, line of B, ratio, verdict) of the cases in both."""
    rows = []
    for key, one in a.items():
        other = b.get(key)
        if other is None:
            continue
        if is_one_run:
            ratio = stats.paired(other["rounds"], one["rounds"], one["better"])
        else:
            ratio = stats.unpaired(one["rounds"], other["rounds"], one["better"])
        if ratio is None:
            continue
        verdict = ""
        if stats.is_beyond_noise(ratio, one):
            verdict = "better" if ratio[0] > 1 else "WORSE"
        title = "/".join(key[:2]) + (" " + key[2] if key[2] else "")
        rows.append((title, one, other, ratio, verdict))
    return rows


def main(arguments):
    parser = _parser()
    options = parser.parse_args(arguments)
    if bool(options.engine_a) != bool(options.engine_b):
        parser.error("--engine-a and --engine-b go together")
    if options.b is None and not options.engine_a:
        parser.error("one file needs --engine-a and --engine-b")
    try:
        lines_a = results.read(options.a)
        lines_b = results.read(options.b or options.a)
    except results.Broken as error:
        parser.error(str(error))
    a, b = _figures(lines_a, options.engine_a), _figures(lines_b, options.engine_b)
    rows = compare(a, b, options.b is None)
    if not rows:
        parser.error("the two have no case with figures in common")
    if {line["quick"] for line in a.values()} != {line["quick"] for line in b.values()}:
        print("perf/compare: one of the two is a quick run: their figures are of different data", file=sys.stderr)
    width = max(len(row[0]) for row in rows)
    print("%-*s %14s %14s %8s  %s" % (width, "case", "A", "B", "better x", "spread"))
    for title, one, other, ratio, verdict in rows:
        if verdict or not options.only_differing:
            shown = [figure(line["median"], line["unit"]) for line in (one, other)]
            spread = "%.2f .. %.2f" % ratio[1:]
            print(("%-*s %14s %14s %8.2f  %-14s %s" % (width, title, *shown, ratio[0], spread, verdict)).rstrip())
    worse = sum(row[4] == "WORSE" for row in rows)
    print("%d cases, %d better, %d worse" % (len(rows), sum(row[4] == "better" for row in rows), worse))
    return 1 if worse and options.strict else 0
