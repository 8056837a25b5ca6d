#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The differential tests do see a difference: against made-up servers of which one is wrong."""

import contextlib
import io
import unittest

import comparing
import streams
from torcd_harness import Failure, Simple


class Fake:
    """Answers everything with OK; HLEN counts HSETs of the key, wrongly from `limit` on."""

    def __init__(self, limit):
        self.limit = limit

    def pipeline(self, commands):
        counts, replies = {}, []
        for words in commands:
            if words[0] == b"HSET":
                counts[words[1]] = counts.get(words[1], 0) + 1
            n = min(counts.get(words[-1], 0), self.limit)
            replies.append(n if words[0] == b"HLEN" else Simple(b"OK"))
        return replies


def compare(known, n_commands=5000, limit=3):
    comparison = comparing.Comparison(Fake(limit), Fake(10**9), ("bad", "good"), known)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = comparison.run(1, n_commands)
    return status, out.getvalue()


KNOWN = comparing.Known(
    "few",
    "",
    lambda words, ours, theirs: words[0] == b"HLEN" and ours == 3,
    [[[b"HSET", b"k"]] * 4 + [[b"HLEN", b"k"]]],
)


class Comparing(unittest.TestCase):
    def test_a_difference_is_found_and_shrunk_to_its_five_commands(self):
        status, out = compare([])
        self.assertEqual(status, 1)
        self.assertIn("shrunk to 5 commands", out)
        self.assertIn("1 differences", out)

    def test_a_known_difference_is_counted_and_not_an_error(self):
        status, out = compare([KNOWN])
        self.assertEqual(status, 0)
        self.assertRegex(out.splitlines()[-1], r"5000 commands.* 0 differences; explained: [1-9]\d* ")

    def test_a_known_difference_that_is_gone_is_an_error(self):
        status, out = compare([KNOWN], limit=10**9)
        self.assertEqual(status, 1)
        self.assertIn("GONE: known difference 'few'", out)

    def test_alike_servers_do_not_differ(self):
        status, out = compare([], limit=10**9)
        self.assertEqual((status, "0 differences" in out), (0, True))

    def test_kinds_of_replies_are_told_apart(self):
        words = [b"PING"]
        for ours, theirs in ((Simple(b"OK"), b"OK"), (Failure(b"OK"), b"OK"), (None, b""), (1, b"1")):
            self.assertFalse(comparing.is_same(words, ours, theirs), (ours, theirs))

    def test_order_is_left_open_only_where_redis_leaves_it_open(self):
        self.assertTrue(comparing.is_same([b"hgetall", b"k"], [b"a", b"1", b"b", b"2"], [b"b", b"2", b"a", b"1"]))
        self.assertFalse(comparing.is_same([b"HGETALL", b"k"], [b"a", b"1", b"b", b"2"], [b"a", b"2", b"b", b"1"]))
        self.assertFalse(comparing.is_same([b"HMGET", b"k"], [b"a", b"b"], [b"b", b"a"]))

    def test_random_picks_are_distinct_when_the_count_says_so(self):
        words = [b"HRANDFIELD", b"k", b"2"]
        self.assertTrue(comparing.is_same(words, [b"a", b"b"], [b"c", b"a"]))
        self.assertFalse(comparing.is_same(words, [b"a", b"a"], [b"c", b"a"]))
        self.assertTrue(comparing.is_same([b"HRANDFIELD", b"k", b"-2"], [b"a", b"a"], [b"c", b"a"]))

    def test_a_block_is_a_function_of_seed_and_number(self):
        self.assertEqual(streams.block(7, 3, 100), list(streams.blocks(7, 4000))[3][:100])
        self.assertNotEqual(streams.block(7, 3, 100), streams.block(8, 3, 100))


if __name__ == "__main__":
    unittest.main()
