#!/usr/bin/env python3
"""wordcount_test.py PROGRAM: compares wordcount with wc, tr, sort and uniq, on a difficult tree and on a
real one.

The program itself compares its three ways of counting and fails if they differ. These tests compare
with independent programs.
"""
import collections
import json
import os
import pty
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

BLOCK = 64 * 1024  # pipeline.cc, block_size
LONG_WORD = 4096  # text_counter.h, long_word
SPACE = b" \t\n\v\f\r"
C_LOCALE = dict(os.environ, LC_ALL="C")

PROGRAM = ""
Counts = collections.namedtuple("Counts", "lines words bytes")


def wordcount(root, *flags, **options):
    """Runs the program, and returns its parsed JSON output."""
    flags = ("--json", "--no-million", "--top=100000") + flags
    command = [PROGRAM, *flags, "--", str(root)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, **options)
    if ended.returncode != 0:
        raise AssertionError(f"ended with {ended.returncode}: {ended.stderr.decode(errors='replace')}")
    return json.loads(ended.stdout)


def shell(script, root):
    return subprocess.run(["bash", "-c", f"set -o pipefail; {script}", "sh", str(root)],
                          stdout=subprocess.PIPE, check=True, env=C_LOCALE).stdout


# One word per line. echo ends the last word of a file; grep drops what wc does not count as a word.
WORDS = r"""find "$1" -type f -exec sh -c 'for f; do cat -- "$f"; echo; done' sh {} + |
            tr -s ' \t\n\v\f\r' '\n' | { grep -a '[!-~]' || true; }"""


def wc_needs_printable():
    """Up to coreutils 9.4, unprintable bytes alone do not make a word. In later versions they do."""
    return subprocess.run(["wc", "-w"], input=b"\1\n", stdout=subprocess.PIPE, check=True, env=C_LOCALE).stdout == b"0\n"


def coreutils_counts(root):
    total = shell('find "$1" -type f -print0 | wc -lwc --files0-from=- | tail -n 1', root).split()
    counts = Counts(*map(int, total[:3]))
    if wc_needs_printable():
        return counts
    return counts._replace(words=int(shell(f"{WORDS} | wc -l", root)))


def coreutils_words(root):
    table = {}
    for line in shell(f"{WORDS} | sort | uniq -c", root).split(b"\n")[:-1]:
        count, word = line.lstrip(b" ").split(b" ", 1)
        table[word] = int(count)
    return table


def check(case, root, counted, whole_table=True):
    """Compares the counts of the program with those of coreutils."""
    case.assertEqual(Counts(counted["lines"], counted["words"], counted["bytes"]), coreutils_counts(root))
    if not whole_table:
        return
    table = coreutils_words(root)
    short = {word: count for word, count in table.items() if len(word) <= LONG_WORD}
    case.assertEqual(counted["long_words"], sum(table.values()) - sum(short.values()))
    case.assertEqual(counted["different_words"], len(short))
    expected = sorted(short.items(), key=lambda item: (-item[1], item[0]))[:100_000]
    top = [(word.encode("utf-8", "surrogateescape"), count) for word, count in counted["top"]]
    case.assertEqual(top, expected)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def bytes_read_by(pid):
    """Returns how many bytes a process has read so far; see proc(5)."""
    try:
        return int(Path(f"/proc/{pid}/io").read_text().split()[1])
    except (OSError, IndexError):  # the process has ended
        return 0


def make_ugly_tree(root):
    """Makes files that are difficult for a program that reads files."""
    junk = random.Random(4711)
    write(root / "empty", b"")
    write(root / "newline", b"\n")
    write(root / "blank", SPACE * 1000)
    write(root / "no newline", b"the last word has no newline")
    write(root / "spaces", b"a\tb\vc\fd\re f\r\ng")
    write(root / "nul", b"\0 \0a\0 \0\n\0\0 b")
    write(root / "utf8", "dž € 𝄞 żółć naïve\u0085next\u00a0one\n".encode())
    write(root / "latin1", "na\xefve \xff\xfe caf\xe9\xa0x".encode("latin-1"))
    write(root / "almost utf8", b"\xc0\x80x \xed\xa0\x80y \xf4\x90\x80\x80z \xe2\x82 \xf0\x9d\x84w\xc2")
    write(root / "control", bytes(range(256)) * 3)
    write(root / "junk", junk.randbytes(1_000_000))
    write(root / "zeros", bytes(300_000))
    write(root / "unprintable", b"\x80" * 3 * BLOCK + b" \x81" * 1000)
    write(root / "one word", b"x" * (3 * BLOCK + 17))
    write(root / "late word", b"\x01" * (2 * BLOCK) + b"x")
    for size in (LONG_WORD - 1, LONG_WORD, LONG_WORD + 1):
        write(root / f"word {size}", b"w" * size + b" " + b"v" * size)
    for offset in range(-6, 7):  # words that cross, end at or begin at the end of a block
        write(root / f"cut {offset}", b" " * (BLOCK + offset) + b"abcdef" + b" " * (BLOCK - 8) + b"ghijkl")
        write(root / f"fill {offset}", b"z" * 3000 + b"\n" * (BLOCK + offset - 3000))
        write(root / f"long cut {offset}", b" " * (BLOCK - LONG_WORD + offset) + b"u" * LONG_WORD + b" end")

    write(root / "-rf", b"a name like a flag")
    write(root / "line\nbreak" / "tab\tbed", b"odd names")
    write(root / ("n" * 255), b"the longest name")
    write(Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe\x80")) / "x", b"a directory that is not UTF-8")
    deep = root / "deep"
    for _ in range(100):
        deep = deep / "d"
    write(deep / "end", b"at the end")
    os.link(root / "latin1", root / "hard link")

    (root / "to file").symlink_to("latin1")
    (root / "to directory").symlink_to("deep")
    (root / "to parent").symlink_to("..")
    (root / "deep" / "d" / "loop").symlink_to(root)
    (root / "to nothing").symlink_to("nowhere")
    (root / "to itself").symlink_to("to itself")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(root / "socket"))


