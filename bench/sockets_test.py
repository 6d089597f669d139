#!/usr/bin/env python3
"""sockets_test.py: the client of the echo servers tells a right echo from a wrong one, and late from in time."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sockets  # noqa: E402
from row import Load, Row  # noqa: E402

NET = pathlib.Path(__file__).resolve().parent / "net"


def echo(connection, answer):
    """answer(bytes, how many came before) is sent back; None ends the connection."""
    seen = 0
    with contextlib.suppress(OSError), connection:
        while data := connection.recv(65536):
            said = answer(data, seen)
            seen += len(data)
            if said is None:
                return
            connection.sendall(said)


@contextlib.contextmanager
def server(answer):
    """An echo server in a thread of this process; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=echo, args=(listener.accept()[0], answer), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.client = cls.compiled("client", sorted((NET / "client").glob("*.cc")))
        cls.epoll_echo = cls.compiled("server", [NET / "server" / "epoll_echo.cc"])

    @classmethod
    def compiled(cls, name, files):
        program = f"{cls.folder.name}/{name}"
        subprocess.run(["c++", "-std=c++20", "-O1", *map(str, files), "-o", program, "-pthread"], check=True)
        return program

    def load(self, address, **settings):
        settings = {"server_pid": os.getpid(), "connections": 4, "warmup_ms": 20, "ms": 200, **settings}
        words = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        return subprocess.run([self.client, "--address", address, *words], capture_output=True, text=True, check=False)

    def fails_with(self, answer, words, **settings):
        with server(answer) as address:
            done = self.load(address, **settings)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(words, done.stderr)

    def test_a_right_echo_is_counted(self):
        with server(lambda data, _: data) as address:
            done = self.load(address, payload=100_000)
        self.assertEqual(done.returncode, 0, done.stderr)
        line = json.loads(done.stdout)
        self.assertGreater(line["requests"], 0)
        self.assertGreaterEqual(line["answered"], line["requests"])
        self.assertGreater(line["p99_us"], 0)

    def test_a_wrong_byte_is_an_error(self):
        self.fails_with(lambda data, seen: data[:-1] + bytes([data[-1] ^ 1]) if seen > 1000 else data, "a wrong echo")

    def test_an_echo_twice_is_an_error(self):
        self.fails_with(lambda data, seen: data + data if seen > 1000 else data, "a wrong echo")

    def test_the_echo_of_another_request_is_an_error(self):
        before = []

        def late(data, _):
            before.append(data)
            return before[-2] if len(before) > 20 else data

        self.fails_with(late, "a wrong echo", connections=1)

    def test_an_end_is_an_error(self):
        self.fails_with(lambda data, seen: None if seen > 1000 else data, "closed a connection")

    def test_a_pause_makes_all_late_that_fall_due_meanwhile(self):
        def pausing():
            paused = []

            def answer(data, seen):
                if seen > 64 * 20 and not paused:
                    paused.append(True)
                    time.sleep(0.1)
                return data

            return answer

        with server(pausing()) as address:
            due = json.loads(self.load(address, connections=1, rate=500, ms=400, warmup_ms=0).stdout)
        self.assertGreater(due["p99_us"], 50_000)

    def test_a_server_is_started_measured_and_ended(self):
        for load in (Load(10, ms=300), Load(10, ms=300, rate=500), Load(2, ms=300, unix=True), Load(10, idle=50, rest_ms=20, ms=300, rate=500)):
            row = Row("x", "x", "echo", "echo", 0, load=load)
            line = sockets.measure(self.epoll_echo, self.client, row, 2, dict(os.environ))
            self.assertEqual(line["peer"], "epoll")
            self.assertGreater(line["requests"], 0)
            self.assertEqual("bytes_per_conn" in line, load.idle > 0)

    def test_a_server_that_does_not_start_is_a_failure(self):
        with self.assertRaises(sockets.Failure):
            sockets.measure("/bin/true", self.client, Row("x", "x", "echo", "echo", 0, load=Load(1)), 1, dict(os.environ))


if __name__ == "__main__":
    unittest.main()
