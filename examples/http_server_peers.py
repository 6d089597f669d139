"""http_server_peers.py: the HTTP server with independent clients: curl, openssl, h2load, wrk, Node, Python;
plain and over TLS.

What a client received is compared with the served files, and with the counters of the server. If a
client is not installed, its tests are skipped, with a message.
"""
import http.client
import json
import re
import shutil
import subprocess
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import http_server_client
from http_server_client import LAST, PATIENCE, SecuredFolder, eventually, request


def needs(program, package):
    return unittest.skipUnless(shutil.which(program), f"no {program}; run: apt-get install {package}")


def output_of(*command, status=0, **options):
    got = subprocess.run([str(word) for word in command], capture_output=True, timeout=PATIENCE, **options)
    if got.returncode != status:
        raise AssertionError(f"{command[0]} ended with {got.returncode}: {got.stdout[-2000:]} {got.stderr[-2000:]}")
    return got.stdout


class Secured(SecuredFolder):
    def test_files_by_https(self):
        with self.secured() as server:
            client = http.client.HTTPSConnection("127.0.0.1", server.address[1], timeout=PATIENCE, context=self.trust)
            for target, text in ("/a.txt", b"0123456789"), ("/large.bin", self.large), ("/empty", b""):
                client.request("GET", target)
                self.assertEqual(client.getresponse().read(), text)
            client.request("GET", "/large.bin", headers={"Range": "bytes=-5"})
            self.assertEqual(client.getresponse().read(), self.large[-5:])
            client.close()
            if shutil.which("curl"):
                got = subprocess.run(["curl", "-sS", "--cacert", self.certificate, server.url + "/a.txt"], capture_output=True, timeout=PATIENCE)
                self.assertEqual((got.stdout, got.stderr), (b"0123456789", b""))

    def test_wrong_credentials(self):
        wrong = self.outside / "wrong.pem"
        wrong.write_text("nothing")
        for flags in (f"--cert={wrong}", f"--key={self.key}"), (f"--cert={self.certificate}", "--key=/nowhere"):
            ended = subprocess.run([http_server_client.program, *flags, str(self.root)], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stderr, r"^http_server: .*(wrong\.pem|nowhere|certificate)")



class OpenSsl(SecuredFolder):
    def test_a_client_that_wants_short_records(self):
        with self.secured() as server:
            for size in "512", "4096":
                got = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.address[1]}", "-maxfraglen", size, "-CAfile",
                                      self.certificate, "-quiet", "-ign_eof"], input=request("/large.bin", LAST), capture_output=True, timeout=PATIENCE)
                self.assertTrue(got.stdout.endswith(self.large), got.stderr)

    def test_versions(self):
        with self.secured() as server:
            for flag, version in ("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3"):
                got = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.address[1]}", flag, "-alpn", "h2,http/1.1", "-servername",
                                      "localhost", "-verify_return_error", "-CAfile", self.certificate, "-ign_eof"],
                                     input=request("/a.txt", LAST), capture_output=True, timeout=PATIENCE)
                for said in f"New, {version}", "ALPN protocol: http/1.1", "Verify return code: 0 (ok)", "HTTP/1.1 200 OK", "0123456789":
                    self.assertIn(said.encode(), got.stdout)


@needs("curl", "curl")
class Curl(SecuredFolder):
    def test_curl(self):
        def curl(*arguments):
            got = subprocess.run(["curl", "-sS", *arguments], capture_output=True, timeout=PATIENCE)
            self.assertEqual((got.returncode, got.stderr), (0, b""))
            return got.stdout
        with self.server("--max-body=3000000") as server:
            self.assertEqual(curl(server.url + "/large.bin"), self.large)
            self.assertEqual(curl("-L", server.url + "/sub"), b"below")
            self.assertEqual(curl("-r", "2-4", server.url + "/a.txt"), b"234")
            self.assertTrue(curl("-I", server.url + "/").startswith(b"HTTP/1.1 200 OK\r\n"))
            body = self.outside / "body"
            body.write_text('"' + "x" * 2_000_000 + '"')  # for this size, curl sends Expect: 100-continue first
            got = curl("-H", "Content-Type: application/json", "--data-binary", f"@{body}", server.url + "/api/echo")
            self.assertEqual(json.loads(got)["bytes"], 2_000_002)

    def test_many_by_one_connection(self):
        """With and without TLS, curl sends all requests over one connection."""
        for secured in False, True:
            with self.subTest(secured=secured), (self.secured() if secured else self.server()) as server:
                urls = [server.url + path for path in ("/a.txt", "/empty", "/nowhere", "/large.bin", "/sub/") * 5]
                got = subprocess.run(["curl", "-sS", "--cacert", self.certificate, "-w", r"%{stderr}%{http_code} %{size_download} %{num_connects}\n", *urls],
                                     capture_output=True, timeout=PATIENCE)
                reason = b"404 Not Found: there is no such file\n"
                self.assertEqual(got.stdout, (b"0123456789" + reason + self.large + b"below") * 5)
                lines = [line.split() for line in got.stderr.decode().splitlines()]
                self.assertEqual([(line[0], int(line[1])) for line in lines],
                                 [("200", 10), ("200", 0), ("404", len(reason)), ("200", len(self.large)), ("200", 5)] * 5)
                self.assertEqual(sum(int(line[2]) for line in lines), 1)


