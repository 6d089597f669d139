#!/usr/bin/env python3
"""bazel.py BUILD: MODULE.bazel, BUILD.bazel and packaging/bazel, without Bazel.

Bazel is in no package index, and Debian's old one fetches rules from the network before it builds
anything. So this checks what can be checked: the files are read as Python, of which Bazel's language
is a subset; the versions are that of the changelog; and the rule that selects sources selects those
that CMake has compiled in BUILD.
"""
import ast
import glob
import json
import os
import re
import sys

from common import ROOT, fail, version

FILES = ["MODULE.bazel", "BUILD.bazel", "packaging/bazel/BUILD.bazel", "packaging/bazel/sources.bzl"]


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


def main():
    for path in FILES:
        ast.parse(read(path), path)
    check_versions()
    check_sources(os.path.abspath(sys.argv[1]))


if __name__ == "__main__":
    main()
