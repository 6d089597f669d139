#!/usr/bin/env python3
"""compiles.py [--jobs J] FOR...: the library compiles with other compilers, standard libraries and
language modes.

Each FOR is a compiler, the year of the standard, and a standard library if it is not the compiler's
usual one:

    g++:23   clang++-14:20   clang++-19:26:libc++

Each of them compiles every source of the library and every example alone, without code generation,
under -Wall -Wextra -Wpedantic -Wshadow -Werror; and one source that includes all public headers.
With libc++ and C++23, every header, including internal ones, is compiled alone too, because its
headers include few others. What needs Boost, OpenSSL or another library is left out.
"""
import argparse
import concurrent.futures
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
PROCESSORS = ["x86_64", "aarch64", "riscv64"]
SYSTEMS = ["linux", "darwin", "freebsd", "windows", "bsd", "posix"]
FAKE_KQUEUE = "test/support/fake_kqueue"  # <sys/event.h>, for the poller of other systems
LEFT_OUT = ("include/weft/tls/", "include/weft/asio/", "include/weft/grpc/", "src/tls/", "src/http/", "src/http_client/",
            "src/redis/", "src/postgres/", "src/nats/")


def is_ours(path):
    """Whether a file is for this system and processor, as in cmake/weft_sources.cmake."""
    parts = os.path.splitext(os.path.basename(path))[0].removesuffix("_test")
    for words, here in ((PROCESSORS, [platform.machine()]), (SYSTEMS, ["linux", "posix"])):
        for word in words:
            if parts.endswith("_" + word):
                if word not in here:
                    return False
                parts = parts.removesuffix("_" + word)
    return True


def of_assembly():
    """Headers under src/ that only assembly includes: the names under which it does."""
    included = {True: set(), False: set()}
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                included[name.endswith(".S")] |= set(re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.MULTILINE))
    return included[True] - included[False]


def sources():
    """Yields the files that are compiled, as paths in the repository."""
    left_out = LEFT_OUT + tuple(f"src/{name}" for name in of_assembly())
    for top, endings in (("include", (".h",)), ("src", (".cc", ".h")), ("examples", (".cc",))):
        for folder, _, names in sorted(os.walk(os.path.join(ROOT, top))):
            paths = [os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(names) if name.endswith(endings)]
            texts = {}
            for path in paths:
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    texts[path] = file.read()
            if top == "examples" and folder != os.path.join(ROOT, top) and any("// needs: " in text for text in texts.values()):
                continue
            for path in paths:
                if is_ours(path) and not path.startswith(left_out) and not path.endswith("_test.cc") and "// needs: " not in texts[path]:
                    yield path


# Where headers are compiled alone.
STRICTEST = ":23:libc++"


def together(files):
    """A source that includes the public headers among files."""
    return "".join(f"#include <{path.removeprefix('include/')}>\n" for path in files if path.startswith("include/"))


def command_of(wanted):
    compiler, year, *library = wanted.split(":")
    command = [compiler, f"-std=c++{year}", *WARNINGS, "-Iinclude", "-Isrc", "-isystem", FAKE_KQUEUE, '-DWEFT_VERSION="0"', "-fsyntax-only", "-x", "c++"]
    if library:
        command.insert(2, f"-stdlib={library[0]}")
    if library == ["libc++"]:
        command.insert(2, "-fexperimental-library")
    return command


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("wanted", nargs="+", metavar="FOR")
    args = parser.parse_args()
    every = list(sources())
    failed = 0
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        all_headers = os.path.join(work, "all_headers.cc")
        with open(all_headers, "w", encoding="utf-8") as file:
            file.write(together(every))
        for wanted in args.wanted:
            command = command_of(wanted)
            alone = wanted.endswith(STRICTEST)
            files = [all_headers] + [path for path in every if alone or not path.endswith(".h")]
            if shutil.which(command[0]) is None:
                print(f"{wanted}: FAILED: there is no {command[0]}")
                failed += 1
                continue

            def compile_one(path, command=command, work=work):
                # A header is included, because compiling it directly would warn about its #pragma
                # once.
                source = path
                if path.endswith(".h"):
                    source = os.path.join(work, re.sub(r"\W", "_", path) + ".cc")
                    with open(source, "w", encoding="utf-8") as file:
                        file.write(f'#include "{path.split("/", 1)[1]}"\n')
                ended = subprocess.run([*command, source], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                return path, ended.returncode, ended.stdout

            bad = 0
            for path, status, output in pool.map(compile_one, files):
                if status != 0:
                    bad += 1
                    print(f"{wanted} {path}: FAILED\n{output[:2000]}", flush=True)
            print(f"{wanted}: {len(files)} files, {bad} failed", flush=True)
            failed += bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
