# SPDX-License-Identifier: Apache-2.0
"""What the machine is, and how busy others keep it."""

import os
import platform


def _first_line(path):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            return f.readline().strip()
    except OSError:
        return "unknown"


def _proc_value(path, name):
    try:
        with open(path, encoding="ascii", errors="replace") as f:
            for line in f:
                if line.partition(":")[0].strip() == name:
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"


def _chosen(path):
    """The word in brackets of "always [madvise] never"."""
    line = _first_line(path)
    return line.partition("[")[2].partition("]")[0] or line


def facts():
    """What does not change during a run."""
    huge = "/sys/kernel/mm/transparent_hugepage/"
    return {
        "cpu": _proc_value("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "memory": _proc_value("/proc/meminfo", "MemTotal"),
        "thp": _chosen(huge + "enabled"),
        "thp_shmem": _chosen(huge + "shmem_enabled"),
        "huge_pages": _proc_value("/proc/meminfo", "HugePages_Total"),
    }


def load_average():
    return os.getloadavg()[0]


def _siblings(cpu):
    return _first_line("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu)


def pick_cpus():
    """(server, client): two CPUs this process may use, on different cores when there are; else the same one twice."""
    allowed = sorted(os.sched_getaffinity(0))
    server = allowed[0]
    for other in allowed[1:]:
        if _siblings(other) == "unknown" or _siblings(other) != _siblings(server):
            return server, other
    return server, allowed[-1]


class Steal:
    """Share of CPU time that the hypervisor gave to others since this object was made."""

    def __init__(self):
        self._start = self._read()

    @staticmethod
    def _read():
        try:
            words = _first_line("/proc/stat").split()[1:]
            ticks = [int(w) for w in words[:8]]
        except ValueError:
            return 0, 0
        return (ticks[7], sum(ticks)) if len(ticks) == 8 else (0, 0)

    def percent(self):
        steal, total = (now - then for now, then in zip(self._read(), self._start))
        return round(100.0 * steal / total, 2) if total > 0 else 0.0
