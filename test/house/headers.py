#!/usr/bin/env python3
"""headers.py --work FOLDER [--jobs J]: every public header compiles alone, under strict flags.

Each header of include/weft is included first and alone in a program, as a header of the project,
not of the system:

    gcc       -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wuseless-cast -Werror
    clang     -Weverything -Werror, without the warnings listed below; with libc++, whose headers include few others
    macros    all of them in one program that defines min and max as macros, as headers of platforms do
    refused   C++17, and -fno-exceptions: one #error that says what to do, and nothing after it

weft/tls is left out where OpenSSL is not installed. weft/asio is always left out, because Boost
itself does not compile under these flags. FOLDER keeps the generated sources, so that a compiler
cache finds them again.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GCC = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast", "-Wuseless-cast", "-Werror"]
CLANG = ["clang++-19", "-std=c++20", "-stdlib=libc++", "-fexperimental-library", "-Weverything", "-Werror"]
# Warnings about what C++20 code does, about layout, and about exceptions without a key function, as
# the standard's are.
CLANG += ["-Wno-c++98-compat", "-Wno-c++98-compat-pedantic", "-Wno-pre-c++20-compat-pedantic", "-Wno-c++20-compat", "-Wno-padded",
          "-Wno-unsafe-buffer-usage", "-Wno-weak-vtables"]
# Headers of libstdc++ do not survive the macros, so they come first.
STANDARD = """algorithm array atomic bit charconv chrono compare concepts coroutine cstddef cstdint deque exception functional future iterator limits map
memory mutex new optional semaphore set shared_mutex source_location span stdexcept stop_token string string_view system_error thread tuple type_traits
utility variant vector""".split()
MACROS = "#define min(a, b) ((a) < (b) ? (a) : (b))\n#define max(a, b) ((a) > (b) ? (a) : (b))\n"
REFUSED = {
    "cxx17": (["g++", "-std=c++17"], "weft needs C++20"),
    "no_exceptions": (["g++", "-std=c++20", "-fno-exceptions"], "weft needs C++ exceptions"),
}


def headers():
    folder = os.path.join(ROOT, "include")
    found = []
    for path, _, files in os.walk(folder):
        found += [os.path.relpath(os.path.join(path, name), folder) for name in files if name.endswith(".h")]
    without = []
    if not os.path.exists("/usr/include/openssl/ssl.h"):
        without.append("weft/tls/")
    without += ["weft/asio/", "weft/grpc/", "weft/sim/gtest.h"]  # headers of others do not compile under these flags
    return sorted(name for name in found if not name.startswith(tuple(without)))


def cases(work):
    """Yields (name, command, expected message or None)."""
    for header in headers():
        name = re.sub(r"\W", "_", header)
        plain = os.path.join(work, f"{name}.cc")
        with open(plain, "w", encoding="utf-8") as file:
            file.write(f"#include <{header}>\n")
        yield f"gcc {header}", GCC + [plain], None
        yield f"clang {header}", CLANG + [plain], None
        if not header.startswith(("weft/run", "weft/c.h")):  # the C interface asks for neither
            for how, (command, message) in REFUSED.items():
                yield f"{how} {header}", command + [plain], message
    macros = os.path.join(work, "macros.cc")
    with open(macros, "w", encoding="utf-8") as file:
        file.write("".join(f"#include <{standard}>\n" for standard in STANDARD) + MACROS)
        file.write("".join(f"#include <{header}>\n" for header in headers()))
    yield "macros in all headers", ["g++", "-std=c++20", macros], None


def compile_one(case, launcher):
    """Returns (name, passed, output)."""
    name, command, message = case
    source = command[-1]
    kind = name.split()[0]
    flags = ["-I" + os.path.join(ROOT, "include"), "-c", "-o", f"{source}.{kind}.o"]
    ended = subprocess.run([*launcher, *command, *flags], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if message is None:
        return name, ended.returncode == 0, ended.stdout
    errors = re.findall(r"(?:fatal )?error: .*", ended.stdout)
    return name, ended.returncode != 0 and len(errors) == 2 and message in errors[0], ended.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(args.work)
    launcher = ["ccache"] if os.environ.get("CCACHE_BASEDIR") and shutil.which("ccache") else []
    failed = 0
    count = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, passed, output in pool.map(lambda case: compile_one(case, launcher), list(cases(os.path.abspath(args.work)))):
            count += 1
            if not passed:
                failed += 1
                print(f"{name}: FAILED\n{output[:3000]}")
    print(f"headers: {count} compilations, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
