#!/usr/bin/env python3
"""34_leak_test.py PROGRAM: the dump counts the green threads that wait for ever, and names their line."""
import re
import subprocess
import sys

with open(__file__.replace("_test.py", ".cc"), encoding="utf-8") as source:
    culprit = next(number for number, line in enumerate(source, start=1) if "answer.send(42)" in line)
output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
print(output)
said = re.match(r"(\d+) of 100 requests were answered, and (\d+) green threads more live than before\n", output)
assert said and int(said[1]) + int(said[2]) == 100, "each request that was given up leaves a green thread"
groups = re.findall(r'^(?:(\d+) green threads|green thread \d+) "look_up" \[chan send, .*\n((?: .*\n)*)', output, re.MULTILINE)
assert sum(int(count or 1) for count, _ in groups) == int(said[2]), "the dump counts all of them"
for _, entry in groups:
    assert re.search(rf"look_up\(.* at .*34_leak\.cc:{culprit}$", entry, re.MULTILINE), f"they do not wait in line {culprit}"
