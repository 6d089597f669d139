#!/usr/bin/env python3
"""35_hog_test.py PROGRAM: the recording names the green thread that the others waited for."""
import re
import subprocess
import sys

with open(__file__.replace("_test.py", ".cc"), encoding="utf-8") as source:
    culprit = next(number for number, line in enumerate(source, start=1) if '{.name = "compress"}' in line)
output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
print(output)
head, delay, meanwhile = output.splitlines()
assert head == "Longest delays: runnable without running"
assert re.search(r"^ +\d+(\.\d+)? ms  at .* G \d+ serve \(35_hog\.cc:\d+\)", delay), "a green thread that serves was delayed most"
assert re.search(rf"^ +P0 ran G \d+ compress \(35_hog\.cc:{culprit}\) for ", meanwhile), f"by the one that is started in line {culprit}"