class Trees(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name) / "tree"
        self.root.mkdir()

    def test_the_ugly_tree_is_counted_as_coreutils_count_it(self):
        make_ugly_tree(self.root)
        for flags, procs in ((), None), (("--readers=1",), "1"), (("--readers=100",), "7"):
            env = dict(os.environ, **({"RUN_MAXPROCS": procs} if procs else {}))
            counted = wordcount(self.root, *flags, env=env)
            check(self, self.root, counted)
            self.assertEqual({kind: n for kind, n in counted["skipped"].items() if n > 0},
                             {"symbolic links, not followed": 4, "broken symbolic links": 2, "named pipes": 1, "sockets": 1})
            self.assertEqual(counted["rounds"], 1)

    def test_a_difference_would_be_seen(self):
        write(self.root / "a", b"one two two\n")
        counted = wordcount(self.root)
        check(self, self.root, counted)
        for changed in (b"one two three\n", b"one two two ", b"one two two\n\n", b"one two twoo"):
            write(self.root / "a", changed)
            with self.assertRaises(AssertionError):
                check(self, self.root, counted)

    def test_an_empty_tree(self):
        counted = wordcount(self.root)
        self.assertEqual((counted["files"], counted["directories"], counted["words"], counted["top"]), (0, 1, 0, []))

    def test_a_single_file(self):
        write(self.root / "a", b"to be or not to be\n")
        (self.root / "link").symlink_to("a")
        for name in "a", "link":
            counted = wordcount(self.root / name)
            self.assertEqual((counted["files"], counted["words"], counted["top"][0]), (1, 6, ["be", 2]))

    def test_paths_beyond_the_systems_limit_are_noted(self):
        write(self.root / "a", b"near")
        here = os.open(self.root, os.O_RDONLY)
        for _ in range(20):
            os.mkdir("d" * 250, dir_fd=here)
            there = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = there
        os.close(here)
        counted = wordcount(self.root)
        self.assertEqual((counted["files"], counted["skipped"]["path names too long"]), (1, 1))

    def test_what_may_not_be_read_is_noted(self):
        write(self.root / "closed" / "inside", b"unseen")
        write(self.root / "secret", b"unseen")
        write(self.root / "open", b"seen\n")
        (self.root / "closed").chmod(0)
        (self.root / "secret").chmod(0)
        self.addCleanup((self.root / "closed").chmod, 0o700)
        options = {}
        if os.geteuid() == 0:  # root can read everything, so run as another user
            os.chmod(self.folder.name, 0o755)
            options = {"user": 65534, "extra_groups": [], "executable": f"{self.folder.name}/wordcount"}
            shutil.copy(PROGRAM, options["executable"])
            try:
                subprocess.run([PROGRAM, "--help"], stdout=subprocess.DEVNULL, check=True, **options)
            except (OSError, subprocess.CalledProcessError):
                self.skipTest("runs as root, and nobody else may run the program")
        counted = wordcount(self.root, **options)
        self.assertEqual((counted["files"], counted["words"], counted["skipped"]["permission denied"]), (1, 1, 2))

    def test_directories_removed_while_running_are_no_problem(self):
        text = b"some words and some more\n" * 800
        noticed = 0
        for passes_read in 1.5, 2.5, 3.5:  # after the warm-up: within the first, second and third way
            for i in range(40):
                for j in range(25):
                    write(self.root / f"d{i}" / f"f{j}", text)
            size = 40 * 25 * len(text)
            running = subprocess.Popen([PROGRAM, "--json", "--no-million", "--top=100000", str(self.root)],
                                       stdout=subprocess.PIPE)
            while running.poll() is None and bytes_read_by(running.pid) < passes_read * size:
                time.sleep(0.001)
            running.send_signal(signal.SIGSTOP)
            for i in range(0, 40, 3):
                shutil.rmtree(self.root / f"d{i}")
            running.send_signal(signal.SIGCONT)
            output, _ = running.communicate(timeout=100)
            self.assertEqual(running.returncode, 0)
            counted = json.loads(output)
            if counted["rounds"] > 1:
                noticed += 1
                check(self, self.root, counted)
        self.assertGreater(noticed, 0, "no directory was removed at the right moment")

    def test_a_tree_that_never_stands_still_is_given_up(self):
        write(self.root / "log", b"")
        for i in range(20):  # enough to keep the program busy while the log grows
            write(self.root / f"f{i}", b"some words\n" * 100_000)
        stop = threading.Event()

        def keep_writing():
            with open(self.root / "log", "ab", buffering=0) as log:
                while not stop.is_set():
                    log.write(b"again\n")
                    time.sleep(0.001)

        writer = threading.Thread(target=keep_writing)
        writer.start()
        try:
            ended = subprocess.run([PROGRAM, "--no-million", str(self.root)], capture_output=True, text=True, timeout=100)
        finally:
            stop.set()
            writer.join()
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertIn("changed in each of 4 rounds", ended.stderr)

    def test_real_trees(self):
        for root in "/usr/include/c++", "/usr/include/linux", "/usr/share/perl":
            if os.path.isdir(root):
                with self.subTest(root):
                    check(self, root, wordcount(root))


