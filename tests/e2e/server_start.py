# SPDX-License-Identifier: Apache-2.0
"""Starting and stopping: what is refused and how it is said, what is replaced, what is left behind."""

import os
import signal
import socket
import stat
import subprocess

from torcd_harness import (
    DEADLINE_S,
    Connection,
    Folder,
    Ring,
    Server,
    free_port,
    parse_arguments,
    run_tests,
    wait_until,
)

ARGUMENTS = parse_arguments()


def run(*options, **kwargs):
    """Run torcd to its end: (exit code, standard error)."""
    process = subprocess.run(
        [ARGUMENTS.torcd, *map(str, options)],
        capture_output=True,
        timeout=DEADLINE_S,
        text=True,
        **kwargs
    )
    return process.returncode, process.stderr


def expect_refused(words, *options, **kwargs):
    code, text = run(*options, **kwargs)
    assert code == 1, (code, text)
    assert text.startswith("torcd: "), text
    for word in words:
        assert word in text, (word, text)


def paths(folder, name="x"):
    return ["--port", "0", "--control-socket", os.path.join(folder, name)]


def help_and_version_are_shown():
    done = subprocess.run([ARGUMENTS.torcd, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for name in ("maxmemory", "poll-mode", "control-socket", "hash-max-ziplist-value"):
        assert "  --" + name in done.stdout
    done = subprocess.run([ARGUMENTS.torcd, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("torcd "), done.stdout


def bad_settings_are_refused():
    with Folder() as folder:
        at = paths(folder)
        expect_refused(["maxmemory"], *at, "--maxmemroy", "1gb")
        expect_refused(["port"], *at, "--port", "70000")
        expect_refused(["poll-mode"], *at, "--poll-mode", "fast")
        expect_refused(["needs a value"], *at, "--maxmemory")
        expect_refused(["unexpected argument"], *at, "surprise")
        expect_refused(["shards 4 is not supported"], *at, "--shards", "4")
        expect_refused(["allkeys-lfu is not supp"], *at, "--maxmemory-policy", "allkeys-lfu")
        expect_refused(["maxmemory-samples"], *at, "--maxmemory-samples", "0")
        expect_refused(["needs maxmemory"], *at, "--realtime", "yes")
        expect_refused(["cannot", "logfile"], *at, "--logfile", "/nonexistent/log")
        expect_refused(["pidfile"], *at, "--pidfile", "/nonexistent/pid")
        expect_refused(["maxmemory 64 is neither 0 nor 1mb"], *at, "--maxmemory", "64")
        assert os.listdir(folder) == []


def write_file(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def a_config_file_includes_others():
    with Folder() as folder:
        write_file(folder, "conf.d/a.conf", "maxclients 5\ninclude b.conf\n")
        write_file(folder, "conf.d/b.conf", "maxclients 7\nunixsocket %s/r\n" % folder)
        path = write_file(
            folder, "torc.conf", "port 0\ncontrol-socket %s/c\ninclude conf.d/a.conf\n" % folder
        )
        process = subprocess.Popen([ARGUMENTS.torcd, path], stdout=subprocess.DEVNULL)
        connection = wait_until(lambda: try_connect(folder + "/r"), "server")
        assert connection.call("CONFIG", "GET", "maxclients")[1] == b"7"
        connection.close()
        process.terminate()
        assert process.wait(DEADLINE_S) == 0

        write_file(folder, "conf.d/b.conf", "\nmaxclients none\n")
        expect_refused([folder + "/conf.d/b.conf:2: maxclients"], path)
        write_file(folder, "conf.d/b.conf", "include ../torc.conf\n")
        expect_refused([folder + "/conf.d/b.conf:1: include: a cycle"], path)


def check(*arguments):
    done = subprocess.run(
        [ARGUMENTS.torcd, *arguments], capture_output=True, text=True, timeout=DEADLINE_S
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def check_config_prints_all_problems_and_starts_nothing():
    with Folder() as folder:
        lines = "port 0\ncontrol-socket %s/c\nlogfile %s/log\npidfile %s/pid\n"
        path = write_file(folder, "torc.conf", lines % (folder, folder, folder))
        assert check("--check-config", path) == (0, path + ": ok\n", [])
        assert check(path, "--check-config", "--maxclients", "5") == (0, path + ": ok\n", [])
        assert check("--check-config", "--control-socket", "x")[:2] == (0, "command line: ok\n")
        more = write_file(folder, "more.conf", "nonsense\nmaxclients 0\n")
        with open(path, "a") as f:
            f.write("loglevel loud\ninclude more.conf\nshards 2\nbind 127.0.0.1 300.1.1.1\n")
        code, out, problems = check("--check-config", path, "--maxmemory", "much", "--realtime", "yes")
        assert (code, out) == (1, ""), (code, out)
        starts = [
            path + ":5: loglevel",
            more + ":1: unknown option 'nonsense'",
            more + ":2: maxclients",
            path + ":7: shards 2 is not supported",
            path + ":8: bind 127.0.0.1 300.1.1.1 is not an IPv4",
            "maxmemory: 'much'",
            "realtime yes",
        ]
        assert len(problems) == len(starts), problems
        for problem, start in zip(problems, starts):
            assert problem.startswith(start), (problem, start)
        assert check("--check-config", folder + "/absent")[0] == 1
        # What is wrong with settings together has the line of one of them, or none if a flag set it.
        both = write_file(folder, "both.conf", "shards 1\ninclude cpus.conf\nrealtime yes\n")
        cpus = write_file(folder, "cpus.conf", "# two\npoller-cpus 0,1\n")
        problems = check("--check-config", both)[2]
        assert problems[0].startswith(cpus + ":2: poller-cpus 0,1 names 2 CPUs"), problems
        assert problems[1].startswith(both + ":3: realtime yes takes"), problems
        problems = check("--check-config", both, "--poller-cpus", "0-2", "--maxmemory", "1mb")[2]
        assert len(problems) == 1 and problems[0].startswith("poller-cpus 0-2 names 3 CPUs"), problems
        for wrong in (["save 900 1"], ["portt"], ["rename-command FOO bar"]):
            path = write_file(folder, "torc.conf", wrong[0] + "\n")
            expected = "%s:1: unknown option '%s'" % (path, wrong[0].split()[0])
            assert check("--check-config", path)[2][0].startswith(expected), wrong
        os.remove(both)
        os.remove(cpus)
        os.mkfifo(os.path.join(folder, "fifo"))
        assert "is a FIFO" in check("--check-config", os.path.join(folder, "fifo"))[2][0]
        os.remove(os.path.join(folder, "fifo"))
        assert check("--check-config", path, "surprise")[0] == 1
        assert sorted(os.listdir(folder)) == ["more.conf", "torc.conf"]


def a_config_file_is_read_and_its_errors_have_a_line():
    with Folder() as folder:
        path = os.path.join(folder, "torc.conf")
        with open(path, "w") as f:
            f.write("# comment\nmaxmemory 64mb\nnonsense yes\n")
        expect_refused([path + ":3", "nonsense"], path)
        expect_refused(["absent.conf"], os.path.join(folder, "absent.conf"))
        with open(path, "w") as f:
            f.write(
                "port 0\nmaxmemory 64mb\ncontrol-socket %s/c\nunixsocket %s/r\nmaxclients 5\n"
                % (folder, folder)
            )
        process = subprocess.Popen(
            [ARGUMENTS.torcd, path, "--maxclients", "7"], stdout=subprocess.PIPE
        )
        connection = wait_until(lambda: try_connect(folder + "/r"), "server")
        assert connection.call("CONFIG", "GET", "max[cm]*") == [
            b"maxmemory",
            b"67108864",
            b"maxmemory-policy",
            b"noeviction",
            b"maxmemory-samples",
            b"5",
            b"maxclients",
            b"7",
        ]
        assert ("config_file:" + path).encode() in connection.call("INFO", "server")
        connection.close()
        process.terminate()
        process.communicate()
        assert process.returncode == 0


def try_connect(address):
    try:
        return Connection(address)
    except OSError:
        return None


def a_port_in_use_is_named():
    with Folder() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        at = paths(folder)
        expect_refused(
            ["127.0.0.1 port %d" % port, "in use"], *at, "--port", port, "--bind", "127.0.0.1"
        )
        expect_refused(["not an IPv4"], *at, "--port", port, "--bind", "nowhere")
        assert os.listdir(folder) == []


def a_control_socket_that_cannot_be_is_explained():
    with Folder() as folder:
        expect_refused(["too long"], *paths(folder, "x" * 150))
        expect_refused(["No such file"], *paths(folder, "absent/x"))
        file = os.path.join(folder, "file")
        open(file, "w").close()
        expect_refused(["not a socket"], *paths(folder, "file"))
        expect_refused(["Not a directory"], *paths(folder, "file/x"))
        assert os.listdir(folder) == ["file"]
        if os.geteuid() == 0:
            # Root may write anywhere but to a file system that is read-only.
            expect_refused(["/proc/x"], "--port", "0", "--control-socket", "/proc/x")
        else:
            os.chmod(folder, 0o500)
            expect_refused(["Permission denied"], *paths(folder))
            os.chmod(folder, 0o700)


def a_second_server_is_refused_and_the_first_goes_on():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder) as server:
        expect_refused(
            ["another server is listening", server.control],
            "--port",
            "0",
            "--control-socket",
            server.control,
        )
        expect_refused(
            ["another server is listening", server.resp],
            *paths(folder),
            "--unixsocket",
            server.resp
        )
        connection = server.connect()
        assert connection.call("PING") == b"PONG"
        connection.close()
        ring = Ring(ARGUMENTS.ring, server.control)
        assert ring.call("PING") == b"PONG"
        ring.close()


def the_sockets_of_a_killed_server_are_replaced():
    with Folder() as folder:
        first = Server(ARGUMENTS.torcd, folder)
        first.process.kill()
        first.process.wait()
        first.log.close()
        assert os.path.exists(first.control) and os.path.exists(first.resp)
        with Server(ARGUMENTS.torcd, folder) as server:
            ring = Ring(ARGUMENTS.ring, server.control)
            assert ring.call("HSET", "h", "f", "v") == 1
            ring.close()
        assert not os.path.exists(server.control) and not os.path.exists(server.resp)


def sockets_have_their_modes():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--unixsocketperm", "750") as server:
        assert stat.S_IMODE(os.stat(server.control).st_mode) == 0o660
        assert stat.S_IMODE(os.stat(server.resp).st_mode) == 0o750


def tcp_is_served():
    port = free_port()
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--port", port) as server:
        connection = Connection(("127.0.0.1", port))
        assert connection.call("HSET", "h", "f", "v") == 1
        assert connection.call("HGET", "h", "f") == b"v"
        connection.close()
        local = server.connect()
        assert server.info(local, "tcp_port") == str(port)
        local.close()


def signals_stop_it_cleanly():
    for number in (signal.SIGTERM, signal.SIGINT):
        with Folder() as folder:
            server = Server(ARGUMENTS.torcd, folder)
            connection = server.connect()
            ring = Ring(ARGUMENTS.ring, server.control)
            assert ring.call("HSET", "h", "f", "v") == 1
            server.process.send_signal(signal.SIGHUP)
            assert connection.call("HGET", "h", "f") == b"v"
            server.process.send_signal(number)
            assert server.process.wait(DEADLINE_S) == 0
            assert " server: stopped" in server.text()
            assert not os.path.exists(server.control)
            server.log.close()
            connection.close()
            ring.kill()


def it_goes_to_the_background_and_keeps_a_pid_file():
    with Folder() as folder:
        pid_path = os.path.join(folder, "pid")
        log_path = os.path.join(folder, "log")
        options = ["--daemonize", "yes", "--pidfile", pid_path, "--logfile", log_path]
        options += ["--unixsocket", folder + "/r"]
        code, text = run(*paths(folder), *options)
        assert code == 0, text
        # It is ready when the command has returned.
        connection = Connection(folder + "/r")
        assert connection.call("PING") == b"PONG"
        connection.close()
        with open(pid_path) as f:
            pid = int(f.read())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not os.path.exists(pid_path), "the pid file to go")
        wait_until(lambda: "stopped" in open(log_path).read(), "the log's last line")
        # What cannot start says so to the command that waited.
        expect_refused(["No such file"], *paths(folder, "absent/x"), *options)


def the_service_manager_is_told():
    with Folder() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        path = os.path.join(folder, "notify")
        manager.bind(path)
        manager.settimeout(DEADLINE_S)
        environment = dict(os.environ, NOTIFY_SOCKET=path)
        server = Server(ARGUMENTS.torcd, folder, env=environment)
        assert manager.recv(1000).startswith(b"READY=1")
        server.stop()
        assert manager.recv(1000) == b"STOPPING=1"


def fall_backs_are_logged_and_shown():
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, "--huge-pages", "no") as server:
        connection = server.connect()
        assert server.info(connection, "huge_pages") == "4 KiB pages"
        assert server.info(connection, "memory_locked") == "no"
        assert server.info(connection, "numa_node") != ""
        assert " data in 4 KiB pages" in server.text()
        connection.close()
    options = ["--poller-cpus", "1000", "--realtime", "yes", "--maxmemory", "8mb"]
    with Folder() as folder, Server(ARGUMENTS.torcd, folder, *options) as server:
        connection = server.connect()
        assert server.info(connection, "poller_cpu") == "-1"
        assert server.info(connection, "poller_cpu_why") != ""
        assert "poller is not pinned" in server.text()
        locked = server.info(connection, "memory_locked")
        assert locked == "yes" or server.info(connection, "memory_locked_why") != ""
        connection.close()


def huge_pages_that_are_not_there_are_refused_or_reported():
    with open("/proc/sys/vm/nr_hugepages") as f:
        has_none = int(f.read()) == 0
    with Folder() as folder:
        if has_none:
            expect_refused(["huge pages"], *paths(folder), "--huge-pages", "yes")
        with Server(ARGUMENTS.torcd, folder, "--huge-pages", "try") as server:
            connection = server.connect()
            pages = server.info(connection, "huge_pages")
            assert pages in ("4 KiB pages", "transparent huge pages", "2 MiB pages (hugetlb)")
            if pages == "4 KiB pages":
                assert server.info(connection, "huge_pages_why") != ""
                assert "no larger pages" in server.text()
            connection.close()


if __name__ == "__main__":
    run_tests(
        [
            help_and_version_are_shown,
            bad_settings_are_refused,
            a_config_file_is_read_and_its_errors_have_a_line,
            a_config_file_includes_others,
            check_config_prints_all_problems_and_starts_nothing,
            a_port_in_use_is_named,
            a_control_socket_that_cannot_be_is_explained,
            a_second_server_is_refused_and_the_first_goes_on,
            the_sockets_of_a_killed_server_are_replaced,
            sockets_have_their_modes,
            tcp_is_served,
            signals_stop_it_cleanly,
            it_goes_to_the_background_and_keeps_a_pid_file,
            the_service_manager_is_told,
            fall_backs_are_logged_and_shown,
            huge_pages_that_are_not_there_are_refused_or_reported,
        ]
    )
