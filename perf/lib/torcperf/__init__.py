# SPDX-License-Identifier: Apache-2.0
"""Measures torc beside other servers and beside the floor. Standard library only.

    stats.py     medians, quartiles, ratios of rounds        machine.py   what the machine is, and how busy
    results.py   JSON lines: writing, reading, resuming      engines.py   starting servers, their memory
    work.py      one run of a measuring program              plan.py      what a suite consists of
    lab.py       runs the plan in alternating rounds         progress.py  what the user sees meanwhile
    suites/      the plans                                   build.py     the programs, built when needed
    tables.py    what the report says, from the lines        plots.py     pictures, from the lines
    report.py    report.md                                   page.py      report.html
    main.py      the command line of perf/run                compare.py   that of perf/compare
"""