@needs("h2load", "nghttp2-client")
class H2load(SecuredFolder):
    def load(self, url, requests, *flags):
        """Returns the counts of h2load: successful requests, statuses, bytes of bodies."""
        said = output_of("h2load", "--h1", "-n", requests, *flags, url).decode()
        counts = re.search(r"requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", said)
        statuses = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", said)
        data = re.search(r"\((\d+)\) data", said)
        if not (counts and statuses and data):
            raise AssertionError(said)
        self.assertEqual([int(n) for n in counts.groups()[4:]], [0, 0, 0], said)
        return int(counts[3]), [int(n) for n in statuses.groups()], int(data[1])

    def check(self, server):
        for flags in ("-c", "1"), ("-c", "16"), ("-c", "8", "-m", "10"):  # -m: the depth of the pipeline
            with self.subTest(flags):
                self.assertEqual(self.load(server.url + "/a.txt", 2000, *flags), (2000, [2000, 0, 0, 0], 20_000))
        self.assertEqual(self.load(server.url + "/large.bin", 20, "-c", "4"), (20, [20, 0, 0, 0], 20 * len(self.large)))
        done, statuses, _ = self.load(server.url + "/a.txt", 500, "-c", "4", "-H", "If-None-Match: *")
        self.assertEqual((done, statuses), (500, [0, 500, 0, 0]))

    def test_plain(self):
        with self.server("--no-log") as server:
            self.check(server)
            answers = server.stats()["answers"]
            self.assertEqual((answers["2xx"], answers["3xx"], answers["4xx"]), (3 * 2000 + 20, 500, 0))

    def test_tls(self):
        with self.secured("--no-log") as server:
            self.check(server)


@needs("wrk", "wrk")
class Wrk(SecuredFolder):
    def check(self, url):
        """Returns how many requests were answered."""
        said = output_of("wrk", "--threads", "1", "--connections", "16", "--duration", "1s", url).decode()
        self.assertNotRegex(said, "Socket errors|Non-2xx")
        requests = int(re.search(r"(\d+) requests in", said)[1])
        self.assertGreater(requests, 0)
        return requests

    def test_plain(self):
        with self.server("--no-log") as server:
            requests = self.check(server.url + "/a.txt")
            # The client may have an answer before the server has counted it.
            eventually(lambda: server.stats()["answers"]["2xx"] >= requests, "all answers are counted")
            stats = server.stats()
            self.assertEqual((stats["answers"]["4xx"], stats["answers"]["5xx"]), (0, 0))

    def test_tls(self):
        with self.secured("--no-log") as server:
            self.check(server.url + "/a.txt")


@needs("node", "nodejs")
class Node(SecuredFolder):
    """Node's own client: an agent that reuses connections, and pipelined requests over a plain socket."""

    def check(self, server):
        script = Path(__file__).parent / "http_server_node.js"
        got = json.loads(output_of("node", script, server.url, self.certificate))
        self.assertEqual(got["files"], {"answers": 400, "wrong": [], "bytes": 400 * 10})
        self.assertLessEqual(got["sockets"], 4, "all requests but the first ones go by a connection that is kept")
        self.assertEqual(got["large"], {"status": 200, "bytes": len(self.large)})
        self.assertEqual(got["part"], {"status": 206, "range": "bytes 2-5/10", "text": "2345"})
        self.assertEqual(got["echo"], {"status": 200, "body": {"bytes": 7, "json": [1, 2, 3]}})  # Node sends the body in chunks
        self.assertEqual(got["head"], {"status": 200, "length": "10", "bytes": 0})
        self.assertEqual(got["nowhere"], {"status": 404})
        self.assertEqual(got["pipeline"], {"statuses": [200, 404, 200] * 30, "ended": True})

    def test_plain(self):
        with self.server() as server:
            self.check(server)

    def test_tls(self):
        with self.secured() as server:
            self.check(server)


class Python(SecuredFolder):
    def check(self, server, connection):
        for _ in range(100):
            connection.request("GET", "/a.txt")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b"0123456789"))
        connection.request("POST", "/api/echo", body=iter([b"[1,", b"2]"]), headers={"Content-Type": "application/json"}, encode_chunked=True)
        self.assertEqual(json.loads(connection.getresponse().read()), {"bytes": 5, "json": [1, 2]})
        connection.request("HEAD", "/large.bin")
        answer = connection.getresponse()
        self.assertEqual((answer.headers["Content-Length"], answer.read()), (str(len(self.large)), b""))
        connection.request("GET", "/api/stats")
        stats = json.loads(connection.getresponse().read())
        self.assertEqual((stats["connections"]["accepted"], stats["requests"]), (1, 103))
        connection.close()

    def test_http_client(self):
        with self.server() as server:
            self.check(server, http.client.HTTPConnection(*server.address, timeout=PATIENCE))

    def test_http_client_by_tls(self):
        with self.secured() as server:
            self.check(server, http.client.HTTPSConnection(*server.address, timeout=PATIENCE, context=self.trust))

    def test_urllib(self):
        with self.secured() as server:
            def open_(path, **fields):
                asked = urllib.request.Request(server.url + path, headers=fields)
                return urllib.request.urlopen(asked, timeout=PATIENCE, context=self.trust)
            with open_("/large.bin") as answer:
                self.assertEqual(answer.read(), self.large)
            with open_("/sub") as answer:
                self.assertEqual((answer.read(), answer.url), (b"below", server.url + "/sub/"))
            with open_("/a.txt", Range="bytes=-3") as answer:
                self.assertEqual((answer.status, answer.read()), (206, b"789"))
            with self.assertRaises(urllib.error.HTTPError) as refused:
                open_("/nowhere")
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()
            with self.assertRaisesRegex(urllib.error.URLError, "CERTIFICATE_VERIFY_FAILED"):  # by a client that does not trust the certificate
                urllib.request.urlopen(server.url, timeout=PATIENCE)
            with open_("/a.txt") as answer:
                self.assertEqual(answer.read(), b"0123456789")
