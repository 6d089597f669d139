#!/usr/bin/env python3
"""run_example.py [--expected FILE] -- PROGRAM ARGS...: runs an example and compares its output.

In the expected output, {{REGEX}} stands for what varies from run to run. Everything else must be
equal. Without --expected the program only has to end with status 0. Standard error is shown, not
compared.
"""
import argparse
import itertools
import re
import subprocess
import sys


def line_pattern(line):
    """The regular expression for one line of expected output."""
    parts = re.split(r"\{\{(.*?)\}\}", line)
    return "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))


def difference(expected, actual):
    """Returns a message about the first line that differs, or None."""
    pairs = itertools.zip_longest(expected.splitlines(), actual.splitlines())
    for number, (want, got) in enumerate(pairs, start=1):
        if want is None or got is None or not re.fullmatch(line_pattern(want), got):
            return f"line {number}: expected {want!r}, got {got!r}"
    return None


def run(command, expected_path):
    """Runs the program; returns the complaints."""
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", stdin=subprocess.DEVNULL)
    print(ended.stdout, end="")
    complaints = []
    if ended.returncode != 0:
        complaints.append(f"ended with status {ended.returncode}")
    if expected_path:
        with open(expected_path, encoding="utf-8") as file:
            wrong = difference(file.read(), ended.stdout)
        if wrong:
            complaints.append(f"{expected_path}: {wrong}")
    return complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expected")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    complaints = run(args.command, args.expected)
    for complaint in complaints:
        print(f"{args.command[0]}: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
