"""reverse_proxy_peers.py: the peers of the proxy for reverse_proxy_test.py: back ends that can be killed
and restarted, and raw clients.
"""
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

from held_port import hold_port, port_of

PATIENCE = 100  # seconds; normally milliseconds are enough
program = ""


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.005)


def read_header(file):
    """Returns the first line, and the fields as a list of (name, value) in order. None at the end."""
    line = file.readline().decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    fields = []
    while text := file.readline().decode("latin-1").rstrip("\r\n"):
        name, _, value = text.partition(":")
        fields.append((name, value.strip()))
    return line, fields


def value_of(fields, name):
    values = [v for n, v in fields if n.lower() == name.lower()]
    return ", ".join(values) if values else None


def read_chunks(file):
    pieces = []
    while True:
        line = file.readline()
        if not line.endswith(b"\n"):
            raise EOFError("broken off between two chunks")
        size = int(line.split(b";")[0], 16)
        piece = file.read(size)
        if len(piece) < size:
            raise EOFError("broken off in a chunk")
        file.readline()
        if size == 0:
            return b"".join(pieces)
        pieces.append(piece)


class Request:
    def __init__(self, line, fields, body):
        self.method, self.target, self.version = line.split(" ")
        self.fields, self.body = fields, body

    def __getitem__(self, name):
        return value_of(self.fields, name)


class Backend:
    """A server.

    answer(request) returns the bytes of an answer, a function that is called with the socket, or None to
    close the connection. The port stays this server's while it is killed, until end().
    """

    def __init__(self, name="backend", answer=None, raw=None):
        self.name, self.raw = name, raw
        self.answer = answer or (lambda r: plain(self.name))
        self.lock = threading.Lock()
        self.requests, self.connections, self.checks = [], set(), 0
        self.used = 0  # connections that have received a request
        self.well = True
        self.held_port = hold_port()
        self.address = f"127.0.0.1:{port_of(self.held_port)}"
        self.start()

    def start(self):
        self.listener = socket.create_server(("127.0.0.1", port_of(self.held_port)), backlog=1000)
        self.thread = threading.Thread(target=self.accept, args=(self.listener,), daemon=True)
        self.thread.start()

    def accept(self, listener):
        while True:
            try:
                c, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.add(c)
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        try:
            with c, c.makefile("rb") as file:
                if self.raw:
                    self.raw(c)
                    return
                first = True
                while (header := read_header(file)) is not None:
                    line, fields = header
                    if line.startswith("GET /health "):
                        self.checks += 1
                        c.sendall(plain("well") if self.well else plain("ill", status="500 Internal Server Error"))
                        continue
                    if first:
                        self.used += 1
                        first = False
                    if value_of(fields, "Transfer-Encoding"):
                        body = lambda: read_chunks(file)  # noqa: E731
                    else:
                        size = int(value_of(fields, "Content-Length") or 0)
                        body = lambda: file.read(size)  # noqa: E731
                    request = Request(line, fields, body)
                    if not getattr(self.answer, "reads_itself", False):
                        request.body = body()
                    with self.lock:
                        self.requests.append(request)
                    answer = self.answer(request)
                    if answer is None:
                        return
                    if callable(answer):
                        answer(c)
                    else:
                        c.sendall(answer)
                    if value_of(fields, "Connection") == "close":
                        return
        except (OSError, EOFError, ValueError):
            pass
        finally:
            with self.lock:
                self.connections.discard(c)

    def kill(self):
        """Closes everything, as if the process had died."""
        if self.listener.fileno() == -1:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        with self.lock:
            for c in self.connections:
                try:
                    c.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def end(self):
        self.kill()
        self.held_port.close()


def plain(text, *fields, status="200 OK"):
    body = text if isinstance(text, bytes) else text.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    return "".join(line + "\r\n" for line in lines).encode() + b"\r\n" + body


class Answer:
    def __init__(self, file, head=False):
        header = read_header(file)
        if header is None:
            raise EOFError("no answer")
        self.line, self.fields = header
        self.status = int(self.line.split()[1])
        if head or self.status in (101, 204, 304):
            self.body = b""
        elif self["Transfer-Encoding"]:
            self.body = read_chunks(file)
        elif self["Content-Length"] is not None:
            size = int(self["Content-Length"])
            self.body = file.read(size)
            if len(self.body) < size:
                raise EOFError("half an answer")
        else:
            self.body = file.read()

    def __getitem__(self, name):
        return value_of(self.fields, name)


class Proxy:
    """A running proxy. The end of a with block ends it, and checks its exit status."""

    def __init__(self, *arguments, status=0):
        arguments = [a.address if isinstance(a, Backend) else a for a in arguments]
        self.expected = status
        self.process = subprocess.Popen([program, "--listen=127.0.0.1:0", "--check-path=/health", *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        found = re.match(r"reverse_proxy: 127\.0\.0\.1:(\d+) for", first)
        if not found:
            self.process.kill()
            raise AssertionError(f"no port: {first!r} {self.process.communicate()[1]}")
        self.address = ("127.0.0.1", int(found[1]))
        self.errors = ""
        self.told = False
        self.reader = threading.Thread(target=self.read_errors)
        self.reader.start()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        status = self.end()
        if error is None and status != self.expected:
            raise AssertionError(f"the proxy has ended with {status}: {self.errors}")

    def tell_to_end(self):
        """Sends the signal only once, because a second one would kill the proxy."""
        if not self.told and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.told = True

    def end(self):
        self.tell_to_end()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.wait()

    def has_said(self, text, count=1):
        eventually(lambda: self.errors.count(text) >= count, f"{text!r} in {self.errors}")

    def memory(self):
        """Returns the peak resident memory, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self):
        s = socket.create_connection(self.address, PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def ask(self, text, head=False):
        """Sends text, and reads one answer."""
        with self.connect() as s, s.makefile("rb") as file:
            s.sendall(text)
            return Answer(file, head)

    def get(self, target="/", *fields, **options):
        return self.ask(request(target, *fields, **options), head=options.get("method") == "HEAD")


def request(target="/", *fields, method="GET", host="Host: test", body=None, version="1.1"):
    lines = [f"{method} {target} HTTP/{version}", host, *fields]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "".join(line + "\r\n" for line in lines if line).encode("latin-1") + b"\r\n" + (body or b"")


def reset(s):
    """Closes the socket with a reset."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
