# SPDX-License-Identifier: Apache-2.0
"""results.jsonl: one JSON line for each figure of an entrant in a case, written as soon as it is known."""

import json
import os

# status: "ok" has figures; "n/a" the engine does not know the command; "failed" has a reason instead of figures.
STATUSES = ("ok", "n/a", "failed")


class Broken(Exception):
    """A results file that cannot be read; the text names the file and the line."""


def identity(line):
    """What makes two lines figures of the same thing."""
    return line["suite"], line["case"], line["engine"]


def _version(line):
    return json.dumps([identity(line), line["params"], line["commit"], line["build"], line["quick"]], sort_keys=True)


def _program(line):
    return line["suite"], line["params"].get("program"), line["commit"], line["build"], line["quick"]


def _check(line):
    for name in ("suite", "case", "engine", "status", "params", "commit", "build", "quick"):
        if name not in line:
            raise ValueError("no \"%s\"" % name)
    if line["status"] not in STATUSES:
        raise ValueError("unknown status %r" % line["status"])
    if line["status"] == "ok":
        if line.get("better") not in ("higher", "lower"):
            raise ValueError("\"better\" is neither higher nor lower")
        rounds = line.get("rounds")
        if not rounds or not all(isinstance(r, (int, float)) for r in rounds):
            raise ValueError("no figures in \"rounds\"")


def read(path):
    """Every line of the file, in its order. A last line without its end, which an interrupted run leaves, is left
    out. Raises Broken."""
    lines = []
    try:
        with open(path, encoding="utf-8") as f:
            for number, text in enumerate(f, 1):
                if not text.endswith("\n"):
                    break
                try:
                    line = json.loads(text)
                    if not isinstance(line, dict):
                        raise ValueError("not an object")
                    _check(line)
                except ValueError as error:
                    raise Broken("%s:%d: %s" % (path, number, error)) from None
                lines.append(line)
    except (OSError, UnicodeDecodeError) as error:
        raise Broken("%s: %s" % (path, getattr(error, "strerror", None) or error)) from None
    return lines


def latest(lines):
    """The newest line of each thing measured, in the order of their first appearance."""
    newest = {}
    for line in lines:
        newest[identity(line)] = line
    return list(newest.values())


class Results:
    """The file of a run, appended to."""

    def __init__(self, path, resume):
        self._done = set()
        self._programs = set()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            if resume:
                good = [line for line in read(path) if line["status"] != "failed"]
                self._done = {_version(line) for line in good}
                self._programs = {_program(line) for line in good}
            self._end_last_line(path)
        self._file = open(path, "a", encoding="utf-8")

    @staticmethod
    def _end_last_line(path):
        """Drop half a line that an interrupted run left."""
        with open(path, "rb+") as f:
            data = f.read()
            f.truncate(data.rfind(b"\n") + 1)

    def has(self, line):
        return _version(line) in self._done

    def has_program(self, stub):
        """Whether a program whose cases are known only to itself has run: it writes all its lines in one go."""
        return _program(stub) in self._programs

    def add(self, line):
        _check(line)
        self._file.write(json.dumps(line, sort_keys=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self):
        self._file.close()
