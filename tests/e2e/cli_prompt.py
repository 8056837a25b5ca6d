# SPDX-License-Identifier: Apache-2.0
"""The prompt of torc-cli on a pseudo-terminal: typing, completion, hints, history, leaving, and a
server that goes away and comes back."""

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import termios
import time

from torcd_harness import DEADLINE_S, Folder, Server, run_tests

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--torcd", required=True)
PARSER.add_argument("--cli", required=True)
ARGUMENTS = PARSER.parse_args()

UP = "\x1b[A"
CTRL_C = "\x03"
CTRL_D = "\x04"
CTRL_Z = "\x1a"
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>78])|[\r\x07]|\x1b\[?$")


class Terminal:
    """torc-cli on a terminal of 24 lines of 120 columns."""

    def __init__(self, server, home, under=(), **environment):
        self.text = ""
        self.seen = 0
        env = {"TERM": "xterm", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **environment}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        if home is not None:
            env["HOME"] = home
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
            command = [*under, ARGUMENTS.cli, "-c", server.control]
            os.execvpe(command[0], command, env)
        self.expect("torc> ")

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, end):
        if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.text += data.decode()
        return data != b""

    def expect(self, wanted):
        """Read until `wanted` comes behind what was expected before."""
        end = time.monotonic() + DEADLINE_S
        while True:
            plain = ESCAPE.sub("", self.text)
            at = plain.find(wanted, self.seen)
            if at >= 0:
                part = plain[self.seen : at]
                self.seen = at + len(wanted)
                return part
            assert self.read(end), "no %r in %r" % (wanted, self.text[-2000:])

    def command(self, line, reply):
        self.type(line + "\r")
        part = self.expect(reply)
        self.expect("torc> ")
        return part

    def leave(self, keys=CTRL_D):
        """All that was printed. Whoever is not killed ends with 0."""
        self.type(keys)
        end = time.monotonic() + DEADLINE_S
        while self.read(end):
            pass
        assert time.monotonic() < end, "still there: %r" % self.text[-2000:]
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        assert status in (0, -signal.SIGKILL), self.text
        return self.text


def a_command_is_typed_and_its_reply_printed():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        terminal = Terminal(server, folder)
        terminal.command("hset k f 'two words'", "(integer) 1\n")
        terminal.command("HGET k f", '"two words"\n')
        terminal.command("hgetall k", '1) "f"\n2) "two words"\n')
        terminal.command("nonsense", "(error) ERR unknown command 'nonsense'")
        terminal.command('hget "k', "torc-cli: quotes do not match")
        terminal.command("", "")
        terminal.leave()


def quit_exit_and_the_end_of_input_leave():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        for keys in ("quit\r", "EXIT\r", CTRL_D):
            Terminal(server, folder).leave(keys)


def tab_completes_names():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        terminal = Terminal(server, folder)
        terminal.type("hgetal\t")
        terminal.expect("hgetall ")
        terminal.command("k", "(empty array)\n")
        terminal.type("DBS\t")
        terminal.expect("DBSIZE ")
        terminal.command("", "(integer) 0\n")
        terminal.type("mem\tus\t")
        terminal.command("k", "(nil)\n")
        terminal.type("hge\t\t")  # as far as is certain, then what there is
        terminal.expect("HGETALL")
        terminal.expect("torc> hget")
        terminal.command(" k f", "(nil)\n")
        terminal.type("zz\t")
        terminal.command("", "unknown command 'zz'")
        terminal.leave()


def arguments_are_shown_at_the_right():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        terminal = Terminal(server, folder)
        terminal.type("hset ")
        terminal.expect("key field value [field value ...]")
        terminal.command("k f v", "(integer) 1\n")
        terminal.type("memory usage ")
        terminal.expect("key [SAMPLES count]")
        terminal.command("none", "(nil)\n")
        terminal.command("help hmget", "HMGET key field [field ...]\n")
        assert "HSET key field value [field value ...]" in terminal.command("help", "TAB completes")
        terminal.command("help zz", "no such command")
        terminal.leave()


