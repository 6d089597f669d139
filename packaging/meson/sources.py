#!/usr/bin/env python3
"""sources.py SYSTEM PROCESSOR: prints the sources of the core, one a line. meson.build calls it.

The rule that selects them is that of packaging/bazel/sources.bzl, which is Python, too.
"""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    system, processor = sys.argv[1:]
    scope = {}
    with open(os.path.join(ROOT, "packaging", "bazel", "sources.bzl"), encoding="utf-8") as file:
        exec(file.read(), scope)  # pylint: disable=exec-used
    found = []
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files if name.endswith((".cc", ".S"))]
    if system not in scope["SYSTEMS"] or processor not in scope["PROCESSORS"]:
        sys.exit(f"weft does not support {system} on {processor}")
    print("\n".join(sorted(scope["weft_sources"](found, system, processor))))


if __name__ == "__main__":
    main()
