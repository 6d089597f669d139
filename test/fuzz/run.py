#!/usr/bin/env python3
"""run.py FLAG... PROGRAM CORPUS: runs a fuzz target, or checks that a mutant of it is found.

  --runs=N        the number of inputs, besides those of the corpus
  --seconds=N     the time limit, instead of --runs
  --seed=N        the seed of random decisions; without it, each run has another one
  --found=FOLDER  keeps new inputs of interest there, and tries them first in the next run;
                  with --seed it is emptied before
  --mutant        passes if and only if a property does not hold, or a sanitizer complains

An input that fails is kept in the folder beside FOLDER whose name ends with .failed. To try it
again: PROGRAM FILE (see docs/fuzzing.md).
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOUND = "fuzz: it does not hold that", "ERROR: AddressSanitizer", "runtime error:", "ERROR: libFuzzer"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--found", type=Path, required=True)
    parser.add_argument("--mutant", action="store_true")
    parser.add_argument("program")
    parser.add_argument("corpus", type=Path)
    o = parser.parse_args()

    failed = o.found.with_name(o.found.name + ".failed")
    if o.seed is not None:
        for folder in o.found, failed:
            shutil.rmtree(folder, ignore_errors=True)
    for folder in o.found, failed:
        folder.mkdir(parents=True, exist_ok=True)
    seed = random.randrange(1, 2**31) if o.seed is None else o.seed
    command = [o.program, f"-seed={seed}", "-max_len=4096", "-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1", f"-artifact_prefix={failed}/"]
    if o.runs is not None:
        command.append(f"-runs={o.runs}")
    if o.seconds is not None:
        command.append(f"-max_total_time={o.seconds}")
    print(*command, o.found, o.corpus, flush=True)
    # A target that crashes leaves its files behind.
    with tempfile.TemporaryDirectory() as folder:
        settings = {"ASAN_OPTIONS": "detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"} | os.environ | {"TMPDIR": folder}
        ended = subprocess.run([*command, o.found, o.corpus], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", env=settings)
    lines = ended.stdout.splitlines()
    print("\n".join(lines if len(lines) <= 120 else [*lines[:20], f"… {len(lines) - 100} lines …", *lines[-80:]]))
    if not o.mutant:
        if ended.returncode != 0:
            print(f"{o.program}: failed with {ended.returncode}; the input is in {failed}: {sorted(os.listdir(failed))}")
        return 1 if ended.returncode != 0 else 0
    found = ended.returncode != 0 and any(text in ended.stdout for text in FOUND)
    print(f"{o.program}: {'the mutant was caught' if found else 'the mutant survived: nothing sees the defect planted in it'} ({ended.returncode})")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
