#!/usr/bin/env python3
"""lint.py --build FOLDER [--all | --sample N] [--jobs J]: clang-tidy over the sources of the
library.

tools/lint_record.txt has one line, PATH HASH, for each source without clang-tidy complaints. HASH
covers the source, the headers of this repository that it includes, .clang-tidy, and the flags.
Without --all, only sources without a current line are checked, and one of the others, selected by
N. A source without complaints gets its line. An outdated line is no failure; it only costs the time
to check again.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "house"))
from closure import closure, without_hash_comments  # noqa: E402

RECORD = os.path.join(ROOT, "tools", "lint_record.txt")
HEAD = "# Sources that clang-tidy has nothing to say about; tools/lint.py writes and explains it.\n"
TOOL = "clang-tidy-19"
SETTINGS = [".clang-tidy", "cmake/weft_flags.cmake"]


def sources(build):
    """The sources of the library in this build. Those of other systems are not in it."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        files = {os.path.relpath(entry["file"], ROOT) for entry in json.load(file)}
    return sorted(file for file in files if file.startswith("src/") and file.endswith(".cc") and not file.endswith("_test.cc"))


def recorded():
    if not os.path.exists(RECORD):
        return {}
    with open(RECORD, encoding="utf-8") as file:
        return dict(line.split() for line in file if not line.startswith("#"))


def look(build, path):
    """Returns (clean, output)."""
    ended = subprocess.run([TOOL, "-p", build, "--quiet", path], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return ended.returncode == 0, ended.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    settings = []
    for path in SETTINGS:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            settings.append(without_hash_comments(file.read()))
    files = closure(ROOT, ["include", "src"])
    digests = {path: files.digest([path], TOOL, *settings) for path in sources(args.build)}
    record = recorded()
    stale = [path for path in digests if record.get(path) != digests[path]]
    current = [path for path in digests if path not in stale]
    sample = []
    if args.all:
        sample = current
    elif args.sample is not None and current:
        sample = [current[args.sample % len(current)]]
    print(f"{len(digests)} sources: {len(current)} recorded as clean, {len(stale)} not; {len(sample)} of the recorded ones checked again", flush=True)

    to_do, failed = stale + sample, []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, (clean, output) in zip(to_do, pool.map(lambda path: look(args.build, path), to_do)):
            if clean:
                record[path] = digests[path]
            else:
                failed.append(path)
                record.pop(path, None)
                print(output)
            print(f"{path}: {'clean' if clean else 'FAILED'}", flush=True)
    record = {path: digest for path, digest in record.items() if os.path.exists(os.path.join(ROOT, path))}
    with open(RECORD, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"{path} {digest}\n" for path, digest in sorted(record.items())))
    if stale and not failed:
        print("tools/lint_record.txt has been updated: commit it, so that the next run is faster")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
