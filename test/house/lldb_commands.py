#!/usr/bin/env python3
"""lldb_commands.py PROGRAM MANY: the commands of tools/lldb show the green threads of a program.

PROGRAM is gdb/parked.cc. lldb runs it until it stops at a known place, and reads what it finds: in
the process, and in a core file that the kernel writes. In each, commands must print what
lldb/expected.txt says. Then:

    - threads that show green threads come and go while the program is stepped and continued
    - lldb is shown no more green threads than were chosen, and at most 100
    - a program without debug information gets a message that says what to do
    - the texts of waits are those of dumps
    - MANY, gdb/many.cc, has groups of known sizes, in both ways to read memory

In lldb/expected.txt, a line "(lldb) COMMAND" is followed by what it prints. TIME, ADDRESS and #N
stand for any; parked.cc:<name> is the line of gdb/parked.cc with that mark. Each lldb-N that is
installed is tested. Exits with 77 if there is none, or if it may not trace processes here.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from gdb_commands import FOLDER, ROOT, SKIPPED, failures, kernel_core, marks, without_settings

PACKAGE = os.path.join(ROOT, "tools", "lldb", "weft_lldb")
EXPECTED = os.path.join(FOLDER, "lldb", "expected.txt")
# Lines of the source are shown only where the compiler's paths lead to it.
SETTINGS = ["settings set auto-confirm true", "settings set use-color false", "settings set stop-line-count-before 0",
            "settings set stop-line-count-after 0"]
NOT_TRACED = re.compile(r"ptrace|Operation not permitted|failed to launch|could not launch", re.IGNORECASE)
START = ["breakpoint set --name stop_here", "process launch", "process handle SIGURG --stop false --notify false --pass true"]
IMPORT = f"command script import {PACKAGE}"


def debuggers():
    """Each lldb that is installed: {version: (program, PYTHONPATH)}."""
    found = {}
    for name in ["lldb", *(f"lldb-{n}" for n in range(30, 13, -1))]:
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        version = re.search(r"version (\d+)", said)
        # lldb 14 of Debian 12 looks for its Python module in another folder than its package uses.
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(path)))
        modules = glob.glob(os.path.join(prefix, "lib", "python3*", "*-packages", "lldb", "embedded_interpreter.py"))
        if version is not None and modules:
            found.setdefault(int(version[1]), (path, os.path.dirname(os.path.dirname(modules[0]))))
    return found


class lldb:
    """One version of lldb."""

    def __init__(self, version, program, modules):
        self.version = version
        self.program = program
        self.modules = modules

    def run(self, arguments, commands, folder, **environment):
        """What it prints, by command: a list of (command, text)."""
        source = os.path.join(folder, "commands.lldb")
        with open(source, "w", encoding="utf-8") as file:
            file.write("".join(f"{command}\n" for command in [*SETTINGS, *commands]))
        options = ["--batch", "--no-lldbinit", "--one-line", f"command source -e false -c false {source}"]
        # PATH: Python looks for its own modules beside the python3 that it finds there, which may be of another version.
        done = subprocess.run([self.program, *options, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True, errors="replace", timeout=100, cwd=folder,
                              env=without_settings(PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=self.modules, PATH="/usr/bin:/bin", **environment))
        # lldb 19 on debug information of GCC 12.
        text = re.sub(r"^error: \S+ 0x[0-9a-f]+: DW_TAG_\w+ .*\n", "", done.stdout, flags=re.MULTILINE)
        parts = re.split(r"^\(lldb\) (.*)$", text, flags=re.MULTILINE)
        return list(zip(["", *parts[1::2]], parts[0::2]))


def normal(text, lines):
    """Output without what differs between runs, compilers and versions of lldb."""
    text = re.sub(r"^warning: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\d+\.\d{3} s(?=$|,)", "TIME", text, flags=re.MULTILINE)
    text = re.sub(r"^(?: +|\* )?frame #\d+: .*(?:switch|context_inline).*", "frame #N SWITCH", text, flags=re.MULTILINE)
    text = re.sub(r"frame #\d+: 0x[0-9a-f]+ [^`\n]*`(?:::)?", "frame #N: ", text)
    text = re.sub(r"\b0x[0-9a-f]+\b", "ADDRESS", text)
    text = re.sub(r"\b\d+ (?:ms|s|minutes)(?= ago|[],])( to \d+ (?:ms|s|minutes))?", "TIME", text)
    text = re.sub(r"#\d+ +", "#N ", text)
    text = re.sub(r"[^ \n]*\bparked\.cc:(\d+)(?::\d+)?", lambda m: f"parked.cc:<{lines.get(int(m[1]), m[1])}>", text)
    text = re.sub(r"\(anonymous namespace\)|\{anonymous\}", "{}", text)
    return text.strip("\n")


def sections():
    """The commands of the expected output, and what each prints."""
    with open(EXPECTED, encoding="utf-8") as file:
        parts = re.split(r"^\(lldb\) (.*)$", file.read(), flags=re.MULTILINE)
    return [(command, text.strip("\n")) for command, text in zip(parts[1::2], parts[2::2])]


def check_scene(kind, said, failed, lines):
    outputs = dict(said)
    for command, expected in sections():
        got = normal(outputs.get(command, "(not run)"), lines)
        if kind == "core of the kernel":
            got = got.replace("fails=true", "fails=false").replace("fails = true", "fails = false")
            got = re.sub(r"(?:    #N \S*(?:kill|raise|abort|ADDRESS)\S*(?: at .*)?\n)+", "", got).replace("<abort>", "<stop>")
            got = re.sub(r"frame #N: \S*(?:kill|raise|abort).*", "frame #N: stop_here() at parked.cc:<here>", got)
            expected = expected.replace("    #N stop_here at parked.cc:<here>\n", "")
        failed.compare(f"{kind}: {command}", expected, got)


def threads(text):
    """The names of the threads in a list that show green threads."""
    return re.findall(r"name = '(green thread [^']*)'", text)


def check_process(debugger, program, folder, failed, lines):
    scene = [command for command, _ in sections()]
    more = ["green-thread select 8 12",
            "thread list -1", "green-thread off 12", "thread list -2", "thread select 1", "frame select 0", "thread step-out", "thread list -3",
            "green-thread", "green-thread off", "thread list -4", "breakpoint set --name exit", "process continue"]
    printed = debugger.run([program], [*START, IMPORT, *scene, *[re.sub(r" -\d$", "", c) for c in more]], folder, RUN_DEBUG="lockowners=1")
    if any(NOT_TRACED.search(text) for command, text in printed if command == "process launch"):
        return False
    check_scene("process", printed[:-len(more)], failed, lines)
    after = dict(zip(more, [text for _, text in printed[-len(more):]]))
    worker, reader, sleeper = 'green thread 4 "worker"', 'green thread 8 "reader"', 'green thread 12 "sleeper"'
    failed.compare("chosen ones are threads", [worker, reader, sleeper], threads(after["thread list -1"]))
    failed.compare("hidden ones are not", [worker, reader], threads(after["thread list -2"]))
    failed.compare("they stay after a step", [worker, reader], threads(after["thread list -3"]))
    failed.compare("the thread is selected after a step", "[Current green thread is 1]", after["green-thread"].strip())
    failed.compare("all are hidden", [], threads(after["thread list -4"]))
    failed.check("the program goes on to its end", "exit" in after["process continue"], after)
    return True


def check_core(debugger, program, core, folder, failed, lines):
    printed = debugger.run(["--core", core, program], [IMPORT, *[c for c, _ in sections()]], folder)
    check_scene("core of the kernel", printed, failed, lines)


def check_stripped(debugger, program, folder, failed):
    with open(program, "rb") as file:
        if b"libweft.so" in file.read():
            return   # the debug information is in the library
    stripped = os.path.join(folder, "stripped")
    subprocess.run(["strip", "-g", "-o", stripped, program], check=True)
    said = dict(debugger.run([stripped], [*START, IMPORT, "green-threads"], folder))
    failed.check("a program without debug information", "weft: no debug information of the library" in said["green-threads"], said)


def check_texts(debugger, program, folder, failed):
    with open(os.path.join(ROOT, "src", "debug", "g_snapshot.cc"), encoding="utf-8") as file:
        texts = dict(re.findall(r'case wait_reason::(\w+):\s+return "([^"]*)"', file.read()))
    command = ("script from weft_lldb import debugger; from weft_green import green, layout; debugger.use(lldb.target); "
               "print('\\n'.join(f'{layout.names_of(\"wait_reason\")[v]}={text}' for v, text in green.wait_texts().items()))")
    said = dict(debugger.run([program], [IMPORT, command], folder))
    printed = sorted(said[command].strip().split("\n"))
    failed.compare("texts of waits", "\n".join(sorted(f"{k}={v}" for k, v in texts.items())), "\n".join(printed))


def check_many(debugger, program, folder, failed):
    count, limit = 4000, 100
    listing, slow = "green-threads -frames 1", "script from weft_lldb import debugger; debugger.is_live = lambda: False"
    choose = "green-thread select " + " ".join(str(n) for n in range(2, limit + 3))
    printed = debugger.run(["--", program, str(count)], [*START, IMPORT, listing, choose, "thread list", "green-thread apply 150 151 152 frame info",
                                                          "thread list", slow, listing], folder)
    wanted = [2000, 1000, 500, 250, 125, 125]
    for text in [text for command, text in printed if command == listing]:
        sizes = [int(n) for n in re.findall(r"^(\d+) green threads \[chan receive", text, re.MULTILINE)]
        failed.check("sizes of groups", len(sizes) == len(wanted) and all(w - 1 <= s <= w for w, s in zip(wanted, sizes)), sizes)
    said = dict(printed)
    failed.check("more than the limit are refused", f"{limit} green threads are shown as threads" in said[choose], said[choose])
    for text in [text for command, text in printed if command == "thread list"]:
        failed.compare("as many are shown as the limit", limit, len(threads(text)))
    applied = said["green-thread apply 150 151 152 frame info"]
    failed.check("a command needs room for a thread", applied.count(f"{limit} green threads are shown as threads") == 3, applied)


def main():
    program, many = sys.argv[1:]
    found = debuggers()
    if not found:
        print("skipped: there is no lldb with Python")
        return SKIPPED
    failed, lines = failures(), marks(os.path.join(FOLDER, "gdb", "parked.cc"))
    for version, (path, modules) in sorted(found.items()):
        debugger = lldb(version, path, modules)
        with tempfile.TemporaryDirectory() as folder:
            if not check_process(debugger, program, folder, failed, lines):
                print("skipped: lldb may not trace processes here")
                return SKIPPED
            core, why_not = kernel_core(program, folder)
            if core is not None:
                check_core(debugger, program, core, folder, failed, lines)
            else:
                print(f"lldb_commands: a core file of the kernel not tested: {why_not}")
            check_stripped(debugger, program, folder, failed)
            check_texts(debugger, program, folder, failed)
            check_many(debugger, many, folder, failed)
        print(f"lldb_commands: lldb {version}: {f'{failed.count} FAILED' if failed.count else 'passed'}")
    return 1 if failed.count else 0


if __name__ == "__main__":
    sys.exit(main())
