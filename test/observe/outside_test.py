#!/usr/bin/env python3
"""outside_test.py WEFT TARGET: `weft ps` reads the program TARGET, outside_target.cc, from outside.

In a process that runs, one that is stopped, one without symbols but with a separate debug file, a
core file of gdb, and one of the kernel, it must find the same groups of green threads. Then:

    - options choose green threads, and the form
    - a process that changes all the time, and one with many green threads, are counted right
    - what cannot be read gets a message that says what to do
    - the texts of waits are those of dumps

Exits with 77 if the system forbids to read other processes.
"""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
SOURCE = os.path.join(FOLDER, "outside_target.cc")

# What must be found, as regular expressions: headlines, the program's frames, and the marks of their lines.
GROUPS = [
    (r'100 green threads "worker" \[chan receive, .*\]', ["serve <serve>", "<worker>"], r"ids (\d+, ){7}\d+ and 92 more", r"\(different labels\)"),
    (r'green thread \d+ "locker" \[mutex lock, .*, P\d\]', ["lock <lock>", "<locker>"]),
    (r'green thread \d+ "nested" \[chan receive, .*, P\d\]', ["serve <serve>", "nest", "nest", "<nested>"]),
    (r'green thread \d+ "nested" \[chan receive, .*, P\d\]', ["serve <serve>", "nest", "nest", "nest", "<nested>"]),
]
COMPUTES = (r'green thread \d+ "hog" \[running, P\d\]', ["compute", "<hog>"], r"\(running on thread \d+, with P\d\)")
READS = (r'green thread \d+ "reader" \[in call, P\d\]', ["read_input <read>", "<blocking>", "<blocking>"], r"\(in a call on thread \d+, with(out its)? P\d\)")


def fail(message):
    sys.exit(f"FAILED: {message}")


