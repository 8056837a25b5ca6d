# SPDX-License-Identifier: Apache-2.0
"""What the user sees: a line for every case, and on a terminal a bar with the estimated end below them."""

import shutil
import sys
import time

BAR_CHARACTERS = 24


def figure(value, unit):
    """A figure in the form that is easiest to read: 1.93 M/s, 312 ns, 41.5 us, 48.7 B."""
    if unit in ("op/s", "rows/s", "fields/s"):
        scaled = ((1e6, " M"), (1e3, " k"), (1, " "))
        tail = "/s"
    elif unit == "ns":
        scaled = ((1e9, " s"), (1e6, " ms"), (1e3, " us"), (1, " ns"))
        tail = ""
    elif unit.startswith("bytes"):
        scaled = ((1 << 30, " GiB"), (1 << 20, " MiB"), (1, " B"))
        tail = unit[len("bytes") :]
    else:
        scaled, tail = ((1, " "),), unit
    for scale, name in scaled:
        if abs(value) >= scale or scale == 1:
            number = value / scale
            digits = 0 if abs(number) >= 1000 or number == int(number) else 1 if abs(number) >= 100 else 2
            return "%s%s%s" % (format(number, ",.%df" % digits), name, tail)
    return ""


def duration(seconds):
    minutes, rest = divmod(int(seconds + 0.5), 60)
    return "%d:%02d" % (minutes, rest) if minutes < 60 else "%d:%02d h" % divmod(minutes, 60)


class Progress:
    """expect() takes the work there is, in any unit; advance() says how much of it was done or left out."""

    def __init__(self, stream=sys.stderr):
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._total = 1e-9
        self._done = 0.0
        self._skipped = 0.0
        self._start = time.monotonic()
        self._what = ""

    def expect(self, work):
        self._total += work

    def say(self, text):
        self._clear()
        self._stream.write(text + "\n")
        self._draw()

    def doing(self, what):
        self._what = what
        self._draw()

    def advance(self, work, skipped=False):
        self._done += work
        if skipped:
            self._skipped += work
        self._draw()

    def remaining_s(self):
        """None as long as nothing is known."""
        worked = self._done - self._skipped
        if worked <= 0:
            return None
        return (time.monotonic() - self._start) / worked * max(self._total - self._done, 0)

    def _clear(self):
        if self._is_terminal:
            self._stream.write("\r\x1b[K")

    def _draw(self):
        if not self._is_terminal:
            self._stream.flush()
            return
        share = min(self._done / self._total, 1.0)
        full = int(share * BAR_CHARACTERS)
        left = self.remaining_s()
        end = ""
        if left is not None:
            clock = time.strftime("%H:%M", time.localtime(time.time() + left))
            end = "%s left, ends about %s" % (duration(left), clock)
        bar = "[%s%s] %3d %%  %s  %s" % ("#" * full, "." * (BAR_CHARACTERS - full), int(100 * share), end, self._what)
        self._stream.write("\r\x1b[K" + bar[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()

    def close(self):
        self._clear()
        self._stream.flush()