class CommandLine(unittest.TestCase):
    def run_program(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=100, **options)

    def test_a_wrong_call_says_what_is_wrong(self):
        for arguments, complaint in (
            (["--frobnicate"], 'unknown flag "--frobnicate"'),
            (["--top"], "--top=N needs a whole number from 0 to 100000"),
            (["--top=many"], '--top=N needs a whole number from 0 to 100000, not "many"'),
            (["--top=-1"], 'not "-1"'),
            (["--topaz=1"], 'unknown flag "--topaz=1"'),
            (["--readers=0"], "--readers=N needs a whole number from 1 to 256"),
            (["--million=0"], "--million=N needs"),
            (["--million=99999999999999999999"], "--million=N needs"),
            (["/usr", "/etc"], 'more than one directory: "/usr" and "/etc"'),
            ([""], "the directory's name is empty"),
        ):
            ended = self.run_program(*arguments)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(complaint, ended.stderr)
            self.assertIn("usage: wordcount", ended.stderr)
            self.assertEqual(ended.stdout, "")

    def test_a_directory_that_is_not_there(self):
        ended = self.run_program("/nowhere/at all")
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertEqual(ended.stderr, "wordcount: /nowhere/at all: No such file or directory\n")

    def test_help(self):
        ended = self.run_program("--help")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("--no-million", ended.stdout)

    def test_a_result_that_cannot_be_written_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
            ended = subprocess.run([PROGRAM, "--no-million", folder], stdout=full, stderr=subprocess.PIPE, text=True, timeout=100)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("cannot write the result", ended.stderr)

    def test_the_report_for_people(self):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "a", b"to be\x1b[31m or not to be\n")
            ended = self.run_program("--million=2000", "--top=1", folder)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for part in ("files in 1 directory", "words, 5 different ones", "2  to\n", "All three results are equal",
                     "context switches", "2,000 green threads parked on one channel", "to release them"):
            self.assertIn(part, ended.stdout)
        self.assertNotIn("\x1b", ended.stdout)

    def test_progress_is_for_terminals_only(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for i in range(40):
            write(Path(folder.name) / str(i), b"some words\n" * 100_000)

        outer, inner = pty.openpty()
        shown = bytearray()

        def read_terminal():
            try:
                while data := os.read(outer, 65536):
                    shown.extend(data)
            except OSError:  # Linux reports a closed terminal as an error
                pass

        reader = threading.Thread(target=read_terminal)
        reader.start()
        try:
            ended = subprocess.run([PROGRAM, "--no-million", folder.name], stdout=subprocess.PIPE, stderr=inner, timeout=100)
        finally:
            os.close(inner)
            reader.join()
            os.close(outer)
        self.assertEqual(ended.returncode, 0)
        self.assertRegex(shown.decode(errors="replace"), r"\r\x1b\[K\w[\w ]*: [\d,]+ files, [\d.]+ MB")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the line is taken away at the end")


class Million(unittest.TestCase):
    def test_green_threads_are_parked_and_released(self):
        with tempfile.TemporaryDirectory() as folder:
            facts = json.loads(subprocess.run([PROGRAM, "--json", "--million=20000", folder], stdout=subprocess.PIPE, check=True,
                                              timeout=100).stdout)["million"]
        self.assertEqual((facts["wanted"], facts["count"]), (20000, 20000))
        self.assertGreater(facts["resident_bytes"], 20000 * 4096)

    def test_running_out_of_address_space_is_reported(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

        with tempfile.TemporaryDirectory() as folder:
            try:
                subprocess.run([PROGRAM, "--no-million", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               check=True, timeout=100, preexec_fn=limit)
            except (OSError, subprocess.SubprocessError):
                self.skipTest("does not start under a limit of address space (a sanitizer's build?)")
            ended = subprocess.run([PROGRAM, "--million=100000", folder], stdout=subprocess.PIPE, text=True, timeout=100,
                                   preexec_fn=limit)
        self.assertEqual(ended.returncode, 0)
        self.assertIn("(100,000 were wanted)", ended.stdout)
        self.assertIn("no more could be started", ended.stdout)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
