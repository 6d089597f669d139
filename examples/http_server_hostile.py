"""http_server_hostile.py: hostile clients of the HTTP server. Their requests are not HTTP, not TLS, too
large, too slow, or try to leave the folder.

After each of them the server must still serve.
"""
import contextlib
import errno
import random
import socket
import ssl
import struct
import subprocess
import threading

from http_server_client import LAST, PATIENCE, Answer, Folder, SecuredFolder, eventually, request


@contextlib.contextmanager
def may_be_gone():
    """Ignores that the server has answered, closed, and reset the connection."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
            raise


class BadRequests(Folder):
    def test_what_is_no_http(self):
        with self.server() as server:
            for text, status in ((b"nonsense\r\n\r\n", 400), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
                                 (b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400), (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
                                 (b"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n\r\n", 400),
                                 (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), (b"G\0T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
                                 (b"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: \x01\r\n\r\n", 400),
                                 (b"GET / HTTP/1.1\nHost: x\n\n", 400)):
                with self.subTest(text):
                    answers = server.ask(text + request("/a.txt"))
                    self.assertEqual([a.status for a in answers], [status], "nothing after it is a request")
                    self.assertEqual(answers[0].fields["connection"], "close")

    def test_a_refusal_has_no_body_either_if_the_request_was_a_head(self):
        with self.server() as server:
            for text, status in (b"HEAD / HTTP/1.1\r\n\r\n", 400), (request("/", "X: " + "y" * 9000, method="HEAD"), 431):
                for cuts in (range(len(text)), (0, 1, 17)):  # byte by byte; then the first line in two pieces, before the rest
                    with self.subTest(text[:20], cuts=cuts):
                        self.expect_refusal_of_head(server, [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)])], status)

    def expect_refusal_of_head(self, server, pieces, status):
        with server.connect() as s, s.makefile("rb") as file:
            for piece in pieces:
                s.sendall(piece)
                if len(pieces) < 10:
                    server.stats()  # by then it has most likely read the piece
            answer = Answer(file, head_only=True)
            self.assertEqual((answer.status, answer.fields["connection"]), (status, "close"))
            self.assertEqual(file.read(), b"")

    def test_bodies_that_could_be_understood_in_two_ways(self):
        chunks = b"0\r\n\r\n"
        with self.server() as server:
            for fields, status in ((("Content-Length: 5", "Transfer-Encoding: chunked"), 400),
                                   (("Transfer-Encoding: chunked", "Content-Length: 5"), 400),
                                   (("Content-Length: 5", "Content-Length: 6"), 400), (("Content-Length: -1",), 400),
                                   (("Content-Length: 5x",), 400), (("Content-Length: 99999999999999999999999",), 400),
                                   (("Transfer-Encoding: gzip",), 501), (("Transfer-Encoding: gzip, chunked",), 501),
                                   (("Transfer-Encoding: chunked, gzip",), 501), (("Transfer-Encoding: xchunked",), 501)):
                with self.subTest(fields):
                    answers = server.ask(request("/api/echo", *fields, method="POST") + chunks + request("/a.txt"))
                    self.assertEqual([a.status for a in answers], [status])

    def test_headers_that_are_too_large(self):
        chunked = request("/api/echo", "Transfer-Encoding: chunked", method="POST")
        with self.server("--max-header=4096") as server:
            for text in (request("/" + "x" * 5000), request("/", "X: " + "y" * 5000), request("/", *["A: b"] * 2000),
                         b"x" * 1_000_000, request("/")[:-2] + b"a: b\r\n" * 100_000,
                         chunked + b"0\r\n" + b"a: b\r\n" * 100_000, chunked + b"1;" + b"x" * 1_000_000):
                with self.subTest(text[:20]):
                    try:
                        self.assertIn([a.status for a in server.ask(text)], ([431], [400]))
                    except (ConnectionResetError, BrokenPipeError):  # it stops reading at some point
                        self.assertGreater(len(text), 500_000)
            self.assertEqual(server.ask(request("/" + "x" * 5000))[0].status, 431)
            self.assertEqual(server.ask(request("/", *["A: b"] * 500, LAST))[0].status, 200)
            self.assertEqual(server.ask(request("/", *["A: b", "C: " + "d" * 50] * 70))[0].status, 431)
            self.assertEqual(server.ask(request("/", "X: " + "y" * 3000, LAST))[0].status, 200)

    def test_bodies_that_are_too_large(self):
        with self.server("--max-body=1000") as server:
            json_ = "Content-Type: application/json"
            for fields, body, status in ((("Content-Length: 1000",), b" " * 999 + b"1", 200), (("Content-Length: 1001",), b" " * 1001, 413),
                                         (("Content-Length: 999999999",), b" " * 300_000, 413),
                                         (("Transfer-Encoding: chunked",), (b"3e8\r\n" + b" " * 1000 + b"\r\n") * 200, 413)):
                with self.subTest(fields):
                    self.assertEqual(server.ask(request("/api/echo", json_, LAST, *fields, method="POST") + body)[0].status, status)

    def test_paths_that_want_out(self):
        """Tries all spellings by which a server was once deceived, and links to folders and files."""
        (self.root / "link").symlink_to("../secret")
        (self.root / "absolute").symlink_to(self.outside / "secret")
        (self.root / "folder").symlink_to(self.outside)
        (self.root / "sub" / "deep").symlink_to("../../..")
        (self.root / "proc").symlink_to("/proc")
        name = self.outside.name
        with self.server() as server:
            for target in ("/../secret", "/..%2fsecret", "/%2e%2e%2fsecret", "/%2E%2E/secret", "/sub/..%2f..%2fsecret", "/sub/%2e%2e/%2e%2e/secret",
                           "/.%2e/secret", "/%2e./secret", "//../secret", "/./../secret", "http://example.com/../secret", "/?/../secret",
                           "/a.txt?/../../secret", "/..\\secret", "/..%5csecret", "/..%255csecret", "/%252e%252e%252fsecret", "/%c0%ae%c0%ae/secret",
                           "/%c0%ae%c0%ae%c0%afsecret", "/%e0%80%ae%e0%80%ae/secret", "/..;/secret", "/..%00/secret", "/%00../secret",
                           "/a.txt%00/../secret", "/..%0a/secret", "/..%0d%0a/secret", "/%u002e%u002e/secret", "/....//secret", "/.../secret",
                           "/~/secret", f"/../{name}/secret", "/link", "/absolute", "/folder/secret", "/sub/deep/" + name + "/secret", "/sub/deep",
                           "/folder", "/proc/self/environ", "/proc/self/root/etc/passwd", "/etc/passwd", "//etc/passwd", str(self.outside / "secret"),
                           "/" + str(self.outside / "secret")):
                with self.subTest(target):
                    answers = server.ask(request(target, LAST))
                    self.assertEqual(len(answers), 1)
                    if answers[0].status == 308:  # the path, cleaned; // at its beginning would be another host
                        self.assertRegex(answers[0].fields["location"], "^/[^/]")
                        answers = server.ask(request(answers[0].fields["location"], LAST))
                    self.assertIn(answers[0].status, (200,) if "?" in target else (400, 404))
                    self.assertNotEqual(answers[0].body.strip(), b"secret")
                    self.assertNotIn(b"root:", answers[0].body)
            self.assertEqual(server.get("/a.txt").text, b"0123456789")

    def test_a_crowd_of_header_bombs(self):
        """Each client is refused and closed, however much it sends."""
        with self.server("--max-header=4096") as server:
            bombs = (request("/", *["A: b"] * 50_000), request("/" + "%41" * 50_000), b"GET / HTTP/1.1\r\n" + b"x" * 300_000,
                     request("/", "Cookie: " + "y" * 300_000), b"\0" * 300_000)

            def throw(bomb):
                with server.connect() as s, s.makefile("rb") as file:
                    try:
                        s.sendall(bomb)
                    except (ConnectionResetError, BrokenPipeError):
                        pass
                    try:
                        statuses.append(Answer(file).status)
                        ends.append(file.read())
                    except (ConnectionResetError, EOFError):
                        pass  # it stops reading at some point
            for _ in range(4):
                statuses, ends = [], []
                throwers = [threading.Thread(target=throw, args=(bomb,)) for bomb in bombs * 5]
                for t in throwers:
                    t.start()
                for t in throwers:
                    t.join()
                self.assertLessEqual(set(statuses), {400, 431})
                self.assertEqual(set(ends) - {b""}, set())
            self.assertGreater(len(statuses), 0)
            self.assertEqual(server.get("/a.txt").text, b"0123456789")
            stats = server.stats()
            self.assertEqual(stats["answers"]["4xx"], 100)
            self.assertEqual(stats["answers"]["5xx"], 0)

    def test_random_bytes(self):
        chance = random.Random(1)
        with self.server() as server:
            for i in range(100):
                text = chance.randbytes(chance.randrange(1, 600))
                if i % 2:
                    text = b"GET /" + text.replace(b"\n", b"") + b" HTTP/1.1\r\nHost: x\r\n"
                with self.subTest(text), server.connect() as s, s.makefile("rb") as file:
                    answer = b""
                    with may_be_gone():
                        s.sendall(text + b"\r\n\r\n")
                        s.shutdown(socket.SHUT_WR)
                        answer = file.read()
                    self.assertRegex(answer, rb"\A(HTTP/1\.1 (400|404|505) |\Z)")
            self.assertEqual(server.get("/a.txt").text, b"0123456789")


class Slow(Folder):
    def test_slow_headers(self):
        with self.server("--header-time=0.2") as server:
            self.assertEqual(server.trickle(b"GET / HTTP/1.1\r\n", b"a: b\r\n").status, 408)
            self.assertEqual(server.trickle(b"G").status, 408)

    def test_slow_bodies(self):
        with self.server("--body-time=0.2") as server:
            text = request("/api/echo", "Content-Length: 100000", method="POST")
            self.assertEqual(server.trickle(text, b"x").status, 408)
            self.assertEqual(server.trickle(text).status, 408)

    def test_idle_clients_are_closed_without_a_word(self):
        with self.server("--idle-time=1") as server:
            self.assertIsNone(server.trickle(b""))
            self.assertIsNone(server.trickle(b"", b"\r\n"))
            with server.connect() as s, s.makefile("rb") as file:
                s.sendall(request())
                self.assertEqual(Answer(file).status, 200)
                self.assertEqual(file.read(), b"")

    def test_clients_that_do_not_read(self):
        with self.server("--write-time=1") as server, server.connect() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(request("/large.bin") * 20)
            eventually(lambda: server.stats()["connections"]["open"] == 1, "who does not read is closed")

    def test_slow_clients_hold_up_nobody(self):
        with self.server("--header-time=60") as server:
            slow = [server.connect() for _ in range(100)]
            for s in slow:
                s.sendall(b"GET / HTTP/1.1\r\n")
            for _ in range(100):
                self.assertEqual(server.get("/a.txt").status, 200)
            for s in slow:
                s.close()

    def test_a_crowd_of_slow_clients_is_cut(self):
        """Slow in a header, in a body, or in the second request. Fast clients are still served."""
        post = request("/api/echo", "Content-Length: 1000", method="POST")
        with self.server("--header-time=1", "--body-time=1") as server:
            kinds = ((b"GET / HTTP/1.1\r\n", b"X: y\r\n"), (b"G", b"E"), (post, b" "), (request("/a.txt") + b"GET /", b"x"))
            answers = []

            def be_slow(first, more):
                if first.startswith(request("/a.txt")):
                    with server.connect() as s, s.makefile("rb") as file:
                        s.sendall(request("/a.txt") + b"GET /x")
                        answers.append((Answer(file).status, Answer(file).status, file.read()))
                else:
                    answers.append(server.trickle(first, more).status)
            slow = [threading.Thread(target=be_slow, args=kind) for kind in kinds * 15]
            for t in slow:
                t.start()
            for _ in range(50):
                self.assertEqual(server.get("/a.txt").status, 200)
            for t in slow:
                t.join()
            self.assertEqual(sorted(answers, key=str), [(200, 408, b"")] * 15 + [408] * 45)
            eventually(lambda: server.stats()["connections"]["open"] == 1, "all of them are closed")


def client_hello(version, *, suites=(0xc02f, 0xc013, 0xc014, 0x009c, 0x002f, 0x0035), record=0x0301):
    """Returns the ClientHello of a client that supports no later version."""
    points, groups, signatures = bytes.fromhex("000b00020100"), bytes.fromhex("000a00080006001d00170018"), bytes.fromhex("000d000a00080401040302010203")
    extensions = points + groups + (signatures if version >= 0x0303 else b"")
    body = struct.pack(">H", version) + bytes(range(32)) + b"\0" + struct.pack(">H", 2 * len(suites)) + b"".join(struct.pack(">H", s) for s in suites)
    body += b"\x01\x00" + (struct.pack(">H", len(extensions)) + extensions if version > 0x0300 else b"")
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    return b"\x16" + struct.pack(">HH", min(record, version), len(message)) + message


class BadTls(SecuredFolder):
    def answer_to(self, server, text):
        """Returns all bytes until the server closes or resets the connection."""
        with server.connect() as s:
            got = b""
            with may_be_gone():
                s.sendall(text)
                s.shutdown(socket.SHUT_WR)
                while piece := s.recv(65536):
                    got += piece
            return got

    def test_old_versions_are_refused(self):
        protocol_version, handshake_failure = 70, 40
        with self.secured() as server:
            for version in 0x0300, 0x0301, 0x0302:
                with self.subTest(hex(version)):
                    answer = self.answer_to(server, client_hello(version))
                    self.assertEqual((answer[0], len(answer), answer[5]), (21, 7, 2), "a fatal alert, and nothing else")
                    self.assertIn(answer[6], (protocol_version, handshake_failure))
            # The same hello with TLS 1.2 is answered, so the version was the reason.
            self.assertEqual(self.answer_to(server, client_hello(0x0303))[:1], b"\x16")
            self.assertEqual(self.get_secured(server).text, b"0123456789")

    def test_openssl_cannot_talk_it_into_an_old_version(self):
        with self.secured() as server:
            for flag in "-tls1", "-tls1_1":
                got = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.address[1]}", flag, "-cipher", "ALL:@SECLEVEL=0"],
                                     input=request(), capture_output=True, timeout=PATIENCE)
                self.assertNotEqual(got.returncode, 0)
                self.assertNotIn(b"HTTP/1.1", got.stdout)
                self.assertRegex(got.stdout + got.stderr, b"(?i)alert|no protocols available|Cipher is \\(NONE\\)")
            self.assertEqual(self.get_secured(server).text, b"0123456789")

    def test_who_says_that_he_was_forced_down_is_refused(self):
        """A client that retries with a lower version says so, to detect a downgrade (RFC 7507)."""
        fallback, inappropriate_fallback = 0x5600, 86
        with self.secured() as server:
            answer = self.answer_to(server, client_hello(0x0303, suites=(0xc02f, 0x009c, fallback)))
            self.assertEqual((answer[0], answer[5:]), (21, bytes([2, inappropriate_fallback])))
            self.assertEqual(self.get_secured(server).text, b"0123456789")

    def test_weak_suites_are_refused(self):
        with self.secured() as server:
            answer = self.answer_to(server, client_hello(0x0303, suites=(0x0004, 0x0005, 0x0001, 0x0002, 0x0018, 0x000a)))  # RC4, NULL, anonymous, 3DES
            self.assertEqual((answer[0], answer[5]), (21, 2))
            self.assertEqual(self.get_secured(server).text, b"0123456789")

    def test_garbage(self):
        chance = random.Random(1)
        hello = client_hello(0x0303)
        texts = [chance.randbytes(chance.randrange(1, 2000)) for _ in range(40)]
        texts += [bytes([chance.choice((20, 21, 22, 23, 24)), 3, chance.randrange(5)]) + chance.randbytes(500) for _ in range(40)]  # with a record header
        texts += [hello[:i] for i in range(0, len(hello), 7)]
        for _ in range(40):  # with one byte changed
            at = chance.randrange(len(hello))
            texts.append(hello[:at] + bytes([chance.randrange(256)]) + hello[at + 1:])
        texts += [b"\x16\x03\x01\xff\xff" + b"x" * 70_000, b"\x80\x2e\x01\x00\x02" + b"x" * 44, b"\x15\x03\x01\x00\x02\x02\x28", hello * 3, request() * 10]
        with self.secured() as server:
            for text in texts:
                with self.subTest(text[:40]):
                    answer = self.answer_to(server, text)
                    self.assertNotIn(b"HTTP", answer)
                    self.assertNotIn(b"0123456789", answer)
                    self.assertIn(answer[:1], (b"", b"\x15", b"\x16"))
            self.assertEqual(self.get_secured(server).text, b"0123456789")
            self.assertEqual(self.get_secured(server, "/api/stats").status, 200)

    def test_garbage_after_the_handshake(self):
        with self.secured() as server:
            for text in b"\x17\x03\x03\x00\x30" + b"x" * 48, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x03\xff\xff" + b"x" * 1000:
                with self.subTest(text[:20]), server.connect() as s:
                    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                    tls = self.trust.wrap_bio(incoming, outgoing, server_hostname="localhost")
                    while True:
                        try:
                            tls.do_handshake()
                            break
                        except ssl.SSLWantReadError:
                            s.sendall(outgoing.read())
                            incoming.write(s.recv(65536))
                    s.sendall(outgoing.read() + text)
                    got = b""
                    try:
                        while piece := s.recv(65536):
                            got += piece
                    except ConnectionResetError:
                        pass
                    self.assertNotIn(b"HTTP", got)
            self.assertEqual(self.get_secured(server).text, b"0123456789")

    def test_a_handshake_that_trickles_is_cut(self):
        with self.secured("--header-time=0.5") as server:
            self.assertIsNone(server.trickle(client_hello(0x0303)[:20]))
            hello = client_hello(0x0303)
            with server.connect() as s:
                over = threading.Event()

                def send():
                    try:
                        for i in range(len(hello) - 1):  # all but the last byte
                            s.sendall(hello[i:i + 1])
                            if over.wait(0.02):
                                return
                    except OSError:
                        pass
                sender = threading.Thread(target=send)
                sender.start()
                try:
                    self.assertEqual(s.recv(1), b"")
                except ConnectionResetError:
                    pass
                over.set()
                sender.join()
            self.assertEqual(self.get_secured(server).text, b"0123456789")

    def test_no_handshake(self):
        with self.secured("--header-time=0.2") as server:
            with server.connect() as s, s.makefile("rb") as file:
                self.assertEqual(file.read(), b"")
            with server.connect() as s, s.makefile("rb") as file:
                s.sendall(request())
                self.assertNotIn(b"HTTP", file.read())
