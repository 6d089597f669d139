"""tests.py: the tests of a build, as ctest knows them, and running them.

suites.py runs them without some system calls; boot.py runs them under another kernel.
"""
import dataclasses
import json
import os
import signal
import subprocess
import time
from pathlib import Path

# One of the four numbers of processors that tests are swept over.
ONE_NUMBER = ("*/P1", "*/P4", "*/P64")

# Tests that take seconds each, and that other legs run: a million green threads, loads of hogs and
# connections, rest over a long time.
LONG = ("MillionParked.*", "CalmNetpoll.EachOfMany*", "*HogShare*", "*ManyHogs*", "*RuntimeChurn*",
        "Deadlock.IsReportedWhenAnotherRuntimeStopsWorking")


@dataclasses.dataclass
class Test:
    name: str
    command: list
    labels: list
    environment: dict
    timeout: float
    skip_status: int  # 0: none
    folder: str

    @property
    def is_of_gtest(self):
        return Path(self.command[0]).name.endswith("_tests")


def of_build(build, labels):
    """The tests with one of the labels, in ctest's order."""
    listing = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                             stdout=subprocess.PIPE, check=True, text=True).stdout
    tests = []
    for one in json.loads(listing)["tests"]:
        properties = {p["name"]: p["value"] for p in one.get("properties", [])}
        if "command" not in one or not set(labels) & set(properties.get("LABELS", [])):
            continue
        tests.append(Test(
            name=one["name"],
            command=one["command"],
            labels=properties["LABELS"],
            environment=dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
            timeout=properties.get("TIMEOUT", 120),
            skip_status=properties.get("SKIP_RETURN_CODE", 0),
            folder=properties.get("WORKING_DIRECTORY", str(build))))
    return tests


@dataclasses.dataclass
class Result:
    name: str
    status: int  # negative: a signal; "timeout" is TIMED_OUT
    seconds: float
    output: str
    skipped: bool

    @property
    def passed(self):
        return self.status == 0 or self.skipped


TIMED_OUT = 124


def run(test, command=None, environment=(), slower=1):
    """Runs a test, or another command in its place. Nothing that it starts outlives its time limit."""
    began = time.monotonic()
    process = subprocess.Popen(command or test.command, cwd=test.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, **test.environment, **dict(environment)})
    try:
        output = process.communicate(timeout=test.timeout * slower)[0]
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
        status = TIMED_OUT
    return Result(test.name, status, time.monotonic() - began, output.decode(errors="replace"),
                  status != 0 and status == test.skip_status)
