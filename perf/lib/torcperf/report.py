# SPDX-License-Identifier: Apache-2.0
"""report.md and report.html, from results.jsonl and nothing else."""

import dataclasses
import os

from . import page, plots, results, tables


@dataclasses.dataclass
class Rendered:
    markdown: str
    html: str
    notes: list


def _cell(cell):
    text = cell.text.replace("|", "\\|").replace("\n", " ")
    return "**%s**" % text if cell.mood == "bad" and text else text


def _markdown_table(table):
    parts = ["## %s\n" % table.title]
    if table.note:
        parts.append(table.note + "\n")
    if not table.rows:
        return "\n".join(parts + ["Nothing.\n"])
    rows = [[name or " " for name in table.columns], ["---"] + ["---:"] * (len(table.columns) - 1)]
    rows += [[_cell(cell) for cell in row] for row in table.rows]
    parts += ["| %s |" % " | ".join(row) for row in rows]
    return "\n".join(parts) + "\n"


def _tables(lines):
    found = tables.cases(lines)
    names = list(dict.fromkeys(case.suite for case in found))
    parts = [tables.summary(found), tables.bad(found), tables.without_figures(found), tables.runs(lines)]
    return parts + [tables.suite(found, name) for name in names]


def _write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)


def render(out):
    """Write both reports into the folder of the results. Raises results.Broken."""
    lines = results.latest(results.read(os.path.join(out, "results.jsonl")))
    if not lines:
        raise results.Broken("%s has no figures yet" % os.path.join(out, "results.jsonl"))
    notes, pictures = [], []
    try:
        pictures = plots.draw(lines)
    except plots.NoGnuplot:
        notes.append("gnuplot is not installed (package gnuplot-nox): the report has no plots")
    parts = _tables(lines)
    warnings = tables.warnings(lines) + notes
    text = ["# torc: measured\n"] + ["> %s\n" % warning for warning in warnings]
    text += [_markdown_table(table) for table in parts]
    markdown, html = os.path.join(out, "report.md"), os.path.join(out, "report.html")
    _write(markdown, "\n".join(text))
    _write(html, page.render(parts, pictures, warnings))
    return Rendered(markdown, html, notes)
