#!/usr/bin/env python3
"""layers.py [ROOT]: the folders of src/ are layers; an include may only point down.

1. A folder of src/ includes only itself, include/weft/, and the folders listed before it in LAYERS.
   The folders of SCHEDULER are the parts of one state machine, and call each other: a thread that
   goes idle may have to make another one, which then schedules. So a source (not a header) of these
   may also include the headers in UPCALLS, which declare such calls. sched/scheduler.h may include
   all of them, because it assembles the state of one runtime.
2. Headers under include/weft/ include only the standard library and each other. Adapters also
   include what they adapt to.
3. Folders that must not know the operating system include only the standard library and the
   compiler's own headers.
4. #if on a system or a processor lives in the folders that exist for it.
5. Headers of a component are included only by the component itself, and by those that build on it.

A call may point up without an include. symbols.py finds these in the object files.

Unit tests (x_test.cc) are exempt: a test may use anything.
"""
import os
import re
import sys

SCHEDULER = ["sched", "wait", "idle", "netpoll", "handoff", "monitor", "per_g", "lifecycle"]
LAYERS = ["base", "os", "events", "symbols", "context", "instrument", "stack", "poll", *SCHEDULER, "debug", "sync", "time", "net", "io", "tls", "fs", "process",
          "signals", "c", "http", "http_client", "redis", "postgres", "nats", "grpc", "hooks", "observe", "sim"]

# Headers of SCHEDULER that sources below may include, and what for. This list may only shrink.
UPCALLS = {
    "handoff/blocking.h": "a yield ends an announced blocking call",
    "handoff/injected.h": "a G that is readied without a P",
    "handoff/pin.h": "a G that only one M may run",
    "handoff/preempt.h": "a G that is asked to yield",
    "handoff/retake.h": "an M that has lost its P",
    "idle/placement.h": "an M that was told to move",
    "lifecycle/crash.h": "an overflow that is found without a guard",
    "lifecycle/fork.h": "the handler of fork() is installed on first use",
    "lifecycle/report.h": "a misuse that is reported, and does not end the process",
    "lifecycle/start.h": "an M is needed, and none is idle",
    "monitor/sysmon.h": "work waits, and only the monitor can help",
    "per_g/big_stack.h": "a G is to continue on a larger stack",
    "per_g/held.h": "a G that leaves its M with a locked mutex of the system",
    "per_g/inheritance.h": "the class of a G that starts",
    "per_g/labels.h": "labels that a G inherits",
    "per_g/spawn_resources.h": "what a G is given at its start",
}
ASSEMBLY = "src/sched/scheduler.h"

# Separate libraries, which may be left out. Only they include their headers.
COMPONENTS = ["tls", "asio", "http", "http_client", "redis", "postgres", "nats", "grpc", "hooks", "observe", "sim"]

# Components that build on another one, and headers of a component in the folder of another one.
BUILD_ON = {"http": ["http_client"]}
HEADERS_ELSEWHERE = {"weft/http/client.h": "http_client"}

# Headers of a component that declare functions of the library itself: programs use them without the component.
IN_LIBRARY = {"weft/observe/switch_hooks.h"}

# Layers that are independent of the operating system. They call src/os for what they need from it.
WITHOUT_SYSTEM_HEADERS = ["base", *SCHEDULER, "sync", "time"]
PLATFORM_LAYERS = ["base", "os", "symbols", "context", "poll"]
# Instructions that users compile into their own code, so the build cannot choose a file of the
# library for them.
INLINED_PLATFORM = {"include/weft/detail/call_at.h", "include/weft/detail/step.h"}

STANDARD_C = {name + ".h" for name in (
    "assert ctype errno float inttypes limits math setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib "
    "string time uchar wchar wctype").split()}
COMPILER = re.compile(r"^(immintrin|x86intrin|cpuid|arm_acle|cet|cxxabi|unwind)\.h$|^(sanitizer|valgrind)/")

# Adapters, and what they adapt to.
ADAPTERS = {"include/weft/asio/": re.compile(r"^boost/"), "include/weft/grpc/": re.compile(r"^grpcpp/"), "include/weft/sim/gtest.h": re.compile(r"^gtest/")}

