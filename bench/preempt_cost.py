#!/usr/bin/env python3
"""What the checks of weft_instrument() cost: instructions and time of code with them, divided by those without.

    bench/preempt_cost.py --build build/native [--compiler g++ | clang++-19]

Three programs that do nothing but what such checks are worst at: fib(30), a call for each addition; a sum over an array, a loop
without calls; and that loop with a call in it. Instructions by callgrind, which do not depend on the machine; time as the median of
interleaved runs. Nobody asks for anything meanwhile: it is the price of looking.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(__clang__)
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noinline, noipa))
#endif
OPAQUE long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
OPAQUE long sum(const int* v, int n) { long s = 0; for (int i = 0; i < n; ++i) s += v[i] ^ (s & 3); return s; }
OPAQUE long one(long s, int x) { return s + (x ^ (s & 3)); }
OPAQUE long calls(const int* v, int n) { long s = 0; for (int i = 0; i < n; ++i) s = one(s, v[i]); return s; }
int main(int, char** argv) {
    static int v[4096];
    for (int i = 0; i < 4096; ++i) v[i] = i * 7;
    const int rounds = std::atoi(argv[2]);
    long s = 0;
    for (int r = 0; r < rounds; ++r) {
        if (!std::strcmp(argv[1], "fib")) s += fib(20);
        if (!std::strcmp(argv[1], "loop")) s += sum(v, 4096);
        if (!std::strcmp(argv[1], "loop+call")) s += calls(v, 4096);
    }
    std::printf("%ld\n", s);
}
"""

# The flags of cmake/weft_instrument.cmake.
FORMS = {
    "g++": {"calls": ["-fsplit-stack"], "LOOPS": ["-fsanitize-coverage=trace-pc"]},
    "clang": {"LOOPS": ["-fsanitize-coverage=edge,no-prune,trace-pc"]},
}
PROGRAMS = ["fib", "loop", "loop+call"]
TIMED_RUNS = 9


def instructions(program: str, which: str, rounds: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, which, str(rounds)],
                       check=True, capture_output=True)
        return int(re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE).group(1))


def slope(program: str, which: str) -> float:
    return (instructions(program, which, 30) - instructions(program, which, 10)) / 20


def seconds(program: str, which: str, rounds: int) -> float:
    begin = time.perf_counter()
    subprocess.run([program, which, str(rounds)], check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()
    build = pathlib.Path(options.build)
    forms = FORMS["clang" if "clang" in options.compiler else "g++"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "cost.cc"
        source.write_text(SOURCE)
        programs = {}
        for name, flags in {"plain": [], **forms}.items():
            programs[name] = f"{folder}/{name}"
            subprocess.run([options.compiler, "-O2", *flags, "-c", source, "-o", f"{folder}/cost.o"], check=True)
            libraries = [] if name == "plain" else [build / "libweft_instrument.a", build / "libweft.a"]
            subprocess.run([options.compiler, f"{folder}/cost.o", *libraries, "-pthread", "-o", programs[name]], check=True)
        print(f"{'':10} {'form':8} {'instructions':>14} {'ratio':>7} {'time':>7}")
        for which in PROGRAMS:
            base = slope(programs["plain"], which)
            rounds = max(1, int(2e8 / base))
            times = {name: [] for name in programs}
            for _ in range(TIMED_RUNS):
                for name, program in programs.items():
                    times[name].append(seconds(program, which, rounds))
            for name, program in programs.items():
                count = slope(program, which)
                ratio = statistics.median(a / b for a, b in zip(times[name], times["plain"]))
                print(f"{which:10} {name:8} {count:14.0f} {count / base:6.2f}x {ratio:6.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
