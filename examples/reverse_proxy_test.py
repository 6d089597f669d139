#!/usr/bin/env python3
"""reverse_proxy_test.py PROGRAM: tests the reverse proxy with correct and misbehaving clients and back ends."""
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import reverse_proxy_peers
from reverse_proxy_peers import PATIENCE, Answer, Backend, Proxy, eventually, plain, request, reset

PROGRAM = ""
SANITIZED = False


def telling(r):
    """An answer that describes the request as the back end received it."""
    return plain(json.dumps({"method": r.method, "target": r.target, "version": r.version, "fields": r.fields, "size": len(r.body)}))


class Case(unittest.TestCase):
    def backend(self, *arguments, **options):
        b = Backend(*arguments, **options)
        self.addCleanup(b.end)
        return b


class Passing(Case):
    def test_requests_and_answers(self):
        body = random.Random(1).randbytes(3_000_000)
        b = self.backend(answer=lambda r: plain(r.body or r.target, "X-Own: 1", "X-Own: 2"))
        with Proxy(b) as proxy:
            got = proxy.get("/a%20b?c=d&e")
            self.assertEqual((got.line, got.body, got["X-Own"]), ("HTTP/1.1 200 OK", b"/a%20b?c=d&e", "1, 2"))
            self.assertEqual(proxy.get(method="POST", body=body).body, body)
            self.assertEqual(proxy.get(method="PUT", body=b"").body, b"/")
            pieces = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(body[i:i + 5000]), body[i:i + 5000]) for i in range(0, 100_000, 5000)) + b"0\r\n\r\n"
            self.assertEqual(proxy.ask(request("/", "Transfer-Encoding: chunked", method="POST") + pieces).body, body[:100_000])
            self.assertEqual(b.requests[-1]["Transfer-Encoding"], "chunked")
            head = proxy.get("/12345", method="HEAD")
            self.assertEqual((head.status, head["Content-Length"], head.body), (200, "6", b""))

    def test_fields(self):
        b = self.backend(answer=telling)
        with Proxy(b) as proxy:
            seen = json.loads(proxy.get("/", "X-Kept: yes", "Connection: X-Private, keep-alive, Host", "X-Private: 1", "Keep-Alive: 5", "TE: trailers",
                                        "Proxy-Connection: x", "Proxy-Authorization: secret", "Upgrade: nothing",
                                        "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https").body)
            fields = {n.lower(): v for n, v in seen["fields"]}
            self.assertEqual(fields, {"host": "test", "x-kept": "yes", "x-forwarded-for": "10.0.0.1, 127.0.0.1", "x-forwarded-host": "test",
                                      "x-forwarded-proto": "http", "via": "1.1 weft"})
            old = json.loads(proxy.get("/", "Connection: keep-alive", version="1.0").body)
            self.assertEqual(old["version"], "HTTP/1.1")
            self.assertIn(["Via", "1.0 weft"], old["fields"])
        b = self.backend(answer=lambda r: plain("x", "Connection: X-Private", "X-Private: 1", "Keep-Alive: 5", "X-Kept: 1", "Via: 1.1 other"))
        with Proxy(b) as proxy:
            answer = proxy.get()
            self.assertEqual([(n, answer[n]) for n in ("X-Private", "Keep-Alive", "X-Kept", "Via")],
                             [("X-Private", None), ("Keep-Alive", None), ("X-Kept", "1"), ("Via", "1.1 other, 1.1 weft")])

    def test_kinds_of_answers(self):
        answers = {"/close": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
                   "/old": b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
                   "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nuntil \r\n7;x=y\r\nthe end\r\n0\r\nTrailer: 1\r\n\r\n",
                   "/interim": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + plain("until the end"),
                   "/304": b"HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 100\r\n\r\n", "/204": b"HTTP/1.1 204 No Content\r\n\r\n"}

        def answer(r):
            if r.target in ("/close", "/old"):
                def send(c):
                    c.sendall(answers[r.target])
                    c.shutdown(socket.SHUT_RDWR)
                return send
            return answers[r.target]
        with Proxy(self.backend(answer=answer)) as proxy:
            for target in answers:
                for version in "1.1", "1.0":
                    with self.subTest(target, version=version):
                        got = proxy.get(target, version=version)
                        short = target in ("/304", "/204")
                        self.assertEqual((got.status, got.body), (int(target[1:]) if short else 200, b"" if short else b"until the end"))
                        if target in ("/close", "/old", "/chunked"):
                            self.assertEqual(got["Transfer-Encoding"], "chunked" if version == "1.1" else None)
                        if version == "1.0":
                            self.assertNotEqual(got["Connection"], "keep-alive")

    def test_connections_are_used_again(self):
        b = self.backend()
        with Proxy(b) as proxy:
            with proxy.connect() as s, s.makefile("rb") as file:
                for _ in range(50):
                    s.sendall(request())
                    self.assertEqual(Answer(file).body, b"backend")
                s.sendall(request() * 20)  # pipelined
                for _ in range(20):
                    self.assertEqual(Answer(file).body, b"backend")
            for _ in range(10):
                proxy.get()
            self.assertLess(b.used, 4)  # normally one; more if a request comes before it is returned

    def test_a_kept_connection_that_the_back_end_closes_is_no_error(self):
        served = threading.local()

        def answer(r):
            if getattr(served, "once", False):
                return None  # closed while the request was in flight
            served.once = True
            return plain("first")
        b = self.backend(answer=answer)
        with Proxy(b) as proxy:
            for _ in range(20):
                self.assertEqual(proxy.get().body, b"first")

    def test_requests_go_to_whom_has_the_least_to_do(self):
        gate = threading.Event()

        def wait(r):
            gate.wait(PATIENCE)
            return plain("slow")
        slow, others = self.backend(answer=wait), [self.backend("a"), self.backend("b")]
        with Proxy(slow, *others) as proxy:
            threads = []
            while not slow.requests:
                threads.append(threading.Thread(target=proxy.get))
                threads[-1].start()
                time.sleep(0.01)
            for _ in range(20):
                self.assertIn(proxy.get().body, (b"a", b"b"))
            self.assertEqual(len(slow.requests), 1)
            self.assertTrue(all(len(b.requests) >= 5 for b in others))
            gate.set()
            for t in threads:
                t.join()

    def test_another_protocol_on_the_same_connection(self):
        def echo(c):
            c.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello ")
            while piece := c.recv(1000):
                c.sendall(piece.upper())
            c.close()
        b = self.backend(answer=lambda r: echo if r["Upgrade"] == "echo" else plain("no"))
        with Proxy(b) as proxy, proxy.connect() as s, s.makefile("rb") as file:
            s.sendall(request("/", "Connection: Upgrade", "Upgrade: echo") + b"early")
            got = Answer(file)
            self.assertEqual((got.status, got["Upgrade"], got["Connection"]), (101, "echo", "upgrade"))
            self.assertEqual(file.read(11), b"hello EARLY")
            s.sendall(b"late")
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(file.read(), b"LATE")

    def test_an_answer_in_drops_is_passed_on_in_drops(self):
        gate = threading.Event()

        def drops(c):
            c.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            gate.wait(PATIENCE)
            c.sendall(b"6\r\nsecond\r\n0\r\n\r\n")
        with Proxy(self.backend(answer=lambda r: drops)) as proxy, proxy.connect() as s:
            s.sendall(request())
            got = b""
            while b"first" not in got:
                got += s.recv(1000)
            gate.set()
            while b"second" not in got:
                got += s.recv(1000)

    def test_expect_continue(self):
        with Proxy(self.backend(answer=telling)) as proxy, proxy.connect() as s, s.makefile("rb") as file:
            s.sendall(request("/", "Expect: 100-continue", "Content-Length: 4", method="POST"))
            self.assertEqual(file.readline() + file.readline(), b"HTTP/1.1 100 Continue\r\n\r\n")
            s.sendall(b"body")
            seen = json.loads(Answer(file).body)
            self.assertEqual((seen["size"], [n for n, _ in seen["fields"] if n.lower() == "expect"]), (4, []))


