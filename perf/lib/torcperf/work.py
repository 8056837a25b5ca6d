# SPDX-License-Identifier: Apache-2.0
"""One run of a measuring program: torc-perf-load, torc-load, floor, a micro bench."""

import json
import os
import re
import subprocess
import time

EXIT_WRONG, EXIT_ERROR, EXIT_LOST = 3, 4, 5
# Where one round stands in a list of rounds: its rate, and these percentiles of its latency.
PERCENTILES = ("min", "p50", "p90", "p99", "p999", "max")


class Failed(Exception):
    """No figure: the reason. `is_lost` says that the server cannot be relied on any more."""

    def __init__(self, why, is_lost=False):
        super().__init__(why)
        self.is_lost = is_lost


class NotAvailable(Exception):
    """The engine does not know the command."""


def _run(command, timeout_s, cpu=None):
    pin = None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False, preexec_fn=pin
        )
    except subprocess.TimeoutExpired:
        raise Failed("timeout: no result in %g s" % timeout_s, True) from None
    except OSError as error:
        raise Failed("%s: %s" % (command[0], error.strerror)) from None
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace").strip()


def _last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _parse(text):
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def load_arguments(options):
    """{"op": "hget", "fields": 32} -> ["--op", "hget", "--fields", "32"]."""
    words = []
    for name, value in options.items():
        words += ["--" + name, str(value)]
    return words


def load(program, address, cpu, options, timeout_s):
    """Run one phase of torc-perf-load; its result line. Raises Failed, NotAvailable."""
    command = [program, "--connect", address, "--cpu", str(cpu)] + load_arguments(options)
    code, out, err = _run(command, timeout_s)
    line = _parse(out) if out.count("\n") <= 1 else None
    said = (line or {}).get("first_bad") or _last_line(err)
    if code == EXIT_WRONG:
        raise Failed("wrong reply: %s" % said)
    if code == EXIT_ERROR:
        if said and "unknown command" in said.lower():
            raise NotAvailable(said)
        raise Failed("error reply: %s" % said)
    if code == EXIT_LOST:
        raise Failed("connection lost: %s" % said, True)
    if code < 0:
        raise Failed("torc-perf-load was ended by signal %d" % -code)
    if code != 0:
        raise Failed("torc-perf-load ended with %d: %s" % (code, _last_line(err)))
    if line is None:
        raise Failed("torc-perf-load printed no result line")
    if line.get("wrong") != 0 or line.get("errors") != 0:
        raise Failed("wrong or error replies: %s" % said)
    if not isinstance(line.get("rate"), (int, float)) or line["rate"] <= 0:
        raise Failed("torc-perf-load printed no rate")
    if line.get("checked", 0) < line.get("requests", 0):
        raise Failed("only %s of %s replies were checked" % (line.get("checked"), line.get("requests")))
    return line


ROWS = re.compile(r"^(\d+) rows?, \d+ fields? in ([\d.]+) s", re.M)


def load_csv(program, address, cpu, options, timeout_s, verify=False):
    """Run torc-load over a file; rows per second by the wall clock, process start included. `verify`: then read all of
    it back and compare, untimed. Raises Failed."""
    road, _, path = address.partition(":")
    command = [program, "--no-progress"] + options["arguments"]
    command += ["-c", path] if road == "ring" else ["--resp", address if road == "unix" else path]
    start = time.monotonic()
    code, out, err = _run(command + [options["csv"]], timeout_s, cpu)
    seconds = time.monotonic() - start
    found = ROWS.search(out)
    if code != 0 or not found:
        raise Failed("torc-load ended with %d: %s" % (code, _last_line(err) or _last_line(out)))
    if verify:
        code, out, err = _run(command + ["--verify-only", options["csv"]], timeout_s, cpu)
        if code != 0:
            raise Failed("what was loaded does not come back: %s" % (_last_line(err) or _last_line(out)))
    rows = int(found.group(1))
    return {"rate": rows / seconds, "rows": rows}


def lines(command, timeout_s):
    """Run a program that prints JSON lines; all of them. Raises Failed."""
    code, out, err = _run(command, timeout_s)
    if code != 0:
        raise Failed("%s ended with %d: %s" % (command[0].rsplit("/", 1)[-1], code, _last_line(err)))
    parsed = [_parse(text) for text in out.splitlines() if text.strip()]
    if not parsed or None in parsed or not all("name" in line for line in parsed):
        raise Failed("%s printed what is not JSON lines" % command[0].rsplit("/", 1)[-1])
    flat = [_flatten(line) for line in parsed]
    if not all(isinstance(line.get("p50"), (int, float)) for line in flat):
        raise Failed("%s printed a line without a median" % command[0].rsplit("/", 1)[-1])
    return flat


def _flatten(line):
    """floor has percentiles of single trips in "trip", and in "apart" the time per trip of the rounds in which the two
    CPUs were not one core, if there were any, else in "on_one_core" of the others; from those come the rate and, of
    more than one trip at a time, the median."""
    flat = dict(line, **line.get("trip", {}))
    for kind in ("apart", "on_one_core"):
        middle = line.get(kind, {}).get("ns", {}).get("median")
        if middle:
            flat["rate"] = 1e9 / middle
            flat.setdefault("p50", middle)
            break
    return flat
