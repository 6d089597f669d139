#!/usr/bin/env python3
"""mutant.py PROGRAM: passes if and only if the program, a model with a defect planted in it, fails.

A failure is a non-zero exit status or an abort. Any other signal means that the program is broken in a way that proves
nothing about the model.
"""
import signal
import subprocess
import sys


def verdict(returncode):
    """Returns (passed, why) for the way a mutant ended."""
    if returncode == 0:
        return False, "the mutant survived: the model does not see the defect planted in it"
    if returncode > 0 or returncode == -signal.SIGABRT:
        return True, "the mutant was caught"
    return False, f"the mutant died of {signal.Signals(-returncode).name}, which proves nothing"


def main():
    ended = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print("\n".join(ended.stdout.splitlines()[:60]))
    passed, why = verdict(ended.returncode)
    print(f"{sys.argv[1]}: {why} (status {ended.returncode})")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
