#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends the commands of tests/golden/*.txt to torcd, and compares every byte of the replies.

Each section runs on compact and on full hashes, over RESP2 and RESP3, unless it says otherwise.
With --oracle the tables themselves are held against a redis-server 7.0: what it must answer alike it does,
and what is marked as different is different (redis8, own). It is not asked what would hang it (alone).
"""

import argparse
import collections
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import time

import golden_file
from torcd_harness import Connection, Folder, Redis, Server, encode, skip

REPEAT_SECONDS = 30
# Redis 7.0 and torcd take the same names.
OPTIONS = {
    "compact": ("--hash-max-listpack-entries", 65535, "--hash-max-listpack-value", 32767),
    "full": ("--hash-max-listpack-entries", 0),
    "limits": ("--hash-max-listpack-entries", 4, "--hash-max-listpack-value", 8),
    "oom": ("--maxmemory", "64mb"),
}


class Raw(Connection):
    """Replies as the bytes that came."""

    def __init__(self, address, protocol):
        Connection.__init__(self, address, protocol)
        assert self._at == len(self._buffer)

    def reply(self):
        """Exactly one."""
        line = self._line()
        out, kind = [line, b"\r\n"], line[:1]
        n = int(line[1:]) if kind in b"$=*~%>" else 0
        if kind in b"$=" and n >= 0:
            out += [self._bytes(n), b"\r\n"]
        elif kind in b"*~%>":
            out += [self.reply() for _ in range(2 * n if kind == b"%" else n)]
        elif kind not in b"+-:_,#($=":
            raise AssertionError("not RESP: %r" % line)
        return b"".join(out)

    def is_closed(self):
        try:
            self._fill()
        except (EOFError, ConnectionResetError):
            return True
        return False


def repeat(connection, step, protocol, request, reply):
    """The reply that is wanted, or the one that came when waiting for it was given up. An error ends the wait."""
    deadline = time.monotonic() + REPEAT_SECONDS
    while not step.matches(reply, protocol) and not reply.startswith(b"-") and time.monotonic() < deadline:
        connection.write(request)
        reply = connection.reply()
    return reply


def run_step(connection, step, protocol):
    """None, or what is wrong."""
    reply = b""
    try:
        request = step.request if step.is_raw else encode(*step.request)
        if request:
            connection.write(request)
        if step.has_reply():
            reply = connection.reply()
        if step.is_repeated:
            reply = repeat(connection, step, protocol, request, reply)
    except (EOFError, OSError) as error:
        return "ended by " + type(error).__name__
    if step.has_reply():
        if not step.matches(reply, protocol):
            return "wanted\n%s\n    got\n      < %s" % (
                step.wanted(protocol),
                golden_file.escape(reply)[:1000],
            )
    if step.closes and not connection.is_closed():
        return "the connection is not closed"
    return None


def run_section(address, section, protocol):
    """(steps run, list of what is wrong)."""
    with contextlib.closing(Connection(address)) as cleaner:
        cleaner.call("FLUSHALL")
    wrong = []
    with contextlib.closing(Raw(address, protocol)) as connection:
        for step in section.steps:
            problem = run_step(connection, step, protocol)
            if problem:
                request = step.request if step.is_raw else b" ".join(step.request)
                text = golden_file.escape(request)[:200]
                wrong.append("%s: %s\n    %s" % (step.line, text, problem))
                if problem.startswith("ended"):
                    return len(section.steps), wrong
        # No byte may be left behind the last reply.
        if not section.steps[-1].closes:
            connection.write(encode("PING"))
            if connection.reply() != b"+PONG\r\n":
                wrong.append("%s: more replies than requests" % section.steps[-1].line)
    return len(section.steps), wrong


def check_rows(sections, rows):
    """A list of what is wrong: every row is in a section, or says why not."""
    used = {row for section in sections for row in section.rows}
    wrong = ["row %s is in no table of rows" % row for row in sorted(used - set(rows))]
    for row, state in rows.items():
        if (state == "golden") != (row in used):
            wrong.append("row %s is %r, but %s" % (row, state, "in use" if row in used else "not in use"))
    return wrong


class Run:
    """One pass over all sections, and its counts."""

    def __init__(self, is_oracle):
        self.is_oracle = is_oracle
        self.n_steps = collections.Counter()
        self.problems = []
        self.n_different = 0

    def section(self, address, section, setting, protocol):
        n, wrong = run_section(address, section, protocol)
        label = "%s RESP%d" % (setting, protocol)
        self.n_steps[label] += n
        if self.is_oracle and section.differs:
            self.n_different += bool(wrong)
            if not wrong:
                self.problems.append("%s (%s): marked as different, but alike" % (section.place, label))
            return
        self.problems += ["(%s) %s" % (label, problem) for problem in wrong]

    def setting(self, options, sections, setting):
        chosen = [s for s in sections if setting in s.settings]
        if self.is_oracle:
            chosen = [s for s in chosen if not s.is_alone]
        with Folder() as folder:
            if self.is_oracle:
                server = Redis(folder, *OPTIONS[setting])
            else:
                server = Server(options.torcd, folder, *OPTIONS[setting])
            with server:
                address = server.path if self.is_oracle else server.resp
                for section in chosen:
                    for protocol in section.protocols:
                        self.section(address, section, setting, protocol)


def require_redis_7_0():
    program = shutil.which("redis-server")
    if program is None:
        skip("no redis-server to compare with")
    version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "v=7.0." not in version:
        skip("the tables know how 7.0 differs, this is " + version.strip())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--torcd", help="the program to test")
    target.add_argument("--oracle", action="store_true", help="test the tables, with redis-server")
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
    parser.add_argument("--tables", default=folder, help="folder of the tables")
    options = parser.parse_args()
    if options.oracle:
        require_redis_7_0()

    sections = []
    for path in sorted(glob.glob(os.path.join(glob.escape(options.tables), "[0-9]*.txt"))):
        sections += golden_file.read_golden(path)
    rows = golden_file.read_rows(os.path.join(options.tables, "rows.txt"))
    run = Run(options.oracle)
    run.problems += check_rows(sections, rows)
    for setting in OPTIONS:
        run.setting(options, sections, setting)

    for problem in run.problems:
        print(problem)
    for label, n in run.n_steps.items():
        print("%-14s %4d commands" % (label, n))
    states = collections.Counter(state.split(":")[0] for state in rows.values())
    print("rows: %d golden, %d elsewhere, %d not yet" % (states["golden"], states["elsewhere"], states["not yet"]))
    if options.oracle:
        print("%d runs of sections differ from 7.0, as marked" % run.n_different)
    total = run.n_steps.total()
    print("%d sections, %d commands, %d problems" % (len(sections), total, len(run.problems)))
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
