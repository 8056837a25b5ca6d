# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured and that measure: built when needed, and what they were built from."""

import hashlib
import os
import re
import subprocess

PRESET = "release"


class BuildError(Exception):
    """The text says what does not build, and where the log is."""


def root():
    """The folder of the sources."""
    return os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def make(say):
    """Configure the release preset if it never was, build what changed; the folder."""
    folder = os.path.join(root(), "build", PRESET)
    os.makedirs(folder, exist_ok=True)
    log_path = os.path.join(root(), "build", PRESET + ".log")
    commands = [["cmake", "--preset", PRESET, "-DTORC_PERF=ON"]]
    if os.path.exists(os.path.join(folder, "build.ninja")):
        commands = []
    commands.append(["cmake", "--build", "--preset", PRESET, "--target", "perf_programs"])
    say("building %s" % folder)
    with open(log_path, "w", encoding="utf-8") as log:
        for command in commands:
            try:
                code = subprocess.run(command, cwd=root(), stdout=log, stderr=log, check=False).returncode
            except OSError as error:
                raise BuildError("%s: %s" % (command[0], error.strerror)) from None
            if code != 0:
                raise BuildError("preset %s does not build; why is in %s" % (PRESET, log_path))
    return folder


def commit():
    """As git describes it, "-dirty" when files differ; "unknown" outside a checkout."""
    command = ["git", "-C", root(), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def compiler(folder):
    """Name and version, from what CMake found."""
    files = os.path.join(folder, "CMakeFiles")
    try:
        names = sorted(os.listdir(files))
    except OSError:
        return "unknown"
    for name in names:
        try:
            with open(os.path.join(files, name, "CMakeCCompiler.cmake"), encoding="utf-8") as f:
                found = dict(re.findall(r'^set\(CMAKE_C_COMPILER_(ID|VERSION) "([^"]*)"\)', f.read(), re.M))
        except OSError:
            continue
        return "%s %s" % (found.get("ID", "unknown"), found.get("VERSION", ""))
    return "unknown"


def fingerprint(paths):
    """Tells builds of one commit apart: a digest of the programs."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:12]
