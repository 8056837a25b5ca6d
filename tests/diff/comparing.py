# SPDX-License-Identifier: Apache-2.0
"""One stream to two servers: replies normalised and compared, a difference shrunk to the fewest commands.

Replies whose order Redis leaves open are compared as sets. Of replies that are random by nature the
shape is compared. Differences that are meant stand in a table of Known: each has examples, so that
one that disappears is noticed too.
"""

import collections
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from torcd_harness import Failure  # noqa: E402, behind the path that finds it

import streams  # noqa: E402


class Known:
    """A difference that is meant.

    name: what the final line counts it under. why: a sentence. explains(words, ours, theirs): whether
    this pair of different replies is of this kind. examples: lists of commands; the replies to the
    last of each must differ, and be explained by this kind.
    """

    def __init__(self, name, why, explains, examples):
        self.name, self.why, self.explains, self.examples = name, why, explains, examples


def pairs_of(flat):
    return sorted(zip(flat[::2], flat[1::2]))


def normalise(words, reply):
    """What of a reply is not left open by Redis."""
    name = words[0].upper()
    if not isinstance(reply, list):
        return type(reply), reply
    if name == b"HGETALL":
        return pairs_of(reply)
    if name in (b"HKEYS", b"HVALS", b"KEYS"):
        return sorted(reply)
    if name in (b"SCAN", b"HSCAN") and reply[0] != b"0":
        return ["not at the end", reply[0]]
    if name == b"SCAN":
        return sorted(set(reply[1]))
    if name == b"HSCAN":
        return pairs_of(reply[1])
    return reply


def shape(words, reply):
    """What two correct servers have in common of a reply that is random, or their own affair."""
    if isinstance(reply, (Failure, type(None))):
        return type(reply), reply
    if not isinstance(reply, list):
        return type(reply)
    # HRANDFIELD with a count that is not negative: no field twice.
    fields = reply[::2] if len(words) > 3 else reply
    is_distinct = words[2].startswith(b"-") or len(set(fields)) == len(fields)
    return len(reply), is_distinct


def is_random(words):
    return words[0].upper() in (b"HRANDFIELD", b"RANDOMKEY", b"MEMORY")


# What is left of a time: the unit in milliseconds. Both servers run on one clock, one is asked after the other.
LEFT = {b"TTL": 1000, b"PTTL": 1, b"HTTL": 1000, b"HPTTL": 1}
LEFT_TOLERANCE_MS = 60000
# The same as absolute times: those of relative ones differ, those that were given are equal to the bit.
ABSOLUTE = {b"EXPIRETIME": 1000, b"PEXPIRETIME": 1, b"HEXPIRETIME": 1000, b"HPEXPIRETIME": 1}
GIVEN_FROM_MS = 32503680000000
# Arrays of integers, which come as strings over a ring.
CODES = (b"HEXPIRE", b"HPEXPIRE", b"HEXPIREAT", b"HPEXPIREAT", b"HPERSIST")


def integers(reply):
    return [int(item) for item in reply]


