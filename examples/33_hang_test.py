#!/usr/bin/env python3
"""33_hang_test.py PROGRAM: the dump names the line at which both green threads wait."""
import re
import subprocess
import sys

with open(__file__.replace("_test.py", ".cc"), encoding="utf-8") as source:
    culprit = next(number for number, line in enumerate(source, start=1) if "second(to.lock)" in line)
output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
print(output)
for name in "rent", "refund":
    entry = re.search(rf'^green thread \d+ "{name}" \[mutex lock, .*\n((?: .*\n)*)', output, re.MULTILINE)
    assert entry, f"the dump has no {name} that waits for a lock"
    assert re.search(rf"transfer\(.* at .*33_hang\.cc:{culprit}$", entry[1], re.MULTILINE), f"{name} does not wait in line {culprit}"
