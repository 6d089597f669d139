#!/usr/bin/env python3
"""model_record.py --build FOLDER [--all | --sample N] [--jobs J]: runs model checks, and keeps the
record of their results.

Repeating a proof adds nothing. test/model/record.txt has one line for each check of test/model, a
program for Relacy or a run of Spin:

    NAME HASH RESULT STATES

HASH covers the inputs: the model, the headers of the library that it compiles, the flags, the
version of the checker. RESULT is "ok" (searched, nothing found) or "caught" (a mutant, which must
fail). STATES is the number of states or executions that were searched; 0 for a mutant.

Without --all, only the checks without a current line run, and a sample of the others, selected by
N. A check fails if its result is not the expected one. A check without a current line also fails,
even if its result is right: its new line is then in the file, and must be committed. With --all
every check runs.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import spin_run  # noqa: E402
from closure import closure, without_hash_comments  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = "test/model"
RECORD = f"{MODELS}/record.txt"
HOUSE = "test/house"
FOLDERS = [f"{MODELS}/stand_in", "include", "src", MODELS]
FLAGS = "cmake/weft_models.cmake"
MUTANTS = re.compile(r"^// mutants:(.*)$", re.MULTILINE)
TIME_LIMIT = 1800
SAMPLE_SIZE = 6
HEAD = "# What the model checks have found; test/house/model_record.py writes and explains it.\n"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def package_version(package):
    ended = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
    return f"{package} {ended.stdout}"


class check:
    """One check: name, digest of its inputs, expected result, target (a program to build, or None),
    command.
    """

    def __init__(self, name, digest, expect, target, command):
        self.name, self.digest, self.expect, self.target, self.command = name, digest, expect, target, command


def all_checks(build):
    sources = closure(ROOT, FOLDERS)
    relacy, spin = package_version("relacy-dev"), package_version("spin")
    flags = without_hash_comments(read(FLAGS))
    for file in sorted(os.listdir(os.path.join(ROOT, MODELS))):
        path = f"{MODELS}/{file}"
        if file.endswith("_model.cc"):
            model = file.removesuffix("_model.cc")
            inputs = [path, f"{MODELS}/search.cc"]
            for mutant in [None, *" ".join(MUTANTS.findall(read(path))).split()]:
                target = f"model_{model}" + (f"_{mutant}" if mutant else "")
                program = os.path.join(build, "test", target)
                command = [sys.executable, f"{HOUSE}/mutant.py", "--model", program] if mutant else [program]
                digest = sources.digest(inputs, relacy, flags, mutant)
                yield check(f"{model}.{mutant or 'model'}", digest, "caught" if mutant else "ok", target, command)
        elif file.endswith(".pml"):
            model = file.removesuffix(".pml")
            for run, fields in spin_run.runs(read(path)).items():
                command = [sys.executable, f"{HOUSE}/spin_run.py", path, run, "--work", os.path.join(build, "spin", f"{model}.{run}")]
                digest = sources.digest([path, f"{HOUSE}/spin_run.py"], spin, run)
                yield check(f"{model}.pml.{run}", digest, "ok" if fields["expect"] == "ok" else "caught", None, command)


def recorded():
    """{name: (digest, result, states)}"""
    if not os.path.exists(os.path.join(ROOT, RECORD)):
        return {}
    lines = [line.split() for line in read(RECORD).splitlines() if line and not line.startswith("#")]
    return {name: (digest, result, int(states)) for name, digest, result, states in lines}


def write(record):
    with open(os.path.join(ROOT, RECORD), "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"{name} {digest} {result} {states}\n" for name, (digest, result, states) in sorted(record.items())))


def states_of(output):
    spin = re.search(r"^ *([0-9.e+]+) states, stored", output, re.MULTILINE)
    if spin:
        return int(float(spin.group(1)))
    return sum(int(n) for n in re.findall(r"(\d+) executions", output))


def run(one):
    """Returns (passed, states, seconds, output)."""
    begun = time.monotonic()
    try:
        ended = subprocess.run(one.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIME_LIMIT,
                               env=os.environ | {"WEFT_MODEL_PERCENT": "100"}, check=False)
    except subprocess.TimeoutExpired as late:
        return False, 0, TIME_LIMIT, f"{late.output}\nnot finished after {TIME_LIMIT} s"
    states = states_of(ended.stdout) if one.expect == "ok" else 0
    return ended.returncode == 0, states, time.monotonic() - begun, ended.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="a configured build folder")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    build = os.path.abspath(args.build)

    checks = list(all_checks(build))
    record = recorded()
    gone = set(record) - {one.name for one in checks}
    stale = [one for one in checks if record.get(one.name, ("",))[0] != one.digest]
    current = [one for one in checks if one not in stale]
    sample = []
    if args.all:
        sample = current
    elif args.sample is not None and current:
        sample = [current[(args.sample + i * len(current) // SAMPLE_SIZE) % len(current)] for i in range(min(SAMPLE_SIZE, len(current)))]
    print(f"{len(checks)} checks: {len(current)} recorded, {len(stale)} without a current line; {len(sample)} of the recorded ones run, too", flush=True)

    to_run = stale + sample
    targets = [one.target for one in to_run if one.target]
    if targets:
        built = subprocess.run(["cmake", "--build", build, "-j", str(args.jobs), "--target", *targets], cwd=ROOT, check=False)
        if built.returncode != 0:
            return 1
    failed = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for one, (passed, states, seconds, output) in zip(to_run, pool.map(run, to_run)):
            print(f"{one.name}: {one.expect if passed else 'FAILED'}, {states} states, {seconds:.1f} s: {shlex.join(one.command)}", flush=True)
            if not passed:
                print(output)
                failed.append(one.name)
                continue
            if one in sample and states != record[one.name][2]:
                print(f"{one.name}: the record says {record[one.name][2]} states")
                failed.append(one.name)
            record[one.name] = (one.digest, one.expect, states)
            if one in stale:
                write(record)  # an interrupted run keeps its results
    for name in gone | set(failed):
        record.pop(name, None)
    if stale or gone or failed:
        write(record)
    for name in failed:
        print(f"{name}: FAILED")
    if stale or gone:
        print(f"{RECORD} was not current: {len(stale)} checks had no line, {len(gone)} lines had no check; it has been updated: commit it")
    return 1 if failed or stale or gone else 0


if __name__ == "__main__":
    sys.exit(main())
