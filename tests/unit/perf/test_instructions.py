#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What perf/instr makes of counts: the baseline file, callgrind's dumps, the verdict on a rise."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TREE / "perf" / "lib"))
from torcperf import instructions  # noqa: E402 (the path above is what makes it found)

BASELINE = """\
# a comment
made-with gcc 1.2, glibc 3.4
get/sse2    100.0   150   # reached
ring/sse2   300.0   120  beside get/sse2
free/sse2    50.0     -
"""


def verdicts(**counts):
    """By name without the level."""
    named = {f"{name}/sse2": count for name, count in counts.items()}
    return {v.name.split("/")[0]: v for v in instructions.compare(named, instructions.parse_baseline(BASELINE))}


class Compare(unittest.TestCase):
    def test_equal_counts_are_fine(self):
        self.assertEqual([v.problem for v in verdicts(get=100, ring=300, free=50).values()], [None] * 3)

    def test_a_rise_of_five_per_cent_is_fine_and_more_is_not(self):
        v = verdicts(get=105, ring=315.1, free=50)
        self.assertIsNone(v["get"].problem)
        self.assertAlmostEqual(v["get"].change, 0.05)
        self.assertRegex(v["ring"].problem, "rose by 5.0 %")

    def test_a_rise_is_a_problem_without_a_budget_too(self):
        self.assertRegex(verdicts(get=100, ring=300, free=53)["free"].problem, "rose by 6.0 %")

    def test_a_fall_is_fine(self):
        v = verdicts(get=10, ring=300, free=50)["get"]
        self.assertIsNone(v.problem)
        self.assertAlmostEqual(v.change, -0.9)

    def test_a_budget_that_is_missed_is_no_problem_as_long_as_nothing_rises(self):
        v = verdicts(get=100, ring=300, free=50)["ring"]
        self.assertIs(v.reached, False)
        self.assertIsNone(v.problem)

    def test_a_budget_beside_another_case_is_for_the_difference(self):
        v = verdicts(get=200, ring=310, free=50)
        self.assertEqual(v["ring"].spent, 110)
        self.assertIs(v["ring"].reached, True)
        self.assertIs(v["get"].reached, False)
        self.assertIsNone(v["free"].reached)

    def test_a_name_that_the_baseline_does_not_know_is_a_problem(self):
        self.assertEqual(verdicts(get=100, ring=300, free=50, new=1)["new"].problem, "not in the baseline")

    def test_a_name_that_is_no_longer_measured_is_a_problem(self):
        v = verdicts(ring=300, free=50)
        self.assertEqual(v["get"].problem, "not measured")
        self.assertIsNone(v["ring"].spent)

    def test_the_table_has_every_name_and_what_is_wrong(self):
        text = instructions.table(list(verdicts(get=150, ring=300, free=50, new=1).values()))
        for part in ("get/sse2", "free/sse2", "new/sse2", "rose by 50.0 %", "reached", "1.25 x the budget",
                     "not in the baseline"):
            self.assertIn(part, text)


class File(unittest.TestCase):
    def test_what_is_written_is_read_again(self):
        baseline = instructions.parse_baseline(BASELINE)
        self.assertEqual(instructions.parse_baseline(instructions.format_baseline(baseline)), baseline)

    def test_an_update_keeps_budgets_drops_and_adds_names(self):
        old = instructions.parse_baseline(BASELINE)
        new = instructions.updated({"new/sse2": 7.0, "get/sse2": 90.0}, "gcc 5", old)
        self.assertEqual(new.made_with, "gcc 5")
        self.assertEqual(list(new.rows), ["get/sse2", "new/sse2"])
        self.assertEqual(new.rows["get/sse2"], instructions.Row("get/sse2", 90.0, 150.0))
        self.assertIsNone(new.rows["new/sse2"].budget)

    def test_an_update_without_a_baseline_makes_one(self):
        self.assertEqual(instructions.updated({"a": 1.0}, "gcc 5", None).rows, {"a": instructions.Row("a", 1.0)})

    def test_lines_that_are_not_understood_are_refused_with_their_number(self):
        for line in ("get/sse2 100", "get/sse2 x 100", "get/sse2 100 x", "get/sse2 100 1 beside", "get/sse2 100 1 2 3",
                     "get/sse2 0 -", "get/sse2 -5 -"):
            with self.assertRaisesRegex(instructions.Problem, "line 2", msg=line):
                instructions.parse_baseline(f"made-with gcc\n{line}\n")

    def test_a_second_line_for_a_name_an_unknown_beside_and_no_compiler_are_refused(self):
        for text, why in ((BASELINE + "get/sse2 1 -\n", "a second line for get/sse2"),
                          ("made-with gcc\na 1 2 beside b\n", "beside b"), ("a 1 -\n", "made-with"), ("", "made-with")):
            with self.assertRaisesRegex(instructions.Problem, why):
                instructions.parse_baseline(text)


class Dumps(unittest.TestCase):
    def test_name_and_total_of_a_dump_are_found(self):
        text = "version: 1\ndesc: Trigger: Client Request: get\nsummary: 5\nfn=(1) f\n1 5\ntotals: 5\n"
        self.assertEqual(instructions.parse_dump(text), ("get", 5))

    def test_the_dump_at_the_end_of_the_program_is_none(self):
        self.assertIsNone(instructions.parse_dump("desc: Trigger: Program termination\ntotals: 5\n"))

    def test_brackets_are_subtracted_and_requests_divided(self):
        counts = instructions.per_request({"nothing": 160, "get": 1160, "batch": 3280},
                                          {"nothing": (10, 1), "get": (10, 1), "batch": (10, 16)})
        self.assertEqual(counts, {"get": 100.0, "batch": 19.5})

    def test_a_case_without_a_dump_is_a_problem(self):
        for totals, sizes in (({"nothing": 1}, {"nothing": (1, 1), "get": (1, 1)}), ({"get": 1}, {"get": (1, 1)})):
            with self.assertRaisesRegex(instructions.Problem, "not counted"):
                instructions.per_request(totals, sizes)


class Program(unittest.TestCase):
    def run_instr(self, *arguments):
        return subprocess.run([sys.executable, TREE / "perf" / "instr", *arguments], capture_output=True, text=True,
                              timeout=60, check=False)

    def test_help_tells_the_exit_status(self):
        done = self.run_instr("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("rose by more than 5 %", done.stdout)

    def test_an_unknown_level_and_an_update_of_one_level_are_refused(self):
        for arguments in (["--levels", "mmx"], ["--levels", ""], ["--levels", "sse2", "--update"]):
            self.assertEqual(self.run_instr(*arguments).returncode, 2, arguments)

    def test_the_committed_baseline_is_sound_and_has_both_levels_of_each_case(self):
        rows = instructions.parse_baseline((TREE / "perf" / "instr.baseline").read_text()).rows
        names = {level: {n.split("/")[0] for n in rows if n.endswith(level)} for level in ("sse2", "avx2")}
        self.assertEqual(names["sse2"], names["avx2"])
        self.assertIn("hget-hit", names["sse2"])

    def test_a_build_that_cannot_be_made_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "CMakeCache.txt").write_text("")
            done = self.run_instr("--build", folder)
        self.assertIn(done.returncode, (2, 77))
        self.assertRegex(done.stdout + done.stderr, "failed|valgrind is not installed")


if __name__ == "__main__":
    unittest.main()
