#!/usr/bin/env python3
"""network_test.py KIND FOLDER: programs that use weft's sockets, over a bad network of IP packets
(link.py).

KIND is netem, tun or veth. FOLDER is where the examples were built: 22_echo_server, http_server and
reverse_proxy. Packets are late, lost, duplicated, out of order, rate-limited, and for a while
blocked. TCP must recover from that, and the programs must do what they promise. Exits with 77 where
the machine cannot do it, and prints why.
"""
import http.client
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import link
from link import FAR

SKIPPED = 77
PATIENCE = 60  # seconds, for what takes a second or two
WEATHERS = {
    "clean": {},
    "late": dict(delay_ms=8),
    "out of order": dict(delay_ms=1, jitter_ms=6),
    "lossy": dict(lose=0.03),
    "doubled": dict(double=0.1),
    "slow": dict(rate_kbit=20_000),
    "all of it": dict(delay_ms=2, jitter_ms=3, lose=0.01, double=0.02, rate_kbit=40_000),
}
# For a reverse_proxy whose packets are lost: a connection takes three seconds if two of its first
# packets are.
PATIENT = ("--fall=1000", f"--connect-time={PATIENCE}")
the_link = None
folder = Path()


def program(name):
    path = folder / name
    if not path.exists():
        raise unittest.SkipTest(f"{name} was not built")
    return str(path)


def secret_bytes(key, size):
    return random.Random(key).randbytes(size)


def together(count, work):
    """Runs work(i) in a thread for each i. The first exception is raised in the caller."""
    errors = []

    def run(i):
        try:
            work(i)
        except BaseException as e:  # noqa: B902: it is raised again
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.005)


class Program:
    """A running program, which must still run when it is stopped."""

    def __init__(self, start, *command, address):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = start(*command, stdout=subprocess.DEVNULL, stderr=self.errors)
        eventually(lambda: self.listens(address), f"{command[0]} listens at {address}")

    def listens(self, address):
        if self.process.poll() is not None:
            raise AssertionError(f"it has ended with {self.process.returncode}: {self.said()}")
        try:
            socket.create_connection(address, PATIENCE).close()
        except ConnectionRefusedError:
            return False
        return True

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        still_there = self.process.poll() is None
        self.end(signal.SIGKILL)
        self.errors.close()
        if not still_there:
            raise AssertionError("the program has ended by itself")


def echo_server():
    return Program(the_link.start_far, program("22_echo_server"), f"{FAR}:7777", address=(FAR, 7777))


def http_server(root, *flags):
    return Program(the_link.start_far, program("http_server"), f"--listen={FAR}:8080", "--no-log", *flags, "--", root,
                   address=(FAR, 8080))


def reverse_proxy(*flags, port=9090):
    """weft's sockets on this side, too."""
    return Program(the_link.start_near, program("reverse_proxy"), f"--listen=127.0.0.1:{port}", *flags, address=("127.0.0.1", port))


def receive_exactly(s, size):
    text = bytearray()
    while len(text) < size:
        piece = s.recv(size - len(text))
        if not piece:
            raise EOFError(f"the end after {len(text)} of {size} bytes")
        text += piece
    return bytes(text)


class NetworkTest(unittest.TestCase):
    def setUp(self):
        the_link.heal()

    def in_any_weather(self, body):
        before = the_link.books()
        for name, weather in WEATHERS.items() if the_link.has_weather else [("clean", {})]:
            with self.subTest(name):
                if weather:
                    the_link.set(**weather)
                body()
        after = the_link.books()
        for what in ("lost", "doubled", "overtaken") if after else ():
            self.assertGreater(after[what], before[what], f"no packet was {what}: was that a bad network?")


