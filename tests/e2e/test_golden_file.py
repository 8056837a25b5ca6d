#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The golden tables are read as their README says, and what does not match is seen."""

import os
import tempfile
import unittest

import golden_file


def section(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("[1.1] title {compact RESP2}\n" + text)
    try:
        return golden_file.read_golden(file.name)[0]
    finally:
        os.unlink(file.name)


def matches(lines, reply, protocol=2):
    return section("> PING\n" + lines + "\n").steps[0].matches(reply, protocol)


class GoldenFile(unittest.TestCase):
    def test_words_are_bare_or_quoted(self):
        words = golden_file.split(r'SET a "" "\x00\r\n\"\\" "\[3,x]"')
        self.assertEqual(words, [b"SET", b"a", b"", b'\x00\r\n"\\', b"xxx"])

    def test_lines_that_mean_nothing_are_refused(self):
        for text in ("> PING", "> PI\"NG\n< x", "> \"a\n< x", "nonsense", "< x", "closed", "> PING\n< \\q"):
            with self.assertRaises(SystemExit, msg=text):
                section(text + "\n")

    def test_a_section_tells_where_it_runs(self):
        read = section("> PING\n< +PONG\\r\\n\n")
        self.assertEqual((read.rows, read.settings, read.protocols), (["1.1"], ["compact"], [2]))

    def test_a_command_may_be_repeated_until_its_reply_comes(self):
        step = section(">* GET \"a b\"\n< :1\\r\\n\n").steps[0]
        self.assertEqual((step.request, step.is_repeated), ([b"GET", b"a b"], True))
        self.assertFalse(section("> PING\n< :1\\r\\n\n").steps[0].is_repeated)

    def test_every_byte_counts(self):
        self.assertTrue(matches(r"< +PONG\r\n", b"+PONG\r\n"))
        for reply in (b"+PONG\r\n\r\n", b"+PONG\r", b"+pONG\r\n", b"", b"$4\r\nPONG\r\n"):
            self.assertFalse(matches(r"< +PONG\r\n", reply), reply)

    def test_lines_of_one_protocol(self):
        lines = "<2 *0\\r\\n\n<3 %0\\r\\n"
        self.assertTrue(matches(lines, b"*0\r\n") and matches(lines, b"%0\r\n", 3))
        self.assertFalse(matches(lines, b"%0\r\n") or matches(lines, b"*0\r\n", 3))

    def test_lines_in_any_order_each_once(self):
        lines = "< *3\\r\\n\n~ :1\\r\\n\n~ :2\\r\\n\n~ :2\\r\\n\n< :9\\r\\n"
        self.assertTrue(matches(lines, b"*3\r\n:2\r\n:1\r\n:2\r\n:9\r\n"))
        self.assertFalse(matches(lines, b"*3\r\n:1\r\n:1\r\n:2\r\n:9\r\n"))
        self.assertFalse(matches(lines, b"*3\r\n:1\r\n:2\r\n:9\r\n"))
        self.assertFalse(matches(lines, b"*3\r\n:1\r\n:2\r\n:2\r\n:2\r\n:9\r\n"))

    def test_wildcards(self):
        self.assertTrue(matches(r"< :\#\r\n", b":17\r\n"))
        self.assertFalse(matches(r"< :\#\r\n", b":-17\r\n"))
        self.assertTrue(matches(r"< *1\r\n\$", b"*1\r\n$3\r\na\r\n\r\n"))
        self.assertFalse(matches(r"< *1\r\n\$", b"*1\r\n$3\r\nab\r\n"))
        self.assertFalse(matches(r"< *1\r\n\$", b"*1\r\n=3\r\nabc\r\n"))
        self.assertTrue(matches(r"< \N", b"$-1\r\n") and matches(r"< \N", b"_\r\n", 3))
        self.assertTrue(matches(r"< *\#\r\n\*", b"*12\r\nwhatever"))

    def test_what_is_printed_can_be_read(self):
        data = bytes(range(256))
        self.assertEqual(golden_file.unescape_bytes(golden_file.escape(data)), data)


if __name__ == "__main__":
    unittest.main()