class GoingWrong(Case):
    def test_answers_that_are_none(self):
        for raw in (b"nonsense\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
                    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 100):
            with self.subTest(raw[:40]):
                def send(c, raw=raw):
                    c.recv(10_000)
                    c.sendall(raw)
                with Proxy(self.backend(raw=send)) as proxy:
                    got = proxy.get()
                    self.assertEqual((got.status, got["Connection"]), (502, "close"))
                    self.assertIn(b"no back end has sent a valid response", got.body)

    def test_half_an_answer_is_no_whole_one(self):
        for raw in b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n":
            def send(c, raw=raw):
                c.recv(10_000)
                c.sendall(raw)
            with Proxy(self.backend(raw=send)) as proxy:
                with self.assertRaises(EOFError):
                    proxy.get()

    def test_nobody_is_there(self):
        gone = self.backend()
        gone.kill()
        with Proxy(gone) as proxy:
            self.assertEqual(proxy.get().status, 502)
            self.assertEqual(proxy.get(method="HEAD").status, 502)
            proxy.has_said("is down: Connection refused")
        with Proxy(gone, self.backend("there"), gone) as proxy:
            for _ in range(6):
                self.assertEqual(proxy.get(method="POST", body=b"x").body, b"there")  # nothing was sent to the dead back end, so a retry is allowed

    def test_what_may_not_be_done_twice_is_done_once(self):
        bad, good = self.backend(answer=lambda r: None), self.backend("good")
        with Proxy(bad, good) as proxy:
            self.assertEqual({proxy.get().body for _ in range(10)}, {b"good"})
            before = len(bad.requests)
            self.assertGreater(before, 0)
            statuses = [proxy.get(method="POST", body=b"x").status for _ in range(10)]
            self.assertEqual(set(statuses), {200, 502})
            self.assertEqual(len(bad.requests) - before, statuses.count(502))

    def test_too_late(self):
        b = self.backend(answer=lambda r: time.sleep(0.5) or plain("late"))
        with Proxy(b, "--answer-time=0.1") as proxy:
            for options in {}, {"method": "POST", "body": b"x"}:
                got = proxy.get(**options)
                self.assertEqual(got.status, 504)
                self.assertIn(b"no back end has answered in time", got.body)
        stalling = self.backend(answer=lambda r: lambda c: c.sendall(plain("x" * 100)[:-50]) or time.sleep(0.5))
        with Proxy(stalling, "--stall-time=0.1") as proxy:
            with self.assertRaises(EOFError):
                proxy.get()

    def test_requests_that_are_refused(self):
        b = self.backend()
        many = "X: " + "x" * 20_000
        with Proxy(b) as proxy:
            for text, status in ((request("/", many), 431), (b"nonsense\r\n\r\n", 400), (request(host=None), 400), (request("/", "Host: two"), 400),
                                 (request("/", "Transfer-Encoding: chunked", method="POST", body=b"0\r\n\r\n"), 400),
                                 (request("/", "Transfer-Encoding: gzip, chunked", method="POST"), 501),
                                 (request("/", "Transfer-Encoding: chunked", method="POST", version="1.0"), 400),
                                 (request("/", "Content-Length: 1", method="POST", body=b"xx"), 400), (request("/", "Content-Length: -1", method="POST"), 400),
                                 (request("host:1", method="CONNECT"), 405), (request("/", "X : y"), 400)):
                with self.subTest(text[:60]):
                    self.assertEqual(proxy.ask(text).status, status)
            self.assertEqual(b.requests, [])
            self.assertEqual(proxy.ask(request("/", "Transfer-Encoding: chunked", method="POST") + b"xyz\r\n").status, 400)

    def test_clients_that_are_too_slow(self):
        b = self.backend()
        with Proxy(b, "--header-time=0.1", "--stall-time=0.1", "--idle-time=0.1") as proxy:
            self.assertEqual(proxy.ask(b"GET / HTTP/1.1\r\n").status, 408)
            self.assertEqual(proxy.ask(request("/", "Content-Length: 10", method="POST") + b"abc").status, 408)
            with proxy.connect() as s:
                self.assertEqual(s.recv(1), b"")

    def test_too_many_clients(self):
        with Proxy(self.backend(), "--max-connections=3") as proxy:
            held = [proxy.connect() for _ in range(3)]
            for s in held:
                s.sendall(request())
                s.recv(1)
            with proxy.connect() as s, s.makefile("rb") as file:
                self.assertEqual(Answer(file).status, 503)
            for s in held:
                s.close()

    def test_a_back_end_that_wants_no_more(self):
        def refuse(c):
            c.recv(100_000)
            c.sendall(plain("enough", "Connection: close", status="413 Payload Too Large"))
            time.sleep(0.2)
        with Proxy(self.backend(raw=refuse)) as proxy, proxy.connect() as s, s.makefile("rb") as file:
            s.sendall(request("/", f"Content-Length: {1 << 30}", method="POST"))
            s.settimeout(5)
            try:
                for _ in range(1000):
                    s.sendall(b"x" * 100_000)
            except OSError:
                pass
            s.settimeout(PATIENCE)
            try:
                got = Answer(file)
                self.assertEqual((got.status, got.body, got["Connection"]), (413, b"enough", "close"))
            except ConnectionResetError:
                pass  # closed while the client was still sending

    def test_clients_that_go_in_the_middle(self):
        b = self.backend(answer=lambda r: plain(b"x" * 1_000_000))
        with Proxy(b, "--keep=0") as proxy:
            at_rest = proxy.open_files()
            for text in request()[:10], request(), request("/", "Content-Length: 10", method="POST") + b"abc":
                for end in socket.socket.close, reset:
                    s = proxy.connect()
                    s.sendall(text)
                    end(s)
            self.assertEqual(proxy.get().status, 200)
            eventually(lambda: proxy.open_files() <= at_rest + 1, "all is closed")


