#!/usr/bin/env python3
"""suites.py --build FOLDER [--jobs N] [--labels A,B] [--tests REGEX] [SET...]: tests without some system calls.

Runs tests of a build in front of which ./refuse stands, once for each set of refusals.txt, and once
for each rule of its set "single". With SET only those; a rule, such as membarrier=ENOSYS, is one,
too. With 2 processors.

1. "nothing": unit, conformance, example and net, without a refusal. It tells how long tests take.
2. Each set: the same suites.
3. The sets of SIMILAR, and each single rule: the tests of unit and conformance that have taken less
   than BRIEF seconds each, and the examples that have taken less than BRIEF_EXAMPLE. The others have
   run in step 2 without these calls, because the set "all" contains them. With the arguments SET,
   sets run in step 2.
4. Canary: without epoll_create1, which weft needs, a test of sockets must fail.

A test that tests a refused call asks the system whether it has the call, and skips itself. The
number of these is printed, with their reasons in the log of each set (FOLDER/kernels/SET.log).
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import tests

LABELS = "unit,conformance,example,net"
BRIEF = 0.1
BRIEF_EXAMPLE = 1.0
NOTHING = "nothing"
SIMILAR = ("linux-6.1", "linux-5.10", "linux-3.10")  # to linux-4.18; and boot.py runs a true 6.1
# What cannot run without a call, because a library or the purpose of a program needs it: in which sets.
CANNOT_RUN = {
    "example.28_tls": (("linux-3.10",), "OpenSSL needs getrandom"),
    "example.37_lost": (("all", "ptrace=EPERM"), "its search for leaks must see registers"),
    "example.31_profile": (("all", "timer_create=EPERM"), "it makes a profile by CPU time"),
}
CANARY = "epoll_create1=ENOSYS"
CANARY_FILTER = "*/Tcp.*/P2"


class Suites:
    def __init__(self, build, jobs, labels):
        self.build = build.resolve()
        self.jobs = jobs
        self.refuse = self.build / "test" / "refuse"
        self.work = self.build / "kernels"
        self.work.mkdir(exist_ok=True)
        self.tests = tests.of_build(self.build, labels)
        # A suite with another setting of the environment is not one of these.
        self.tests = [t for t in self.tests if t.name != "files_without_io_uring"]
        self.slow = []  # names for a gtest filter
        self.brief_examples = set()

    def stand_in(self, rules):
        """A folder of scripts with the names of the build's programs, which start these without the calls."""
        folder = self.work / re.sub(r"[^A-Za-z0-9.=-]", "_", rules)
        for place in "test", "examples":
            (folder / place).mkdir(parents=True, exist_ok=True)
            for program in (self.build / place).iterdir():
                if program.is_file() and os.access(program, os.X_OK) and not program.suffix:
                    script = folder / place / program.name
                    script.write_text(f"#!/bin/sh\nexec {shlex.quote(str(self.refuse))} {shlex.quote(rules)} -- {shlex.quote(str(program))} \"$@\"\n")
                    script.chmod(0o755)
        return folder

    def round(self, rules, chosen, without=()):
        """Runs the chosen tests. Returns results, and the time of each gtest."""
        folder = None if rules == NOTHING else self.stand_in(rules)
        times = self.work / "times"
        times.mkdir(exist_ok=True)
        environment = {"GTEST_FILTER": "-" + ":".join([*tests.ONE_NUMBER, *tests.LONG, *without]), "PYTHONDONTWRITEBYTECODE": "1"}

        def one(test):
            command = test.command
            if folder:
                command = [c.replace(f"{self.build}/", f"{folder}/", 1) if is_program(c) else c for c in command]
            report = times / f"{test.name}.json"
            return tests.run(test, command, {**environment, "GTEST_OUTPUT": f"json:{report}"})

        def is_program(argument):
            return argument.startswith(f"{self.build}/") and (argument == f"{self.build}/examples" or os.access(argument, os.X_OK))

        left_out = {t.name: CANNOT_RUN[t.name][1] for t in chosen if t.name in CANNOT_RUN and rules in CANNOT_RUN[t.name][0]}
        for name, why in left_out.items():
            print(f"kernels: without {rules}, {name} is left out: {why}")
        chosen = [t for t in chosen if t.name not in left_out]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            results = list(pool.map(one, chosen))
        # A round's log: what failed, and why tests were skipped.
        with open(self.work / f"{re.sub('[^A-Za-z0-9.=-]', '_', rules)}.log", "w", encoding="utf-8") as log:
            for r in results:
                log.write(f"==== {r.name}: status {r.status}, {r.seconds:.1f} s\n{r.output}\n")
        return results

    def gtest_times(self):
        for file in (self.work / "times").glob("*.json"):
            for suite in json.loads(file.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    if test["status"] == "RUN":
                        yield f"{suite['name']}.{test['name']}", float(test["time"].rstrip("s"))

    def learn_times(self, results):
        self.slow = sorted(name for name, seconds in self.gtest_times() if seconds >= BRIEF)
        self.brief_examples = {r.name for r in results if r.name.startswith("example.") and r.seconds < BRIEF_EXAMPLE}

    def brief(self):
        return [t for t in self.tests if t.is_of_gtest or t.name in self.brief_examples]

    def bites(self, rules):
        """Whether the system answers each call of the rules as they say."""
        asked = subprocess.run([self.refuse, rules, "--", self.refuse, "--ask", rules], stdout=subprocess.PIPE, text=True)
        if asked.returncode != 0:
            print(f"kernels: {rules}: not all calls are refused:\n{asked.stdout}")
        return asked.returncode == 0

    def report(self, rules, results, seconds):
        failed = [r for r in results if not r.passed]
        skipped = sum(len(re.findall(r": Skipped$", r.output, re.M)) + r.skipped for r in results)
        passed = "passed" if not failed else "FAILED: " + " ".join(r.name for r in failed)
        print(f"kernels: without {rules}: {len(results)} parts, {skipped} tests skipped, {seconds:.0f} s: {passed}", flush=True)
        for r in failed:
            lines = r.output.splitlines()
            print(f"---- {r.name}: status {r.status}")
            print("\n".join(lines[-60:]))
        return not failed

    def sets(self):
        listed = subprocess.run([self.refuse, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout
        return {line.split()[0]: line.split()[1:] for line in listed.splitlines()}

    def canary(self):
        ended = subprocess.run([self.refuse, CANARY, "--", self.build / "test/conformance_tests", f"--gtest_filter={CANARY_FILTER}", "--gtest_brief=1"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ended.returncode == 0 or "wait_fd: Function not implemented" not in ended.stdout:
            print(f"kernels: the canary has not failed: without {CANARY} tests of sockets pass\n{ended.stdout[-2000:]}")
            return False
        print(f"kernels: canary: without {CANARY} tests of sockets fail, as they should")
        return True


def timed(suites, rules, chosen, without=()):
    began = time.monotonic()
    results = suites.round(rules, chosen, without)
    return results, suites.report(rules, results, time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 2) * 3 // 2)
    parser.add_argument("--labels", default=LABELS, help=f"of ctest; default: {LABELS}")
    parser.add_argument("--tests", default="", help="only those of ctest whose names contain this regular expression")
    parser.add_argument("sets", nargs="*")
    args = parser.parse_args()
    suites = Suites(args.build, args.jobs, args.labels.split(","))
    suites.tests = [t for t in suites.tests if re.search(args.tests, t.name)]
    known = suites.sets()
    ok = suites.canary()
    singles = known.pop("single")
    whole = [s for s in args.sets if s in known] if args.sets else [s for s in known if s not in SIMILAR]
    brief = [s for s in args.sets if s not in known] if args.sets else [*SIMILAR, *singles]
    results, passed = timed(suites, NOTHING, suites.tests)
    ok = passed and ok
    suites.learn_times(results)
    for rules in whole:
        ok = suites.bites(rules) and timed(suites, rules, suites.tests)[1] and ok
    for rules in brief:
        ok = suites.bites(rules) and timed(suites, rules, suites.brief(), suites.slow)[1] and ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
