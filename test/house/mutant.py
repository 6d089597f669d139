#!/usr/bin/env python3
"""mutant.py [--model] PROGRAM: passes if and only if the program, which has a planted defect,
fails.

A failure is a non-zero exit status or an abort. Any other signal means that the program is broken
in a way that proves nothing. A model that finds an error prints its history and exits with status
1; for a model an abort proves nothing either.
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
    return False, f"the mutant {how}, but not because a check has failed"


def run(program, **variables):
    # Some defects are found late. So each search is complete, even if this test run does only a
    # part of other searches.
    variables.setdefault("WEFT_MODEL_PERCENT", "100")
    ended = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                           env=os.environ | variables)
    print("\n".join(ended.stdout.splitlines()[:60]))
    return ended.returncode


def main():
    model = sys.argv[1] == "--model"
    program = sys.argv[-1]
    # First a small part of each search of a model: it finds most defects at once.
    returncode = run(program, WEFT_MODEL_EXECUTIONS="20000") if model else 0
    returncode = returncode or run(program)
    passed, why = verdict(returncode, model)
    print(f"{program}: {why} (status {returncode})")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
