# SPDX-License-Identifier: Apache-2.0
"""perf/run and perf/compare against stand-ins for every program that they start: what misbehaves is reported without a
figure, runs resume, and reports say what the results say."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
PERF = os.path.join(HERE, "..", "..", "perf")
sys.path.insert(0, os.path.join(PERF, "lib"))

from torcperf import progress, results, stats  # noqa: E402

DEADLINE_S = 120  # only ends a test that would hang


class Bench:
    """A folder with a build of stand-ins and the results of runs with them."""

    def __init__(self, folder):
        self.out = os.path.join(folder, "out")
        self.log = os.path.join(folder, "log")
        self.results = os.path.join(self.out, "results.jsonl")
        self._build = os.path.join(folder, "build")
        os.makedirs(os.path.join(self._build, "bin"))
        self.servers = os.path.join(folder, "servers")
        os.makedirs(self.servers)
        for name in ("torcd", "fake-server", "torc-perf-load", "floor", "bench_fake"):
            os.symlink(os.path.join(HERE, "perf_fake.py"), os.path.join(self._build, "bin", name))

    def command(self, *arguments):
        other = "name=other,binary=%s/bin/fake-server" % self._build
        fixed = ["--quick", "--no-install", "--out", self.out, "--build", self._build]
        fixed += ["--engine", other, "--only", "torc,other", "--rounds", "2", "--seconds", "0.01"]
        return [sys.executable, os.path.join(PERF, "run"), *fixed, *arguments]

    def environment(self, fake):
        return dict(os.environ, PERF_FAKE=fake, PERF_FAKE_LOG=self.log, TMPDIR=self.servers)

    def run(self, *arguments, fake=""):
        """(exit status, what it said)."""
        done = subprocess.run(
            self.command(*arguments), env=self.environment(fake), capture_output=True, text=True, timeout=DEADLINE_S
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert os.listdir(self.servers) == [], "sockets are left behind"
        return done.returncode, done.stderr

    def lines(self):
        return results.latest(results.read(self.results))

    def line(self, case, engine):
        found = [line for line in self.lines() if (line["case"], line["engine"]) == (case, engine)]
        assert len(found) == 1, (case, engine, len(found))
        return found[0]

    def report(self):
        with open(os.path.join(self.out, "report.md"), encoding="utf-8") as f:
            return f.read()

    def operations(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as f:
            return f.read().split()


def a_good_run_ends_with_0_and_its_report_has_its_figures(bench):
    code, said = bench.run("wide", "floor", "micro")
    assert code == 0, said
    report = bench.report()
    for line in bench.lines():
        assert line["status"] == "ok"
        assert line["median"] == stats.median(line["rounds"])
        assert line["spread"]["min"] == min(line["rounds"]) and line["spread"]["max"] == max(line["rounds"])
        shown = progress.figure(line["median"], line["unit"])
        row = [text for text in report.splitlines() if text.startswith("| %s |" % line["case"])]
        assert len(row) == 1 and shown in row[0], (line["case"], shown, row)
    ring, other = (bench.line("hgetall-123-w16", name) for name in ("torc-ring", "other"))
    assert len(ring["rounds"]) == 2
    ratio = stats.median([a / b for a, b in zip(ring["rounds"], other["rounds"])])
    summary = report.split("## Summary")[1].split("## ")[0]
    row = [text for text in summary.splitlines() if text.startswith("| wide/hgetall-123-w16 | torc-ring |")]
    assert len(row) == 1 and " %.2f" % ratio in row[0].replace("**", ""), (ratio, row)
    assert bench.line("fake-get fields=32", "torc")["median"] == 32
    assert bench.line("ring-null window=64", "torc")["median"] == 20
    assert bench.line("floor-one-line window=1", "torc")["rounds"] == [260, 262]


def what_torc_loses_is_listed(bench):
    bench.run("wide")
    listed = bench.report().split("## What is bad")[1].split("## ")[0]
    losses = 0
    for line in bench.lines():
        if line["base"] == "torc":
            other = bench.line(line["case"], "other")
            ratio = stats.paired(line["rounds"], other["rounds"], line["better"])[0]
            is_listed = "| wide/%s | %s |" % (line["case"], line["engine"]) in listed
            assert is_listed == (ratio < 1), (line["case"], line["engine"], ratio)
            losses += ratio < 1
    assert losses > 0, "the figures of the stand-in never make torc lose"


def misbehaviour_gives_a_reason_and_no_figure(bench):
    reasons = {
        "wrong": "wrong reply: field f1: got 7",
        "unchecked": "only 9 of 10 replies were checked",
        "error": "error reply: OOM out of memory",
        "garbage": "printed no result line",
        "crash": "signal 6",
        "hang": "timeout",
        "kill": "the server ended in the middle",
    }
    for how, reason in reasons.items():
        timeout = ["--timeout", "1"] if how == "hang" else []
        code, said = bench.run("wide", "--rounds", "1", *timeout, fake="hmget:" + how)
        assert code == 1 and reason in said, (how, said)
        for engine in ("torc-ring", "torc-resp", "other"):
            line = bench.line("hmget-94-of-123-w16", engine)
            assert line["status"] == "failed", (how, line)
            assert "rounds" not in line and "median" not in line and "latency" not in line
        assert reason in bench.line("hmget-94-of-123-w1/p50", "other")["why"], how
        assert reason in bench.report().split("## Without figures")[1], how
        # What ran before or does not depend on it has its figures, unless the server is gone.
        is_gone = how in ("hang", "kill")
        assert bench.line("hgetall-123-w16", "other")["status"] == ("failed" if is_gone else "ok"), how


def an_unknown_command_is_not_a_failure(bench):
    code, said = bench.run("wide", fake="hmget:unknown")
    assert code == 0, said
    assert bench.line("hmget-94-of-123-w16", "other")["status"] == "n/a"
    assert "n/a" in bench.report()


def data_that_cannot_be_loaded_fail_the_scenario(bench):
    code, said = bench.run("wide", fake="load-whole:wrong")
    assert code == 1 and "its data could not be loaded" in said, said
    assert all(line["status"] == "failed" for line in bench.lines())


def resume_measures_only_what_is_missing(bench):
    bench.run("wide", fake="hgetall:wrong")
    before = bench.operations()
    with open(bench.results, "a", encoding="utf-8") as f:
        f.write('{"suite":"wide","ca')  # as when the power went
    code, said = bench.run("wide", "--resume")
    assert code == 0, said
    again = bench.operations()[len(before) :]
    assert "hgetall" in again and "hmget" not in again, again
    assert all(line["status"] == "ok" for line in bench.lines())
    done = len(bench.operations())
    code, said = bench.run("wide", "--resume")
    assert code == 0 and len(bench.operations()) == done, said
    bench.run("wide", "--resume", "--rounds", "3")
    assert len(bench.operations()) > done, "other parameters are another measurement"


def an_interrupt_ends_the_servers(bench):
    process = subprocess.Popen(
        bench.command("wide", "--timeout", "60"), env=bench.environment("hmget:hang"), stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    while "hmget" not in bench.operations():
        assert process.poll() is None, process.stderr.read()
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=DEADLINE_S)[1].decode()
    assert process.returncode == 130 and "--resume" in said, said
    assert os.listdir(bench.servers) == []
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                left += [pid] if bench.servers.encode() in f.read() else []
        except OSError:
            pass
    assert left == [], left


def compare(*arguments):
    command = [sys.executable, os.path.join(PERF, "compare"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)


def compare_with_itself_is_1(bench):
    bench.run("wide")
    done = compare("--strict", bench.results, bench.results)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[1:-1]
    assert len(rows) == len(bench.lines())
    assert all(re.search(r" 1\.00  ", row) and "WORSE" not in row for row in rows), done.stdout


def compare_flags_what_is_beyond_noise(bench):
    bench.run("wide")
    slower = os.path.join(bench.out, "slower.jsonl")
    with open(slower, "w", encoding="utf-8") as f:
        for line in bench.lines():
            if line["case"] == "hgetall-123-w16":
                line["rounds"] = [value / 100 for value in line["rounds"]]
            f.write(json.dumps(line) + "\n")
    done = compare("--strict", "--only-differing", bench.results, slower)
    assert done.returncode == 1, done.stderr
    rows = done.stdout.splitlines()[1:-1]
    assert len(rows) == 3 and all("hgetall-123-w16" in row and row.endswith("WORSE") for row in rows), rows
    assert compare(slower, bench.results, "--strict").returncode == 0
    two = compare(bench.results, "--engine-a", "other", "--engine-b", "torc-ring")
    assert two.returncode == 0 and "hgetall-123-w16" in two.stdout, two.stderr


def compare_tells_how_well_ratios_repeat(bench):
    """A machine half as fast in the second run changes no ratio; one engine half as fast changes its own."""
    bench.run("wide")
    again = os.path.join(bench.out, "again.jsonl")
    for slowed in ("everything", "torc-ring"):
        with open(again, "w", encoding="utf-8") as f:
            for line in bench.lines():
                if slowed in ("everything", line["engine"]):
                    factor = 2 if line["better"] == "lower" else 0.5
                    line["rounds"] = [value * factor for value in line["rounds"]]
                f.write(json.dumps(line) + "\n")
        done = compare(bench.results, again, "--beside", "other")
        assert done.returncode == 0, done.stderr
        rows = done.stdout.splitlines()[1:-1]
        assert any(row.startswith("wide, ") for row in rows), done.stdout
        for row in rows:
            expected = "100.0" if slowed == "torc-ring" and slowed in row else "0.0"
            assert row.split()[-2] == expected, row
    refused = compare(bench.results, "--beside", "other")
    assert refused.returncode == 2 and "two files" in refused.stderr, refused.stderr
    unknown = compare(bench.results, bench.results, "--beside", "nobody")
    assert unknown.returncode == 2 and "no case with nobody" in unknown.stderr, unknown.stderr


def faulty_input_is_refused(bench):
    for arguments, reason in (
        (["nothing"], "there is no suite nothing"),
        (["wide", "--rounds", "0"], "not a number above 0"),
        (["real"], "needs --csv"),
        (["wide", "--engine", "name=x"], "binary=... is missing"),
        (["wide", "--only", "nobody"], "there is no engine nobody"),
    ):
        code, said = bench.run(*arguments)
        assert code == 2 and reason in said, said
    os.makedirs(bench.out, exist_ok=True)
    with open(bench.results, "w", encoding="utf-8") as f:
        f.write("{}\n")
    done = compare(bench.results, bench.results)
    assert done.returncode == 2 and "results.jsonl:1:" in done.stderr, done.stderr
    code, said = bench.run("report")
    assert code == 1 and "results.jsonl:1:" in said, said


def main():
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for test in (
        a_good_run_ends_with_0_and_its_report_has_its_figures,
        what_torc_loses_is_listed,
        misbehaviour_gives_a_reason_and_no_figure,
        an_unknown_command_is_not_a_failure,
        data_that_cannot_be_loaded_fail_the_scenario,
        resume_measures_only_what_is_missing,
        an_interrupt_ends_the_servers,
        compare_with_itself_is_1,
        compare_tells_how_well_ratios_repeat,
        compare_flags_what_is_beyond_noise,
        faulty_input_is_refused,
    ):
        with tempfile.TemporaryDirectory(prefix="torc-e2e-") as folder:
            test(Bench(folder))
        print("ok - " + test.__name__.replace("_", " "), flush=True)


main()
