#!/usr/bin/env python3
"""slowest.py LEG...: the five slowest tests of the last run of these legs.

Tests of GoogleTest come from the files in build/logs/results/LEG, all others from the lines of
ctest in build/logs/LEG.log.
"""
import glob
import json
import re
import sys

SHOWN = 5
SHARD = re.compile(r"\.\d+_of_\d+$")
LINE = re.compile(r"Test +#\d+: (\S+) .*?(?:Passed|Failed|Timeout|Exception\S*)\s+([0-9.]+) sec")


def of_leg(leg):
    """Yields (seconds, name) for each test of a leg."""
    for path in glob.glob(f"build/logs/results/{leg}/*.json"):
        with open(path, encoding="utf-8") as file:
            for suite in json.load(file)["testsuites"]:
                for test in suite["testsuite"]:
                    yield float(test["time"].rstrip("s")), f"{suite['name']}.{test['name']}"
    try:
        with open(f"build/logs/{leg}.log", encoding="utf-8", errors="replace") as file:
            for name, seconds in LINE.findall(file.read()):
                if not SHARD.search(name):
                    yield float(seconds), name
    except FileNotFoundError:
        pass


def main():
    rows = [(seconds, leg, name) for leg in sys.argv[1:] for seconds, name in of_leg(leg)]
    if not rows:
        return
    print("The slowest tests:")
    for seconds, leg, name in sorted(rows, reverse=True)[:SHOWN]:
        print(f"  {seconds:7.1f} s  {leg}: {name}")
    print()


if __name__ == "__main__":
    main()