def is_near(ours, theirs, unit_ms, exact_from_ms):
    """Two times; negative ones, and those from `exact_from_ms` on, are to be equal."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(
            is_near(a, b, unit_ms, exact_from_ms) for a, b in zip(ours, theirs)
        )
    try:
        numbers = int(ours), int(theirs)
    except (TypeError, ValueError):
        return type(ours) is type(theirs) and ours == theirs
    one, other = (n * (1 if n < 0 else unit_ms) for n in numbers)
    if min(one, other) < 0 or max(one, other) >= exact_from_ms:
        return one == other
    return abs(one - other) <= LEFT_TOLERANCE_MS


def is_same(words, ours, theirs):
    name = words[0].upper()
    if name in LEFT:
        return is_near(ours, theirs, LEFT[name], math.inf)
    if name in ABSOLUTE:
        return is_near(ours, theirs, ABSOLUTE[name], GIVEN_FROM_MS)
    if name in CODES and isinstance(ours, list) and isinstance(theirs, list):
        return integers(ours) == integers(theirs)
    form = shape if is_random(words) else normalise
    return form(words, ours) == form(words, theirs)


class Comparison:
    """Two connections, each with call() and pipeline(), and what is known to differ."""

    def __init__(self, ours, theirs, names, known, has_field_times=False):
        self.ours, self.theirs, self.names, self.known = ours, theirs, names, known
        self.has_field_times = has_field_times

    def explanation(self, words, ours, theirs):
        for kind in self.known:
            if kind.explains(words, ours, theirs):
                return kind
        return None

    def replies(self, commands):
        """Of both, from an empty server."""
        start = [[b"FLUSHALL"]]
        return [c.pipeline(start + commands)[1:] for c in (self.ours, self.theirs)]

    def first_difference(self, commands, explained=None):
        """(index, our reply, their reply) of the first that nothing explains, or None.

        Explained ones are counted by name in `explained`.
        """
        for i, (words, ours, theirs) in enumerate(zip(commands, *self.replies(commands))):
            if is_same(words, ours, theirs):
                continue
            kind = self.explanation(words, ours, theirs)
            if kind is None:
                return i, ours, theirs
            if explained is not None:
                explained[kind.name] += 1
        return None

    def shrink(self, commands):
        """Fewest commands that still differ, by leaving out ever smaller parts."""
        found = self.first_difference(commands)
        if found is None:
            return commands  # it does not come every time
        commands = commands[: found[0] + 1]
        size = len(commands) // 2
        while size >= 1:
            start = 0
            while start < len(commands):
                shorter = commands[:start] + commands[start + size :]
                found = self.first_difference(shorter) if shorter else None
                if found:
                    commands = shorter[: found[0] + 1]
                else:
                    start += size
            size //= 2
        return commands

    def check_known(self):
        """Prints each kind that no longer differs as its examples say; returns how many."""
        wrong = 0
        for kind in self.known:
            for commands in kind.examples:
                ours, theirs = (replies[-1] for replies in self.replies(commands))
                words = commands[-1]
                if is_same(words, ours, theirs) or self.explanation(words, ours, theirs) is not kind:
                    wrong += 1
                    print("GONE: known difference %r at: %s" % (kind.name, text(words)))
                    self.print_pair(ours, theirs)
                else:
                    print("ok - known: %s: %s" % (kind.name, text(words)))
        return wrong

    def print_pair(self, ours, theirs):
        for name, reply in zip(self.names, (ours, theirs)):
            print("  %s: %.400r" % (name, reply))

    def run(self, seed, n_commands):
        """The whole test; the exit status. The last line has all figures."""
        print("seed: TORC_SEED=%d TORC_OPS=%d" % (seed, n_commands), flush=True)
        explained = collections.Counter({kind.name: 0 for kind in self.known})
        done = 0
        wrong = self.check_known()
        for number, commands in enumerate(streams.blocks(seed, n_commands, self.has_field_times)):
            found = self.first_difference(commands, explained)
            if found:
                wrong += 1
                print("DIFFERENCE in block %d: %s" % (number, text(commands[found[0]])))
                self.print_pair(*found[1:])
                short = self.shrink(commands)
                again = self.first_difference(short)
                if again is None:
                    print("it does not come every time")
                    break
                print("shrunk to %d commands:" % len(short))
                for words in short:
                    print("    " + text(words))
                self.print_pair(*again[1:])
                break
            done += len(commands)
        kinds = ", ".join("%d %s" % (n, name) for name, n in explained.items())
        print(
            "seed %d: %d commands, %s against %s: %d differences; explained: %d (%s)"
            % (seed, done, *self.names, wrong, explained.total(), kinds or "none known")
        )
        return 1 if wrong else 0


def text(words):
    """As it can be typed into redis-cli."""
    return " ".join(map(quoted, words))


def quoted(word):
    if word and all(33 <= b < 127 and b not in b"\"'\\" for b in word):
        return word.decode()
    return '"%s"' % "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else "\\x%02x" % b for b in word
    )


def add_arguments(parser, n_commands, n_long):
    """--commands, n_commands by default and n_long with TORC_LONG=1, and --seed."""
    if os.environ.get("TORC_LONG") == "1":
        n_commands = n_long
    parser.add_argument(
        "--commands",
        type=int,
        default=int(os.environ.get("TORC_OPS", n_commands)),
        help="how many (default: $TORC_OPS, else %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TORC_SEED", "1")))


def settings_of(pairs):
    """NAME=VALUE of --setting, as options of torcd."""
    return [word for pair in pairs for word in ("--" + pair.split("=")[0], pair.split("=", 1)[1])]
