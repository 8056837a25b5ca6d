#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for the programs that perf/run starts; which one, its name says: torcd or fake-server (answers RESP on its
sockets), torc-perf-load, floor, bench_fake. How torc-perf-load misbehaves is in PERF_FAKE, "OP:HOW" with commas
between: wrong, unchecked, error, unknown, hang, crash, garbage, kill (ends the server in the middle)."""

import json
import os
import selectors
import socket
import sys
import time
import zlib


def option(name, default=None):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def serve():
    """+PONG to everything; DIE ends the process."""
    selector = selectors.DefaultSelector()
    for name in ("--unixsocket", "--control-socket"):
        if option(name):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(option(name))
            listener.listen()
            selector.register(listener, selectors.EVENT_READ, True)
    while True:
        for key, _ in selector.select():
            if key.data:
                selector.register(key.fileobj.accept()[0], selectors.EVENT_READ, False)
                continue
            data = key.fileobj.recv(4096)
            if b"DIE" in data:
                os._exit(1)
            if data:
                key.fileobj.sendall(b"+PONG\r\n")
            else:
                selector.unregister(key.fileobj)
                key.fileobj.close()


def finish(code, line, **changes):
    print(json.dumps(dict(line, **changes)))
    sys.exit(code)


def load():
    op, address = option("--op"), option("--connect").partition(":")[2]
    how = dict(pair.split(":") for pair in os.environ.get("PERF_FAKE", "").split(",") if pair).get(op)
    # Any figures, but the same for the same work of the same server.
    rate = 1000.5 + zlib.crc32((op + option("--seed") + str("resp" in address)).encode()) % 100000
    line = {"op": op, "requests": 10, "seconds": 0.1, "rate": rate, "checked": 10, "wrong": 0, "errors": 0}
    line.update(first_bad=None, unit="ns", min=rate / 2, p50=rate, p90=rate * 2, p99=rate * 3)
    line.update(p999=rate * 4, max=rate * 5)
    with open(os.path.join(os.environ["PERF_FAKE_LOG"]), "a", encoding="utf-8") as log:
        log.write(op + "\n")
    if how == "wrong":
        finish(3, line, rate=None, wrong=1, first_bad="field f1: got 7")
    if how == "unchecked":
        finish(0, line, checked=9)
    if how == "error":
        finish(4, line, rate=None, errors=1, first_bad="OOM out of memory")
    if how == "unknown":
        finish(4, line, rate=None, errors=1, first_bad="ERR unknown command 'HGET'")
    if how == "garbage":
        print("hello")
        sys.exit(0)
    if how == "crash":
        os.abort()
    if how == "hang":
        while True:
            time.sleep(3600)
    if how == "kill":
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(address)
            link.sendall(b"DIE")
            link.recv(1)
        finish(5, line, rate=None, first_bad="connection closed")
    finish(0, line)


def bench():
    for fields in (8, 32):
        figures = {"unit": "ns", "n": 10, "min": 1, "p50": fields, "p99": 90, "max": 99}
        print(json.dumps({"name": "fake-get", "param": {"fields": fields}, **figures}))


def floor():
    trip = {"min": 250, "p50": 260, "p99": 300, "p999": 500, "max": 900}
    rounds = {"apart": {"rounds": 2, "ns": {"median": 261}}, "on_one_core": {"rounds": 0}, "seen": [260, 262]}
    print(json.dumps({"name": "floor-one-line", "window": 1, "unit": "ns", "n": 10, "trip": trip, **rounds}))
    only_one_core = {"apart": {"rounds": 0}, "on_one_core": {"rounds": 1, "ns": {"median": 20}}}
    print(json.dumps({"name": "ring-null", "window": 64, "unit": "ns", "n": 10, **only_one_core}))


PROGRAMS = {"torcd": serve, "fake-server": serve, "torc-perf-load": load, "floor": floor, "bench_fake": bench}
PROGRAMS[os.path.basename(sys.argv[0])]()
