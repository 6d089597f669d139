#!/usr/bin/env python3
"""gdb_commands.py PROGRAM MANY SCRIPT, or --emulated PROGRAM EMULATOR...: the commands of tools/gdb show the green threads of a program.

PROGRAM is gdb/parked.cc. gdb runs it until it stops at a known place, and reads what it finds: in
the process, in a core file that gdb writes, and in one that the kernel writes. In each, commands
must print what gdb/expected.txt says. Then:

    - once the process goes on, the thread is shown as it is, and the program runs to its end
    - a program without debug information gets a message that says what to do
    - the texts of waits are those of dumps
    - MANY, gdb/many.cc, has groups of known sizes
    - gdb finds SCRIPT, the path that the program names, by itself

With --emulated, PROGRAM is gdb/parked.cc for another processor, and EMULATOR is qemu with its
options. It runs the program, and gdb-multiarch asks it for memory and registers. Only the first of
the above is checked.

In gdb/expected.txt, a line "(gdb) COMMAND" is followed by what it prints. TIME, ADDRESS and #N
stand for any; parked.cc:<name> is the line of gdb/parked.cc with that mark. Exits with 77 if there
is no gdb, or if it may not trace processes here.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
SCRIPT = os.path.join(ROOT, "tools", "gdb", "weft-gdb.py")
SETTINGS = ["set confirm off", "set pagination off", "set width 0", "set style enabled off", "set debuginfod enabled off",
            "handle SIGURG nostop noprint pass"]
MARK = "@@@ "
# gdb 13 on processors with AMX, of any program.
NO_CALLS = re.compile(r"Couldn't write extended state status")
NOT_TRACED = re.compile(r"ptrace: Operation not permitted|Could not trace the inferior process|Cannot trace")


def run_gdb(arguments, commands, folder, before=(), gdb="gdb", **environment):
    """What gdb prints, by command: a list of (command, text)."""
    options = ["--batch", "-nx", "-iex", "set auto-load python-scripts off"]
    for command in before:
        options += ["-iex", command]
    for command in SETTINGS:
        options += ["-ex", command]
    for command in commands:
        options += ["-ex", f"echo {MARK}{command}\\n", "-ex", command]
    done = subprocess.run([gdb, *options, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, timeout=100, cwd=folder, env=without_settings(PYTHONDONTWRITEBYTECODE="1", **environment))
    parts = re.split(rf"^{MARK}(.*)$", done.stdout, flags=re.MULTILINE)
    return list(zip(["", *parts[1::2]], parts[0::2]))


def without_settings(**more):
    """The environment without what changes how weft runs."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("RUN_")}, **more}


def marks(source):
    """{line number: mark} of a source."""
    with open(source, encoding="utf-8") as file:
        return {number: match[1] for number, line in enumerate(file, 1) if (match := re.search(r"// <(\w+)>$", line.rstrip()))}


def normal(text, lines):
    """Output without what differs between runs and compilers."""
    text = re.sub(r"^(?:warning: .*\n|\[New Thread .*\n|Kill the program.*\n|\[Inferior 1 .* killed\]\n)", "", text, flags=re.MULTILINE)
    text = re.sub(r"\d+\.\d{3} s(?=$|,)", "TIME", text, flags=re.MULTILINE)
    text = re.sub(r"^\d+\t.*\n?", "", text, flags=re.MULTILINE)   # a line of the source
    text = re.sub(r"^#\d+ .*switch.*", "#N SWITCH", text, flags=re.MULTILINE)
    text = re.sub(r" at \S*/src/\S+:\d+", "", text)
    text = re.sub(r"\b0x[0-9a-f]+\b", "ADDRESS", text)
    text = re.sub(r"\b[\d.]+ (?:ms|s|minutes)(?= ago|[],]| to )( to [\d.]+ (?:ms|s|minutes))?", "TIME", text)
    text = re.sub(r"#\d+ +", "#N ", text)
    text = re.sub(r"\S*/parked\.cc:(\d+)", lambda m: f"parked.cc:<{lines.get(int(m[1]), m[1])}>", text)
    text = re.sub(r"\(anonymous namespace\)|\{anonymous\}", "{}", text)
    return text.strip("\n")


