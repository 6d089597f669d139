#!/usr/bin/env python3
"""weft_program_test.py WEFT TESTS: the program weft, with a recording that the program TESTS writes."""
import os
import re
import subprocess
import sys
import tempfile


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stderr


def expect(text, pattern):
    if not re.search(pattern, text, re.MULTILINE):
        sys.exit(f"there is no {pattern!r} in:\n{text}")


def main(weft, tests):
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.join(folder, "recording")
        os.environ["WEFT_TEST_RECORDING"] = base
        subprocess.run([tests, "--gtest_brief=1", "--gtest_filter=Recorder.WritesFilesForOtherPrograms"], check=True, stdout=subprocess.DEVNULL)
        file = base + ".weftrec"
        with open(base + ".events", encoding="utf-8") as f:
            events = int(f.read())

        summary = run(weft, "trace", file)
        expect(summary, r"^observe_tests, process \d+: ")
        expect(summary, rf"^{events} events of \d+ green threads")
        expect(summary, r"^  work +\d+ ")
        expect(run(weft, "trace", file, "--path", "work"), r"^The longest of \d+ regions \"work\": ")
        with open(base + ".txt", encoding="utf-8") as f:
            if run(weft, "trace", file, "--text") != f.read():
                sys.exit("--text differs from what the recorded program has written")
        expect(run(weft, "trace", file, "--text", "0", "1ms"), r"^ +\d+\.\d+ us ")
        for form, converted in ("--perfetto", "pftrace"), ("--chrome", "json"):
            expect(run(weft, "trace", file, form, f"{base}.again.{converted}"), rf": {events} events$")
            with open(f"{base}.{converted}", "rb") as before, open(f"{base}.again.{converted}", "rb") as after:
                if before.read() != after.read():
                    sys.exit(f"{form} differs from what the recorded program has written")

        expect(run(weft, "doctor"), r"^ok      recording: known events were recorded")
        expect(run(weft, "help"), r"^  trace FILE ")
        for command, message in (
                ([], "a command is missing"),
                (["drace"], "there is no command drace"),
                (["trace"], "trace needs a file"),
                (["trace", file, "--txt"], "trace does not know --txt"),
                (["trace", file, "--path"], "trace FILE --path needs the name of a region"),
                (["trace", file, "--text", "1x", "2s"], '"1x" is no time; write 10ms, 1.5s or 200us'),
        ):
            expect(run(weft, *command, status=2), "^weft: " + re.escape(message) + "; `weft help` lists the commands$")
        expect(run(weft, "trace", base + ".none", status=1), r"^weft: cannot read the recording .*none: No such file or directory$")
        expect(run(weft, "trace", base + ".txt", status=1), r"^weft: .*txt is not a recording; ")
        expect(run(weft, "trace", file, "--path", "x", status=1), r'^weft: the recording has no region "x"; it has: work \(\d+\)$')


if __name__ == "__main__":
    main(*sys.argv[1:])
