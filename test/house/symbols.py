#!/usr/bin/env python3
"""symbols.py [BUILD]: the folders of src/ are layers; a call may only point down.

layers.py checks includes. A declaration may also lie below its definition, for example in a public
header, and then a call points up without an include. So this reads the object files of the library
in BUILD (build/native), a static build:

1. A symbol that a folder's objects use is defined in that folder or in one before it in LAYERS.
2. The parts of the scheduler (SCHEDULER) may use what a source defines whose header is in UPCALLS.
3. EXCEPTIONS lists all other uses that point up. This list may only shrink: an entry that is not
   needed is an error.

Weak symbols count for nothing, and neither do those of several objects: inline functions and
templates are defined wherever they are used.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from layers import LAYERS, SCHEDULER, UPCALLS  # noqa: E402

# (The folder that uses symbols, the source that defines them): reason.
EXCEPTIONS = {
    # Declared in a header below, as what the layers above define.
    ("context", "handoff/preempt.cc"): "context/interrupt.h: the scheduler decides what an interrupted G does",
    ("context", "sched/g_main.cc"): "context/context.h: the scheduler ends a G whose entry function returns",
    ("lifecycle", "debug/observer.cc"): "monitor/observe.h: the observer of a runtime is a part of it",
    ("monitor", "debug/deadlock.cc"): "monitor/observe.h: the monitor searches for deadlocks",
    ("monitor", "debug/observer.cc"): "monitor/observe.h: the monitor has dumps, traces and watchdog reports printed",
    # Parts of the scheduler. sched/scheduler.h includes their headers, or declares what is used.
    ("handoff", "lifecycle/thread_maker.cc"): "a G that only one M may run needs a thread for the other Gs",
    ("idle", "lifecycle/runtime.cc"): "deadlocks are searched for only while weft::main runs",
    ("idle", "netpoll/netpoll.cc"): "an M goes idle in the poller",
    ("sched", "idle/idle.cc"): "a runnable G, or a P without an M, may have to wake an M",
    ("sched", "idle/park_m.cc"): "an M that finds no G goes idle",
    ("sched", "lifecycle/runtime.cc"): "a plain thread starts a G in the default runtime",
    ("sched", "netpoll/netpoll.cc"): "an M that finds no G polls",
    ("sched", "per_g/local.cc"): "a G that starts inherits locals, one that ends destroys them",
    ("sched", "per_g/stack_profile.cc"): "a G that ends tells how much stack it has used",
    ("wait", "idle/idle.cc"): "a G that is made ready, or a new deadline, may have to wake an M",
}

STRONG = "ABCDGRST"  # types of nm: external, defined, not weak


def read_nm(lines, objects):
    """Reads nm -P. Returns {source: (symbols it defines, symbols it uses)}. objects: {path: source}."""
    found = {}
    for line in lines:
        if line.endswith(":") and line[:-1] in objects:
            defined, used = found.setdefault(objects[line[:-1]], (set(), set()))
            continue
        fields = line.split()
        if len(fields) < 2:
            continue
        if fields[1] == "U":
            used.add(fields[0])
        elif fields[1] in STRONG:
            defined.add(fields[0])
    return found


def object_files(root, build):
    """{path of an object: its source, from src/}, for sources that still exist."""
    top = os.path.join(build, "CMakeFiles", "weft.dir", "src")
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            source, extension = os.path.splitext(os.path.relpath(path, top))
            if extension == ".o" and os.path.exists(os.path.join(root, "src", source)):
                found[path] = source.replace(os.sep, "/")
    return found


def read_objects(root, build):
    objects = object_files(root, build)
    if not objects:
        return {}
    paths = sorted(objects)
    # The extra file makes nm print the names of objects also if there is only one.
    ended = subprocess.run(["nm", "-P", *paths, paths[0]], capture_output=True, text=True, check=True)
    return read_nm(ended.stdout.splitlines(), objects)


def is_upcall(folder, definer):
    header = os.path.splitext(definer)[0] + ".h"
    return folder in SCHEDULER and definer.split("/")[0] in SCHEDULER and header in UPCALLS


def check(found, exceptions=None):
    """found: as read_nm returns it. Yields (complaint, symbol or None)."""
    exceptions = EXCEPTIONS if exceptions is None else exceptions
    definers = {}
    for source, (defined, _) in found.items():
        if source.split("/")[0] not in LAYERS:
            continue  # as below
        for symbol in defined:
            definers.setdefault(symbol, []).append(source)
    needed = set()
    for source, (_, used) in sorted(found.items()):
        folder = source.split("/")[0]
        if folder not in LAYERS:
            continue  # layers.py complains
        for symbol in sorted(used):
            if len(definers.get(symbol, [])) != 1:
                continue
            definer = definers[symbol][0]
            target = definer.split("/")[0]
            if LAYERS.index(target) <= LAYERS.index(folder) or is_upcall(folder, definer):
                continue
            if (folder, definer) in exceptions:
                needed.add((folder, definer))
                continue
            yield (f"src/{source} uses {{}}, which src/{definer} defines: {folder}/ lies below {target}/. Move one of the two, or let "
                   f"{target}/ hand {folder}/ what it needs (a parameter, a callback, an interface declared below)"), symbol
    for folder, definer in sorted(set(exceptions) - needed):
        yield (f'test/house/symbols.py: EXCEPTIONS has ("{folder}", "{definer}"), but no object of {folder}/ uses what src/{definer} '
               "defines: remove the entry"), None


def readable(symbols):
    """The names as C++ has them, in order."""
    try:
        ended = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return symbols
    return ended.stdout.splitlines()


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build", "native")
    found = read_objects(root, build)
    if not found:
        print(f"symbols: no object files of the library in {build}: build it first (./dev build)")
        return 1
    complaints = list(check(found))
    names = readable([symbol or "-" for _, symbol in complaints])
    for (complaint, symbol), name in zip(complaints, names):
        print(complaint if symbol is None else complaint.format(name))
    print(f"symbols: {len(found)} objects, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