class BackPressure(Case):
    def test_a_slow_client(self):
        sent, whole = [0], random.Random(2).randbytes(1_000_000) * 48

        def send(c):
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole))
            for i in range(0, len(whole), 100_000):
                c.sendall(whole[i:i + 100_000])
                sent[0] += 100_000
        with Proxy(self.backend(answer=lambda r: send)) as proxy:
            proxy.get("/health")
            before = proxy.memory()
            with proxy.connect() as s, s.makefile("rb") as file:
                s.sendall(request())
                last = -1
                while sent[0] != last:  # until the transfer stalls
                    last = sent[0]
                    time.sleep(0.2)
                self.assertLess(last, len(whole) - 5_000_000)
                self.assertEqual(Answer(file).body, whole)
            if not SANITIZED:
                self.assertLess(proxy.memory() - before, 4000)

    def test_a_slow_back_end(self):
        gate, whole = threading.Event(), random.Random(3).randbytes(1_000_000) * 48

        def answer(r):
            gate.wait(PATIENCE)
            return plain(str(r.body() == whole))
        answer.reads_itself = True
        with Proxy(self.backend(answer=answer)) as proxy:
            before = proxy.memory()
            with proxy.connect() as s, s.makefile("rb") as file:
                sent = [0]

                def send():
                    s.sendall(request("/", f"Content-Length: {len(whole)}", method="POST"))
                    for i in range(0, len(whole), 100_000):
                        s.sendall(whole[i:i + 100_000])
                        sent[0] += 100_000
                sender = threading.Thread(target=send)
                sender.start()
                last = -1
                while sent[0] != last:
                    last = sent[0]
                    time.sleep(0.2)
                self.assertLess(last, len(whole) - 5_000_000)
                gate.set()
                self.assertEqual(Answer(file).body, b"True")
                sender.join()
            if not SANITIZED:
                self.assertLess(proxy.memory() - before, 4000)