class Echo(NetworkTest):
    def exchange(self, address, key, expected=None):
        """Sends more than the system buffers at once, both ways at the same time, and then the end."""
        sent = secret_bytes(key, 150_000)
        with socket.create_connection(address, PATIENCE) as s:
            def send():
                s.sendall(sent)
                s.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send)
            sender.start()
            got = receive_exactly(s, len(sent))
            rest = s.recv(1)
            sender.join()
        wanted = sent if expected is None else secret_bytes(expected, len(sent))
        self.assertTrue(got == wanted, "other bytes came back")
        self.assertEqual(rest, b"")

    def test_every_byte_comes_back(self):
        with echo_server():
            self.in_any_weather(lambda: together(5, lambda i: self.exchange((FAR, 7777), i)))

    def test_every_byte_comes_back_through_another_program(self):
        with echo_server(), reverse_proxy("--tcp", *PATIENT, f"{FAR}:7777"):
            self.in_any_weather(lambda: together(5, lambda i: self.exchange(("127.0.0.1", 9090), i)))

    def test_another_byte_would_be_noticed(self):
        with echo_server(), self.assertRaisesRegex(AssertionError, "other bytes"):
            self.exchange((FAR, 7777), 1, expected=2)

    def test_a_partition_heals(self):
        """All connections stall for as long as the outage lasts. Then they continue where they
        were.
        """
        count = 6
        with echo_server(), reverse_proxy("--tcp", *PATIENT, f"{FAR}:7777"):
            answers = [0] * count
            together_again = threading.Event()

            def talk(i):
                with socket.create_connection(("127.0.0.1", 9090) if i % 2 else (FAR, 7777), PATIENCE) as s:
                    afterwards = 0
                    while afterwards < 5:
                        over = together_again.is_set()
                        question = secret_bytes(1000 * i + answers[i], 700)
                        s.sendall(question)
                        if receive_exactly(s, len(question)) != question:
                            raise AssertionError("another answer")
                        answers[i] += 1
                        afterwards += over

            def cut():
                eventually(lambda: min(answers) >= 5, "all of them talk")
                the_link.partition()
                time.sleep(0.1)  # earlier data is read
                before = list(answers)
                time.sleep(0.5)
                self.assertEqual(answers, before, "somebody was answered in the partition")
                the_link.heal()
                together_again.set()

            together(count + 1, lambda i: cut() if i == count else talk(i))


class Http(NetworkTest):
    def setUp(self):
        super().setUp()
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = root.name
        self.large = secret_bytes(1, 200_000)
        (Path(self.root) / "large.bin").write_bytes(self.large)
        (Path(self.root) / "index.html").write_text("home")

    def get(self, address, target, make=http.client.HTTPConnection, **options):
        connection = make(*address, timeout=PATIENCE, **options)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def fetch_large(self, *args, **options):
        status, text = self.get(*args, "/large.bin", **options)
        self.assertEqual(status, 200)
        self.assertTrue(text == self.large, "another file came")

    def test_whole_files_through_a_proxy(self):
        with http_server(self.root), reverse_proxy(*PATIENT, f"{FAR}:8080"):
            self.in_any_weather(lambda: together(4, lambda i: self.fetch_large(("127.0.0.1", 9090))))

    def test_whole_files_by_tls(self):
        if not shutil.which("openssl"):
            raise unittest.SkipTest("there is no program openssl to make a certificate")
        cert, key = str(Path(self.root) / "cert.pem"), str(Path(self.root) / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                        "-subj", "/CN=test", "-addext", f"subjectAltName=IP:{FAR}", "-keyout", key, "-out", cert],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        trust = ssl.create_default_context(cafile=cert)
        with http_server(self.root, f"--cert={cert}", f"--key={key}"):
            self.in_any_weather(lambda: together(4, lambda i: self.fetch_large(
                (FAR, 8080), make=http.client.HTTPSConnection, context=trust)))

    def test_a_proxy_gives_up_in_time_and_goes_on_afterwards(self):
        with http_server(self.root), reverse_proxy("--fall=1000", "--connect-time=1", "--answer-time=1", "--check-every=1",
                                                   f"{FAR}:8080"):
            proxy = ("127.0.0.1", 9090)
            self.assertEqual(self.get(proxy, "/"), (200, b"home"))
            the_link.partition()
            start = time.monotonic()
            statuses = []
            together(4, lambda i: statuses.append(self.get(proxy, "/")[0]))
            self.assertTrue(all(status in (502, 503, 504) for status in statuses), statuses)
            self.assertGreaterEqual(time.monotonic() - start, 0.9, "it has given up too early")
            the_link.heal()
            eventually(lambda: self.get(proxy, "/") == (200, b"home"), "it answers again")
            self.fetch_large(proxy)

    def test_a_server_ends_in_time_in_a_partition(self):
        """Half of a request has come when the link goes down. The server waits for the rest as long
        as it promises.
        """
        with http_server(self.root, "--grace=1") as server:
            with socket.create_connection((FAR, 8080), PATIENCE) as s:
                s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertTrue(re.match(rb"HTTP/1.1 200", s.recv(1000)))
                s.sendall(b"POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf of it")
                eventually(lambda: self.get((FAR, 8080), "/")[0] == 200, "it is served beside")
                the_link.partition()
                start = time.monotonic()
                self.assertEqual(server.end(), 1, "a request was cut off, and that is what it says")
                self.assertGreaterEqual(time.monotonic() - start, 0.9, "it has not waited")
            server.process = subprocess.Popen(["sleep", str(PATIENCE)])  # __exit__ ends this process instead


def main():
    global the_link, folder
    kind, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    try:
        link.enter()
        the_link = {"netem": link.NetemLink, "tun": link.TunLink, "veth": link.VethLink}[kind]()
    except link.Unavailable as e:
        print(f"skipped: {e}")
        return SKIPPED
    try:
        return 0 if unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result.wasSuccessful() else 1
    finally:
        the_link.close()


if __name__ == "__main__":
    sys.exit(main())
