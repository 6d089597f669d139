#!/usr/bin/env python3
"""bazel.py BUILD: MODULE.bazel, BUILD.bazel and packaging/bazel.

The rule that selects sources, which is also Python, must select those that CMake has compiled in
BUILD. The versions must be that of the changelog. Then Debian's Bazel builds and runs hello, if it
is installed. It is an old one, which knows no modules and no repository rules_cc: both are given to
it as local repositories. That it cannot read MODULE.bazel is why only names and versions in that
file are checked.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import HELLO, JOBS, ROOT, check_hello, copy_sources, fail, output_of, run, version


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def check_sources(build):
    scope = {}
    exec(read("packaging/bazel/sources.bzl"), scope)  # pylint: disable=exec-used
    files = sorted(os.path.relpath(path, ROOT) for kind in ("cc", "S") for path in glob.glob(os.path.join(ROOT, "src", "**", "*." + kind), recursive=True))
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        compiled = {os.path.relpath(entry["file"], ROOT) for entry in json.load(file) if "CMakeFiles/weft.dir/" in entry["command"]}
    compiled = {path for path in compiled if path.startswith("src/")}  # not the precompiled header
    chosen = set(scope["weft_sources"](files, "linux", os.uname().machine))
    if chosen != compiled:
        fail("sources.bzl and CMake disagree about " + ", ".join(sorted(chosen ^ compiled)))
    print(f"bazel: sources.bzl selects the {len(chosen)} files that CMake compiles")


def check_versions():
    if re.findall(r'name = "weft",\s+version = "([^"]+)"', read("MODULE.bazel")) != [version()]:
        fail(f"MODULE.bazel does not name the version {version()}")
    if f"'\\\"{version()}\\\"'" not in read("BUILD.bazel"):
        fail(f"BUILD.bazel does not define the version {version()}")


def build_hello(work):
    weft, app, rules = (os.path.join(work, folder) for folder in ("weft", "app", "rules_cc"))
    copy_sources(weft)
    for folder in (app, os.path.join(rules, "cc")):
        os.makedirs(folder)
    files = {
        f"{weft}/WORKSPACE": 'workspace(name = "weft")\n',
        f"{rules}/WORKSPACE": 'workspace(name = "rules_cc")\n',
        f"{rules}/cc/BUILD": "",
        f"{rules}/cc/cc_library.bzl": "cc_library = native.cc_library\n",
        f"{app}/WORKSPACE": f'local_repository(name = "weft", path = "{weft}")\nlocal_repository(name = "rules_cc", path = "{rules}")\n',
        f"{app}/BUILD": 'cc_binary(name = "hello", srcs = ["hello.cc"], copts = ["-std=c++20"], deps = ["@weft//:weft"])\n',
    }
    for path, text in files.items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    shutil.copy(HELLO, app)
    bazel = ["bazel", f"--output_user_root={work}/output", "--batch"]
    run(*bazel, "build", "--jobs", JOBS, "--compilation_mode=opt", "--color=no", "--curses=no", "//:hello", cwd=app)
    check_hello(output_of(os.path.join(app, "bazel-bin", "hello")), "by Bazel")
    # Bazel makes its folders read-only.
    subprocess.run(["chmod", "-R", "u+w", work], check=True)


def main():
    check_versions()
    check_sources(os.path.abspath(sys.argv[1]))
    if not shutil.which("bazel"):
        fail("there is no Bazel; run: apt-get install bazel-bootstrap")
    with tempfile.TemporaryDirectory(prefix="weft-bazel-") as work:
        build_hello(work)


if __name__ == "__main__":
    main()
