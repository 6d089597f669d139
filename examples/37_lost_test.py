#!/usr/bin/env python3
"""37_lost_test.py PROGRAM: nine of ten leaked green threads are found, with their line; the worker is not reported."""
import re
import subprocess
import sys

with open(__file__.replace("_test.py", ".cc"), encoding="utf-8") as source:
    culprit = next(number for number, line in enumerate(source, start=1) if "answers.send(replica)" in line)
output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
print(output)
assert output.startswith("20 left behind\n"), "two of three replicas wait, ten times"
assert '"worker"' not in output, "its channel is a global variable"
if "not searched for leaks: this program is built with a sanitizer" in output:
    sys.exit(77)
found = re.search(r"^weft: (\d+) green threads leaked", output, re.MULTILINE)
assert found and 18 <= int(found[1]) <= 20, "the search finds them"
assert re.search(rf"ask\(int, weft::chan<int> const&\) at .*37_lost\.cc:{culprit}$", output, re.MULTILINE), "it names the line"
