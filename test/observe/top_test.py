#!/usr/bin/env python3
"""top_test.py WEFT TARGET FOLDER: `weft top` shows the program TARGET, page_target.cc.

--once prints one screen as text, read from the page and from outside. In a terminal, which pyte
emulates (installed in FOLDER), keys do what they should, and a page that ends is said to.
"""
import fcntl
import os
import pty
import re
import select
import subprocess
import struct
import sys
import termios
import time

import python_package

PATIENCE = 60
ROWS, COLUMNS = 45, 130
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_target.cc")
SKIPPED = 77


def fail(message):
    sys.exit(f"FAILED: {message}")


def marked_lines():
    with open(SOURCE, encoding="utf-8") as f:
        return {m[1]: number for number, line in enumerate(f, 1) if (m := re.search(r"// <(\w+)>$", line.rstrip()))}


MARKS = marked_lines()


class target:
    """TARGET, until the end of a with statement."""

    def __init__(self, program):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("RUN_", "WEFT_"))}
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.pid = str(self.process.pid)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        if not self.url.startswith("http://127.0.0.1:"):
            fail(f"the program says {self.url}")
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def once(weft, *arguments, status=0):
    done = subprocess.run([weft, "top", "--once", "--every", "200ms", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != status:
        if "weft: cannot read process" in done.stderr:
            print(f"skipped: {done.stderr.strip()}")
            sys.exit(SKIPPED)
        fail(f"weft top {' '.join(arguments)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stderr


def expect(where, text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.MULTILINE):
            fail(f"{where}: there is no {pattern!r} in:\n{text}")


def check_once(weft, one):
    # The worker may run, and a green thread that is about to wait is still running.
    head = (rf"^page_target, process {one.pid}, runtime \"weft\"",
            r"^green threads  16: \d+ runnable, \d+ running, 1 in a call, 1[45] waiting; started 0/s, ended 0/s$",
            r"^Ps             2 \(\d idle\); threads \d+ \(\d+ idle, \d+ searching, ",
            r"^queues         local \d+, global 0, ",
            r"^per second     schedules [1-9]\S*( k)?, waits [1-9]\S*( k)?, timers [1-9]\S*( k)?, steals ",
            r"^Ps retaken     blocked \d+.*, computing \d+.*, in a call \d+.*; handed off \d+",
            r"^scheduling     half from \S+ \w+, 1 % from \S+ \w+, longest from \S+ \w+; of [1-9]",
            r"^   P  SCHEDULES/S  QUEUED  RUNS$",
            r"^   0 +\S+( k)? +\d  ")
    sites = (rf"^      10 .* page_target\.cc:{MARKS['server']} +server +chan receive 10$",
             rf"^       3 .* page_target\.cc:{MARKS['locker']} +locker +mutex lock 3$")
    expect("page", once(weft, one.url), *head, *sites,
           r"^stacks         16 in use; \d+ KiB of each touched \(of \d+ measured\), so \d+ KiB; 256 KiB each at most$")
    expect("outside", once(weft, one.pid), *head, *sites)
    for target_of in (one.url, one.pid):
        expect("states", once(weft, target_of, "--by", "state"), r"^   COUNT  STATE OR WAIT\n      10  chan receive\n       3  mutex lock\n")
        expect("labels", once(weft, target_of, "--by", "label"), r"^   COUNT  LABELS\n       6  pool=mail\n       4  pool=images$")
        expect("objects", once(weft, target_of, "--by", "object"),
               r"^   COUNT  WAIT +AT\n      10  chan receive +0x[0-9a-f]+\n       3  mutex lock +0x[0-9a-f]+$")
    place, _, token = one.url.partition("/?token=")
    hidden = subprocess.run([weft, "top", "--once", "--every", "10ms", place], capture_output=True, text=True, check=False,
                            env={**os.environ, "WEFT_TOKEN": token})
    expect("a token of the environment", hidden.stdout, r"^page_target, process ")
    names = re.findall(r"page_target\.cc:(\d+)", once(weft, one.url, "--sort", "name").partition("COUNT")[2])
    if names != sorted(names):
        fail(f"not sorted by name: {names}")
    oldest = re.findall(r"^ +\d+ +(\d+) (ms|s) ", once(weft, one.url, "--sort", "oldest").partition("COUNT")[2], re.MULTILINE)
    ages = [int(n) * (1000 if unit == "s" else 1) for n, unit in oldest]
    if not ages or ages != sorted(ages, reverse=True):
        fail(f"not sorted by age: {ages}")


def check_errors(weft, one):
    wrong = one.url[:-1] + ("0" if one.url[-1] != "0" else "1")
    for arguments, status, pattern in (
            ([wrong], 1, r"^weft: the page has answered with status 401: the token is missing or wrong"),
            (["http://127.0.0.1:1/?token=x"], 1, r"^weft: cannot connect to 127.0.0.1:1: Connection refused$"),
            (["http://"], 1, r'^weft: "http://" is no URL of a page, such as '),
            (["999999999"], 1, r"^weft: there is no process 999999999$"),
            ([], 2, r"^weft: top needs the URL of a page, or the number of a process; "),
            ([one.url, "--by", "x"], 2, r"^weft: --by needs site, state, label or object, not x; "),
            ([one.url, "--sort", "x"], 2, r"^weft: --sort needs count, oldest or name, not x; "),
            ([one.url, "--other"], 2, r"^weft: top does not know --other; "),
    ):
        expect("error", once(weft, *arguments, status=status), pattern)
    done = subprocess.run([weft, "top", one.url], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 1 or not re.match(r"weft: (top needs a terminal; without one: --once|this program was built without ncurses)", done.stderr):
        fail(f"without a terminal: {done.returncode} {done.stderr}")
    return "without ncurses" not in done.stderr


class terminal:
    """weft top in an emulated terminal."""

    def __init__(self, pyte, weft, *arguments):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = {**os.environ, "TERM": "linux", "LC_ALL": "C.UTF-8"}
        for name in ("LINES", "COLUMNS"):
            env.pop(name, None)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen([weft, "top", "--every", "100ms", *arguments], stdin=slave, stdout=slave, stderr=slave, env=env,
                                        start_new_session=True)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if ready:
            self.stream.feed(os.read(self.fd, 65536))

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                fail(f"in the terminal: {what} did not come; it shows:\n{self.text()}")
            self.read(0.1)

    def shows(self, *patterns):
        for pattern in patterns:
            self.wait_for(pattern, lambda pattern=pattern: re.search(pattern, self.text(), re.MULTILINE))

    def press(self, keys):
        os.write(self.fd, keys)

    def chosen(self):
        """The text of the row that is shown in reverse, without the last line."""
        rows = [y for y in range(ROWS - 1) if self.screen.buffer[y][9].reverse]
        return self.screen.display[rows[0]].rstrip() if len(rows) == 1 else None

    def end(self):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if time.monotonic() > end:
                self.process.kill()
                fail("it does not end after q")
            self.read(0.05)
        if self.process.returncode != 0:
            fail(f"it ended with {self.process.returncode}")
        if termios.tcgetattr(self.slave) != self.before:
            fail("the settings of the terminal were not restored")
        os.close(self.slave)
        os.close(self.fd)


def check_terminal(pyte, weft, target_of):
    t = terminal(pyte, weft, target_of)
    t.shows(r"^page_target, process \d+, runtime \"weft\"",
            r"^   COUNT     OLDEST  STARTED AT",
            rf"^      10 .* page_target\.cc:{MARKS['server']} +server +chan receive 10$",
            r"^per second     schedules [1-9]",   # needs two samples
            r"q end  space pause  s sort: count  v rows by: place of start  enter stacks")
    t.wait_for("the first row is chosen", lambda: (t.chosen() or "").startswith("      10 "))
    t.press(b"\x1b[B")
    t.wait_for("the second row is chosen", lambda: (t.chosen() or "").startswith("       3 "))
    t.press(b"\x1b[A")
    t.wait_for("the first row is chosen again", lambda: (t.chosen() or "").startswith("      10 "))
    t.press(b"\r")
    t.shows(r"^(10|6|4) green threads \"server\" \[chan receive, ",
            r"^    … parked in weft::chan<int>::recv\(\) const$",
            rf"^    #0 +.*serve\(.*page_target\.cc:{MARKS['serve']}", r"enter back")
    if "STARTED AT" in t.text():
        fail(f"the rows are still shown:\n{t.text()}")
    t.press(b"\r")
    t.shows(r"STARTED AT", r"enter stacks")
    t.press(b"s")
    t.shows(r"s sort: oldest")
    t.press(b"s")
    t.shows(r"s sort: name")
    t.press(b"v")
    t.shows(r"v rows by: state", r"^      10  chan receive$")
    t.press(b"v")
    t.shows(r"v rows by: labels", r"^       6  pool=mail$")
    t.press(b" ")
    t.shows(r"^PAUSED  q end  space go on")
    t.press(b" ")
    t.shows(r"^q end  space pause")
    t.press(b"q")
    t.end()


def check_end_of_the_page(pyte, weft, program):
    with target(program) as one:
        t = terminal(pyte, weft, one.url)
        t.shows(r"^page_target, process")
    t.shows(r"^weft: cannot connect to 127\.0\.0\.1:\d+: Connection refused", r"^page_target, process")
    t.press(b"q")
    t.end()


def main(weft, program, folder):
    with target(program) as one:
        check_once(weft, one)
        has_terminal = check_errors(weft, one)
        if not has_terminal:
            print("not checked: the terminal, because weft was built without ncurses")
            return
        python_package.use("pyte", "0.8.2", folder)
        import pyte
        check_terminal(pyte, weft, one.url)
        check_terminal(pyte, weft, one.pid)
    check_end_of_the_page(pyte, weft, program)


if __name__ == "__main__":
    main(*[os.path.abspath(path) for path in sys.argv[1:]])
