#!/usr/bin/env python3
"""redis_client_test.py PROGRAM: tests the Redis client with its own server, and with fake ones."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from held_port import hold_port, port_of

PROGRAM = ""
PATIENCE = 100  # seconds; normally milliseconds are enough


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.005)


class RedisServer:
    """A real server, on a Unix socket in its own folder, and on a port."""

    def __init__(self, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name) / "redis.sock")
        self.flags = flags
        self.held = hold_port()
        self.port = port_of(self.held)
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.path, "--dir", self.folder.name,
             "--save", "", "--appendonly", "no", *self.flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(self.answers, "the server answers")

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError("redis-server has ended")
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.path)
                s.sendall(b"PING\r\n")
                return s.recv(1) in (b"+", b"-")
        except OSError:
            return False

    def ask(self, *words):
        return run("call", *words, server=self.path).stdout.rstrip("\n")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.held.close()
        self.folder.cleanup()


def command_line(*words, server, flags=()):
    return [PROGRAM, f"--server={server}", f"--connect-time={PATIENCE}", f"--call-time={PATIENCE}", *flags, *words]


def run(*words, server, flags=(), **options):
    return subprocess.run(command_line(*words, server=server, flags=flags), capture_output=True, text=True, timeout=PATIENCE, **options)


class Background:
    """The program, running in the background. Its output lines are available as it writes them."""

    def __init__(self, *words, server, flags=()):
        self.process = subprocess.Popen(command_line(*words, server=server, flags=flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def wait_for(self, pattern, count=1):
        def found():
            if self.process.poll() is not None and sum(bool(re.search(pattern, line)) for line in self.lines) < count:
                raise AssertionError(f"it has ended without {pattern!r}: {self.lines} {self.process.stderr.read()}")
            return sum(bool(re.search(pattern, line)) for line in self.lines) >= count
        eventually(found, f"{pattern!r} in {self.lines}")

    def end(self, how=signal.SIGTERM):
        if how is not None:
            self.process.send_signal(how)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reader.join()
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.wait()


class Case(unittest.TestCase):
    def ends(self, got, status, out, err=""):
        self.assertEqual((got.returncode, got.stdout, got.stderr), (status, out, err))


class Real(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = RedisServer()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.server.ask("FLUSHALL")

    def test_each_kind_of_reply(self):
        for at in self.server.path, f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}":
            with self.subTest(at):
                self.ends(run("call", "SET", "key", "two words\nand a line", server=at), 0, "OK\n")
                self.ends(run("call", "GET", "key", server=at), 0, "two words\nand a line\n")
                self.ends(run("call", "GET", "nothing", server=at), 0, "(nil)\n")
                self.ends(run("call", "STRLEN", "key", server=at), 0, "20\n")
                self.ends(run("call", "EVAL", "return {1, {2, {'x', false}}, {}}", "0", server=at), 0, "1\n2\nx\n(nil)\n(empty)\n")
                self.ends(run("call", "INCR", "key", server=at), 1, "(error) ERR value is not an integer or out of range\n")
                self.ends(run("call", "FROBNICATE", server=at), 1, "(error) ERR unknown command 'FROBNICATE', with args beginning with: \n")

    def test_a_large_value(self):
        value = "x" * 100_000
        self.ends(run("call", "SET", "large", value, server=self.server.path), 0, "OK\n")
        self.ends(run("call", "GET", "large", server=self.server.path), 0, value + "\n")

    def test_a_pipeline_is_answered_in_order(self):
        count = 20_000
        commands = "".join(f"RPUSH list {i}\nLINDEX list -1\n" for i in range(count)) + "\nNONSENSE\nLLEN list\n"
        got = run("pipe", server=self.server.path, input=commands)
        lines = got.stdout.splitlines()
        self.assertEqual(lines[:-2], [str(x) for i in range(count) for x in (i + 1, i)])
        self.assertTrue(lines[-2].startswith("(error) ERR unknown command"))
        self.assertEqual((lines[-1], got.returncode), (str(count), 1))

    def test_a_pipeline_whose_replies_do_not_fit_into_any_buffer(self):
        self.server.ask("SET", "large", "y" * 100_000)
        got = run("pipe", server=self.server.path, input="GET large\n" * 300)
        self.assertEqual((got.returncode, len(got.stdout)), (0, 300 * 100_001))

    def test_many_clients_share_few_connections(self):
        before = int(re.search(r"total_connections_received:(\d+)", self.server.ask("INFO", "stats"))[1])
        got = run("load", server=self.server.path, flags=["--clients=200", "--rounds=20", "--connections=4"])
        self.ends(got, 0, "4000 rounds were answered, 0 were late, 0 failed, 0 were wrong\n")
        after = int(re.search(r"total_connections_received:(\d+)", self.server.ask("INFO", "stats"))[1])
        self.assertEqual(after - before, 4 + 1)  # the 1 is the connection of ask()
        self.assertEqual(self.server.ask("GET", "load:rounds"), "4000")

    def test_a_reply_that_comes_late_is_not_the_next_ones(self):
        load = Background("load", server=self.server.path, flags=["--clients=20", "--rounds=150", "--connections=4", "--call-time=0.05"])
        eventually(lambda: self.server.ask("EXISTS", "load:rounds") == "1", "it has begun")
        for _ in range(3):
            self.server.ask("CLIENT", "PAUSE", "200", "ALL")
            time.sleep(0.05)
        status = load.end(how=None)
        rounds, late, failed, wrong = map(int, re.findall(r"\d+", load.lines[0]))
        self.assertEqual((rounds + late, failed, wrong), (3000, 0, 0), load.lines)
        self.assertGreater(late, 0)
        self.assertEqual(status, 1)

    def test_no_reply_in_time(self):
        begun = time.monotonic()
        self.ends(run("call", "BLPOP", "empty", "0", server=self.server.path, flags=["--call-time=0.1"]), 1, "",
                  "redis_client: no reply in time: --call-time sets the limit\n")
        self.assertLess(time.monotonic() - begun, PATIENCE / 2)
        eventually(lambda: "blocked_clients:0" in self.server.ask("INFO", "clients"), "the connection is closed")

    def test_messages(self):
        listener = Background("listen", "one", "two", server=self.server.path)
        listener.wait_for("^listening$")
        for i in range(100):
            self.assertEqual(self.server.ask("PUBLISH", ("one", "two")[i % 2], f"message {i}"), "1")
        listener.wait_for(": message", 100)
        self.assertEqual(listener.end(signal.SIGINT), 0)
        self.assertEqual(listener.lines[1:], [f"{('one', 'two')[i % 2]}: message {i}\n" for i in range(100)])
        self.assertEqual(self.server.ask("PUBLISH", "one", "to nobody"), "0")


class ComingAndGoing(Case):
    def setUp(self):
        self.server = RedisServer()
        self.addCleanup(self.server.close)

    def test_a_server_that_is_killed_under_load_and_comes_back(self):
        load = Background("load", server=f"127.0.0.1:{self.server.port}", flags=["--clients=20", "--rounds=150"])
        for _ in range(2):
            eventually(lambda: int(self.server.ask("GET", "load:rounds").replace("(nil)", "0")) > 300, "there is load")
            self.server.kill()
            self.server.start()
        self.assertEqual(load.end(how=None), 1)
        rounds, late, failed, wrong = map(int, re.findall(r"\d+", load.lines[0]))
        self.assertEqual((rounds + failed, late, wrong), (3000, 0, 0), load.lines)
        self.assertGreater(failed, 0)
        self.assertRegex(load.lines[1], "^the first failure: (the connection is lost|cannot connect)")

    def test_a_subscription_survives_its_server(self):
        listener = Background("listen", "news", server=self.server.path)
        listener.wait_for("^listening$")
        self.server.kill()
        listener.wait_for("^not listening: the connection is lost: Server closed the connection")
        self.server.start()
        listener.wait_for("^listening$", 2)
        self.assertEqual(self.server.ask("PUBLISH", "news", "again"), "1")
        listener.wait_for("^news: again$")
        self.assertEqual(listener.end(), 0)

    def test_a_server_that_falls_silent(self):
        listener = Background("listen", "news", server=self.server.path, flags=["--silence=0.1", "--connect-time=0.2"])
        listener.wait_for("^listening$")
        self.server.ask("PUBLISH", "news", "before")
        time.sleep(0.5)  # it answers several checks
        listener.wait_for("^news: before$")
        self.assertEqual(len(listener.lines), 2)
        self.server.process.send_signal(signal.SIGSTOP)
        listener.wait_for("^not listening: the server no longer answers$")
        self.server.process.send_signal(signal.SIGCONT)
        listener.wait_for("^listening$", 2)
        self.assertEqual(listener.end(), 0)

    def test_connections_that_the_server_has_closed_are_not_used_again(self):
        for pause in 1, 10, 30:  # the KILL must fall into it, also on a slow machine
            self.server.ask("DEL", "load:rounds")
            load = Background("load", server=self.server.path, flags=["--clients=5", "--connections=5", "--rounds=2", f"--pause={pause}"])
            eventually(lambda: int(self.server.ask("GET", "load:rounds").replace("(nil)", "0")) >= 5, "all are in their pause")
            closed = int(self.server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
            self.assertEqual(load.end(how=None), 0, load.lines)
            self.assertEqual(load.lines, ["10 rounds were answered, 0 were late, 0 failed, 0 were wrong\n"])
            if closed:
                break
        self.assertGreater(closed, 0)


class Password(Case):
    def test_password(self):
        server = RedisServer("--requirepass", "secret")
        self.addCleanup(server.close)
        self.ends(run("call", "PING", server=server.path), 1, "(error) NOAUTH Authentication required.\n")
        self.ends(run("call", "PING", server=server.path, env={**os.environ, "REDIS_PASSWORD": "secret"}), 0, "PONG\n")
        got = run("call", "PING", server=server.path, env={**os.environ, "REDIS_PASSWORD": "wrong"})
        self.assertEqual((got.returncode, got.stdout), (1, ""))
        self.assertRegex(got.stderr, "^redis_client: the server has refused the connection: WRONGPASS ")


class NoServer(Case):
    """The listener is not a Redis server."""

    def listener(self, *pieces, stay=False):
        """Waits for a command, sends the pieces, and closes the connection."""
        s = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(s.close)

        def serve():
            with s.accept()[0] as c:
                c.recv(1000)
                for piece in pieces:
                    c.sendall(piece)
                    time.sleep(0.02)
                if stay:
                    c.recv(1000)
        t = threading.Thread(target=serve)
        t.start()
        self.addCleanup(t.join)
        return f"127.0.0.1:{port_of(s)}"

    def test_nobody_is_there(self):
        held = hold_port()
        self.addCleanup(held.close)
        for at, why in ((f"127.0.0.1:{port_of(held)}", "Connection refused"), ("/nowhere/at.all", "No such file or directory"),
                        ("nonsense", "not a host and a port"), ("/" + "x" * 200, "")):
            with self.subTest(at):
                got = run("call", "PING", server=at)
                self.assertEqual((got.returncode, got.stdout), (1, ""))
                self.assertRegex(got.stderr, f"^redis_client: cannot connect to {re.escape(at)}: .*{why}")

    def test_a_reply_in_pieces(self):
        self.ends(run("call", "PING", server=self.listener(b"$", b"1", b"1\r", b"\nhello", b" world", b"\r", b"\n")), 0, "hello world\n")

    def test_it_closes_at_once(self):
        self.ends(run("call", "PING", server=self.listener()), 1, "", "redis_client: the connection is lost: Server closed the connection\n")

    def test_it_closes_in_the_middle(self):
        got = run("call", "PING", server=self.listener(b"*3\r\n$3\r\nabc\r\n$10\r\nab"))
        self.ends(got, 1, "", "redis_client: the connection is lost: Server closed the connection\n")

    def test_it_speaks_something_else(self):
        got = run("call", "PING", server=self.listener(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        self.ends(got, 1, "", 'redis_client: the connection is lost: Protocol error, got "H" as reply type byte\n')

    def test_arrays_without_end(self):
        got = run("call", "PING", server=self.listener(b"*1\r\n" * 100))
        self.assertEqual((got.returncode, got.stdout), (1, ""))
        self.assertRegex(got.stderr, "^redis_client: the connection is lost: No support for nested multi bulk replies")

    def test_it_says_nothing(self):
        got = run("call", "PING", server=self.listener(b"+", stay=True), flags=["--call-time=0.1"])
        self.ends(got, 1, "", "redis_client: no reply in time: --call-time sets the limit\n")


class CommandLine(Case):
    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in ((["--frobnicate"], 'unknown flag "--frobnicate"'), (["--server"], "--server=VALUE needs a value"),
                                     (["--clients=0", "load"], '--clients needs a whole number from 1 to 1000000, not "0"'),
                                     ([], 'unknown command ""'), (["dance"], 'unknown command "dance"'),
                                     (["call"], "call needs an argument"), (["load", "x"], "load takes no arguments")):
            ended = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: redis_client", ended.stderr)

    def test_help_names_all_flags(self):
        ended = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        source = (Path(__file__).parent / "redis_client" / "options.cc").read_text().split("usage() noexcept {")[0]
        for flag in set(re.findall(r'"(--[\w-]+)"', source)) - {"--help"}:
            self.assertIn(flag, ended.stdout)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    if not shutil.which("redis-server"):
        print("left out: no redis-server; run: apt-get install redis-server")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