class Health(Case):
    FLAGS = "--check-every=0.02", "--fall=2", "--rise=2"

    def test_one_that_is_ill_gets_no_requests(self):
        a, b = self.backend("a"), self.backend("b")
        with Proxy(a, b, *self.FLAGS) as proxy:
            a.well = False
            proxy.has_said(f"{a.address} is down: it answers /health with 500")
            before = len(a.requests)
            self.assertEqual({proxy.get().body for _ in range(20)}, {b"b"})
            self.assertEqual(len(a.requests), before)
            a.well = True
            proxy.has_said(f"{a.address} is up")
            self.assertEqual({proxy.get().body for _ in range(20)}, {b"a", b"b"})

    def test_one_that_says_nothing(self):
        silent = self.backend(raw=lambda c: c.recv(1) and time.sleep(0.3))
        with Proxy(silent, self.backend("b"), *self.FLAGS, "--check-time=0.1") as proxy:
            proxy.has_said(f"{silent.address} is down: it does not answer")
            self.assertEqual({proxy.get().body for _ in range(10)}, {b"b"})

    def test_back_ends_come_and_go_under_load(self):
        backends = [self.backend(str(i), answer=lambda r, i=i: plain(f"{i} {r.target}")) for i in range(3)]
        with Proxy(*backends, *self.FLAGS) as proxy:
            over, wrong, answered = threading.Event(), [], [0] * 8

            def load(n):
                try:
                    with proxy.connect() as s, s.makefile("rb") as file:
                        while not over.is_set():
                            target = f"/{n}/{answered[n]}"
                            s.sendall(request(target))
                            got = Answer(file)
                            if got.status != 200 or got.body[2:] != target.encode():
                                wrong.append((got.line, got.body))
                                return
                            answered[n] += 1
                except Exception as e:  # noqa: BLE001
                    wrong.append(repr(e))
            clients = [threading.Thread(target=load, args=(n,)) for n in range(8)]
            for c in clients:
                c.start()
            for b in backends:
                seen = len(b.requests)
                eventually(lambda: len(b.requests) > seen + 20 or wrong, "it gets requests")
                b.kill()
                proxy.has_said(f"{b.address} is down")
                b.start()
                proxy.has_said(f"{b.address} is up")
            over.set()
            for c in clients:
                c.join()
            self.assertEqual(wrong, [])
            self.assertTrue(all(n > 10 for n in answered), answered)


