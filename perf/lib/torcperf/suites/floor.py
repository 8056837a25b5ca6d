# SPDX-License-Identifier: Apache-2.0
"""The floor: what two cores need to exchange a cache line, by the program `floor`."""

import os

from .. import machine
from ..plan import Program, Scenario

SUMMARY = "what two cores need to exchange a cache line"


def plan(setup):
    cpus = ["--cpus", "%d,%d" % machine.pick_cpus()]
    command = [os.path.join(setup.bin_folder, "floor")] + setup.pick(["--quick", *cpus], cpus)
    return [Scenario("floor", "floor", [], [Program("floor", command, setup.pick(1, 5))])]
