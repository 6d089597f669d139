"""http_server_client.py: the server process and the clients that http_server_test.py uses.

Each server has its own port, which the system chooses. At the end, the server must have closed every
connection and must exit by itself.
"""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

PATIENCE = 100  # seconds; normally milliseconds are enough
program = ""


def eventually(condition, what):
    """what describes the condition: a text, or a function that returns one."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what() if callable(what) else what}")
        time.sleep(0.005)


class Answer:
    def __init__(self, file, head_only=False):
        """Reads exactly one answer, and no byte of the next."""
        self.line = file.readline().decode("latin-1").rstrip("\r\n")
        if not self.line:
            raise EOFError("no answer")
        self.status = int(self.line.split()[1])
        self.fields = {}
        while line := file.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = line.partition(":")
            self.fields[name.lower()] = value.strip()
        no_body = head_only or self.status == 304 or self.status < 200
        self.body = b"" if no_body else file.read(int(self.fields["content-length"]))


class Server:
    """A running server. The end of a with block ends it, and checks its exit status."""

    def __init__(self, root, *flags, scheme="http", **options):
        self.process = subprocess.Popen([program, "--listen=127.0.0.1:0", *flags, "--", str(root)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **options)
        first = self.process.stdout.readline()
        found = re.search(r"at (https?)://127\.0\.0\.1:(\d+)/$", first)
        if not found or found[1] != scheme:
            self.process.kill()
            _, errors = self.process.communicate()
            raise AssertionError(f"no URL: {first!r} {errors}")
        self.address = ("127.0.0.1", int(found[2]))
        self.url = f"{scheme}://127.0.0.1:{self.address[1]}"
        self.told = False
        self.lines = []  # of the access log
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()
        self.files_at_rest = self.open_files()

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        try:
            if error is None:
                # Fewer files are possible: the first count may include a system file that the runtime had
                # open for a moment.
                eventually(lambda: len(self.open_files()) <= len(self.files_at_rest),
                           lambda: f"all connections are closed: {self.open_files()}, at rest {self.files_at_rest}")
        finally:
            self.ended = self.end()
        if error is None and self.ended != (0, True):
            raise AssertionError(f"the server ended with {self.ended}: {self.errors}")

    def end(self):
        """Returns the exit status, and whether the server has reported its end."""
        self.tell_to_end()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.errors = self.process.stderr.read()
        self.process.stderr.close()
        self.reader.join()
        self.process.stdout.close()
        return self.process.wait(), "ended after" in self.errors

    def tell_to_end(self, which=signal.SIGTERM):
        """Sends the signal only once, because a second one would kill the server."""
        if not self.told and self.process.poll() is None:
            self.process.send_signal(which)
        self.told = True

    def open_files(self):
        """Returns the number and the target of each descriptor."""
        found = {}
        folder = f"/proc/{self.process.pid}/fd"
        for number in os.listdir(folder):
            try:
                found[number] = os.readlink(f"{folder}/{number}")
            except FileNotFoundError:
                pass  # closed since listdir()
        return found

    def connect(self):
        s = socket.create_connection(self.address, PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def ask(self, text):
        """Sends text, and reads all answers until the server closes the connection."""
        with self.connect() as s, s.makefile("rb") as file:
            s.sendall(text)
            answers = [Answer(file)]
            while file.peek(1):
                answers.append(Answer(file))
            return answers

    def get(self, target, method="GET", body=None, **fields):
        client = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            client.putrequest(method, target, skip_accept_encoding=True)
            for name, value in fields.items():
                client.putheader(name.replace("_", "-"), value)
            if body is not None:
                client.putheader("Content-Length", str(len(body)))
            client.endheaders(body)
            answer = client.getresponse()
            answer.text = answer.read()
            return answer
        finally:
            client.close()

    def trickle(self, text, *more):
        """Sends text, then small pieces at intervals, until the server closes. Returns its answer or None."""
        with self.connect() as s, s.makefile("rb") as file:
            s.sendall(text)
            stop = threading.Event()

            def send():
                try:
                    while more and not stop.wait(0.01):
                        s.sendall(more[0])
                except OSError:
                    pass
            sender = threading.Thread(target=send)
            sender.start()
            try:
                return Answer(file)
            except (EOFError, ConnectionResetError):
                return None
            finally:
                stop.set()
                sender.join()

    def stats(self):
        return json.loads(self.get("/api/stats").text)


def request(target="/a.txt", *fields, method="GET", host="Host: test"):
    lines = [f"{method} {target} HTTP/1.1", host, *fields]
    return "".join(line + "\r\n" for line in lines if line).encode("latin-1") + b"\r\n"


LAST = "Connection: close"


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.outside = Path(folder.name)
        self.root = self.outside / "root"
        (self.root / "sub").mkdir(parents=True)
        (self.root / "index.html").write_text("<p>home</p>")
        (self.root / "a.txt").write_text("0123456789")
        (self.root / "empty").write_text("")
        (self.root / "sub" / "index.html").write_text("below")
        (self.root / "with space ü.json").write_text("{}")
        (self.outside / "secret").write_text("secret")
        self.large = random.Random(1).randbytes(5_000_000)
        (self.root / "large.bin").write_bytes(self.large)

    def server(self, *flags, **options):
        return Server(self.root, *flags, **options)


class SecuredFolder(Folder):
    """Makes a self-signed certificate for localhost."""

    def setUp(self):
        super().setUp()
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make a certificate with; run: apt-get install openssl")
        self.certificate, self.key = self.outside / "cert.pem", self.outside / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", self.certificate, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        self.flags = f"--cert={self.certificate}", f"--key={self.key}"
        tried = subprocess.run([program, *self.flags, "--", "/nowhere/at all"], capture_output=True, text=True, timeout=PATIENCE)
        if "without TLS" in tried.stderr:
            self.skipTest(tried.stderr.strip())
        self.trust = ssl.create_default_context(cafile=self.certificate)

    def secured(self, *flags):
        return self.server(*self.flags, *flags, scheme="https")

    def get_secured(self, server, target="/a.txt"):
        client = http.client.HTTPSConnection(*server.address, timeout=PATIENCE, context=self.trust)
        try:
            client.request("GET", target)
            answer = client.getresponse()
            answer.text = answer.read()
            return answer
        finally:
            client.close()
