#!/usr/bin/env python3
"""spin_run.py MODEL.pml RUN: checks a Spin model as its line "/* spin: RUN ... */" says.

    /* spin: fenced   expect=ok   pan="-a -m200000" defs="-DFENCE" cc="-O2 -DSAFETY" */
    /* spin: unfenced expect=fail defs="-DTSO" */

defs goes to spin's preprocessor, cc to the compiler of the generated verifier, pan to the verifier.
expect=ok requires a search that was complete and found nothing. expect=fail requires one that found
an error: the mutants of a model.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys

FIELD = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
RUN = re.compile(r"^/\* spin: (\w+)\s(.*)\*/\s*$")
INCOMPLETE = re.compile(
    r"max search depth too small|Search not completed|out of memory|memory exceeded|reached -DMEMLIM|hash table full",
    re.IGNORECASE)


def runs(text):
    """Returns {name: {field: value}} from the comment lines of a model."""
    found = {}
    for line in text.splitlines():
        match = RUN.match(line)
        if not match:
            continue
        name, rest = match.groups()
        fields = {key: quoted or plain for key, quoted, plain in FIELD.findall(rest)}
        unknown = set(fields) - {"expect", "pan", "defs", "cc"}
        if unknown or fields.get("expect") not in ("ok", "fail") or name in found:
            raise ValueError(f"cannot understand: {line}")
        found[name] = fields
    return found


def verdict(output, expect):
    """Returns (passed, why) for the verifier's output."""
    match = re.search(r"errors: (\d+)", output)
    if not match:
        return False, "the verifier printed no count of errors"
    errors = int(match.group(1))
    if expect == "fail":
        return errors > 0, "found an error, as it must" if errors else "found no error, but the model has one planted"
    if errors:
        return False, f"found {errors} error(s)"
    if INCOMPLETE.search(output):
        return False, "found no error, but did not search everything: raise -m (depth) or -w (hash table)"
    return True, "searched everything, found no error"


def step(command, work):
    ended = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace")
    return ended.returncode, ended.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("run")
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--work", required=True, help="folder for generated files; it is emptied first")
    args = parser.parse_args()

    model = os.path.abspath(args.model)
    with open(model, encoding="utf-8") as file:
        fields = runs(file.read())[args.run]
    shutil.rmtree(args.work, ignore_errors=True)
    os.makedirs(args.work)

    # spin does not pass -I on to its preprocessor, so the model is copied into this folder.
    shutil.copy(model, args.work)
    generate = [args.spin, "-a", *shlex.split(fields.get("defs", "")), os.path.basename(model)]
    flags = shlex.split(fields.get("cc", "-O2"))
    if fields["expect"] == "fail":
        flags.append("-O0")  # an error is found at once, so optimizing would take longer than searching
    build = [args.cc, *flags, "-o", "pan", "pan.c"]
    check = ["./pan", *shlex.split(fields.get("pan", ""))]
    for command in (generate, build):
        status, output = step(command, args.work)
        if status != 0:
            print(output)
            print(f"{args.run}: {' '.join(command)} failed with status {status}")
            return 1
    _, output = step(check, args.work)
    print("\n".join(output.splitlines()[:80]))
    if fields["expect"] == "ok" and re.search(r"errors: [1-9]", output):
        for trail in [f for f in os.listdir(args.work) if f.endswith(".trail")][:1]:
            replay = [args.spin, "-t", "-p", *shlex.split(fields.get("defs", "")), os.path.basename(model)]
            print(f"replay of {trail} (last 120 lines):")
            print("\n".join(step(replay, args.work)[1].splitlines()[-120:]))
    passed, why = verdict(output, fields["expect"])
    print(f"{os.path.basename(model)} {args.run} (expect={fields['expect']}): {why}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