def control_c_drops_the_line_and_nothing_else():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        terminal = Terminal(server, folder)
        terminal.command("hset k f v", "(integer) 1\n")
        terminal.type("flushall")
        terminal.expect("flushall")
        terminal.type(CTRL_C)
        terminal.expect("torc> ")
        terminal.command("dbsize", "(integer) 1\n")
        terminal.type(CTRL_C)
        terminal.expect("torc> ")
        terminal.type("flushall" + CTRL_C + "ping\r")
        terminal.expect("PONG\n")
        terminal.expect("torc> ")
        terminal.command("dbsize", "(integer) 1\n")
        terminal.leave()


def control_z_suspends():
    # Only what has a shell above it can be stopped.
    shell = ["bash", "-c", 'set -m; "$@"; echo "stopped: $?"; fg >/dev/null', "bash"]
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        terminal = Terminal(server, folder, under=shell)
        terminal.type("pin")
        terminal.expect("pin")
        terminal.type(CTRL_Z)
        terminal.expect("stopped: %d" % (128 + signal.SIGTSTP))
        terminal.expect("torc> pin")
        terminal.command("g", "PONG\n")
        terminal.leave()


def history_comes_back_and_is_private():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        path = os.path.join(folder, ".torc_history")
        terminal = Terminal(server, folder)
        terminal.command("hset k f v", "(integer) 1\n")
        terminal.command("dbsize", "(integer) 1\n")
        terminal.type(UP + UP)
        terminal.command("", "(integer) 0\n")
        terminal.leave("quit\r")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path) as f:
            assert f.read() == "hset k f v\ndbsize\nhset k f v\nquit\n"

        terminal = Terminal(server, folder)
        terminal.type(UP + UP + UP)  # over quit and hset to dbsize
        terminal.expect("dbsize")
        terminal.command("", "(integer) 1\n")
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.leave("")
        with open(path) as f:
            assert f.read().endswith("quit\ndbsize\n")


def history_goes_where_it_is_told_or_nowhere():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        other = os.path.join(folder, "other")
        for home, environment in (
            (folder, {"TORC_HISTORY": other}),
            (folder, {"TORC_HISTORY": ""}),
            (folder, {"TORC_HISTORY": "/dev/null"}),
            (None, {}),
        ):
            terminal = Terminal(server, home, **environment)
            terminal.command("ping", "PONG\n")
            terminal.type(UP)
            terminal.expect("ping")
            terminal.command("", "PONG\n")
            text = terminal.leave()
            assert "no history" not in text, text
        with open(other) as f:
            assert f.read() == "ping\nping\n"
        assert not os.path.exists(os.path.join(folder, ".torc_history"))
        terminal = Terminal(server, folder, TORC_HISTORY="/nonexistent/x")
        text = terminal.leave()
        assert "no history: /nonexistent/x: No such file or directory" in text, text


def it_attaches_again_when_the_server_is_back():
    with Folder() as folder:
        server = Server(ARGUMENTS.torcd, folder)
        terminal = Terminal(server, folder)
        terminal.command("hset k f v", "(integer) 1\n")
        server.stop()
        part = terminal.command("hget k f", "nobody listens there\n")
        assert "the server is gone" in part, part
        terminal.command("hget k f", "nobody listens there\n")
        with Server(ARGUMENTS.torcd, folder):
            part = terminal.command("hget k f", "(nil)\n")
            assert "attached again, to a server that was started anew" in part, part
            assert "attached" not in terminal.command("ping", "PONG\n")
            terminal.leave("quit\r")


def without_a_terminal_there_is_no_prompt():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        done = subprocess.run(
            [ARGUMENTS.cli, "-c", server.control],
            input=b"ping\nquit\n",
            capture_output=True,
            timeout=DEADLINE_S,
            env={**os.environ, "HOME": folder},
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"PONG\n", b""), done
        assert not os.path.exists(os.path.join(folder, ".torc_history"))


if __name__ == "__main__":
    run_tests(
        [
            a_command_is_typed_and_its_reply_printed,
            quit_exit_and_the_end_of_input_leave,
            tab_completes_names,
            arguments_are_shown_at_the_right,
            control_c_drops_the_line_and_nothing_else,
            control_z_suspends,
            history_comes_back_and_is_private,
            history_goes_where_it_is_told_or_nowhere,
            it_attaches_again_when_the_server_is_back,
            without_a_terminal_there_is_no_prompt,
        ]
    )
