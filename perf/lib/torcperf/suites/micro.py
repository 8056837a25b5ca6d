# SPDX-License-Identifier: Apache-2.0
"""The in-process benches, one program each: bench_* of the build."""

import os

from ..plan import Program, Scenario

SUMMARY = "the in-process benches of single modules"


def plan(setup):
    try:
        names = sorted(n for n in os.listdir(setup.bin_folder) if n.startswith("bench_"))
    except OSError:
        names = []
    quick = setup.pick(["--quick"], [])
    steps = [Program(n, [os.path.join(setup.bin_folder, n)] + quick, setup.pick(2, 5)) for n in names]
    return [Scenario("micro", "micro", [], steps)] if steps else []
