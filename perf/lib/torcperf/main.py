# SPDX-License-Identifier: Apache-2.0
"""The command line of perf/run."""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

from . import build, engines, machine, report, results, suites
from .lab import Lab
from .plan import Prepare, Setup
from .progress import Progress, duration

SEED = 1
EPILOG = """suites:
%s
  report       makes report.md and report.html of the results again, measures nothing

Without a suite all run (real only with --csv). Every figure is appended to DIR/results.jsonl at once; the report shows
the newest of each. Ends with 0; 1 when a case failed (its reason is in the report), 2 for a faulty command line.
An engine of one's own: --engine name=valkey,binary=/usr/bin/valkey-server,args=--save "" ; args may hold {socket} or
{port}, else --port 0 --unixsocket PATH is added. A second torcd: --engine name=old,binary=/path/to/torcd
"""


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _engine(text):
    try:
        return engines.parse_engine(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _positive(kind):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < 1e6:
            raise argparse.ArgumentTypeError("%r is not a number above 0" % text)
        return value

    return parse


def _parser():
    names = "\n".join("  %-12s %s" % (name, module.SUMMARY) for name, module in suites.ALL.items())
    parser = argparse.ArgumentParser(
        prog="perf/run", description="Measures torc beside redis-server and the floor.", epilog=EPILOG % names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("suites", nargs="*", metavar="SUITE", help="what to measure; see below")
    add("--quick", action="store_true", help="small data and 3 rounds: minutes, and noisier")
    add("--out", metavar="DIR", help="folder of the results and the report (default build/perf)")
    add("--build", metavar="DIR", help="use the programs of this build instead of building the release preset")
    add("--engine", metavar="SPEC", action="append", type=_engine, default=[],
        help="one more server: name=NAME,binary=PATH[,kind=torc|resp][,args=WORDS]")  # fmt: skip
    add("--only", metavar="NAMES", help="only these engines, separated by commas")
    add("--rounds", metavar="N", type=_positive(int), help="rounds of each case (default 9, quick 3)")
    add("--seconds", metavar="S", type=_positive(float), help="timed part of a round (default 0.25, quick 0.04)")
    add("--timeout", metavar="S", type=_positive(float), default=120.0, help="most time of one run (default 120)")
    add("--csv", metavar="FILE", help="data of the suite real")
    add("--csv-key", metavar="COLUMN", default="", help="column that names the rows of --csv")
    add("--resume", action="store_true", help="leave out what DIR has of this build with these parameters")
    add("--no-install", action="store_true", help="do not install gnuplot-nox when gnuplot is missing")
    add("--list", action="store_true", help="print the cases, measure nothing")
    return parser


def _choose_suites(parser, options):
    for name in options.suites:
        if name not in suites.ALL:
            parser.error("there is no suite %s; the suites are %s" % (name, ", ".join(suites.ALL)))
    if "real" in options.suites and not options.csv:
        parser.error("the suite real needs --csv FILE")
    if options.csv:
        options.csv = os.path.abspath(options.csv)
        if not os.access(options.csv, os.R_OK):
            parser.error("cannot read %s" % options.csv)
    return [name for name in suites.ALL if name in options.suites or not options.suites]


def _choose_engines(parser, options, bin_folder):
    known = [engines.Engine("torc", "torc", os.path.join(bin_folder, "torcd"))]
    redis = shutil.which("redis-server")
    if redis:
        known.append(engines.redis(redis))
    known += options.engine
    names = [engine.name for engine in known]
    if len(set(names)) != len(names):
        parser.error("two engines have one name: %s" % ", ".join(names))
    if options.only:
        for name in options.only.split(","):
            if name not in names:
                parser.error("there is no engine %s; the engines are %s" % (name, ", ".join(names)))
        known = [engine for engine in known if engine.name in options.only.split(",")]
    elif not redis:
        _say("redis-server is not installed: torc is measured alone")
    return known


def _print_list(plans):
    for scenario in plans:
        for step in scenario.steps:
            if not isinstance(step, Prepare):
                print("%s/%s" % (scenario.suite, step.case))


def _check_programs(bin_folder, chosen, known):
    """The programs that these suites need; a text about the first that is missing, or None."""
    needed = {engine.binary for engine in known}
    if set(chosen) - {"floor", "micro", "real"}:
        needed.add(os.path.join(bin_folder, "torc-perf-load"))
    if set(chosen) & {"floor", "ring"}:
        needed.add(os.path.join(bin_folder, "floor"))
    if "real" in chosen:
        needed.add(os.path.join(bin_folder, "torc-load"))
    missing = sorted(path for path in needed if not os.access(path, os.X_OK))
    return "%s is missing" % missing[0] if missing else None


def _constants(options, folder, bin_folder, known):
    """What Lab needs to know of this run."""
    cpus = machine.pick_cpus()
    load_program = os.path.join(bin_folder, "torc-perf-load")
    programs = [p for p in (load_program, *(engine.binary for engine in known)) if os.path.exists(p)]
    facts = dict(machine.facts(), server_cpu=cpus[0], client_cpu=cpus[1])
    return types.SimpleNamespace(
        cpus=cpus, seed=SEED, is_quick=options.quick, timeout_s=options.timeout,
        rounds=options.rounds or (3 if options.quick else 9),
        seconds=options.seconds or (0.04 if options.quick else 0.25),
        idle_s=1.0 if options.quick else 10.0,
        program_s=4.0 if options.quick else 20.0,
        load_program=load_program,
        floor_program=os.path.join(bin_folder, "floor"),
        csv_program=os.path.join(bin_folder, "torc-load"),
        commit=build.commit(), build=build.fingerprint(programs),
        stamp={"compiler": build.compiler(folder), "machine": facts},
    )  # fmt: skip


def _measure(run, plans, store):
    """All scenarios; the Lab with its counts. Servers and sockets are gone afterwards, however it ends."""
    with tempfile.TemporaryDirectory(prefix="torc-perf-") as scratch:
        progress = Progress()
        lab = Lab(run, store, progress, scratch)
        progress.expect(sum(lab.cost(scenario, step) for scenario in plans for step in scenario.steps))
        with contextlib.closing(progress):
            for scenario in plans:
                lab.run(scenario)
    return lab


def _interrupt(*_):
    raise KeyboardInterrupt


def _install_gnuplot():
    """The way tools/quickstart installs packages; without the right to, plots are left out."""
    can = os.geteuid() == 0
    if not can and shutil.which("sudo"):
        can = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    if can and shutil.which("apt-get"):
        script = ". tools/setup.sh && install_packages gnuplot-nox >&2"
        subprocess.run(["bash", "-c", script], cwd=build.root(), check=False)


def _render(out, may_install):
    if may_install and not shutil.which("gnuplot"):
        _install_gnuplot()
    try:
        paths = report.render(out)
    except results.Broken as error:
        _say("perf/run: %s" % error)
        return 1
    for note in paths.notes:
        _say(note)
    _say("report: %s and %s" % (paths.markdown, paths.html))
    return 0


def main(arguments):
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    out = os.path.abspath(options.out or os.path.join(build.root(), "build", "perf"))
    if options.suites == ["report"]:
        return _render(out, not options.no_install)
    chosen = _choose_suites(parser, options)
    if options.list:
        folder = options.build or os.path.join(build.root(), "build", build.PRESET)
    else:
        try:
            folder = options.build or build.make(_say)
        except build.BuildError as error:
            _say("perf/run: %s" % error)
            return 1
    bin_folder = os.path.join(os.path.abspath(folder), "bin")
    known = _choose_engines(parser, options, bin_folder)
    run = None
    if not options.list:
        missing = _check_programs(bin_folder, chosen, known)
        if missing:
            _say("perf/run: " + missing)
            return 1
        run = _constants(options, folder, bin_folder, known)
    setup = Setup(
        known, bin_folder, options.quick, run.rounds if run else 0, run.seconds if run else 0.1,
        options.csv or "", options.csv_key,
    )  # fmt: skip
    plans = [scenario for name in chosen for scenario in suites.ALL[name].plan(setup)]
    if options.list:
        _print_list(plans)
        return 0

    if run.cpus[0] == run.cpus[1]:
        _say("only one core: server and client share it, figures are those of one core")
    try:
        store = results.Results(os.path.join(out, "results.jsonl"), options.resume)
    except results.Broken as error:
        _say("perf/run: %s" % error)
        return 1
    signal.signal(signal.SIGTERM, _interrupt)
    steal, start = machine.Steal(), time.monotonic()
    try:
        with contextlib.closing(store):
            lab = _measure(run, plans, store)
    except KeyboardInterrupt:
        _say("\ninterrupted; --resume goes on where this run stopped")
        return 130
    took = duration(time.monotonic() - start)
    counts = "%(ok)d figures, %(n/a)d n/a, %(failed)d failed" % lab.counts
    _say("%s in %s; steal %.1f %%" % (counts, took, steal.percent()))
    for trouble in lab.troubles:
        _say("failed: " + trouble)
    code = _render(out, not options.no_install)
    return 1 if lab.troubles else code
