# SPDX-License-Identifier: Apache-2.0
"""report.html: one file with everything in it."""

import base64
import html

STYLE = """
:root { --ink: #1d2126; --soft: #5c6670; --line: #e1e5ea; --paper: #f5f7f9; --blue: #1f5fa8; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
       font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header { background: #14304f; color: #fff; padding: 26px 32px 20px; }
header h1 { margin: 0 0 4px; font-size: 26px; font-weight: 600; }
header p { margin: 0; color: #c4d3e4; }
nav { position: sticky; top: 0; z-index: 2; background: #fff; border-bottom: 1px solid var(--line); padding: 8px 32px; }
nav a { margin-right: 18px; color: var(--blue); text-decoration: none; white-space: nowrap; }
main { max-width: 1280px; margin: 0 auto; padding: 8px 24px 60px; }
section { scroll-margin-top: 50px; background: #fff; border: 1px solid var(--line); border-radius: 8px;
          margin: 22px 0; padding: 18px 22px; }
h2 { margin: 0 0 6px; font-size: 19px; }
.note { margin: 0 0 12px; color: var(--soft); max-width: 95ch; }
.warning { background: #fff6e0; border: 1px solid #f0d48a; border-radius: 8px; padding: 10px 16px; margin: 18px 0 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--line); padding: 5px 10px; }
td { text-align: right; border-bottom: 1px solid var(--line); padding: 4px 10px; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 2px; }
td.long { white-space: normal; text-align: left; }
tbody tr:hover { background: #f1f6fb; }
.good { color: #12703a; font-weight: 600; }
.bad { color: #b3261e; font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(540px, 1fr)); gap: 20px; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 6px; padding: 8px; }
figure img { width: 100%; display: block; }
figcaption { color: var(--soft); font-size: 13px; padding: 4px 8px; }
@media print { nav { display: none; } section { break-inside: avoid-page; } }
"""
LONG = 60  # characters, from which a cell may wrap


def _cell(cell):
    classes = [name for name in (cell.mood, "long" if len(cell.text) > LONG else "") if name]
    attribute = ' class="%s"' % " ".join(classes) if classes else ""
    return "<td%s>%s</td>" % (attribute, html.escape(cell.text))


def _anchor(title):
    return "".join(c if c.isalnum() else "-" for c in title.lower())


def _table(table):
    parts = ['<section id="%s"><h2>%s</h2>' % (_anchor(table.title), html.escape(table.title))]
    if table.note:
        parts.append('<p class="note">%s</p>' % html.escape(table.note))
    if not table.rows:
        parts.append("<p>Nothing.</p>")
    else:
        head = "".join("<th>%s</th>" % html.escape(name) for name in table.columns)
        parts.append('<div class="scroll"><table><thead><tr>%s</tr></thead><tbody>' % head)
        parts += ["<tr>%s</tr>" % "".join(_cell(cell) for cell in row) for row in table.rows]
        parts.append("</tbody></table></div>")
    return "\n".join(parts + ["</section>"])


def _picture(plot):
    data = base64.b64encode(plot.svg.encode()).decode()
    image = '<img alt="%s" src="data:image/svg+xml;base64,%s">' % (html.escape(plot.title), data)
    return "<figure>%s<figcaption>%s</figcaption></figure>" % (image, html.escape(plot.about))


def render(all_tables, pictures, warnings):
    """`all_tables`: the summary first; the pictures follow the third."""
    titles = [table.title for table in all_tables]
    titles[3:3] = ["Plots"] if pictures else []
    links = "".join('<a href="#%s">%s</a>' % (_anchor(t), html.escape(t)) for t in titles)
    body = ['<p class="warning">%s</p>' % html.escape(text) for text in warnings]
    body += [_table(table) for table in all_tables[:3]]
    if pictures:
        figures = "\n".join(_picture(plot) for plot in pictures)
        body.append('<section id="plots"><h2>Plots</h2><div class="plots">%s</div></section>' % figures)
    body += [_table(table) for table in all_tables[3:]]
    return """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>torc: measured</title><style>%s</style></head><body>
<header><h1>torc, measured</h1>
<p>beside other servers and beside the floor, in alternating rounds of one run</p></header>
<nav>%s</nav><main>
%s
</main></body></html>
""" % (STYLE, links, "\n".join(body))
