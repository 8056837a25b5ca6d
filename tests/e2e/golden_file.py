# SPDX-License-Identifier: Apache-2.0
"""Golden tables, tests/golden/*.txt: commands and the exact bytes of their replies. The format is told in
tests/golden/README.md."""

import re

# Escapes of one byte. Others are in unescape().
BYTES = {"r": 13, "n": 10, "t": 9, "\\": 92, '"': 34}
SETTINGS = ("compact", "full", "limits", "oom")
PROTOCOLS = ("RESP2", "RESP3")
# Flags of sections that a redis-server 7.0 answers otherwise, and of those that it must not be asked.
DIFFERING = ("redis8", "own")
ALONE = "alone"


class Mistake(Exception):
    """A golden file that cannot be read."""


class Digits:
    """Stands for one digit or more."""

    def match(self, data, at):
        found = re.compile(rb"[0-9]+").match(data, at)
        return found.end() if found else None


class Rest:
    """Stands for all that is left."""

    def match(self, data, at):
        return len(data)


class Bulk:
    """Stands for a whole bulk string (kind $) or verbatim string (kind =), whatever is in it."""

    def __init__(self, kind):
        self.head = re.compile(re.escape(kind) + rb"([0-9]+)\r\n")

    def match(self, data, at):
        found = self.head.match(data, at)
        end = found.end() + int(found.group(1)) if found else None
        return end + 2 if found and data[end : end + 2] == b"\r\n" else None


def unescape(text, protocol=2):
    """A list of bytes, Digits, Bulk and Rest."""
    parts, out = [], bytearray()
    at = 0
    while at < len(text):
        c = text[at]
        if c != "\\":
            out += c.encode("ascii")
            at += 1
            continue
        c, rest = text[at + 1 : at + 2], text[at + 2 :]
        at += 2
        repeat = re.match(r"([0-9]+),(.)\]", rest)
        if c in BYTES and c:
            out.append(BYTES[c])
        elif c == "x" and re.match("[0-9a-fA-F]{2}", rest):
            out.append(int(rest[:2], 16))
            at += 2
        elif c == "[" and repeat:
            out += repeat.group(2).encode("ascii") * int(repeat.group(1))
            at += repeat.end()
        elif c == "N":
            out += b"$-1\r\n" if protocol == 2 else b"_\r\n"
        elif c and c in "#*$=":
            wildcard = {"#": Digits, "*": Rest}.get(c)
            parts += [bytes(out), wildcard() if wildcard else Bulk(c.encode())]
            out = bytearray()
        else:
            raise Mistake("no escape: \\" + c)
    return [*parts, bytes(out)]


def unescape_bytes(text):
    parts = unescape(text)
    if len(parts) != 1:
        raise Mistake("a command has no wildcards: " + text)
    return parts[0]


def split(line):
    """The words of a command line: bare, or in double quotes with escapes."""
    words, at = [], 0
    for found in re.finditer(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))(?=\s|$)', line):
        if found.start() != at:
            break
        quoted, bare = found.groups()
        words.append(unescape_bytes(quoted) if bare is None else bare.encode("ascii"))
        at = found.end()
    if not words or line[at:].strip():
        raise Mistake("not a command line: " + line)
    return words


def escape(data):
    out = "".join(chr(b) if 32 <= b < 127 and b != 92 else "\\x%02x" % b for b in data)
    return out.replace("\\x0d", "\\r").replace("\\x0a", "\\n").replace("\\x5c", "\\\\")


def match_parts(parts, data, at):
    """The end of what matches at `at`, or None."""
    for part in parts:
        if isinstance(part, bytes):
            end = at + len(part) if data.startswith(part, at) else None
        else:
            end = part.match(data, at)
        if end is None:
            return None
        at = end
    return at


