#!/usr/bin/env python3
"""websocket_chat_test.py PROGRAM: tests the chat with a WebSocket client that builds valid and invalid
frames by hand, and with the package websockets, if it is installed.
"""
import asyncio
import base64
import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's folder, if this is another Python
try:
    import websockets
except ImportError:
    websockets = None

PROGRAM = ""
PATIENCE = 100  # seconds; normally milliseconds are enough
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.005)


class Chat:
    """The running server. The end of a with block ends it, and checks its exit status."""

    def __init__(self, *flags):
        self.process = subprocess.Popen([PROGRAM, "--listen=127.0.0.1:0", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        found = re.match(r"websocket_chat: .*127\.0\.0\.1:(\d+)/$", first)
        if not found:
            self.process.kill()
            raise AssertionError(f"no address: {first!r} {self.process.communicate()[1]}")
        self.address = ("127.0.0.1", int(found[1]))
        self.errors = ""
        self.told = False
        self.reader = threading.Thread(target=self.read_errors)
        self.reader.start()
        self.sockets_at_rest = self.sockets()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        try:
            if error is None and self.process.poll() is None:
                eventually(lambda: self.sockets() <= self.sockets_at_rest, "all connections are closed")
        finally:
            status = self.end()
        if error is None and (status, "ended" in self.errors) != (0, True):
            raise AssertionError(f"the server has ended with {status}: {self.errors}")

    def tell_to_end(self):
        """Sends the signal only once, because a second one would kill the server."""
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

    def sockets(self):
        folder, count = f"/proc/{self.process.pid}/fd/", 0
        for name in os.listdir(folder):
            try:
                count += os.readlink(folder + name).startswith("socket:")
            except OSError:
                pass  # closed since listdir()
        return count

    def memory(self):
        """Returns the peak resident memory, in KiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])

    def connect(self):
        s = socket.create_connection(self.address, PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def ask(self, text):
        """Sends text. Returns all bytes until the server closes the connection."""
        with self.connect() as s, s.makefile("rb") as file:
            s.sendall(text)
            return file.read().decode()

    def client(self, room, name):
        return Client(self, room, name)


def question(target, *fields, key="dGhlIHNhbXBsZSBub25jZQ==", version="13", method="GET"):
    lines = [f"{method} {target} HTTP/1.1", "Host: test", "Connection: keep-alive, Upgrade", "Upgrade: websocket", *fields]
    if key:
        lines.append(f"Sec-WebSocket-Key: {key}")
    if version:
        lines.append(f"Sec-WebSocket-Version: {version}")
    return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"


def frame(opcode, payload=b"", fin=True, masked=True, reserved=0):
    head = bytes([(0x80 if fin else 0) | reserved | opcode])
    mask_bit = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([mask_bit | len(payload)])
    elif len(payload) < 1 << 16:
        head += bytes([mask_bit | 126]) + struct.pack("!H", len(payload))
    else:
        head += bytes([mask_bit | 127]) + struct.pack("!Q", len(payload))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    repeated = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return head + mask + (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(payload), "big")


class Client:
    """A client in a room. The constructor waits for the message about its own arrival."""

    def __init__(self, chat, room, name):
        self.socket = chat.connect()
        self.file = self.socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(question(f"/{room}?name={name}", key=key))
        self.status = int(self.file.readline().split()[1])
        fields = {}
        while line := self.file.readline().decode().rstrip("\r\n"):
            field, _, value = line.partition(":")
            fields[field.lower()] = value.strip()
        if self.status != 101:
            self.leave()
            return
        wanted = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert fields["sec-websocket-accept"] == base64.b64encode(wanted).decode()
        while (line := self.hear()) != f"* {name} has joined":
            assert re.match(r"\* .* has left$", line), line  # an earlier client

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    def send(self, data):
        self.socket.sendall(data)

    def say(self, text):
        self.send(frame(TEXT, text.encode()))

    def receive(self):
        """Returns opcode and payload of the next frame, or None at the end. It must be unfragmented and unmasked."""
        head = self.file.read(2)
        if len(head) < 2:
            return None
        assert head[0] & 0x70 == 0 and head[0] & 0x80 and not head[1] & 0x80, head
        size = head[1]
        if size == 126:
            size = struct.unpack("!H", self.file.read(2))[0]
        elif size == 127:
            size = struct.unpack("!Q", self.file.read(8))[0]
        return head[0] & 0x0F, self.file.read(size)

    def hear(self):
        """Returns the next message."""
        got = self.receive()
        assert got is not None and got[0] == TEXT, got
        return got[1].decode()

    def end(self):
        """Skips to the end. Returns the code of the server's close frame, or None without one."""
        try:
            while (got := self.receive()) is not None:
                if got[0] == CLOSE:
                    return struct.unpack("!H", got[1][:2])[0] if got[1] else 1005
        except ConnectionResetError:
            pass
        return None

    def close(self, code=1000):
        """Does the closing handshake. Returns the code of the server's answer."""
        self.send(frame(CLOSE, struct.pack("!H", code)))
        answered = self.end()
        assert self.file.read() == b""
        self.leave()
        return answered

    def leave(self):
        self.file.close()
        self.socket.close()


class Talking(unittest.TestCase):
    def test_everybody_in_the_room_hears_it(self):
        with Chat() as chat:
            with chat.client("one", "ada") as ada, chat.client("one", "bob") as bob, chat.client("two", "ada") as other:
                self.assertEqual(ada.hear(), "* bob has joined")
                for text in "hello", "", "grüße ☂ 🦉", "x" * 125, "x" * 126, "x" * 4096:
                    ada.say(text)
                    for c in ada, bob:
                        self.assertEqual(c.hear(), f"ada: {text}")
                bob.say("and I")
                self.assertEqual(ada.hear(), "bob: and I")
                other.say("elsewhere")
                self.assertEqual(other.hear(), "ada: elsewhere")
                self.assertEqual(bob.close(), 1000)
                self.assertEqual(ada.hear(), "* bob has left")

    def test_many_hear_the_same_in_the_same_order(self):
        with Chat("--queue=5000") as chat:
            clients = [chat.client("room", f"c{i}") for i in range(20)]
            heard = [[] for _ in clients]
            count = len(clients) * 20

            def take(i):
                while len(heard[i]) < count:
                    line = clients[i].hear()
                    if not line.startswith("*"):
                        heard[i].append(line)
            threads = [threading.Thread(target=take, args=(i,)) for i in range(len(clients))]
            threads += [threading.Thread(target=lambda c=c, i=i: [c.say(str(n)) for n in range(20)]) for i, c in enumerate(clients)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertTrue(all(h == heard[0] for h in heard))
            self.assertEqual(sorted(heard[0]), sorted(f"c{i}: {n}" for i in range(20) for n in range(20)))
            for c in clients:
                c.leave()

    def test_messages_in_pieces(self):
        with Chat() as chat, chat.client("room", "ada") as ada:
            ada.send(frame(TEXT, b"one ", fin=False) + frame(PING, b"between") + frame(0, "tw".encode(), fin=False) + frame(0, b"o"))
            self.assertEqual((ada.receive(), ada.hear()), ((PONG, b"between"), "ada: one two"))
            umbrella = "☂".encode()
            ada.send(frame(TEXT, umbrella[:1], fin=False) + frame(0, umbrella[1:]))
            self.assertEqual(ada.hear(), "ada: ☂")
            for byte in frame(TEXT, b"byte by byte"):
                ada.send(bytes([byte]))
            self.assertEqual(ada.hear(), "ada: byte by byte")
            ada.send(b"".join(frame(TEXT, b"%d" % i) for i in range(50)))
            self.assertEqual([ada.hear() for _ in range(50)], [f"ada: {i}" for i in range(50)])

    def test_names(self):
        with Chat() as chat, chat.client("room", "ada") as ada:
            self.assertEqual(chat.client("room", "ada").status, 409)
            ada.close()
            eventually(lambda: self.comes_in(chat), "the name is free again")

    def comes_in(self, chat):
        with chat.client("room", "ada") as again:
            return again.status == 101


@unittest.skipUnless(websockets, "no websockets; run: apt-get install python3-websockets")
class ClientOfOthers(unittest.TestCase):
    """An independent client: it offers compression, builds its own frames, and checks the server's."""

    def talk(self, conversation, *flags):
        """Runs conversation(come, chat). come(name) connects a client with that name."""
        async def limited(chat):
            await asyncio.wait_for(conversation(lambda name: websockets.connect(f"ws://127.0.0.1:{chat.address[1]}/room?name={name}"), chat), PATIENCE)
        with Chat(*flags) as chat:
            asyncio.run(limited(chat))

    def test_it_talks_and_listens(self):
        async def conversation(come, _):
            async with come("ada") as ada:
                self.assertEqual(await ada.recv(), "* ada has joined")
                bob = await come("bob")
                self.assertEqual([await ada.recv(), await bob.recv()], ["* bob has joined"] * 2)
                for text in "hello", "", "grüße ☂ 🦉", "x" * 125, "x" * 126, "x" * 4096:
                    await ada.send(text)
                    self.assertEqual([await ada.recv(), await bob.recv()], [f"ada: {text}"] * 2)
                await bob.send(["in ", "three ", "pieces"])
                self.assertEqual([await ada.recv(), await bob.recv()], ["bob: in three pieces"] * 2)
                await (await ada.ping(b"there?"))
                await bob.close(1001)
                self.assertEqual(bob.close_code, 1001)
                self.assertEqual(await ada.recv(), "* bob has left")
        self.talk(conversation)

    def test_many_at_once(self):
        count, each = 20, 20

        async def say_and_listen(c, heard):
            await asyncio.gather(*(c.send(str(n)) for n in range(each)))
            while len(heard) < count * each:
                line = await c.recv()
                if not line.startswith("*"):
                    heard.append(line)

        async def conversation(come, _):
            clients, heard = [], [[] for _ in range(count)]
            for i in range(count):
                clients.append(await come(f"c{i}"))
                self.assertEqual(await clients[i].recv(), f"* c{i} has joined")
            await asyncio.gather(*map(say_and_listen, clients, heard))
            self.assertTrue(all(h == heard[0] for h in heard))
            self.assertEqual(sorted(heard[0]), sorted(f"c{i}: {n}" for i in range(count) for n in range(each)))
            await asyncio.gather(*(c.close() for c in clients))
        self.talk(conversation, "--queue=5000")

    def test_mistakes_have_their_codes(self):
        async def conversation(come, _):
            for message, code in ("x" * 4097, 1009), (b"binary", 1003):
                async with come(f"ada{code}") as ada:
                    await ada.send(message)
                    with self.assertRaises(websockets.ConnectionClosedError) as raised:
                        while True:  # messages about arrivals and departures
                            await ada.recv()
                    self.assertEqual(raised.exception.rcvd.code, code)
        self.talk(conversation)

    def test_pings_are_answered(self):
        async def conversation(come, _):
            async with come("ada") as ada:
                await ada.recv()
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(ada.recv(), 1.2)  # several pings; the connection stays open
                await ada.send("still here")
                self.assertEqual(await ada.recv(), "ada: still here")
        self.talk(conversation, "--ping-time=0.3")

    def test_it_is_told_of_the_end(self):
        async def conversation(come, chat):
            async with come("ada") as ada:
                await ada.recv()
                chat.tell_to_end()
                with self.assertRaises(websockets.ConnectionClosedOK) as raised:
                    await ada.recv()
                self.assertEqual(raised.exception.rcvd.code, 1001)
        self.talk(conversation)


class Handshake(unittest.TestCase):
    def test_the_page(self):
        with Chat() as chat:
            page = chat.ask(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            self.assertRegex(page, r"(?s)^HTTP/1.1 200 OK\r\n.*new WebSocket")

    def test_what_is_refused(self):
        good = question("/room?name=ada")
        with Chat("--handshake-time=0.2") as chat:
            for text, status in ((b"GET /other HTTP/1.1\r\nHost: test\r\n\r\n", 404), (b"POST / HTTP/1.1\r\nHost: test\r\n\r\n", 404),
                                 (question("/"), 400), (question("/room"), 400), (question("/room?name="), 400), (question("/?name=x"), 400),
                                 (question("/room?name=a%20b"), 400), (question("/ro/om?name=x"), 400), (question("/room?name=" + "x" * 33), 400),
                                 (question("/room?name=x", key=None), 400), (question("/room?name=x", version="12"), 426),
                                 (question("/room?name=x", version=None), 400), (b"nonsense\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nX: " + b"x" * 9000, 400),
                                 (good + frame(TEXT, b"too early"), 400), (good[:20], 408)):
                with self.subTest(text[:60]):
                    self.assertRegex(chat.ask(text), f"^HTTP/1.1 {status} ")
            self.assertEqual(chat.ask(question("/room?name=x", method="POST"))[:12], "HTTP/1.1 404")
            s = chat.connect()
            s.close()

    def test_too_many(self):
        with Chat("--max-connections=2") as chat, chat.client("room", "a"), chat.client("room", "b"):
            self.assertRegex(chat.ask(question("/room?name=c")), "^HTTP/1.1 503 ")


class Mistakes(unittest.TestCase):
    def test_each_has_its_code(self):
        for name, data, code in (
                ("no mask", frame(TEXT, b"x", masked=False), 1002), ("a reserved bit", frame(TEXT, b"x", reserved=0x40), 1002),
                ("a reserved opcode", frame(3, b"x"), 1002), ("a reserved control opcode", frame(11, b"x"), 1002),
                ("a continuation of nothing", frame(0, b"x"), 1002), ("a message in a message", frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"), 1002),
                ("a ping in pieces", frame(PING, b"x", fin=False), 1002), ("a ping that is too long", frame(PING, b"x" * 126), 1002),
                ("a close of one byte", frame(CLOSE, b"x"), 1002), ("a close with a code that is none", frame(CLOSE, struct.pack("!H", 1005)), 1002),
                ("a close with words that are none", frame(CLOSE, struct.pack("!H", 1000) + b"\xff"), (1002, 1007)),
                ("no UTF-8", frame(TEXT, b"\xff"), 1007), ("half a character", frame(TEXT, b"x\xe2\x98"), 1007),
                ("half a surrogate", frame(TEXT, b"\xed\xa0\x80"), 1007),
                ("no UTF-8 in the second piece", frame(TEXT, b"\xe2", fin=False) + frame(0, b"x"), 1007),
                ("too long", frame(TEXT, b"x" * 4097), 1009), ("too long in pieces", frame(TEXT, b"x" * 4000, fin=False) + frame(0, b"x" * 97), 1009),
                ("longer than memory", b"\x81\xff" + struct.pack("!Q", 1 << 62) + b"mask", 1009),
                ("binary", frame(BINARY, b"x"), 1003)):
            with self.subTest(name), Chat("--close-time=0.2") as chat, chat.client("room", "ada") as ada, chat.client("room", "bob") as bob:
                self.assertEqual(ada.hear(), "* bob has joined")
                ada.send(data)
                self.assertIn(ada.end(), code if isinstance(code, tuple) else (code,))
                ada.leave()
                self.assertEqual(bob.hear(), "* ada has left")

    def test_codes_are_answered(self):
        with Chat() as chat:
            for code in 1000, 1001, 3000, 4999:
                self.assertEqual(chat.client("room", f"ada{code}").close(code), code)
            with chat.client("room", "ada") as ada:
                ada.send(frame(CLOSE))
                self.assertIn(ada.end(), (1005, 1000))

    def test_who_goes_without_a_word(self):
        with Chat() as chat, chat.client("room", "bob") as bob:
            for last in b"", frame(TEXT, b"half of it")[:-3], frame(TEXT, b"piece", fin=False):
                for abruptly in False, True:
                    ada = chat.client("room", "ada")
                    self.assertEqual(bob.hear(), "* ada has joined")
                    ada.send(last)
                    if abruptly:
                        ada.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    ada.leave()
                    self.assertEqual(bob.hear(), "* ada has left")

    def test_noise(self):
        with Chat("--close-time=0.2") as chat:
            for seed in range(20):
                with chat.client("room", f"ada{seed}") as ada:
                    try:
                        ada.send(bytes((seed * 7 + i * i) % 256 for i in range(500)))
                        ada.socket.shutdown(socket.SHUT_WR)
                    except OSError:
                        pass
                    ada.end()
                eventually(lambda: chat.sockets() <= chat.sockets_at_rest, "it is closed")


class Slowness(unittest.TestCase):
    def test_who_does_not_read_is_cut_off_and_nobody_else_notices(self):
        with Chat("--queue=16") as chat, chat.client("room", "ada") as ada:
            slow = socket.create_connection(chat.address, PATIENCE)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(question("/room?name=slow"))
            self.assertEqual(ada.hear(), "* slow has joined")
            before = chat.memory()
            text, heard, gone = "x" * 4000, 0, False
            while not gone:  # until the socket buffers are full, too
                ada.say(text)
                while (line := ada.hear()).startswith("*"):
                    gone = True
                    self.assertEqual(line, "* slow has left")
                self.assertEqual(line, f"ada: {text}")
                heard += 1
                self.assertLess(heard, 100_000)
            eventually(lambda: "slow reads too slowly and is disconnected" in chat.errors, "it says so")
            if not SANITIZED:
                self.assertLess(chat.memory() - before, 4000)
            ada.say("still here")
            self.assertEqual(ada.hear(), "ada: still here")
            slow.close()

    def test_the_silent_are_asked(self):
        with Chat("--ping-time=0.5", "--queue=1000") as chat, chat.client("room", "ada") as ada:
            for _ in range(5):
                self.assertEqual(ada.receive(), (PING, b""))
                ada.send(frame(PONG))
            begun = time.monotonic()
            self.assertIsNone(ada.end())  # pings remain unanswered
            self.assertLess(time.monotonic() - begun, PATIENCE / 2)

    def test_a_message_without_an_end(self):
        with Chat("--message-time=0.2") as chat, chat.client("room", "ada") as ada:
            ada.send(frame(TEXT, b"x", fin=False))
            stop = threading.Event()

            def trickle():
                try:
                    while not stop.wait(0.02):
                        ada.send(frame(0, b"x", fin=False))
                except OSError:
                    pass
            t = threading.Thread(target=trickle)
            t.start()
            ada.end()
            stop.set()
            t.join()

    def test_who_does_not_answer_a_goodbye(self):
        with Chat("--close-time=0.2") as chat, chat.client("room", "ada") as ada:
            ada.send(frame(BINARY, b"x"))
            self.assertEqual(ada.end(), 1003)
            self.assertEqual(ada.file.read(), b"")


class Ending(unittest.TestCase):
    def test_everybody_is_told(self):
        chat = Chat("--close-time=10")
        clients = [chat.client(f"room{i % 3}", f"c{i}") for i in range(30)]
        chat.tell_to_end()
        for c in clients:
            self.assertEqual(c.end(), 1001)
            c.send(frame(CLOSE, struct.pack("!H", 1001)))
        for c in clients:
            self.assertEqual(c.file.read(), b"")
            c.leave()
        begun = time.monotonic()
        self.assertEqual((chat.end(), "ended" in chat.errors), (0, True))
        self.assertLess(time.monotonic() - begun, 9)

    def test_who_does_not_listen_does_not_hold_it_up(self):
        chat = Chat("--close-time=0.2", "--write-time=100")
        stuck = chat.client("room", "stuck")
        half = chat.connect()
        half.sendall(b"GET / HT")
        flood = threading.Event()

        def talk():
            with chat.client("room", "ada") as ada:
                try:
                    for _ in range(300):
                        ada.say("x" * 4000)
                        while ada.hear()[0] == "*":
                            pass
                    flood.set()
                    ada.end()
                except (OSError, AssertionError):
                    flood.set()
        t = threading.Thread(target=talk)
        t.start()
        flood.wait(PATIENCE)
        self.assertEqual((chat.end(), "ended" in chat.errors), (0, True))
        t.join()
        stuck.leave()
        half.close()


class CommandLine(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)

    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in ((["--frobnicate"], 'unknown argument "--frobnicate"'), (["--listen"], "--listen=VALUE needs a value"),
                                     (["--queue=0"], '--queue needs a whole number from 1 to 65536, not "0"'), (["x"], 'unknown argument "x"')):
            ended = self.run_program(*arguments)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: websocket_chat", ended.stderr)

    def test_help_names_all_flags(self):
        ended = self.run_program("--help")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        source = (Path(__file__).parent / "websocket_chat" / "options.cc").read_text().split("usage() noexcept {")[0]
        for flag in set(re.findall(r'"(--[\w-]+)"', source)) - {"--help"}:
            self.assertIn(flag, ended.stdout)

    def test_it_cannot_listen(self):
        with Chat() as chat:
            ended = self.run_program(f"--listen=127.0.0.1:{chat.address[1]}")
            self.assertEqual(ended.returncode, 1)
            self.assertIn(str(chat.address[1]), ended.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    with open(PROGRAM, "rb") as program_file:
        SANITIZED = b"__asan_init" in (program_text := program_file.read()) or b"__tsan_init" in program_text
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