class Ending(Case):
    def test_requests_in_flight_are_answered(self):
        gate = threading.Event()

        def answer(r):
            gate.wait(PATIENCE)
            return plain("answered")
        b = self.backend(answer=answer)
        with Proxy(b) as proxy, proxy.connect() as idle, proxy.connect() as s, s.makefile("rb") as file:
            s.sendall(request())
            eventually(lambda: b.requests, "it is under way")
            proxy.tell_to_end()
            self.assertEqual(idle.recv(1), b"")
            gate.set()
            got = Answer(file)
            self.assertEqual((got.body, got["Connection"]), (b"answered", "close"))

    def test_who_takes_too_long_is_cut_off(self):
        gate = threading.Event()
        b = self.backend(answer=lambda r: gate.wait(PATIENCE) and plain("never"))
        with Proxy(b, "--grace=0.1", status=1) as proxy, proxy.connect() as s:
            s.sendall(request())
            eventually(lambda: b.requests, "it is under way")
            threading.Timer(0.5, gate.set).start()
            self.assertEqual(proxy.end(), 1)
            self.assertIn("1 connections were cut off", proxy.errors)
            self.assertEqual(s.recv(1), b"")

    def test_the_second_signal_ends_it_at_once(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        b = self.backend(answer=lambda r: gate.wait(PATIENCE) and None)
        with Proxy(b, status=-signal.SIGTERM) as proxy, proxy.connect() as s, proxy.connect() as idle:
            s.sendall(request())
            eventually(lambda: b.requests, "it is under way")
            proxy.tell_to_end()
            self.assertEqual(idle.recv(1), b"")
            proxy.process.send_signal(signal.SIGTERM)
            proxy.process.wait(PATIENCE)


class Tcp(Case):
    def echo(self, name=b""):
        def serve(c):
            c.sendall(name)
            while piece := c.recv(100_000):
                c.sendall(piece)
            c.shutdown(socket.SHUT_WR)
        return self.backend(raw=serve)

    def test_bytes_both_ways(self):
        whole = random.Random(4).randbytes(5_000_000)
        with Proxy("--tcp", self.echo(b"hello")) as proxy:
            at_rest = proxy.open_files()
            with proxy.connect() as s, s.makefile("rb") as file:
                self.assertEqual(file.read(5), b"hello")
                sender = threading.Thread(target=lambda: s.sendall(whole) or s.shutdown(socket.SHUT_WR))
                sender.start()
                self.assertEqual(file.read(), whole)
                sender.join()
            eventually(lambda: proxy.open_files() <= at_rest, "all is closed")

    def test_another_back_end_where_one_is_gone(self):
        gone = self.echo()
        gone.kill()
        with Proxy("--tcp", gone, self.echo(b"there")) as proxy:
            for _ in range(6):
                with proxy.connect() as s:
                    self.assertEqual(s.recv(5), b"there")
        with Proxy("--tcp", gone) as proxy, proxy.connect() as s:
            self.assertEqual(s.recv(1), b"")

    def test_nothing_moves_any_more(self):
        with Proxy("--tcp", "--idle-time=0.3", self.echo(b"x")) as proxy, proxy.connect() as s:
            self.assertEqual(s.recv(1), b"x")
            for _ in range(5):  # in one direction, within the idle time
                time.sleep(0.1)
                s.sendall(b"y")
                self.assertEqual(s.recv(1), b"y")
            self.assertEqual(s.recv(1), b"")

    def test_a_reset_is_passed_on_as_an_end(self):
        with Proxy("--tcp", self.echo(b"x")) as proxy:
            at_rest = proxy.open_files()
            s = proxy.connect()
            self.assertEqual(s.recv(1), b"x")
            reset(s)
            eventually(lambda: proxy.open_files() <= at_rest, "all is closed")


class CommandLine(Case):
    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)

    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in ((["--frobnicate"], 'unknown flag "--frobnicate"'), (["--listen"], "--listen=VALUE needs a value"),
                                     ([], "no back end; name at least one"), (["--fall=0", "x:1"], '--fall needs a whole number from 1 to 1000, not "0"')):
            ended = self.run_program(*arguments)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: reverse_proxy", ended.stderr)

    def test_help_names_all_flags(self):
        ended = self.run_program("--help")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        source = (Path(__file__).parent / "reverse_proxy" / "options.cc").read_text().split("usage() noexcept {")[0]
        for flag in set(re.findall(r'"(--[\w-]+)"', source)) - {"--help"}:
            self.assertIn(flag, ended.stdout)

    def test_it_cannot_listen(self):
        with Proxy(self.backend()) as proxy:
            ended = self.run_program(f"--listen=127.0.0.1:{proxy.address[1]}", "127.0.0.1:1")
            self.assertEqual(ended.returncode, 1)
            self.assertIn(str(proxy.address[1]), ended.stderr)


if __name__ == "__main__":
    PROGRAM = reverse_proxy_peers.program = os.path.abspath(sys.argv[1])
    with open(PROGRAM, "rb") as program_file:
        SANITIZED = b"__asan_init" in (program_text := program_file.read()) or b"__tsan_init" in program_text
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