class Step:
    """What is sent, and what comes back."""

    def __init__(self, line, request, is_raw):
        self.line, self.request, self.is_raw = line, request, is_raw
        self.lines = []  # (sort "<" or "~", protocol or "", text)
        self.closes = False
        self.is_repeated = False  # sent again until the reply matches

    def has_reply(self):
        return bool(self.lines)

    def matches(self, data, protocol):
        """Lines in their order; '~' lines that follow one another in any order."""
        at, waiting = 0, []
        lines = [(s, text) for s, p, text in self.lines if p in ("", str(protocol))]
        for sort, text in [*lines, ("<", "")]:
            parts = unescape(text, protocol)
            if sort == "~":
                waiting.append(parts)
                continue
            while waiting:
                ends = [(i, match_parts(parts_i, data, at)) for i, parts_i in enumerate(waiting)]
                ends = [(i, end) for i, end in ends if end is not None]
                if not ends:
                    return False
                at = ends[0][1]
                del waiting[ends[0][0]]
            at = match_parts(parts, data, at)
            if at is None:
                return False
        return at == len(data)

    def wanted(self, protocol):
        return "\n".join(
            "      %s %s" % (s, text) for s, p, text in self.lines if p in ("", str(protocol))
        )


class Section:
    """Steps of one connection to an empty server."""

    def __init__(self, place, rows, title, flags):
        self.place, self.rows, self.title = place, rows, title
        self.differs = [f for f in flags if f in DIFFERING]
        self.is_alone = ALONE in flags
        self.settings = [f for f in flags if f in SETTINGS] or ["compact", "full"]
        self.protocols = [int(f[-1]) for f in flags if f in PROTOCOLS] or [2, 3]
        unknown = set(flags) - {*SETTINGS, *PROTOCOLS, *DIFFERING, ALONE}
        if unknown:
            raise Mistake("unknown flags: " + " ".join(sorted(unknown)))
        self.steps = []


HEAD = re.compile(r"\[([0-9. ]+)\] ([^{}]+?)(?: \{([\w ]+)\})?")


def read_line(sections, place, line):
    """Add what a line says to the last section."""
    head = HEAD.fullmatch(line)
    if head:
        rows, title, flags = head.groups()
        sections.append(Section(place, rows.split(), title, (flags or "").split()))
        return
    if not sections:
        raise Mistake("before the first section")
    steps = sections[-1].steps
    reply = re.fullmatch(r"([<~])([23]?) (.*)", line)
    if line.startswith(">>"):
        steps.append(Step(place, unescape_bytes(line[2:].strip()), True))
    elif line.startswith(("> ", ">* ")):
        mark, words = line.split(" ", 1)
        steps.append(Step(place, split(words), False))
        steps[-1].is_repeated = mark == ">*"
    elif reply and steps:
        unescape(reply.group(3))
        steps[-1].lines.append(reply.groups())
    elif line == "closed" and steps:
        steps[-1].closes = True
    else:
        raise Mistake("not understood: " + line)


def read_golden(path):
    """The sections of a file."""
    sections = []
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            try:
                read_line(sections, "%s:%d" % (path.rsplit("/", 1)[-1], number), line)
            except Mistake as mistake:
                raise SystemExit("%s:%d: %s" % (path, number, mistake)) from None
    for section in sections:
        for step in section.steps:
            if not step.is_raw and not step.has_reply():
                raise SystemExit("%s: a command without its reply" % step.line)
    return sections


def read_rows(path):
    """{row: state}: "golden", or why there is no golden section."""
    rows = {}
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = re.fullmatch(r"([\d.]+?)(?:-(\d+))?\s+(\S.*?)\s+\| (golden|(?:not yet|elsewhere): .+)\n", line)
            if not found:
                raise SystemExit("%s:%d: not a row: %s" % (path, number, line))
            first, last, _, state = found.groups()
            stem, start = first.rsplit(".", 1)
            for n in range(int(start), int(last or start) + 1):
                if "%s.%d" % (stem, n) in rows:
                    raise SystemExit("%s:%d: twice" % (path, number))
                rows["%s.%d" % (stem, n)] = state
    return rows