def weft_ps(weft, *arguments, status=0):
    done = subprocess.run([weft, "ps", *arguments], capture_output=True, text=True, check=False, env={**os.environ, "DEBUGINFOD_URLS": ""})
    if done.returncode != status:
        if "weft: cannot read process" in done.stderr:
            print(f"skipped: {done.stderr.strip()}")
            sys.exit(SKIPPED)
        fail(f"weft ps {' '.join(arguments)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stderr


@contextlib.contextmanager
def started(program, *arguments, **environment):
    """A process of TARGET that is ready."""
    env = {**{k: v for k, v in os.environ.items() if not k.startswith(("RUN_", "WEFT_"))}, **environment}
    with subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            if process.stdout.readline() != "ready\n":
                fail(f"{program} {' '.join(arguments)} is not ready")
            yield str(process.pid), process
        finally:
            process.kill()


def marked_lines():
    with open(SOURCE, encoding="utf-8") as f:
        return {m[1]: number for number, line in enumerate(f, 1) if (m := re.search(r"// <(\w+)>$", line.rstrip()))}


MARKS = marked_lines()


def groups_in(text):
    """The text of each group."""
    return [part for part in re.split(r"\n\n", text) if re.match(r"\d+ green threads|green thread \d", part.strip())]


def frames_match(group, frames):
    """Whether the program's own frames are these: "FUNCTION <MARK>", or one of both."""
    lines = [line for line in re.findall(r"^    (?:#\d+ +.*|… the same \d+ more times)$", group, re.MULTILINE)]
    found = []
    for line in lines:
        if repeated := re.search(r"the same (\d+) more", line):
            found += [found[-1]] * int(repeated[1])
        elif "outside_target.cc:" in line:
            found.append(line)
    if len(found) != len(frames):
        return False
    for line, frame in zip(found, frames):
        for part in frame.split():
            wanted = rf"outside_target\.cc:{MARKS[part[1:-1]]}\b" if part.startswith("<") else rf"\b{part}\b"
            if not re.search(wanted, line):
                return False
    return True


def check_groups(where, text, wanted):
    groups = groups_in(text)
    for headline, frames, *others in wanted:
        fits = [g for g in groups if re.match(headline + ":", g.strip()) and frames_match(g, frames) and all(re.search(o, g) for o in others)]
        if len(fits) != 1:
            fail(f"{where}: {len(fits)} groups, not 1, are like {headline} with {frames} {others} in:\n{text}")


def check_scene(weft, target):
    with started(target, "scene") as (pid, process):
        text = weft_ps(weft, pid)
        if not re.match(rf"outside_target, process {pid}, running\n\n"
                        rf"runtime 1 \"weft\": 107 green threads, 2 Ps \(\d idle\), \d+ threads, in 8 groups\n", text):
            fail(f"the first lines are wrong:\n{text}")
        check_groups("running", text, [*GROUPS, READS])
        check_options(weft, pid)
        check_json(weft, pid)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        text = weft_ps(weft, pid)
        if f"process {pid}, stopped\n" not in text:
            fail(f"the process is stopped:\n{text}")
        check_groups("stopped", text, [*GROUPS, READS, COMPUTES])
        process.send_signal(signal.SIGCONT)
        process.stdin.close()
        if process.wait(60) != 0:
            fail("the process did not go on to its end")


def check_options(weft, pid):
    def counted(*options):
        text = weft_ps(weft, pid, "--all", *options)
        lines = re.findall(r"^\d+ .*$", text, re.MULTILINE)
        if f": {len(lines)} green thread" not in text:
            fail(f"the count of {options} is wrong:\n{text}")
        return lines

    for options, count in (
            ((), 107),
            (("--state", "chan receive"), 103),
            (("--state", "waiting"), 105),
            (("--state", "in call"), 1),
            (("--state", "mutex lock"), 1),
            (("--label", "pool=blue"), 60),
            (("--label", "pool"), 100),
            (("--label", "pool=blu"), 0),
            (("--label", "poo"), 0),
            (("--name", "work*"), 100),
            (("--name", "work"), 0),
            (("--at", f"outside_target.cc:{MARKS['worker']}"), 100),
            (("--at", "outside_target.cc"), 107),
            (("--at", "target.cc"), 0),
            (("--label", "pool=red", "--state", "chan receive"), 40),
    ):
        lines = counted(*options)
        if len(lines) != count:
            fail(f"{options}: {len(lines)} green threads, not {count}:\n" + "\n".join(lines))
    line = counted("--label", "pool=red")[0]
    if not re.fullmatch(rf'\d+ "worker" \[chan receive, \d+ (?:ms|s|minutes)\] pool=red, tier=1, started at outside_target.cc:{MARKS["worker"]}', line):
        fail(f"a line is wrong: {line}")
    text = weft_ps(weft, pid, "--label", "pool=red")
    if not re.search(r"^40 green threads \"worker\" .*\n(?:    .*\n)*    labels pool=red, tier=1\n", text, re.MULTILINE):
        fail(f"a group with the same labels must show them:\n{text}")
    text = weft_ps(weft, pid, "--groups", "2")
    if "6 more groups with 6 green threads; to see them: --groups 0\n" not in text or len(groups_in(text)) != 2:
        fail(f"there must be two groups:\n{text}")


def check_json(weft, pid):
    found = json.loads(weft_ps(weft, pid, "--json"))
    if (found["format"], found["program"], found["pid"]) != ("weft.ps/1", "outside_target", int(pid)):
        fail(f"the head of the JSON form is wrong: {found}")
    groups = found["runtimes"][0]["groups"]
    workers = groups[0]
    if (workers["count"], workers["state"], workers["reason"], workers["name"], len(workers["ids"])) != (100, "waiting", "chan receive", "worker", 8):
        fail(f"the largest group is wrong: {workers}")
    functions = [f["function"] for f in workers["stack"] if f["kind"] == "program"]
    if not any("serve(" in f for f in functions) or workers["started"]["line"] != MARKS["worker"] or workers["since_ns"][0] > workers["since_ns"][1]:
        fail(f"the largest group is wrong: {workers}")
    if sum(g["count"] for g in groups) != 107 or found["runtimes"][0]["green_threads"] != 107:
        fail("the JSON form has another number of green threads")
    each = json.loads(weft_ps(weft, pid, "--json", "--all"))["runtimes"][0]["groups"]
    if len(each) != 107 or any(g["count"] != 1 for g in each):
        fail(f"--all --json must have one entry for each: {len(each)}")


def check_separate_debug_file(weft, target, folder):
    if shutil.which("objcopy") is None:
        print("not checked: a separate debug file, because there is no objcopy")
        return
    stripped = os.path.join(folder, "outside_target")
    debug = os.path.join(folder, "outside_target.debug")
    subprocess.run(["objcopy", "--only-keep-debug", target, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", target, stripped], check=True)
    with started(stripped, "scene") as (pid, _):
        check_groups("with a separate debug file", weft_ps(weft, pid), [*GROUPS, READS])
        os.remove(debug)
        with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
            is_shared = "libweft.so" in f.read()
        if is_shared:    # weft's own debug information is enough for stacks
            text = weft_ps(weft, pid)
            if not re.search(r"^100 green threads .*\n(?:    .*\n)*?    #0  0x[0-9a-f]+ \? \(outside_target\+0x[0-9a-f]+\)\n    #1 ", text, re.MULTILINE):
                fail(f"a stripped program with libweft.so:\n{text}")
            return
        message = weft_ps(weft, pid, status=1)
        if not message.startswith("weft: no debug information of weft, so green threads cannot be found; build weft with -g"):
            fail(f"without debug information: {message}")


def check_core_of_gdb(weft, target, folder):
    if shutil.which("gcore") is None:
        print("not checked: a core file of gdb, because there is no gcore")
        return
    # gdb cannot read guard regions, and would write stacks as zeros; growing stacks have none.
    with started(target, "scene", RUN_STACK_POLICY="growing") as (pid, _):
        done = subprocess.run(["gcore", "-o", os.path.join(folder, "core"), pid], capture_output=True, text=True, check=False)
    core = os.path.join(folder, f"core.{pid}")
    if not os.path.exists(core):
        print(f"not checked: a core file of gdb: {done.stdout}{done.stderr}")
        return
    text = weft_ps(weft, core)
    if not text.startswith(f"outside_target, core file of process {pid}\n"):
        fail(f"the first line of a core file is wrong:\n{text}")
    check_groups("core of gdb", text, [*GROUPS, READS, COMPUTES])
    check_program_elsewhere(weft, target, core, folder)


def check_program_elsewhere(weft, target, core, folder):
    """A core file whose program was moved, found by --program."""
    moved = os.path.join(folder, "moved")
    shutil.copy(target, moved)
    check_groups("core with --program", weft_ps(weft, core, "--program", moved), GROUPS)


def check_core_of_kernel(weft, target, folder):
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        pattern = f.read().strip()
    if pattern.startswith(("|", "/")):
        print(f"not checked: a core file of the kernel, which goes elsewhere: {pattern}")
        return
    place = os.path.join(folder, "kernel")
    os.mkdir(place)

    def may_dump():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    try:
        done = subprocess.run([target, "abort"], cwd=place, preexec_fn=may_dump, stderr=subprocess.DEVNULL, check=False)
    except (ValueError, subprocess.SubprocessError) as error:
        print(f"not checked: a core file of the kernel: {error}")
        return
    cores = os.listdir(place)
    if done.returncode != -signal.SIGABRT or not cores:
        print("not checked: a core file of the kernel, which wrote none")
        return
    check_groups("core of the kernel", weft_ps(weft, os.path.join(place, cores[0])), [*GROUPS, COMPUTES])


def check_many(weft, target):
    count = int(os.environ.get("WEFT_OUTSIDE_MANY", "20000"))
    with started(target, "many", str(count)) as (pid, _):
        groups = json.loads(weft_ps(weft, pid, "--json"))["runtimes"][0]["groups"]
    counts = sorted(g["count"] for g in groups)
    wanted = []
    for depth in range(5):
        wanted.append(sum(1 for i in range(1, count + 1) if (i & -i).bit_length() - 1 == depth))
    wanted += [count - sum(wanted), 1, 1]    # the rest is deeper; then main and reader
    if counts != sorted(wanted):
        fail(f"many: the groups are {counts}, not {sorted(wanted)}")


def check_busy(weft, target):
    """None of its green threads begins or ends, so the number is known."""
    with started(target, "busy") as (pid, _):
        for _ in range(5):
            found = json.loads(weft_ps(weft, pid, "--json"))["runtimes"][0]
            if found["green_threads"] != 1002:
                fail(f"busy: {found['green_threads']} green threads, not 1002")


def check_errors(weft, target, folder):
    with subprocess.Popen(["sleep", "100"]) as other:
        try:
            message = weft_ps(weft, str(other.pid), status=1)
            if "no debug information of weft" not in message:
                fail(f"a program without weft: {message}")
        finally:
            other.kill()
    text = os.path.join(folder, "text")
    with open(text, "w", encoding="utf-8") as f:
        f.write("no core file")
    empty = os.path.join(folder, "empty")
    with open(empty, "w", encoding="utf-8"):
        pass
    cut = os.path.join(folder, "cut")
    with open(target, "rb") as whole, open(cut, "wb") as part:
        part.write(whole.read(100))
    for arguments, status, pattern in (
            (["999999999"], 1, r"weft: there is no process 999999999$"),
            (["0"], 1, r"weft: 0 is not the number of a process$"),
            ([os.path.join(folder, "none")], 1, r"weft: cannot read the core file .*none: No such file or directory$"),
            ([folder], 1, r"weft: cannot read the core file .*: Invalid argument$"),
            ([text], 1, r"weft: .*text is neither a process nor a core file of this machine's processor$"),
            ([empty], 1, r"weft: .*empty is neither a process nor a core file"),
            ([cut], 1, r"weft: .*cut is neither a process nor a core file"),
            ([target], 1, r"weft: .* is neither a process nor a core file"),
            ([], 2, r"weft: ps needs the number of a process, or a core file; `weft help` lists the commands$"),
            (["1", "--state"], 2, r"weft: --state needs a value; "),
            (["1", "--groups", "x"], 2, r"weft: --groups needs a number, not x; "),
            (["1", "--some"], 2, r"weft: ps does not know --some; "),
    ):
        message = weft_ps(weft, *arguments, status=status)
        if not re.match(pattern, message, re.MULTILINE):
            fail(f"weft ps {' '.join(arguments)} says:\n{message}")


def check_wait_texts():
    def read(*path):
        with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
            return f.read()

    dumps = dict(re.findall(r'case wait_reason::(\w+):\s+return "(.*)";', read("src", "debug", "g_snapshot.cc")))
    differs = dict(re.findall(r'\{"(\w+)", "(.*)"\},', read("src", "observe", "outside", "green_threads.cc")))
    if len(dumps) < 20:
        fail("the texts of dumps were not found")
    for reason, text in dumps.items():
        own = differs.get(reason, reason.replace("_", " "))
        if own != text:
            fail(f'the wait {reason} is "{own}" in weft ps, and "{text}" in a dump')


def main(weft, target):
    check_wait_texts()
    with tempfile.TemporaryDirectory() as folder:
        check_scene(weft, target)
        check_separate_debug_file(weft, target, folder)
        check_core_of_gdb(weft, target, folder)
        check_core_of_kernel(weft, target, folder)
        check_many(weft, target)
        check_busy(weft, target)
        check_errors(weft, target, folder)


if __name__ == "__main__":
    main(*[os.path.abspath(path) for path in sys.argv[1:]])