# The only include of the model checker.
MODEL_CHECKER = re.compile(r"^relacy/")
MODEL_DOORS = {"include/weft/detail/atomic.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')
PLATFORM = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b"
    r"(__linux__|__APPLE__|_WIN32|_WIN64|__FreeBSD__|__x86_64__|__aarch64__|__arm64__|__riscv|_M_X64|_M_ARM64)\b")


def is_standard(name):
    return name in STANDARD_C or re.fullmatch(r"[a-z0-9_]+", name) is not None


def sources(root):
    for top in ("src", "include"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in sorted(files):
                if name.endswith((".h", ".cc", ".S")) and not name.endswith("_test.cc"):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def check_component(path, name):
    """Why this file may not include what belongs to a component, or None."""
    for component in COMPONENTS:
        theirs = HEADERS_ELSEWHERE.get(name, component) == component and name.startswith((f"{component}/", f"weft/{component}/"))
        theirs = theirs or HEADERS_ELSEWHERE.get(name) == component
        users = tuple(f"{folder}/{user}/" for user in [component, *BUILD_ON.get(component, [])] for folder in ("src", "include/weft"))
        if theirs and name not in IN_LIBRARY and not path.startswith(users):
            return f"{component} is a component, which may be left out: only its own files include this"
    return None


def check_public(path, name, quoted):
    """Why a header under include/weft may not include this, or None."""
    if name.startswith("weft/"):
        if quoted:
            return f'write #include <{name}>: a public header is found the way a user finds it'
        return None
    if not quoted and any(path.startswith(folder) and those.match(name) for folder, those in ADAPTERS.items()):
        return None
    if not quoted and (is_standard(name) or (path in MODEL_DOORS and MODEL_CHECKER.match(name))):
        return None
    return "a public header includes only the standard library and <weft/...>: move what needs it into src/"


def check_private(path, layer, name, quoted):
    """Why a file of this layer may not include this, or None."""
    if name.startswith("weft/"):
        return None
    if quoted:
        target = name.split("/")[0] if "/" in name else layer
        if target not in LAYERS:
            return f"there is no layer {target}: name the file from src/, like \"sched/g.h\", or add the layer to LAYERS"
        if LAYERS.index(target) <= LAYERS.index(layer):
            return None
        if layer in SCHEDULER and target in SCHEDULER:
            if path == ASSEMBLY or (path.endswith(".cc") and name in UPCALLS):
                return None
            return (f"{layer}/ lies below {target}/: move the code up. Between parts of the scheduler, a source (no header) may make "
                    "the calls that UPCALLS in test/house/layers.py lists")
        return (f"{layer}/ lies below {target}/: move the code up, or let {target}/ hand {layer}/ what it needs "
                "(a parameter, a callback, an interface declared below)")
    if layer in WITHOUT_SYSTEM_HEADERS and not is_standard(name) and not COMPILER.match(name):
        return f"{layer}/ must not depend on an operating system: use a header of os/"
    return None


def check_file(root, path):
    parts = path.split("/")
    layer = parts[1] if parts[0] == "src" else None
    if layer is not None and len(parts) < 3:
        yield f"{path}:1: a source lies in a layer, not in src/ itself"
        return
    if layer is not None and layer not in LAYERS:
        yield f"{path}:1: there is no layer {layer}: LAYERS in test/house/layers.py lists them"
        return
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            match = INCLUDE.match(line)
            if match:
                name, quoted = match.group(1) or match.group(2), match.group(2) is not None
                why = check_component(path, name) or (
                    check_public(path, name, quoted) if layer is None else check_private(path, layer, name, quoted))
                if why:
                    yield f"{path}:{number}: includes {name}: {why}"
            match = PLATFORM.match(line)
            if match and layer not in PLATFORM_LAYERS and str(path) not in INLINED_PLATFORM:
                yield (f"{path}:{number}: #if on {match.group(1)}: make it files (x_linux.cc, x_aarch64.S) behind one header, "
                       f"in {', '.join(PLATFORM_LAYERS)}")


def check(root):
    return [complaint for path in sources(root) for complaint in check_file(root, path)]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(here))
    complaints = check(root)
    for complaint in complaints:
        print(complaint)
    count = sum(1 for _ in sources(root))
    print(f"layers: {count} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
