#!/usr/bin/env python3
"""mixed_sanitizers.py NAME FLAG PROGRAM: a program that is built with a sanitizer, and linked with a
weft that is not, says so and ends before main; with RUN_DEBUG=sanitizer=0 it does not say it.

ThreadSanitizer needs addresses that randomization may occupy: so setarch -R, where it is allowed.
"""
import os
import signal
import subprocess
import sys


def run(program, debug):
    wrapper = ["setarch", "-R"]
    if subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        wrapper = []
    return subprocess.run([*wrapper, program], env=os.environ | {"RUN_DEBUG": debug}, capture_output=True, text=True, timeout=60, check=False)


def main():
    name, flag, program = sys.argv[1:]
    line = (f"weft: fatal: this program is built with {name}, but the weft library is not, so reports would be wrong; "
            f"build weft with -DWEFT_SANITIZE={flag}, or set RUN_DEBUG=sanitizer=0 to run anyway: docs/sanitizers.md")
    ended = run(program, "")
    print(ended.stdout, ended.stderr)
    # A sanitizer may handle the abort, and end the program by exit.
    if ended.returncode in (0, -signal.SIGSEGV) or ended.stderr.count(line + "\n") != 1 or "it runs" in ended.stdout:
        print(f"mixed_sanitizers: status {ended.returncode}; wanted: {line}")
        return 1
    ended = run(program, "sanitizer=0")
    if "but the weft library is not" in ended.stderr:
        print(f"mixed_sanitizers: {ended.stderr}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
