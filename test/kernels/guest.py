"""guest.py FOLDER: runs tests inside the machine that boot.py starts, and reports over a serial line.

FOLDER/tests.json lists them. One JSON object per line: {"begin": kernel}, one result per test, then
{"end": count}.
"""
import concurrent.futures
import dataclasses
import json
import os
import sys
import termios
from pathlib import Path

import tests

LINE = "/dev/ttyS1"
SHOWN = 6000  # characters of the output of a test that failed


def open_line():
    line = open(LINE, "wb", buffering=0)
    mode = termios.tcgetattr(line)
    mode[1] &= ~termios.OPOST  # newlines stay as they are
    termios.tcsetattr(line, termios.TCSANOW, mode)
    return line


def main():
    line = open_line()

    def say(something):
        line.write(json.dumps(something).encode() + b"\n")
        termios.tcdrain(line)

    plan = json.loads((Path(sys.argv[1]) / "tests.json").read_text())
    say({"begin": os.uname().release})
    chosen = [tests.Test(**t) for t in plan["tests"]]

    def one(test):
        result = tests.run(test, environment=plan["environment"], slower=plan["slower"])
        if result.passed:
            # Why tests skip themselves is of interest.
            result.output = "\n".join(x for x in result.output.splitlines() if "Skipped" in x or "skipped" in x)
        result.output = result.output[-SHOWN:]
        return {**dataclasses.asdict(result), "passed": result.passed}

    count = 0
    with concurrent.futures.ThreadPoolExecutor(plan["jobs"]) as pool:
        for result in pool.map(one, chosen):
            say(result)
            count += 1
    say({"end": count})


main()
