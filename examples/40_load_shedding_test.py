#!/usr/bin/env python3
"""40_load_shedding_test.py PROGRAM: of many clients some are refused. On a busy machine a single one may be, too."""
import subprocess
import sys

output = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, timeout=100, check=True).stdout
print(output)
assert "100 clients: some are refused" in output
assert "one client later: it is " in output
