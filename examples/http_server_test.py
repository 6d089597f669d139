#!/usr/bin/env python3
"""http_server_test.py PROGRAM: tests the HTTP server over raw sockets.

Independent clients are in http_server_peers.py, hostile ones in http_server_hostile.py.
"""
import email.utils
import http.client
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import http_server_client
from http_server_client import LAST, PATIENCE, Answer, Folder, eventually, request
from http_server_hostile import BadRequests, BadTls, Slow  # noqa: F401: unittest finds them here
from http_server_peers import Curl, H2load, Node, OpenSsl, Python, Secured, Wrk  # noqa: F401

PROGRAM = ""


class Files(Folder):
    def test_whole_files(self):
        with self.server() as server:
            for target, type_, text in (("/", "text/html; charset=utf-8", b"<p>home</p>"),
                                        ("/a.txt?x=../y", "text/plain; charset=utf-8", b"0123456789"),
                                        ("/empty", "application/octet-stream", b""),
                                        ("/large.bin", "application/octet-stream", self.large),
                                        ("/sub/", "text/html; charset=utf-8", b"below"),
                                        ("http://example.com/a.txt", "text/plain; charset=utf-8", b"0123456789"),
                                        ("/with%20space%20%C3%BC.json", "application/json", "{}".encode())):
                with self.subTest(target):
                    answer = server.get(target)
                    self.assertEqual((answer.status, answer.text), (200, text))
                    self.assertEqual(answer.headers["Content-Type"], type_)
                    self.assertIsNotNone(email.utils.parsedate(answer.headers["Date"]))
                    head = server.get(target, "HEAD")
                    self.assertEqual((head.status, head.text), (200, b""))
                    for name in "Content-Length", "Content-Type", "ETag", "Last-Modified":
                        self.assertEqual(head.headers[name], answer.headers[name])

    def test_a_folder_without_a_slash_is_redirected_to_itself(self):
        with self.server() as server:
            for target in "/sub", "/sub?q", "/%2fsub":
                with self.subTest(target):
                    answer = server.get(target)
                    self.assertEqual((answer.status, answer.headers["Location"]), (301, "/sub/?q" if "?" in target else "/sub/"))

    def test_a_path_is_cleaned_by_a_redirect(self):
        with self.server() as server:
            for target, clean in (("//sub", "/sub"), ("/./sub?q", "/sub?q"), ("//sub/.//./index.html", "/sub/index.html"),
                                  ("//etc/passwd", "/etc/passwd")):
                with self.subTest(target):
                    answer = server.get(target)
                    self.assertEqual((answer.status, answer.headers["Location"]), (308, clean))

    def test_conditions(self):
        with self.server() as server:
            whole = server.get("/a.txt")
            tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
            before = "Sun, 06 Nov 1994 08:49:37 GMT"
            for fields, status in (({"If_None_Match": tag}, 304), ({"If_None_Match": f'"x", W/{tag}'}, 304),
                                   ({"If_None_Match": "*"}, 304), ({"If_None_Match": '"x"'}, 200),
                                   ({"If_Modified_Since": date}, 304), ({"If_Modified_Since": before}, 200),
                                   ({"If_Modified_Since": "Sunday, 06-Nov-94 08:49:37 GMT"}, 200),
                                   ({"If_Modified_Since": "nonsense"}, 200),
                                   ({"If_None_Match": '"x"', "If_Modified_Since": date}, 200)):
                with self.subTest(fields):
                    answer = server.get("/a.txt", **fields)
                    self.assertEqual((answer.status, answer.text), (status, b"" if status == 304 else b"0123456789"))
                    self.assertEqual(answer.headers["ETag"], tag)
            (self.root / "a.txt").write_text("9876543210")
            self.assertEqual(server.get("/a.txt", If_None_Match=tag).text, b"9876543210")

    def test_parts(self):
        with self.server() as server:
            whole = server.get("/a.txt")
            self.assertEqual(whole.headers["Accept-Ranges"], "bytes")
            for wanted, text, where in (("0-0", b"0", "0-0/10"), ("2-5", b"2345", "2-5/10"), ("7-", b"789", "7-9/10"),
                                        ("-3", b"789", "7-9/10"), ("-99", b"0123456789", "0-9/10"),
                                        ("5-99999999999999999999999", b"56789", "5-9/10")):
                with self.subTest(wanted):
                    part = server.get("/a.txt", Range=f"bytes={wanted}")
                    self.assertEqual((part.status, part.text, part.headers["Content-Range"]), (206, text, f"bytes {where}"))
            for wanted in "10-", "10-20", "-0", "99999999999999999999999-":
                with self.subTest(wanted):
                    none = server.get("/a.txt", Range=f"bytes={wanted}")
                    self.assertEqual((none.status, none.headers["Content-Range"]), (416, "bytes */10"))
            for ignored in "bytes=5-2", "bytes=0-1,3-4", "bytes=x-", "bytes=", "bytes=-", "lines=1-2", "bytes=1-2x", "bytes=--1":
                with self.subTest(ignored):
                    self.assertEqual(server.get("/a.txt", Range=ignored).status, 200)
            for condition, status in ((whole.headers["ETag"], 206), (whole.headers["Last-Modified"], 206), ('"other"', 200),
                                      ("Sun, 06 Nov 1994 08:49:37 GMT", 200)):
                self.assertEqual(server.get("/a.txt", Range="bytes=1-2", If_Range=condition).status, status)
            self.assertEqual(server.get("/empty", Range="bytes=0-").status, 200)
            self.assertEqual(server.get("/a.txt", "HEAD", Range="bytes=1-2").status, 200)
            part = server.get("/large.bin", Range="bytes=1000000-4999998")
            self.assertEqual(part.text, self.large[1_000_000:4_999_999])

    def test_nothing_outside_of_the_root(self):
        (self.root / "out").symlink_to(self.outside / "secret")
        (self.root / "up").symlink_to("..")
        (self.root / "inside").symlink_to("sub/index.html")
        (self.root / "circle").symlink_to("circle")
        (self.root / ".hidden").write_text("hidden")
        (self.root / ".well-known").mkdir()
        (self.root / ".well-known" / "x").write_text("known")
        os.mkfifo(self.root / "fifo")
        with self.server() as server:
            for target in ("/../secret", "/%2e%2e/secret", "/%2E./secret", "/..%2fsecret", "/%2e%2e%2fsecret", "/sub/../../secret",
                           "/sub/..", "/a.txt%00", "/%00", "/%", "/%4", "/%zz", "/..", "a.txt", "*", "http://example.com/../secret"):
                with self.subTest(target):
                    answer = server.ask(request(target, LAST))[0]
                    self.assertEqual(answer.status, 400)
                    self.assertNotIn(b"secret", answer.body.split(b":")[0])
            for target in ("/out", "/up/secret", "/up", "/circle", "/.hidden", "/sub/.hidden", "/%2ehidden", "/nowhere", "/a.txt/", "/a.txt/x",
                           "/%252e%252e/secret", "/...", "/fifo", "/..%5csecret", "/" + "n" * 300, "/proc/self/environ"):
                with self.subTest(target):
                    self.assertEqual(server.ask(request(target, LAST))[0].status, 404)
            self.assertEqual(server.get("/inside").text, b"below")
            self.assertEqual(server.get("/.well-known/x").text, b"known")

    def test_a_file_that_shrinks_ends_the_connection(self):
        with self.server() as server, server.connect() as s, s.makefile("rb") as file:
            with open(self.root / "huge", "wb") as huge:
                huge.truncate(1 << 30)
            s.sendall(request("/huge"))
            self.assertIn(b"200", file.readline())
            os.truncate(self.root / "huge", 1000)
            size = 0
            try:
                while data := file.read(1 << 16):
                    size += len(data)
            except ConnectionResetError:
                pass
            self.assertLess(size, 1 << 30)


