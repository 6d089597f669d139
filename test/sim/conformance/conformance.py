#!/usr/bin/env python3
"""conformance.py: runs the suite conformance in simulations, without the tests in left_out.txt.

    conformance.py PROGRAM [--schedules N] [--procs N] [--filter PATTERN]

Fails if a test fails in some schedule, if a pattern of left_out.txt fits no test, or if fewer tests
than expected have run.
"""
import argparse
import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path

LEFT_OUT = Path(__file__).with_name("left_out.txt")
LEAST = 700  # tests that run in simulations


def patterns() -> list[str]:
    lines = (line.strip() for line in LEFT_OUT.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def tests(program: str, procs: int) -> list[str]:
    """Suite.Test, without the name of the instance and the number of processors."""
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        if line.startswith("Running main"):
            continue
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name
        elif suite.startswith("Procs/") and name.endswith(f"/P{procs}"):
            names.append(suite.removeprefix("Procs/") + name.rsplit("/", 1)[0])
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--schedules", type=int, default=3, help="of each test")
    parser.add_argument("--procs", type=int, default=2, help="the instance of each test")
    parser.add_argument("--filter", default="*", help="a pattern of GoogleTest for Suite.Test")
    options = parser.parse_args()
    os.environ.pop("GTEST_FILTER", None)  # of other suites

    names = tests(options.program, options.procs)
    left_out = patterns()
    stale = [p for p in left_out if not fnmatch.filter(names, p)]
    for pattern in stale:
        print(f"{LEFT_OUT.name}: {pattern} fits no test; remove it")
    wanted = [n for n in fnmatch.filter(names, options.filter) if not any(fnmatch.fnmatchcase(n, p) for p in left_out)]

    # Fewer iterations: each is a schedule of its own.
    environment = dict(os.environ, WEFT_SIM_ALL="1", WEFT_TEST_SCALE="10", WEFT_SEED="1")
    chosen = ":".join(f"Procs/{n}/P{options.procs}" for n in wanted)
    run = subprocess.run([options.program, f"--gtest_filter={chosen}", f"--sim_schedules={options.schedules}"],
                         env=environment, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    passed = re.findall(r"^\[  PASSED  \] (\S+): ", run.stdout, re.MULTILINE)
    if run.returncode != 0 or len(passed) != len(wanted):
        print(re.sub(r"^\[  PASSED  \].*\n", "", run.stdout, flags=re.MULTILINE))
    is_enough = options.filter != "*" or len(passed) >= LEAST
    print(f"{len(passed)} of {len(names)} tests passed in {options.schedules} schedules each; "
          f"{len(names) - len(wanted)} are left out; at least {LEAST} are expected to pass")
    return 0 if run.returncode == 0 and not stale and is_enough and len(passed) == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