def sections(path):
    """The commands of a file of expected output, and what each prints."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^\(gdb\) (.*)$", file.read(), flags=re.MULTILINE)
    return [(command, text.strip("\n")) for command, text in zip(parts[1::2], parts[2::2])]


class failures:
    def __init__(self):
        self.count = 0

    def check(self, where, good, text):
        if not good:
            self.count += 1
            print(f"FAILED: {where}\n{text}\n")

    def compare(self, where, expected, got):
        self.check(where, expected == got, f"--- expected\n{expected}\n--- printed\n{got}")


def check_scene(kind, said, failed, lines):
    """Compares with gdb/expected.txt. In the kernel's core file, abort() is where main stops."""
    outputs = dict(said)
    for command, expected in sections(os.path.join(FOLDER, "gdb", "expected.txt")):
        got = normal(outputs.get(command, "(not run)"), lines)
        if kind == "core of the kernel":
            if command == "green-thread off":
                continue
            got = got.replace("(fails=true)", "(fails=false)")
            got = re.sub(r"(?:    #N \S*(?:pthread_kill|raise|abort)\S*(?: at .*)?\n)+", "", got).replace("<abort>", "<stop>")
            expected = expected.replace("    #N stop_here at parked.cc:<here>\n", "")
        failed.compare(f"{kind}: {command}", expected, got)


def check_process(program, folder, failed, lines):
    commands = ["break stop_here", "run", f"source {SCRIPT}", *[c for c, _ in sections(os.path.join(FOLDER, "gdb", "expected.txt"))]]
    # With other threads running during the call, gdb 13 may end with an internal error.
    more = ["set scheduler-locking on", "print (int)abs(-7)", "green-thread 3", "frame function serve",
            "print weft::this_g::id() + sum", "set scheduler-locking off", "info frame", "next", "green-thread", "backtrace 1",
            "tbreak exit", "continue"]
    # gdb cannot read guard regions, and would write stacks as zeros; growing stacks have none.
    said = run_gdb([program], [*commands, "gcore gdb.core", *more], folder, RUN_DEBUG="lockowners=1", RUN_STACK_POLICY="growing")
    if any(NOT_TRACED.search(text) for _, text in said):
        return False
    check_scene("process", said[:len(commands) + 1], failed, lines)
    after = dict(said[len(commands) + 2:])
    if NO_CALLS.search(after["print (int)abs(-7)"]):
        print("gdb cannot call functions on this processor, so no call is tested")
    else:
        failed.check("a call in a frame of a green thread", re.search(r"= 1$", after["print weft::this_g::id() + sum"].strip()), after)
    failed.check("the frame is kept by a call", "in (anonymous namespace)::serve" in after["info frame"], after["info frame"])
    failed.compare("no selection after next", "[Current green thread is 1]", after["green-thread"].strip())
    shown = after["backtrace 1"]
    failed.check("the thread's own frames after next", "parked.cc" in shown and "<green thread" not in shown, shown)
    failed.check("the program goes on to its end", re.search(r"Temporary breakpoint \d+, .*exit", after["continue"]), after["continue"])
    return True


