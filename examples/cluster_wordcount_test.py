#!/usr/bin/env python3
"""cluster_wordcount_test.py PROGRAM: workers, brokers and coordinators are killed; the result must be the serial one.

The program compares with its own serial count (--check); these tests also compare with a count in Python.
SEED=N in the environment repeats the random places of a run.
"""
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from held_port import hold_port, port_of

PROGRAM = ""
PATIENCE = 100  # seconds; normally a second is enough
ACK_WAIT = 0.2
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 32)))
CHUNK = 8192
SLOW = "--pause=0.004"  # of workers, so that a count lasts long enough to be disturbed
EQUAL = "the result is equal to that of the serial count\n"
GONE = "were removed"


def eventually(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.002)


class Broker:
    """A real nats-server with JetStream, in its own folder."""

    def __init__(self, jetstream=True, store_max=0):
        self.folder = tempfile.TemporaryDirectory()
        self.held = hold_port()
        self.port = port_of(self.held)
        self.url = f"nats://127.0.0.1:{self.port}"
        config = f'listen: "127.0.0.1:{self.port}"\n'
        if jetstream:
            limit = f", max_file_store: {store_max}" if store_max else ""
            config += f'jetstream {{ store_dir: "{self.folder.name}/store"{limit} }}\n'
        Path(self.folder.name, "config").write_text(config)
        self.start()

    def start(self):
        self.process = subprocess.Popen(["nats-server", "-c", f"{self.folder.name}/config", "-l", f"{self.folder.name}/log"])
        eventually(self.answers, "the broker answers")

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError("nats-server has ended: " + Path(self.folder.name, "log").read_text())
        try:
            self.connect().close()
            return True
        except (OSError, ValueError):
            return False

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        s.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB answer 1\r\nPING\r\n')
        got = b""
        while not got.endswith(b"PONG\r\n"):
            more = s.recv(65536)
            if not more:
                s.close()
                raise ValueError("closed")
            got += more
        return s

    def ask(self, subject, body=b""):
        """One request; returns its answer."""
        with self.connect() as s, s.makefile("rb") as f:
            s.sendall(b"PUB %s answer %d\r\n%s\r\n" % (subject.encode(), len(body), body))
            words = f.readline().split()
            if words[0] != b"MSG":
                raise AssertionError(f"{subject}: {words}")
            return json.loads(f.read(int(words[-1])))

    def streams(self):
        return self.ask("$JS.API.STREAM.NAMES").get("streams") or []

    def stored(self, stream):
        return self.ask(f"$JS.API.STREAM.INFO.{stream}").get("state", {}).get("messages", -1)

    def results(self):
        return self.stored("wordcount_results")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.held.close()
        self.folder.cleanup()


class Running:
    """The program in the background. Its output goes to files, so that it never waits for a reader."""

    def __init__(self, *words, url, **options):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([PROGRAM, f"--server={url}", f"--ack-wait={ACK_WAIT}", *words], stdout=self.out, stderr=self.err,
                                        env=dict(os.environ, RUN_MAXPROCS="1"), **options)

    def end(self, how=None):
        if how is not None:
            self.process.send_signal(how)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "it did not end"
        texts = []
        for file in self.out, self.err:
            file.seek(0)
            texts.append(file.read())
            file.close()
        return status, texts[0], texts[1]


def make_tree(root, junk, files, words_each):
    """Text with small and large files, and what is difficult to cut: long words, and none at all for 300 KB."""
    names = [junk.randbytes(junk.randrange(1, 9)).hex() for _ in range(5000)]
    for i in range(files):
        path = root / f"d{i % 7}" / f"f{i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        count = junk.randrange(words_each)
        path.write_text("".join(word + junk.choice(" \n\t  ") for word in junk.choices(names, k=count)) + junk.choice(("", "end")))
    (root / "empty").write_bytes(b"")
    (root / "run").write_bytes(b"before " + b"x" * 300_000 + b" after")
    (root / "run at the end").write_bytes(b"a\n" + b"\x80" * 3 * CHUNK)
    (root / "runs").write_bytes((b"y" * (CHUNK - 1) + b" ") * 5 + (b"z" * CHUNK + b"\n") * 5)
    (root / "blank").write_bytes(b" \n" * 20_000)


