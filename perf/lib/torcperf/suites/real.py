# SPDX-License-Identifier: Apache-2.0
"""Real data: a CSV file (--csv), one hash a row, loaded by torc-load into each server."""

import os

from ..plan import CsvLoad, Memory, Scenario

SUMMARY = "a CSV file (--csv FILE [--csv-key COLUMN]): rows per second and memory"


def _rows(path):
    """About how many: lines without the first. Figures per hash come from what torc-load says it stored."""
    with open(path, "rb") as f:
        return max(sum(1 for _ in f) - 1, 1)


def plan(setup):
    if not setup.csv:
        return []
    name = os.path.splitext(os.path.basename(setup.csv))[0]
    arguments = ["--key", setup.csv_key] if setup.csv_key else []
    steps = [
        CsvLoad(name + "-load", {"csv": setup.csv, "arguments": arguments}, setup.pick(2, 5)),
        Memory(name + "-loaded", _rows(setup.csv), "row"),
    ]
    return [Scenario("real", name, setup.entrants(huge_pages="no"), steps)]
