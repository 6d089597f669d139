#!/usr/bin/env python3
"""36_contention_test.py PROGRAM: the recording says that the time went into waits for a lock, and of which green threads."""
import re
import subprocess
import sys

with open(__file__.replace("_test.py", ".cc"), encoding="utf-8") as source:
    lines = source.read().splitlines()
culprit = next(number for number, line in enumerate(lines, start=1) if '{.name = "refresh"}' in line)
lock = next(number for number, line in enumerate(lines, start=1) if "hold(table_lock)" in line)
output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
print(output)
waits = re.search(rf"^  36_contention\.cc:{culprit}  mutex lock +(\d+) ", output, re.MULTILINE)
assert waits and int(waits[1]) >= 10, "most of 20 waited for the lock"
region = re.search(r"^  refresh +20 .* +\d+\.\d %  +\d+\.\d %  +(\d+\.\d) %  +\d+\.\d %$", output, re.MULTILINE)
assert region and float(region[1]) > 50, "most of the time was spent waiting"
assert re.search(rf"waits: mutex lock\n +refresh\(int\) at 36_contention\.cc:{lock}$", output, re.MULTILINE), "the stack names the line of the lock"
