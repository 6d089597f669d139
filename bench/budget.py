#!/usr/bin/env python3
"""Instruction budgets: fails when an operation costs more instructions than it did, or asks for memory.

    bench/budget.py build/native/bench/weft_budget
    bench/budget.py --build build/native

Runs each program of weft/weft_budget.cc at two sizes under callgrind and divides the difference of the
instruction counts by the difference of the sizes. Counts do not depend on what else the machine does.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

SMALL, LARGE = 20_000, 60_000
PROGRAM_TIMEOUT_S = 120
# How often the slice of a task ends depends on the time it takes, and so on what else the machine does.
ENVIRONMENT = {**os.environ, "RUN_DEBUG": "retake=0"}


@dataclass(frozen=True)
class Budget:
    workload: str
    operation: str
    goal: float  # what the design asks for
    limit: float  # what has been reached, and half a per cent or half an instruction, for what the monitor adds: more fails
    mallocs: float | None = None  # per operation; None: not limited


# Two instructions of each operation are its step for simulations (docs/sim.md#what-it-costs).
# A limit above its goal is a goal that has not been met: docs/benchmarks.md says why. Lower it with every improvement.
# Goals of the first four are the design's own; of the others, what its nanoseconds come to at four instructions each: select half of
# the best peer's, locks one atomic a side, a timer 0.15 of Go's, entering 1 ns, an announced call 10 ns. Counts include the loop.
BUDGETS = [
    Budget("yield", "yield", goal=110, limit=148),
    # Four of them check that no fork is left (F4 of weft/detail/fork_frame.h).
    Budget("spawn_join", "spawn + join", goal=190, limit=585, mallocs=0),
    Budget("round_trip", "unbuffered round trip", goal=420, limit=637),
    # Two waits, two wake-ups and two runs: 30 ns for each pair of wait and wake-up. About one instruction is the monitor's, which
    # asks the system for delays every 10 ms: more while the machine is busy.
    Budget("recorded", "round trip, recorded", goal=660, limit=1020),
    Budget("buffered", "buffered message (128)", goal=110, limit=96.5),
    Budget("select", "send + select of 4", goal=300, limit=401, mallocs=0),
    Budget("mutex", "mutex lock + unlock", goal=12, limit=16.5, mallocs=0),
    Budget("semaphore", "semaphore acq. + release", goal=24, limit=25.6, mallocs=0),
    Budget("timer", "after_func + stop", goal=115, limit=819, mallocs=1),
    Budget("entry", "entering + leaving the runtime", goal=4, limit=11.5, mallocs=0),
    # Ten of them replace a return, which costs more than all ten after a system call: include/weft/detail/call_at.h.
    Budget("blocking", "blocking(f), f does nothing", goal=40, limit=136, mallocs=0),
]


def fail(message: str) -> None:
    print(f"budget: {message}", file=sys.stderr)
    sys.exit(2)


def run(command: list[str]) -> subprocess.CompletedProcess:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, check=False, env=ENVIRONMENT
        )
    except subprocess.TimeoutExpired:
        fail(f"{' '.join(command)}: not finished after {PROGRAM_TIMEOUT_S} s")
    if done.returncode != 0:
        fail(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def total_of(out: pathlib.Path) -> int:
    """What callgrind has counted, from its file."""
    total = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
    if total is None:
        fail("callgrind wrote no total")
    return int(total.group(1))


def instructions(binary: str, workload: str, n: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", binary, workload, str(n)])
        return total_of(out)


def mallocs(binary: str, workload: str, n: int) -> int:
    return json.loads(run([binary, workload, str(n)]).stdout.splitlines()[-1])["mallocs"]


def slope(measure, binary: str, workload: str) -> float:
    return (measure(binary, workload, LARGE) - measure(binary, workload, SMALL)) / (LARGE - SMALL)


def main() -> int:
    parser = argparse.ArgumentParser(description="Instruction budgets by callgrind.")
    parser.add_argument("binary", nargs="?", help="the program weft_budget")
    parser.add_argument("--build", help="the build tree to find it in")
    arguments = parser.parse_args()
    if (arguments.binary is None) == (arguments.build is None):
        parser.error("name either the program or --build")
    binary = arguments.binary or str(pathlib.Path(arguments.build) / "bench" / "weft_budget")
    if not pathlib.Path(binary).is_file():
        fail(f"there is no {binary}; build the target weft_budget")
    if shutil.which("valgrind") is None:
        fail("no valgrind; run: apt-get install valgrind")

    met = True
    print(f"{'operation, P=1':<32}{'instructions':>14}{'limit':>8}{'goal':>8}{'mallocs':>10}{'limit':>8}")
    for budget in BUDGETS:
        count = slope(instructions, binary, budget.workload)
        asked = slope(mallocs, binary, budget.workload)
        mallocs_limit = "-" if budget.mallocs is None else f"{budget.mallocs:g}"
        # To one place after what is printed: a busy machine may need a thread more, once, in one of the runs.
        ok = count <= budget.limit and (budget.mallocs is None or asked < budget.mallocs + 0.0005)
        verdict = "  over the limit" if not ok else "" if count <= budget.goal else "  goal not met"
        figures = f"{count:>14.1f}{budget.limit:>8g}{budget.goal:>8g}{asked:>10.3f}{mallocs_limit:>8}"
        print(f"{budget.operation:<32}{figures}{verdict}", flush=True)
        met = met and ok
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