def check_emulated(program, emulator, folder, failed, lines):
    at = os.path.join(folder, "gdb.socket")
    shown = [c for c, _ in sections(os.path.join(FOLDER, "gdb", "expected.txt"))]
    # Emulated it is slow: its P must not be taken from it.
    running = subprocess.Popen([*emulator, "-g", at, program], cwd=folder, env=without_settings(RUN_DEBUG="lockowners=1,retake=0"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(at):
            if running.poll() is not None:
                failed.check("the emulator starts", False, f"{emulator[0]} ended with status {running.returncode}")
                return
            time.sleep(0.01)
        said = run_gdb([program], [f"target remote {at}", "break stop_here", "continue", f"source {SCRIPT}", *shown, "kill"], folder, gdb="gdb-multiarch")
    finally:
        running.kill()
        running.wait()
    check_scene("emulated", said, failed, lines)


def check_core(kind, program, core, folder, failed, lines):
    commands = [f"source {SCRIPT}", *[c for c, _ in sections(os.path.join(FOLDER, "gdb", "expected.txt"))]]
    check_scene(kind, run_gdb([program, core], commands, folder), failed, lines)


def kernel_core(program, folder):
    """The name of a core file that the kernel has written; or None and why not."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        pattern = file.read().strip()
    if pattern.startswith(("|", "/")):
        return None, f"core files go to {pattern}"
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if hard != resource.RLIM_INFINITY:
        return None, "the size of core files is limited"
    before = set(os.listdir(folder))
    subprocess.run([program, "abort"], cwd=folder, env=without_settings(RUN_DEBUG="lockowners=1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    made = set(os.listdir(folder)) - before
    return (made.pop(), None) if made else (None, "the kernel wrote none")


def check_stripped(program, folder, failed):
    with open(program, "rb") as file:
        if b"libweft.so" in file.read():
            return   # the debug information is in the library
    stripped = os.path.join(folder, "stripped")
    subprocess.run(["strip", "-g", "-o", stripped, program], check=True)
    said = dict(run_gdb([stripped], ["break stop_here", "run", f"source {SCRIPT}", "info green-threads"], folder))
    failed.check("a program without debug information", "weft: no debug information of the library" in said["info green-threads"], said)


def check_texts(program, folder, failed):
    with open(os.path.join(ROOT, "src", "debug", "g_snapshot.cc"), encoding="utf-8") as file:
        texts = dict(re.findall(r'case wait_reason::(\w+):\s+return "([^"]*)"', file.read()))
    script = os.path.join(folder, "texts.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write("from weft_green import green, layout\n"
                   "for value, text in green.wait_texts().items(): print(f'{layout.names_of(\"wait_reason\")[value]}={text}')\n")
    said = dict(run_gdb([program], [f"source {SCRIPT}", f"source {script}"], folder))
    printed = sorted(said[f"source {script}"].strip().split("\n"))
    failed.compare("texts of waits", "\n".join(sorted(f"{k}={v}" for k, v in texts.items())), "\n".join(printed))


def check_many(program, folder, failed):
    count = 4000
    said = dict(run_gdb(["--args", program, str(count)], ["break stop_here", "run", f"source {SCRIPT}", "info green-threads -frames 1"], folder))
    sizes = [int(n) for n in re.findall(r"^(\d+) green threads \[chan receive", said["info green-threads -frames 1"], re.MULTILINE)]

    wanted = [2000, 1000, 500, 250, 125, 125]
    failed.check("sizes of groups", len(sizes) == len(wanted) and all(w - 1 <= s <= w for w, s in zip(wanted, sizes)), sizes)


def check_auto_load(program, script, folder, failed):
    if not os.path.exists(script):
        print(f"gdb_commands: auto-loading not tested: this build names {script}, which is not installed")
        return
    before = [f"add-auto-load-safe-path {script}", "set auto-load python-scripts on"]
    said = dict(run_gdb([program], ["help green-thread"], folder, before))
    failed.check("auto-loading", "Show or select a green thread of weft." in said["help green-thread"], said)


def result(failed):
    print(f"gdb_commands: {f'{failed.count} FAILED' if failed.count else 'passed'}")
    return 1 if failed.count else 0


def main_emulated(program, *emulator):
    if shutil.which("gdb-multiarch") is None:
        print("skipped: there is no gdb-multiarch")
        return SKIPPED
    failed = failures()
    with tempfile.TemporaryDirectory() as folder:
        check_emulated(program, emulator, folder, failed, marks(os.path.join(FOLDER, "gdb", "parked.cc")))
    return result(failed)


def main():
    if sys.argv[1] == "--emulated":
        return main_emulated(*sys.argv[2:])
    program, many, named = sys.argv[1:]
    if shutil.which("gdb") is None:
        print("skipped: there is no gdb")
        return SKIPPED
    failed, lines = failures(), marks(os.path.join(FOLDER, "gdb", "parked.cc"))
    with tempfile.TemporaryDirectory() as folder:
        if not check_process(program, folder, failed, lines):
            print("skipped: gdb may not trace processes here")
            return SKIPPED
        check_core("core of gdb", program, "gdb.core", folder, failed, lines)
        core, why_not = kernel_core(program, folder)
        if core is not None:
            check_core("core of the kernel", program, core, folder, failed, lines)
        else:
            print(f"gdb_commands: a core file of the kernel not tested: {why_not}")
        check_stripped(program, folder, failed)
        check_texts(program, folder, failed)
        check_many(many, folder, failed)
        check_auto_load(program, named, folder, failed)
    return result(failed)


if __name__ == "__main__":
    sys.exit(main())
