#!/usr/bin/env python3
"""Breaks the runtime in one place after the other, and checks that the stepped tests notice.

mutants.py [--schedules N] [--only WORD] builds the tests in a temporary copy of the
repository, once for each paragraph of mutants.txt, and prints which test fails. Fails if none does.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent



def read_mutants():
    for paragraph in (HERE / "mutants.txt").read_text().split("\n\n")[1:]:
        fields = dict(line.split(":", 1) for line in paragraph.strip().splitlines())
        yield [fields[name].strip() for name in ("file", "text", "by", "lost")]


def run(command, log, **how):
    with open(log, "w", encoding="utf-8") as out:
        return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **how).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--schedules", default="6000", help="of each test")
    parser.add_argument("--only", default="")
    how = parser.parse_args()
    survived = 0
    with tempfile.TemporaryDirectory(prefix="weft_mutants_") as folder:
        copy = pathlib.Path(folder)
        for name in ROOT.iterdir():
            if name.name not in ("build", ".git"):
                target = copy / name.name
                shutil.copytree(name, target, symlinks=True) if name.is_dir() else shutil.copy(name, target)
        log = copy / "log"
        options = ["-DWEFT_BUILD_TESTS=ON", "-DWEFT_BUILD_EXAMPLES=OFF", "-DWEFT_BUILD_BENCHMARKS=OFF"]
        if run(["cmake", "-G", "Ninja", "-S", copy, "-B", copy / "build", *options], log) != 0:
            sys.exit(log.read_text()[-3000:])
        environment = dict(os.environ, WEFT_STEPPED_SCHEDULES=how.schedules)
        for file, text, replacement, what in read_mutants():
            if how.only not in what:
                continue
            path = copy / file
            before = path.read_text()
            if before.count(text) != 1:
                sys.exit(f"mutants.txt: {file} must contain this once, not {before.count(text)} times: {text}")
            path.write_text(before.replace(text, replacement))
            try:
                if run(["ninja", "-C", copy / "build", "-j", how.jobs, "stepped_tests"], log) != 0:
                    sys.exit(log.read_text()[-3000:])
                begun = time.monotonic()
                status = run([copy / "build/test/stepped/stepped_tests", "--gtest_filter=SteppedRuntime.*:SteppedSync.*",
                              "--gtest_fail_fast", "--gtest_brief=1"], log, env=environment)
            finally:
                path.write_text(before)
            output = log.read_text(errors="replace")
            failed = re.search(r"\[  FAILED  \] (\S+)", output)
            seed = re.search(r"WEFT_STEPPED_SEED=(\d+)", output)
            if status != 0 and failed and seed:
                print(f"found:    {what}: {failed[1]}, seed {seed[1]}, {time.monotonic() - begun:.0f} s", flush=True)
            else:
                survived += 1
                print(f"SURVIVES: {what} ({file}), {time.monotonic() - begun:.0f} s", flush=True)
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