class Api(Folder):
    def test_stats(self):
        with self.server() as server:
            self.assertEqual(server.get("/nowhere").status, 404)
            stats = server.stats()
            self.assertEqual((stats["requests"], stats["answers"]["4xx"], stats["connections"]["accepted"]), (2, 1, 2))
            eventually(lambda: server.stats()["connections"]["open"] == 1, "the first client is no longer counted")
            self.assertGreater(stats["scheduler"]["green_threads"], 0)
            self.assertEqual(server.get("/api/stats", "HEAD").text, b"")

    def test_echo(self):
        posted = {"a": [1, 2.5, None, True, "ü\n"], "b": {}}
        with self.server() as server:
            body = json.dumps(posted).encode()
            answer = server.get("/api/echo", "POST", body, Content_Type="application/json; charset=utf-8")
            self.assertEqual((answer.status, json.loads(answer.text)), (200, {"bytes": len(body), "json": posted}))
            for body in b"", b"{", b"{}x", b"[1,]", b'{"a" 1}', b"[" * 100, b"\xff", b'"\xff"', b"nul", b"[" * 900_000:
                with self.subTest(body[:20]):
                    answer = server.get("/api/echo", "POST", body, Content_Type="application/json")
                    self.assertEqual(answer.status, 400)
                    self.assertIn("error", json.loads(answer.text))
            self.assertEqual(server.get("/api/echo", "POST", b"{}", Content_Type="text/plain").status, 415)
            chunked = request("/api/echo", "Content-Type: application/json", "Transfer-Encoding: chunked", LAST, method="POST")
            answer = server.ask(chunked + b"3\r\n[1,\r\n3;x=y\r\n2,3\r\n1\r\n]\r\n0\r\nTrailer: x\r\n\r\n")[0]
            self.assertEqual(json.loads(answer.body), {"bytes": 7, "json": [1, 2, 3]})

    def test_methods(self):
        with self.server() as server:
            for target, method, allowed in (("/a.txt", "POST", "GET, HEAD"), ("/a.txt", "DELETE", "GET, HEAD"),
                                            ("/a.txt", "BREW", "GET, HEAD"), ("/api/echo", "GET", "POST"),
                                            ("/api/stats", "PUT", "GET, HEAD")):
                answer = server.get(target, method, b"body")
                self.assertEqual((answer.status, answer.headers["Allow"]), (405, allowed))