def counts_of(root):
    """Files, bytes, lines, words and different words, as the program prints them."""
    files = lines = words = size = 0
    different = set()
    for path in root.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            found = [w for w in text.split() if re.search(rb"[!-~]", w)]
            files, size, lines, words = files + 1, size + len(text), lines + text.count(b"\n"), words + len(found)
            different.update(w for w in found if len(w) <= 4096)
    return f"{files:,} files, {size:,} bytes, {lines:,} lines, {words:,} words, {len(different):,} different ones\n"


class Case(unittest.TestCase):
    broker_options = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name, "tree")
        make_tree(cls.root, random.Random(1), 70, 9000)
        cls.expected = counts_of(cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.broker = Broker(**self.broker_options)
        self.addCleanup(self.broker.close)
        self.random = random.Random(f"{SEED} {self.id()}")
        self.running = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for r in self.running:
            if not r.out.closed:
                r.end(signal.SIGKILL)

    def start(self, *words, **options):
        self.running.append(Running(*words, url=self.broker.url, **options))
        return self.running[-1]

    def coordinator(self, *flags, root=None):
        return self.start("--check", f"--chunk={CHUNK}", "--top=1", *flags, "coordinator", str(root or self.root))

    def worker(self, *flags):
        return self.start(*flags, "worker")

    def until_results(self, count, c):
        """Returns when so many chunks are counted, or the coordinator has ended."""
        eventually(lambda: c.process.poll() is not None or self.broker.results() >= count, f"{count} results")

    def is_right(self, c, expected=None):
        status, out, err = c.end()
        self.assertEqual(status, 0, f"seed {SEED}: {out}{err}")
        self.assertTrue(out.startswith(expected or self.expected), f"seed {SEED}: {out}")
        self.assertIn(EQUAL, out)
        return out

    def says(self, r, text):
        self.assertIsNone(r.process.poll())
        return text in Path(f"/proc/self/fd/{r.err.fileno()}").read_text()

    def workers_end(self, *workers):
        for w in workers:
            status, out, err = w.end()
            self.assertEqual(status, 0, err)
            self.assertIn("chunks counted", out)

    def chunks(self):
        return self.root_size() // CHUNK

    def root_size(self):
        return sum(p.stat().st_size for p in self.root.rglob("*") if p.is_file())


class Counts(Case):
    def test_one_worker(self):
        w = self.worker()
        out = self.is_right(self.coordinator())
        self.assertIn("chunks, 0 delivered again", out)
        self.workers_end(w)
        self.assertEqual(self.broker.streams(), [])

    def test_chunks_and_threads_of_other_sizes(self):
        for chunk, threads, window in ("65536", "4", "1"), ("262144", "2", "1000"):
            workers = [self.worker(f"--threads={threads}") for _ in range(2)]
            self.is_right(self.start("--check", f"--chunk={chunk}", f"--window={window}", "coordinator", str(self.root)))
            self.workers_end(*workers)

    def test_an_empty_folder(self):
        with tempfile.TemporaryDirectory() as empty:
            self.is_right(self.coordinator(root=empty), "0 files, 0 bytes, 0 lines, 0 words, 0 different ones\n")

    def test_a_difference_would_be_seen(self):
        c = self.coordinator()
        eventually(lambda: self.broker.stored("wordcount_chunks") > 0, "chunks")
        with open(self.root / "empty", "a") as changed:
            changed.write("new")
        self.addCleanup((self.root / "empty").write_bytes, b"")
        self.worker()
        status, out, err = c.end()
        self.assertEqual(status, 1, out)
        self.assertIn("the result is NOT that of the serial count", err)


class Killed(Case):
    def test_workers_at_ten_places(self):
        workers = [self.worker(SLOW) for _ in range(2)]
        c = self.coordinator()
        killed = 0
        for place in sorted(self.random.sample(range(1, self.chunks() * 3 // 4), 10)):
            self.until_results(place, c)
            if c.process.poll() is None:
                victim = workers.pop(self.random.randrange(len(workers)))
                victim.end(signal.SIGKILL)
                killed += 1
                workers.append(self.worker(SLOW))
        self.is_right(c)
        self.workers_end(*workers)
        self.assertEqual(killed, 10, f"seed {SEED}: it ended before ten kills")

    def test_the_broker_twice(self):
        workers = [self.worker(SLOW) for _ in range(2)]
        c = self.coordinator()
        for place in sorted(self.random.sample(range(1, self.chunks() * 3 // 4), 2)):
            self.until_results(place, c)
            self.assertIsNone(c.process.poll())
            self.broker.kill()
            self.broker.start()
        self.is_right(c)
        self.workers_end(*workers)

    def test_a_broker_that_has_lost_its_chunks(self):
        """What a machine loses without power: the chunks that were not yet on its disk."""
        c = self.coordinator()
        eventually(lambda: self.broker.stored("wordcount_chunks") == 64, "a full window")
        self.broker.ask("$JS.API.STREAM.PURGE.wordcount_chunks")
        w = self.worker(SLOW)
        self.is_right(c)
        self.workers_end(w)

    def test_the_coordinator_is_started_again(self):
        w = self.worker(SLOW)
        c = self.coordinator()
        self.until_results(self.random.randrange(1, self.chunks() * 3 // 4), c)
        c.end(signal.SIGKILL)
        self.is_right(self.coordinator())
        self.workers_end(w)

    def test_a_worker_that_is_stopped_and_goes_on_later(self):
        stopped = self.worker("--pause=0.05")
        c = self.coordinator()
        self.until_results(self.random.randrange(1, 5), c)
        stopped.process.send_signal(signal.SIGSTOP)
        w = self.worker(SLOW)
        self.until_results(self.chunks() * 3 // 4, c)
        stopped.process.send_signal(signal.SIGCONT)
        self.is_right(c)
        self.workers_end(stopped, w)

    def test_without_a_worker_it_says_so_and_waits(self):
        c = self.coordinator()
        eventually(lambda: self.says(c, "no worker is heard; start some: cluster_wordcount worker"), "it says so")
        w = self.worker()
        self.is_right(c)
        self.workers_end(w)

    def test_everything(self):
        workers = [self.worker(SLOW) for _ in range(2)]
        c = self.coordinator()
        for place in sorted(self.random.sample(range(1, self.chunks() * 3 // 4), 6)):
            self.until_results(place, c)
            if c.process.poll() is not None:
                break
            what = self.random.choice(("worker", "broker", "coordinator"))
            if what == "worker":
                workers.pop(0).end(signal.SIGKILL)
                workers.append(self.worker(SLOW))
            elif what == "broker":
                self.broker.kill()
                self.broker.start()
            else:
                c.end(signal.SIGKILL)
                c = self.coordinator()
        self.is_right(c)
        self.workers_end(*workers)


class TwoCoordinators(Case):
    def both(self, other_root, other_expected):
        workers = [self.worker(SLOW) for _ in range(2)]
        pair = [(self.coordinator(), self.expected), (self.coordinator(root=other_root), other_expected)]
        right = 0
        for c, expected in pair:
            status, out, err = c.end()
            if status == 0:
                right += 1
                self.assertTrue(out.startswith(expected), out)
                self.assertIn(EQUAL, out)
            else:
                self.assertEqual((status, out), (3, ""), err)
                self.assertIn(GONE, err)
        self.assertGreater(right, 0)
        self.workers_end(*workers)

    def test_with_the_same_folder(self):
        self.both(self.root, self.expected)

    def test_with_different_folders(self):
        with tempfile.TemporaryDirectory() as other:
            make_tree(Path(other), random.Random(2), 60, 9000)
            self.both(other, counts_of(Path(other)))


class Interrupted(Case):
    def test_the_coordinator_removes_its_streams(self):
        w = self.worker(SLOW)
        c = self.coordinator()
        self.until_results(10, c)
        self.assertEqual(c.end(signal.SIGINT)[0], 128 + signal.SIGINT)
        self.assertEqual(self.broker.streams(), [])
        self.workers_end(w)

    def test_a_coordinator_without_a_broker_ends_soon(self):
        c = self.coordinator()
        eventually(lambda: self.broker.stored("wordcount_chunks") > 0, "chunks")
        self.broker.kill()
        self.assertEqual(c.end(signal.SIGTERM)[0], 128 + signal.SIGTERM)

    def test_a_worker_leaves_its_chunks_to_others(self):
        w = self.worker(SLOW)
        c = self.coordinator()
        self.until_results(10, c)
        self.assertEqual(w.end(signal.SIGINT)[0], 128 + signal.SIGINT)
        w = self.worker(SLOW)
        self.is_right(c)
        self.workers_end(w)


class Errors(Case):
    def fails(self, r, *parts):
        status, out, err = r.end()
        self.assertEqual((status, out), (3, ""), err)
        for part in parts:
            self.assertIn(part, err)

    def test_no_broker(self):
        self.broker.kill()
        for r in self.coordinator(), self.worker(), self.start("remove"):
            self.fails(r, f"cluster_wordcount: no NATS server answers at {self.broker.url}", "start one with nats-server -js")

    def test_a_broker_that_stays_away(self):
        c, w = self.coordinator("--patience=1"), self.worker("--patience=1", "--crash-on=nothing")
        self.until_results(5, c)
        self.broker.kill()
        self.fails(c, "waiting for the broker", f"the broker at {self.broker.url} has failed for 1 s")
        status, _, err = w.end()
        self.assertEqual(status, 3)
        self.assertRegex(err, "has failed for 1 s|there was no connection")

    def test_streams_of_another_version(self):
        config = {"name": "wordcount_chunks", "subjects": ["wordcount.v0.chunk"], "retention": "workqueue", "storage": "file"}
        self.broker.ask("$JS.API.STREAM.CREATE.wordcount_chunks", json.dumps(config).encode())
        for r in self.coordinator(), self.worker():
            self.fails(r, "are of another version of this program (this one has v1)", "--stream")
        w = self.worker("--stream=other")
        self.is_right(self.coordinator("--stream=other"))
        self.workers_end(w)

    def test_a_poisoned_chunk_is_reported(self):
        (self.root / "poison").write_text("some words and the poisonword")
        self.addCleanup((self.root / "poison").unlink)
        c = self.coordinator()
        eventually(lambda: self.broker.streams() or c.process.poll() is not None, "streams")
        deaths = 0
        while c.process.poll() is None:
            w = self.worker("--deliveries=3", "--crash-on=poisonword")
            eventually(lambda: w.process.poll() is not None or c.process.poll() is not None, "an end")
            deaths += w.process.poll() == -signal.SIGKILL  # else it waits for other coordinators
            w.end(signal.SIGTERM)
        status, _, err = c.end()
        self.assertEqual(status, 1, err)
        self.assertRegex(err, r"not counted: chunk \d+ \(.*, from byte \d+, \d+ bytes\): it was delivered 3 times, and never counted")
        self.assertIn("NOT that of the serial count", err)
        self.assertLessEqual(3, deaths)
        self.assertLessEqual(deaths, 9, "a chunk that is sent again is also delivered again")

    def test_messages_that_are_no_chunks(self):
        c = self.coordinator()
        eventually(lambda: self.broker.stored("wordcount_chunks") > 0, "chunks")
        for garbage in b"", b"garbage", b"C\x01\x02wrong digest", b"C" + b"\xff" * 20, b"R\x01":
            self.broker.ask("wordcount.v1.chunk", garbage)
            self.broker.ask("wordcount.v1.result", garbage)
        w = self.worker()
        status, out, err = w.end()
        self.assertEqual(status, 0)
        self.assertEqual(err.count("of the stream is no chunk, and is removed"), 5, err)
        self.is_right(c)


class WithoutJetStream(Case):
    broker_options = {"jetstream": False}

    def test_it_says_so(self):
        for r in self.coordinator(), self.worker():
            status, out, err = r.end()
            self.assertEqual((status, out), (3, ""), err)
            self.assertIn("does it run with JetStream (nats-server -js)?", err)


class FullStore(Case):
    broker_options = {"store_max": 400_000}

    def test_a_full_store_is_an_error(self):
        w = self.worker("--patience=1")
        status, _, err = self.coordinator("--patience=1").end()
        self.assertEqual(status, 3, err)
        self.assertRegex(err, "has failed for 1 s: .*JetStream says: .*(resource|storage)")
        w.end(signal.SIGTERM)


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name, "tree")
        make_tree(self.root, random.Random(3), 40, 9000)
        self.temporary = Path(self.folder.name, "temporary")
        self.temporary.mkdir()

    def start(self, **variables):
        return subprocess.Popen([PROGRAM, f"--chunk={CHUNK}", "demo", str(self.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=dict(os.environ, TMPDIR=str(self.temporary), **variables))

    def left_over(self):
        """Processes that it has started: they have its environment."""
        found = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"TMPDIR={self.temporary}".encode() in file.read_bytes().split(b"\0"):
                    found.append((file.parent / "cmdline").read_bytes())
            except OSError:
                continue
        return [f for f in found if f]

    def assert_nothing_is_left(self):
        self.assertEqual(self.left_over(), [])
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_it_ends_with_the_serial_result(self):
        d = self.start()
        out, err = d.communicate(timeout=PATIENCE)
        self.assertEqual(d.returncode, 0, out + err)
        self.assertEqual(out.count("equal to the serial result"), 4, out)
        for part in ("  killed a worker\n", "  killed the broker\n", "  started the broker again\n", "\n1 worker\n", "\n2 workers\n", "\n4 workers\n",
                     "all results are equal to the serial one\n"):
            self.assertIn(part, out)
        self.assert_nothing_is_left()

    def test_it_can_be_interrupted(self):
        for line in "4 workers, with failures\n", "  killed the broker\n":
            d = self.start()
            while d.stdout.readline() != line:
                self.assertIsNone(d.poll())
            self.assertGreater(len(self.left_over()), 1)
            d.send_signal(signal.SIGINT)
            out, err = d.communicate(timeout=PATIENCE)
            self.assertEqual(d.returncode, 128 + signal.SIGINT, out + err)
            self.assert_nothing_is_left()

    def test_without_a_broker_program(self):
        d = self.start(PATH="/nowhere")
        _, err = d.communicate(timeout=PATIENCE)
        self.assertEqual(d.returncode, 3)
        self.assertIn("cannot start nats-server: No such file or directory; run: apt-get install nats-server", err)
        self.assert_nothing_is_left()


class CommandLine(unittest.TestCase):
    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in (([], "a command is missing"), (["dance"], 'unknown command "dance"'),
                                     (["--frobnicate", "worker"], 'unknown flag "--frobnicate"'),
                                     (["worker", "x"], "worker takes no arguments"), (["demo", "a", "b"], "demo takes one folder"),
                                     (["--stream=a.b", "worker"], '--stream needs letters, digits, - and _, not "a.b"'),
                                     (["--chunk=100", "coordinator"], '--chunk needs a whole number from 8192 to 262144, not "100"')):
            ended = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: cluster_wordcount", ended.stderr)

    def test_a_folder_that_is_not_there(self):
        ended = subprocess.run([PROGRAM, "coordinator", "/nowhere/at all"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertEqual(ended.stderr, "cluster_wordcount: /nowhere/at all: No such file or directory\n")

    def test_help_names_all_flags(self):
        ended = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        source = (Path(__file__).parent / "cluster_wordcount" / "options.cc").read_text().split("usage() noexcept {")[0]
        for flag in set(re.findall(r'"(--[\w-]+)"', source)) - {"--help"}:
            self.assertIn(flag, ended.stdout)


def run_all():
    """Runs the classes in processes of their own, three at a time: they wait more than they compute."""
    def run(case):
        ended = subprocess.run([sys.executable, __file__, PROGRAM, case], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=dict(os.environ, SEED=str(SEED)))
        print(ended.stdout, flush=True)
        return ended.returncode != 0

    cases = "Killed", "Demo", "Errors", "Interrupted", "TwoCoordinators", "Counts", "WithoutJetStream", "FullStore", "CommandLine"
    assert {c.__name__ for c in Case.__subclasses__() + unittest.TestCase.__subclasses__() if c.__module__ == "__main__"} == {*cases, "Case"}
    with concurrent.futures.ThreadPoolExecutor(3) as at_once:
        return any(list(at_once.map(run, cases)))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    if not shutil.which("nats-server"):
        print("left out: no nats-server; run: apt-get install nats-server")
        sys.exit(77)
    print(f"seed {SEED}", flush=True)
    if len(sys.argv) > 2:
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
    sys.exit(run_all())
