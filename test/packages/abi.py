#!/usr/bin/env python3
"""abi.py [--baseline TAG] BUILD: the binary interface of libweft.so against that of the last tag.

The library of the tag (the last v… before this commit) is built from its own sources, in build/abi,
and libabigail compares it with that of BUILD. While the soname is the same, a public function may
not be removed, and no public type may change its layout. Functions may be added. Names with a
private version are left out.

Without a tag there is nothing to compare with. Then only the check of the checker runs, which runs
always: a copy of the library that lacks a public function must be reported.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from common import JOBS, ROOT, fail, output_of, run

PRIVATE = """[suppress_function]
symbol_version_regexp = ^WEFT_PRIVATE
[suppress_variable]
symbol_version_regexp = ^WEFT_PRIVATE
"""
REMOVED = "weft::run_process"
CHANGED = 4 | 8  # bits of abidiff's exit status; 1 and 2 are errors of its own


def differences(work, old, new, headers):
    """Returns abidiff's report, empty if the interface is the same or has only grown."""
    private = os.path.join(work, "private.suppr")
    with open(private, "w", encoding="utf-8") as file:
        file.write(PRIVATE)
    command = ["abidiff", "--no-added-syms", "--suppressions", private, "--headers-dir1", headers[0], "--headers-dir2", headers[1], old, new]
    print("+ " + " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode & ~CHANGED:
        fail(f"abidiff failed with status {done.returncode}:\n{done.stdout}")
    return done.stdout or "changed" if done.returncode & CHANGED else ""


def library_of(build):
    return os.path.realpath(os.path.join(build, "libweft.so"))


def soname(library):
    return re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", library))[1]


def without_function(build, work):
    """Links the library again, with a version script that hides a public function."""
    name = os.path.basename(library_of(build))
    link = output_of("ninja", "-C", build, "-t", "commands", name).splitlines()[-1]
    script = re.search(r"--version-script=([^ ]+)", link)[1]
    with open(script, encoding="utf-8") as file:
        lines = file.readlines()
    kept = [line for line in lines if not re.match(rf'\s*"?{re.escape(REMOVED)}("|\[)', line)]
    if len(kept) == len(lines):
        fail(f"{script} does not have {REMOVED}")
    changed, library = os.path.join(work, "changed.version"), os.path.join(work, name)
    with open(changed, "w", encoding="utf-8") as file:
        file.writelines(kept)
    words = [word.replace(script, changed) for word in shlex.split(link)]
    words = words[words.index("&&") + 1:]
    words = words[:words.index("&&")]
    words[words.index("-o") + 1] = library
    run(*words, cwd=build)
    return library


def last_tag():
    found = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD"], cwd=ROOT, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def build_of(tag):
    folder = os.path.join(ROOT, "build", "abi", tag)
    if not os.path.exists(os.path.join(folder, "CMakeLists.txt")):
        os.makedirs(folder, exist_ok=True)
        with subprocess.Popen(["git", "archive", tag], cwd=ROOT, stdout=subprocess.PIPE) as archive:
            run("tar", "-x", "-C", folder, stdin=archive.stdout)
    run("cmake", "--preset", "packages", cwd=folder)
    run("cmake", "--build", "--preset", "packages", "--target", "weft", "-j", JOBS, cwd=folder)
    return folder


def main():
    arguments = sys.argv[1:]
    tag = arguments[arguments.index("--baseline") + 1] if "--baseline" in arguments else last_tag()
    build = os.path.abspath(arguments[-1])
    headers = os.path.join(ROOT, "include", "weft")
    with tempfile.TemporaryDirectory(prefix="weft-abi-") as work:
        library = library_of(build)
        broken = differences(work, library, without_function(build, work), (headers, headers))
        if "run_process" not in broken:
            fail(f"a library without {REMOVED} was not reported:\n{broken}")
        print(f"abi: a library without {REMOVED} is reported")
        if tag is None:
            print("abi: there is no tag yet to compare with")
            return
        folder = build_of(tag)
        old = library_of(os.path.join(folder, "build", "packages"))
        report = differences(work, old, library, (os.path.join(folder, "include", "weft"), headers))
        if report and soname(old) == soname(library):
            fail(f"the binary interface differs from that of {tag}; increment weft_abi in cmake/weft_exports.cmake if that is meant:\n{report}")
        print(f"abi: {soname(library)} " + (f"replaces {soname(old)}" if report else f"has the interface of {tag}"))


if __name__ == "__main__":
    main()