class Connections(Folder):
    def test_keep_alive(self):
        with self.server() as server, server.connect() as s, s.makefile("rb") as file:
            for i in range(50):
                s.sendall(request("/a.txt") if i % 2 else b"\r\n" + request("/large.bin"))
                self.assertEqual(Answer(file).body, b"0123456789" if i % 2 else self.large)
            self.assertEqual(server.stats()["connections"]["accepted"], 2)
            s.sendall(request("/a.txt", LAST))
            self.assertEqual(Answer(file).fields["connection"], "close")
            self.assertEqual(file.read(), b"")

    def test_http_1_0(self):
        with self.server() as server:
            self.assertEqual(server.ask(b"GET /a.txt HTTP/1.0\r\n\r\n")[0].body, b"0123456789")
            with server.connect() as s, s.makefile("rb") as file:
                for _ in range(2):
                    s.sendall(b"GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    answer = Answer(file)
                    self.assertEqual((answer.fields["connection"], answer.body), ("keep-alive", b"0123456789"))

    def test_pipelining(self):
        post = request("/api/echo", "Content-Type: application/json", "Content-Length: 2", method="POST") + b"[]"
        with self.server() as server:
            text = (request("/a.txt") + post + request("/nowhere") + request("/large.bin")) * 20
            for pieces in [text], [text[i:i + 7] for i in range(0, len(text), 7)]:
                with server.connect() as s, s.makefile("rb") as file:
                    def send():
                        for piece in pieces:
                            s.sendall(piece)
                    sender = threading.Thread(target=send)
                    sender.start()
                    for _ in range(20):
                        self.assertEqual([Answer(file).status for _ in range(4)], [200, 200, 404, 200])
                    sender.join()

    def test_what_follows_a_head_is_no_body(self):
        with self.server() as server, server.connect() as s, s.makefile("rb") as file:
            s.sendall(request("/large.bin", method="HEAD") + request("/a.txt"))
            self.assertEqual(Answer(file, head_only=True).fields["content-length"], "5000000")
            self.assertEqual(Answer(file).body, b"0123456789")

    def test_expect_continue(self):
        fields = "Content-Type: application/json", "Content-Length: 4", "Expect: 100-continue"
        with self.server() as server, server.connect() as s, s.makefile("rb") as file:
            s.sendall(request("/api/echo", *fields, method="POST"))
            self.assertEqual(Answer(file).status, 100)
            s.sendall(b"1234")
            self.assertEqual(json.loads(Answer(file).body)["json"], 1234)
        with self.server("--max-body=3") as server:
            self.assertEqual([a.status for a in server.ask(request("/api/echo", *fields, method="POST"))], [413])
            self.assertEqual(server.ask(request("/", "Expect: miracles"))[0].status, 417)

    def test_too_many(self):
        with self.server("--max-connections=2") as server:
            with server.connect() as a, server.connect() as b:
                for s in a, b:
                    s.sendall(request())
                    with s.makefile("rb") as file:
                        self.assertEqual(Answer(file).status, 200)
                turned_away = server.ask(request())[0]
                self.assertEqual((turned_away.status, turned_away.fields["retry-after"]), (503, "1"))
            eventually(lambda: server.ask(request("/", LAST))[0].status == 200, "there is room again")

    def test_many(self):
        with self.server("--max-connections=300") as server:
            clients = [server.connect() for _ in range(300)]
            for s in clients:
                s.sendall(request())
            for s in clients:
                with s, s.makefile("rb") as file:
                    self.assertEqual(Answer(file).body, b"0123456789")

    def test_clients_that_go_without_a_word(self):
        """Closed or reset before a request, in a header, in a body, and within an answer."""
        with self.server() as server:
            for text in b"", b"GET / HT", request("/api/echo", "Content-Length: 99", method="POST") + b"{", request("/large.bin") * 9:
                for _ in range(20):
                    with server.connect() as s:
                        s.sendall(text)
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                with server.connect() as s:
                    s.sendall(text)
            self.assertEqual(server.get("/a.txt").text, b"0123456789")

    def test_log(self):
        with self.server() as server:
            server.get("/a.txt")
            server.ask(b'GET /"\x01\xff\\ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
            server.ask(b"nonsense\r\n\r\n")
        log = "".join(server.lines)
        date = r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\]"
        self.assertRegex(log, rf'(?m)^127\.0\.0\.1 - - {date} "GET /a\.txt HTTP/1\.1" 200 10$')
        self.assertEqual(log.count("\n"), 3)
        self.assertRegex(log, rf'(?m)^127\.0\.0\.1 - - {date} "nonsense" 400 \d+$')
        self.assertTrue(log.isascii())
        self.assertIn(r"\x22", log)

    def test_a_log_that_nobody_reads_holds_up_nobody(self):
        reader, writer = os.pipe()
        process = subprocess.Popen([PROGRAM, "--listen=127.0.0.1:0", str(self.root)], stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        try:
            port = int(os.read(reader, 1000).split(b":")[-1].split(b"/")[0])
            text = request("/nowhere/" + "x" * 900)
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as s, s.makefile("rb") as file:
                for _ in range(60):  # more than the pipe and the channel can hold
                    s.sendall(text * 100)
                    self.assertEqual({Answer(file).status for _ in range(100)}, {404})
                s.sendall(request("/api/stats"))
                self.assertGreater(json.loads(Answer(file).body)["log_lines_lost"], 0)
        finally:
            process.kill()
            process.wait()
            os.close(reader)

    def test_a_log_whose_reader_has_gone_is_no_end(self):
        process = subprocess.Popen([PROGRAM, "--listen=127.0.0.1:0", str(self.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        port = int(process.stdout.readline().split(":")[-1].rstrip("/\n"))
        process.stdout.close()
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as s, s.makefile("rb") as file:
            s.sendall(request())
            self.assertEqual(Answer(file).status, 200)
            self.assertIn("cannot write the access log", process.stderr.readline())
            s.sendall(request())
            self.assertEqual(Answer(file).status, 200)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 0)
        process.stderr.close()


class End(Folder):
    def half_a_request(self, server):
        s = server.connect()
        s.sendall(request("/api/echo", "Content-Type: application/json", "Content-Length: 4", "Expect: 100-continue", method="POST"))
        file = s.makefile("rb")
        self.assertEqual(Answer(file).status, 100)  # the server is now within the request
        return s, file

    def told_to_end(self, server, which=signal.SIGTERM):
        server.tell_to_end(which)

        def refuses():
            try:
                server.connect().close()
                return False
            except ConnectionError:
                return True
        eventually(refuses, "nobody is accepted any more")

    def test_requests_in_flight_are_answered(self):
        for which in signal.SIGTERM, signal.SIGINT:
            server = self.server()
            s, file = self.half_a_request(server)
            with server.connect() as idle, server.connect() as loading, loading.makefile("rb") as load:
                idle.sendall(request())
                with idle.makefile("rb") as idle_file:
                    self.assertEqual(Answer(idle_file).status, 200)
                    loading.sendall(request("/large.bin"))
                    load.peek(1)
                    self.told_to_end(server, which)
                    self.assertEqual(idle_file.read(), b"", "who is idle is closed")
                self.assertEqual(Answer(load).body, self.large)
                s.sendall(b"1234")
                answer = Answer(file)
                self.assertEqual((answer.status, answer.fields["connection"]), (200, "close"))
                file.close()
                s.close()
            self.assertEqual(server.end(), (0, True))

    def test_under_load(self):
        """Every answer that has begun is complete. Connections end only between two answers."""
        server = self.server("--no-log")
        answered, broken = [], []

        def load():
            try:
                with server.connect() as s, s.makefile("rb") as file:
                    while True:
                        s.sendall(request("/large.bin"))
                        first = file.peek(1)
                        if not first:
                            return
                        if Answer(file).body != self.large:
                            broken.append("not whole")
                        answered.append(1)
            except (BrokenPipeError, ConnectionResetError):
                pass  # closed while the next request was in flight
            except Exception as e:  # noqa: BLE001
                broken.append(repr(e))
        clients = [threading.Thread(target=load) for _ in range(16)]
        for c in clients:
            c.start()
        eventually(lambda: len(answered) > 50, "there is load")
        self.assertEqual(server.end(), (0, True))
        for c in clients:
            c.join()
        self.assertEqual(broken, [])

    def test_who_takes_too_long_is_cut_off(self):
        server = self.server("--grace=0.2")
        s, file = self.half_a_request(server)
        self.assertEqual(server.end(), (1, True))
        self.assertIn("1 connections were cut off", server.errors)
        file.close()
        s.close()

    def test_the_second_signal_ends_it_at_once(self):
        server = self.server()
        s, file = self.half_a_request(server)
        self.told_to_end(server)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(PATIENCE), -signal.SIGTERM)
        file.close()
        s.close()
        server.end()


class CommandLine(Folder):
    def run_program(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE, **options)

    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in ((["--frobnicate"], 'unknown flag "--frobnicate"'), (["--listen"], "--listen=VALUE needs a value"),
                                     (["--max-header=x"], '--max-header needs a whole number from 64 to 1073741824, not "x"'),
                                     (["--idle-time=0"], '--idle-time needs seconds, from 0.001 to 86400, not "0"'),
                                     (["--idle-time=nan"], 'not "nan"'), (["--cert=x"], "TLS needs both"), (["a", "b"], "more than one directory")):
            ended = self.run_program(*arguments)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: http_server", ended.stderr)

    def test_help_names_all_flags(self):
        ended = self.run_program("--help")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        source = (Path(__file__).parent / "http_server" / "options.cc").read_text().split("usage() noexcept {")[0]
        for flag in set(re.findall(r'"(--[\w-]+)"', source)) - {"--help"}:
            self.assertIn(flag, ended.stdout)

    def test_what_cannot_be_served(self):
        with self.server() as server:
            ended = self.run_program(f"--listen=127.0.0.1:{server.address[1]}", str(self.root))
            self.assertEqual(ended.returncode, 1)
            self.assertIn(f"127.0.0.1:{server.address[1]}", ended.stderr)
        for arguments in (["--listen=127.0.0.1:0", "/nowhere/at all"], ["--listen=nonsense"], ["--listen=127.0.0.1:0", "--log=/nowhere/log"]):
            ended = self.run_program(*arguments)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stderr, r"^http_server: .*(nowhere|nonsense)")

    def test_few_open_files(self):
        with self.server(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))) as server:
            self.assertEqual(server.get("/a.txt").status, 200)
        self.assertNotIn("open files", server.errors)
        with self.server("--max-connections=99", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))) as server:
            self.assertEqual(server.get("/a.txt").status, 200)
        self.assertIn("the limit of 128 open files allows 32 connections, not 99: raise", server.errors)


if __name__ == "__main__":
    PROGRAM = http_server_client.program = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
