# SPDX-License-Identifier: Apache-2.0
"""Pictures from result lines, as SVG drawn by gnuplot."""

import dataclasses
import re
import shutil
import subprocess

from . import stats

COLOURS = {
    "torc-ring": "#1f5fa8", "torc-resp": "#6aaed6", "torc-compact": "#1f5fa8", "torc-full": "#8a5fb5",
    "redis": "#c8452f", "floor": "#5f6670",
}  # fmt: skip
OTHERS = ("#2f8f5b", "#c98a1b", "#a83279", "#3b8f98")
PERCENTILES = (("min", "min"), ("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9"), ("max", "max"))
WIDTH = 660
HEAD = """set terminal svg size {width},{height} font "DejaVu Sans,12" background "#ffffff" linewidth 1
set border 3 linecolor rgb "#9aa0a6"
set tics nomirror out scale 0.5 textcolor rgb "#3c4043"
set grid ytics linecolor rgb "#e3e6ea" linewidth 1 linetype 1
set key outside right top vertical Left reverse samplen 2 spacing 1.25 textcolor rgb "#202124"
set title "{title}" font ",14" textcolor rgb "#202124"
set xlabel "{xlabel}" textcolor rgb "#3c4043"
set ylabel "{ylabel}" textcolor rgb "#3c4043"
"""
NANOSECONDS = (
    (1e2, "100 ns"), (1e3, "1 us"), (1e4, "10 us"), (1e5, "100 us"), (1e6, "1 ms"), (1e7, "10 ms"), (1e8, "0.1 s"),
)  # fmt: skip


class NoGnuplot(Exception):
    """gnuplot is not installed."""


@dataclasses.dataclass
class Plot:
    name: str
    title: str
    about: str
    svg: str


def _colour(name, place):
    return COLOURS.get(name) or OTHERS[place % len(OTHERS)]


