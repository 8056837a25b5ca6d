# SPDX-License-Identifier: Apache-2.0
"""Counts of replies that were compared: every op, on compact and on full hashes, over every road."""

import collections
import itertools
import re
import subprocess

from torcd_harness import Failure

ENCODINGS = {b"listpack": "compact", b"hashtable": "full"}
ROADS = ("RESP2", "RESP3", "ring")
CELLS = list(itertools.product(ENCODINGS.values(), ROADS))

# Cells that are empty, and why.
ONLY_RESP = "belongs to a RESP connection; a ring session says this when it attaches"
EMPTY = {
    (op, form, "ring"): ONLY_RESP
    for op in ("HELLO", "CLIENT ID", "CLIENT GETNAME", "CLIENT SETNAME", "CLIENT SETINFO")
    for form in ENCODINGS.values()
}


class OpTable:
    """A row for each op that the server documents."""

    def __init__(self, torcd):
        page = subprocess.run(
            [torcd, "--commands-markdown"], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        self.ops = re.findall(r"^\| `([A-Z.]+(?: [A-Z]+)?)\b", page, re.MULTILINE)
        assert len(self.ops) == page.count("\n| `"), self.ops
        self.answered = collections.Counter()
        self.refused = collections.Counter()

    def op(self, words):
        """The op that words call, or None for mistakes such as unknown commands."""
        names = [w.upper() for w in words[:2] if isinstance(w, str)]
        for name in (" ".join(names), names[0] if names else ""):
            if name in self.ops:
                return name
        return None

    def count(self, encoding, road, words, reply):
        """One compared reply of a server whose hashes have this OBJECT ENCODING."""
        counter = self.refused if isinstance(reply, Failure) else self.answered
        counter[self.op(words), ENCODINGS[encoding], road] += 1

    def text(self):
        """As it is printed: a cell is the number of replies, and of those the errors if any."""
        lines = ["Compared replies, errors among them behind '!'. Blank: see below."]
        lines.append("%-18s" % "" + "".join("| %-30s" % form for form in ENCODINGS.values()))
        lines.append("%-18s" % "op" + ("| %-9s" * 3 % ROADS + " ") * 2)
        lines.append("-" * 18 + "+----------+----------+---------" * 2)
        for op in self.ops:
            line = "%-18s" % op
            for form, road in CELLS:
                n, wrong = self.answered[op, form, road], self.refused[op, form, road]
                cell = "%d" % (n + wrong) + (" !%d" % wrong if wrong else "")
                line += "| %-9s" % (cell if n + wrong else "")
            lines.append(line.rstrip())
        total = [self.answered.total() + self.refused.total(), self.refused.total()]
        lines.append("%d ops, %d replies compared, %d of them errors" % (len(self.ops), *total))
        for why in sorted(set(EMPTY.values())):
            names = sorted({op for (op, _, _), reason in EMPTY.items() if reason == why})
            lines.append("blank: %s: %s" % (", ".join(names), why))
        return "\n".join(lines) + "\n"

    def check(self):
        """Every cell has a reply that is no error, but for those of EMPTY, which have none."""
        for op, (form, road) in itertools.product(self.ops, CELLS):
            is_empty = self.answered[op, form, road] == 0
            is_meant = (op, form, road) in EMPTY
            assert is_empty == is_meant, "%s on %s hashes over %s: %s" % (
                *(op, form, road),
                "not tested" if is_empty else "tested, though listed as empty",
            )
        assert {op for op, _, _ in EMPTY} <= set(self.ops), "EMPTY names what is no op"
