# SPDX-License-Identifier: Apache-2.0
"""The command line of perf/compare: two files of results, or two engines of one, case by case."""

import argparse
import statistics
import sys

from . import results, stats
from .progress import figure

EPILOG = """better x: how many times B is better than A, for rates, times and bytes alike. Of two files it is the
ratio of the medians, with the ratios of the quartiles that stand furthest apart; of two engines of one file it is the
median of the ratios of rounds that ran one after the other, with their quartiles. Extremes stand in for the quartiles
of fewer than 5 rounds. WORSE and better: the spread leaves out 1 and the difference is 5 % or more. Ends with 0; with
--strict 1 when something is WORSE; 2 for a faulty command line or file.

--beside ENGINE answers how well a run repeats: of each case it compares not the figures of A and B but what they are
beside ENGINE's of the same file, the median of the ratios of rounds that ran one after the other; then the same for
all cases of a suite together (geometric mean).
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
    add("--beside", metavar="ENGINE", help="compare ratios to this engine's figures of the same file")
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


def _ratios(lines, beside):
    """{(suite, case, engine): (median ratio to `beside` in the rounds, line)}"""
    found = {}
    figures = _figures(lines, None)
    for (suite, case, engine), line in figures.items():
        base = figures.get((suite, case, beside))
        if engine == beside or base is None:
            continue
        ratio = stats.paired(line["rounds"], base["rounds"], line["better"])
        if ratio is not None:
            found[suite, case, engine] = ratio[0], line
    return found


def _apart(one, other):
    """By how much two ratios differ, as a share of the smaller."""
    return max(one, other) / min(one, other) - 1


def repeats(a, b):
    """Rows (title, ratio in A, ratio in B, difference) of the cases in both, and the same of each suite and engine."""
    cases, groups = [], {}
    for key, (one, _) in a.items():
        if key in b:
            other = b[key][0]
            cases.append(("/".join(key[:2]) + " " + key[2], one, other, _apart(one, other)))
            groups.setdefault((key[0], key[2]), []).append((one, other))
    suites = []
    for (suite, engine), pairs in groups.items():
        means = [statistics.geometric_mean(column) for column in zip(*pairs)]
        suites.append(("%s, %d cases, %s" % (suite, len(pairs), engine), *means, _apart(*means)))
    return cases, suites


def _print_repeats(a, b, only_differing):
    cases, suites = repeats(a, b)
    if not cases:
        return False
    rows = [row for row in cases if not only_differing or row[3] >= stats.LEAST_DIFFERENCE] + suites
    width = max(len(row[0]) for row in rows)
    print("%-*s %10s %10s %9s" % (width, "times better", "A", "B", "apart"))
    for title, one, other, apart in rows:
        print("%-*s %10.2f %10.2f %7.1f %%" % (width, title, one, other, 100 * apart))
    near = sum(row[3] < stats.LEAST_DIFFERENCE for row in cases)
    middle = stats.median([row[3] for row in cases])
    print("%d cases, %d less than 5 %% apart, median %.1f %%" % (len(cases), near, 100 * middle))
    return True


def main(arguments):
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.beside and (options.engine_a or options.b is None):
        parser.error("--beside is for two files, without --engine-a and --engine-b")
    if bool(options.engine_a) != bool(options.engine_b):
        parser.error("--engine-a and --engine-b go together")
    if options.b is None and not options.engine_a:
        parser.error("one file needs --engine-a and --engine-b")
    try:
        lines_a = results.read(options.a)
        lines_b = results.read(options.b or options.a)
    except results.Broken as error:
        parser.error(str(error))
    if options.beside:
        ratios = [_ratios(lines, options.beside) for lines in (lines_a, lines_b)]
        if not _print_repeats(*ratios, options.only_differing):
            parser.error("the two have no case with %s in common" % options.beside)
        return 0
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
