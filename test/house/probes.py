#!/usr/bin/env python3
"""probes.py FILE PROGRAM: the probes of docs/profiling.md#probes are in FILE, with their arguments.

FILE is the library, or a program with it. readelf must find each probe of PROBES, with as many
arguments, and no others; the documentation must name them. In PROGRAM, gdb/parked.cc, gdb stops at
some, and reads the arguments. Without gdb, or where it may not trace, that part is left out.
"""
import os
import re
import shutil
import subprocess
import sys

# How many arguments each has.
PROBES = {
    "spawn": 3,    # the id of the green thread, that of the one that starts it, its function
    "park": 3,     # its id, the reason, the lock of what it waits at
    "ready": 2,    # its id, the M that ended the wait, or -1
    "run": 2,      # its id, the M
    "end": 2,      # its id, the M
    "retake": 2,   # the M that loses its P, the P
    "steal": 3,    # the M, how many, the P that they are from
    "poll": 2,     # the M, whether a wait is over
}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOT_TRACED = re.compile(r"ptrace: Operation not permitted|Could not trace the inferior process|Cannot trace")


def notes(file):
    """{name: the arguments of each place} of the probes of weft."""
    said = subprocess.run(["readelf", "--wide", "-n", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    found = {}
    for name, arguments in re.findall(r"Provider: weft\s+Name: (\w+)\s+Location: [^\n]*\n\s*Arguments:([^\n]*)", said):
        found.setdefault(name, []).append(re.findall(r"-?[1248]@", arguments))
    return found


def check_notes(file):
    complaints, found = [], notes(file)
    for name in sorted(PROBES.keys() | found.keys()):
        if name not in found:
            complaints.append(f"no probe {name}")
        elif name not in PROBES:
            complaints.append(f"an unknown probe {name}")
        else:
            complaints += [f"probe {name} has {len(a)} arguments, not {PROBES[name]}" for a in found[name] if len(a) != PROBES[name]]
    return complaints


def check_documentation():
    with open(os.path.join(ROOT, "docs", "profiling.md"), encoding="utf-8") as file:
        text = file.read()
    return [f"docs/profiling.md does not describe the probe {name}" for name in PROBES if f"| `{name}` |" not in text]


def check_arguments(program):
    """Green thread 1 is that of main; it is started by a plain thread, and runs."""
    if shutil.which("gdb") is None:
        return [], "there is no gdb"
    commands = ["set confirm off", "set pagination off", "set debuginfod enabled off", "handle SIGURG nostop noprint pass",
                "tbreak -probe-stap weft:spawn", "run", "print $_probe_argc", "print (long)$_probe_arg0", "print (long)$_probe_arg1",
                "tbreak -probe-stap weft:run", "continue", "print (long)$_probe_arg0",
                "tbreak -probe-stap weft:park", "continue", "print $_probe_arg2 != 0", "kill"]
    said = subprocess.run(["gdb", "--batch", "-nx", *[part for c in commands for part in ("-ex", c)], program], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=100, check=False).stdout
    if NOT_TRACED.search(said):
        return [], "gdb may not trace processes here"
    values = re.findall(r"^\$\d+ = (\S+)$", said, re.MULTILINE)
    return ([] if values == ["3", "1", "0", "1", "true"] else [f"gdb reads other arguments: {values}\n{said}"]), None


def main():
    file, program = sys.argv[1:]
    complaints = check_notes(file) + check_documentation()
    more, why_not = check_arguments(program)
    complaints += more
    for complaint in complaints:
        print(f"FAILED: {complaint}")
    if why_not:
        print(f"probes: arguments not read: {why_not}")
    print(f"probes: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