def _draw(script):
    try:
        done = subprocess.run(["gnuplot"], input=script.encode(), capture_output=True, check=False)
    except FileNotFoundError:
        raise NoGnuplot from None
    if done.returncode != 0:
        raise RuntimeError("gnuplot: " + done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()


def _quoted(text):
    return text.replace("\\", "").replace('"', "").replace("_", "\\\\_")


def _head(title, xlabel, ylabel, width=WIDTH, height=360):
    return HEAD.format(title=_quoted(title), xlabel=_quoted(xlabel), ylabel=_quoted(ylabel), width=width, height=height)


def _lines(series, more=""):
    """`series`: {name: [(x, y)]}; y against x, a line with points for each name."""
    blocks, parts = [], []
    for i, (name, points) in enumerate(series.items()):
        blocks.append("$d%d << EOD\n%s\nEOD\n" % (i, "\n".join("%r %r" % point for point in points)))
        style = 'with linespoints linewidth 2 pointtype 7 pointsize 0.55 linecolor rgb "%s"' % _colour(name, i)
        if name == "floor":
            style += " dashtype 2"
        parts.append('$d%d using 1:2 %s title "%s"' % (i, style, _quoted(name)))
    return "".join(blocks) + more + "plot " + ", \\\n  ".join(parts) + "\n"


def _bars(groups, names, values):
    """A cluster of bars for each group; values[name][group], None when there is none."""
    rows = []
    for group in groups:
        cells = [values[name].get(group) for name in names]
        rows.append('"%s" %s' % (_quoted(group), " ".join("?" if c is None else "%r" % c for c in cells)))
    script = '$d << EOD\n%s\nEOD\nset datafile missing "?"\n' % "\n".join(rows)
    script += "set style data histogram\nset style histogram cluster gap 1\nset style fill solid 0.92 noborder\n"
    script += "set boxwidth 0.92 relative\nset yrange [0:*]\nset xtics scale 0\n"
    script += "set xrange [-0.6:%.1f]\n" % (len(groups) - 0.4)
    parts = []
    for i, name in enumerate(names):
        label = ":xtic(1)" if i == 0 else ""
        parts.append('$d using %d%s linecolor rgb "%s" title "%s"' % (i + 2, label, _colour(name, i), _quoted(name)))
    return script + "plot " + ", \\\n  ".join(parts) + "\n"


def _log_ns_axis():
    tics = ", ".join('"%s" %g' % (name, value) for value, name in NANOSECONDS)
    return "set logscale y\nset ytics (%s)\n" % tics


def _good(lines, suite, pattern):
    """(line, match) of all with figures whose case matches."""
    compiled = re.compile(pattern + "$")
    own = [line for line in lines if line["suite"] == suite and line["status"] == "ok"]
    return [(line, match) for line, match in ((line, compiled.match(line["case"])) for line in own) if match]


def _percentiles(lines, suite, case, title):
    series = {}
    for line, _ in _good(lines, suite, re.escape(case) + "/p50"):
        latency = line.get("latency", {})
        columns = [latency.get(name) for name, _ in PERCENTILES]
        points = [(i, stats.median(column)) for i, column in enumerate(columns) if column]
        if points:
            series[line["engine"]] = points
    if not series:
        return None
    tics = ", ".join('"%s" %d' % (label, i) for i, (_, label) in enumerate(PERCENTILES))
    script = _head(title, "percentile (median of the rounds)", "latency") + _log_ns_axis()
    return script + _lines(series, "set xtics (%s)\nset xrange [-0.2:%.1f]\n" % (tics, len(PERCENTILES) - 0.8))


def _windows(lines, kind, title):
    series = {}
    seen = set()
    for line, match in _good(lines, "ring", kind + r"-w(\d+)(/p50)?"):
        if "rates" in line and (line["engine"], match.group(1)) not in seen:
            seen.add((line["engine"], match.group(1)))
            series.setdefault(line["engine"], []).append((int(match.group(1)), stats.median(line["rates"]) / 1e6))
    series = {name: sorted(points) for name, points in series.items()}
    if not series:
        return None
    script = _head(title, "requests in flight", "million requests a second")
    return script + _lines(series, "set logscale x 2\nset logscale y\nset format y '%g'\n")


def _threshold(lines, pattern, title, ylabel, scale):
    series = {}
    for line, match in _good(lines, "threshold", pattern):
        fields = int(match.group(1))
        series.setdefault(line["engine"], []).append((fields, scale(line["median"], fields)))
    series = {name: sorted(points) for name, points in series.items()}
    if not series:
        return None
    return _head(title, "fields of a hash", ylabel) + _lines(series, "set logscale x 2\nset yrange [0:*]\n")


def _memory(lines, pattern, title, per_field):
    groups, names, values = [], [], {}
    for line, match in _good(lines, "hset", pattern):
        group = match.group(1)
        groups += [group] if group not in groups else []
        names += [line["engine"]] if line["engine"] not in names else []
        values.setdefault(line["engine"], {})[group] = line["median"] / (int(match.group(2)) if per_field else 1)
    if not groups:
        return None
    return _head(title, "", "bytes per field") + _bars(groups, names, values)


def _kinds(lines, case, percentile, title):
    groups, names, values = [], [], {}
    for line, _ in _good(lines, "mixed", re.escape(case) + "/p50"):
        names.append(line["engine"])
        for kind, latency in line.get("kinds", {}).items():
            if latency.get(percentile):
                groups += [kind] if kind not in groups else []
                values.setdefault(line["engine"], {})[kind] = stats.median(latency[percentile]) / 1e3
    if not groups:
        return None
    return _head(title, "", "microseconds") + _bars(groups, [n for n in names if n in values], values)


def _scripts(lines):
    """(name, title, about, script or None) of every picture."""
    p = "median over the rounds of each percentile; closed loop, one request at a time"
    for case, what in (("hget-hot-w1", "HGET, one hot hash"), ("hget-random-w1", "HGET, random keys and fields"),
                       ("ping-w1", "PING")):  # fmt: skip
        title = "Latency of %s, one request in flight" % what
        yield "latency-" + case, what, p, _percentiles(lines, "ring", case, title)
    for kind, what in (("ping", "PING"), ("hget-hot", "HGET"), ("hset-hot", "HSET")):
        about = "rate by requests in flight"
        yield "window-" + kind, what + " by window", about, _windows(lines, kind, "%s by requests in flight" % what)
    rate = lambda value, _: value / 1e6  # noqa: E731
    for place in ("first", "middle", "last", "miss"):
        title = "HGET %s by size of the hash" % place
        script = _threshold(lines, r"threshold-(\d+)-hget-" + place, title, "million a second", rate)
        yield "threshold-" + place, title, "compact and full form beside Redis, 64 requests in flight", script
    title = "Memory by size of the hash"
    per_field = lambda value, fields: value / fields  # noqa: E731
    script = _threshold(lines, r"threshold-(\d+)/rss-idle", title, "bytes per field", per_field)
    yield "threshold-memory", title, "resident bytes after an idle time", script
    title = "Memory of one large hash at each stage"
    yield "memory-million", title, "resident after an idle time", _memory(
        lines, r"million-(loaded|updated|resized|grown-to-64)/rss-idle", title, False)  # fmt: skip
    title = "Peak memory of one large hash"
    yield "memory-peak", title, "the most bytes resident so far", _memory(
        lines, r"million-(loaded|updated|resized|grown-to-64)/peak", title, False)  # fmt: skip
    title = "Memory of small hashes"
    script = _memory(lines, r"(small\d+-(\d+))-loaded/rss-idle", title, True)
    yield "memory-small", title, "resident after an idle time, key and overhead of the hash included", script
    for loop in ("closed", "open"):
        for case, what in (("mixed", "mixed writes"), ("insert", "inserts")):
            title = "Tails of %s, %s loop" % (what, loop)
            script = _percentiles(lines, "mixed", "%s-%s" % (case, loop), title)
            yield "%s-%s" % (case, loop), title, "100,000 fields; open loop: 20,000 requests a second", script
    title = "p99.9 of mixed writes by kind, closed loop"
    yield "mixed-kinds", title, "one request at a time", _kinds(lines, "mixed-closed", "p999", title)


def draw(lines):
    """Every picture that these lines have figures for. Raises NoGnuplot."""
    if not shutil.which("gnuplot"):
        raise NoGnuplot
    return [Plot(name, title, about, _draw(script)) for name, title, about, script in _scripts(lines) if script]
