#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manual pages are sound mdoc, name every option that --help names and no other, and have the
prototypes of torc.h.
usage: man.py SOURCE_FOLDER PROGRAM..."""

import os
import re
import shutil
import subprocess
import sys

source, programs = sys.argv[1], sys.argv[2:]
folder = os.path.join(source, "docs", "man")
faults = []


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compare(what, documented, actual):
    for name in sorted(documented - actual):
        faults.append("%s: %s is in the page only" % (what, name))
    for name in sorted(actual - documented):
        faults.append("%s: %s is missing in the page" % (what, name))


def options_of_help(program):
    text = subprocess.run([program, "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
    # Where an option begins its line, perhaps behind a short one, and where a usage names it.
    listed = re.findall(r"^ +(?:-.,? +)?--([a-z][a-z-]*)", text, re.MULTILINE)
    usage = "".join(re.findall(r"^(?:usage| {7}\w).*$", text, re.MULTILINE))
    used = re.findall(r"--([a-z][a-z-]*)", usage)
    return set(listed + used) - {"name"}


def options_of_page(page):
    items = [line for line in page.splitlines() if line.startswith((".It", ".Fl"))]
    return set(re.findall(r"Fl -([a-z][a-z-]*)", "\n".join(items)))


def options_of_synopsis(page):
    return set(re.findall(r"(?:Fl|\|) -([a-z][a-z-]*)", page)) - {"name"}


def prototypes_of_header():
    text = re.sub(r"/\*.*?\*/", "", read(os.path.join(source, "client/include/torc/torc.h")), flags=re.DOTALL)
    found = re.findall(r"TORC_API ([^;()]*?)(torc_\w+)\(([^;]*)\);", text)
    return {" ".join(("%s%s(%s)" % f).split()).replace("* ", "*") for f in found}


def prototypes_of_page(page):
    found = re.findall(r"^\.Ft (.*)\n\.Fo (\w+)\n((?:\.Fa .*\n)*)\.Fc$", page, re.MULTILINE)
    made = set()
    for kind, name, arguments in found:
        kind = kind.strip('"')
        arguments = ", ".join(a[4:].strip('"') for a in arguments.splitlines())
        made.add("%s%s%s(%s)" % (kind, "" if kind.endswith("*") else " ", name, arguments))
    return made


for program in programs:
    name = os.path.basename(program)
    page = read(os.path.join(folder, name + ".1"))
    documented = options_of_page(page) | (options_of_synopsis(page) if name == "torcd" else set())
    compare(name + ".1", documented, options_of_help(program))
compare("torc_client.3", prototypes_of_page(read(os.path.join(folder, "torc_client.3"))), prototypes_of_header())

pages = sorted(os.path.join(folder, f) for f in os.listdir(folder) if re.search(r"\.[13]$", f))
if len(pages) != len(programs) + 1:
    faults.append("%d pages for %d programs and the library" % (len(pages), len(programs)))
mandoc = shutil.which("mandoc")
if mandoc is not None:
    lint = subprocess.run([mandoc, "-T", "lint", "-W", "style"] + pages, stdout=subprocess.PIPE, check=False, text=True)
    # Which other manuals are installed is not the pages' business.
    faults += [line for line in lint.stdout.splitlines() if line and "referenced manual not found" not in line]
for page in pages:
    for name, section in re.findall(r"^\.Xr (torc\S*) (\d)", read(page), re.MULTILINE):
        if os.path.join(folder, name + "." + section) not in pages:
            faults.append("%s refers to %s(%s), which is no page" % (page, name, section))

print("\n".join(faults))
if faults:
    sys.exit(1)
if mandoc is None:
    print("skipped: mandoc is not installed; only options and prototypes were compared")
    sys.exit(1 if os.environ.get("TORC_REQUIRE_ALL") == "1" else 77)
