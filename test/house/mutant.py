#!/usr/bin/env python3
"""mutant.py [--model] PROGRAM: passes if and only if the program, which has a defect planted in it, fails.

A failure is a non-zero exit status or an abort. Any other signal means that the program is broken in a way that proves
nothing. A model that finds something writes its history down and ends with status 1; there an abort proves nothing either.
"""
import os
import signal
import subprocess
import sys


def verdict(returncode, model=False):
    """Returns (passed, why) for the way a mutant ended."""
    if returncode == 0:
        return False, "the mutant survived: nothing sees the defect planted in it"
    if returncode == 1 or (not model and (returncode > 1 or returncode == -signal.SIGABRT)):
        return True, "the mutant was caught"
    how = f"ended with {returncode}" if returncode > 0 else f"died of {signal.Signals(-returncode).name}"
    return False, f"the mutant {how}, which proves nothing"


def run(program, **variables):
    # Some are found late: the whole of each search, however little of it this run of all tests can afford.
    variables.setdefault("WEFT_MODEL_PERCENT", "100")
    ended = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           env=os.environ | variables)
    print("\n".join(ended.stdout.splitlines()[:60]))
    return ended.returncode


def main():
    model = sys.argv[1] == "--model"
    program = sys.argv[-1]
    # Of a model a little of each search first: most defects are found by that, and at once.
    returncode = run(program, WEFT_MODEL_EXECUTIONS="20000") if model else 0
    returncode = returncode or run(program)
    passed, why = verdict(returncode, model)
    print(f"{program}: {why} (status {returncode})")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
