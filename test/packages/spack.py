#!/usr/bin/env python3
"""spack.py: the recipe packaging/spack/package.py. Spack itself is in no package index, so its
directives are stubs here, which record what they are given.

The recipe must name the version of the changelog and a tag for it. Its arguments for CMake, for all
variants, must be settings of this project: CMake configures with them and must use each.
"""
import itertools
import os
import subprocess
import sys
import tempfile
import types

from common import ROOT, fail, output_of, version

sys.dont_write_bytecode = True


class Spec:
    def __init__(self, chosen):
        self.chosen = chosen

    def satisfies(self, asked):
        return self.chosen[asked.lstrip("+")]


class CMakePackage:
    run_tests = False

    def __init__(self, **chosen):
        self.spec = Spec(chosen)

    def define(self, name, value):
        return f"-D{name}={'ON' if value is True else 'OFF' if value is False else value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.chosen[variant])


def recipe():
    """Returns the class of the recipe, and {directive: [(arguments, keywords)]}."""
    calls = {}

    def directive(name):
        return lambda *arguments, **keywords: calls.setdefault(name, []).append((arguments, keywords))

    module = types.ModuleType("spack.package")
    module.CMakePackage = CMakePackage
    for name in ("license", "version", "variant", "depends_on", "requires", "conflicts"):
        setattr(module, name, directive(name))
    module.__all__ = ["CMakePackage", "license", "version", "variant", "depends_on", "requires", "conflicts"]
    sys.modules["spack.package"] = module
    scope = {}
    path = os.path.join(ROOT, "packaging", "spack", "package.py")
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), scope)  # pylint: disable=exec-used
    return scope["Weft"], calls


def main():
    package, calls = recipe()
    newest, keywords = calls["version"][0]
    if newest[0] != version() or keywords.get("tag") != "v" + version():
        fail(f"the recipe has version {newest[0]}, tag {keywords.get('tag')}; the changelog has {version()}")
    variants = [arguments[0] for arguments, _ in calls["variant"]]
    for _, keywords in calls["depends_on"]:
        if keywords.get("when", "").lstrip("+") not in ["", *variants]:
            fail(f"a dependency is for the unknown variant {keywords['when']}")
    given = set()
    for values in itertools.product((False, True), repeat=len(variants)):
        given.update(package(**dict(zip(variants, values))).cmake_args())
    with tempfile.TemporaryDirectory(prefix="weft-spack-") as build:
        arguments = package(**dict.fromkeys(variants, False)).cmake_args()
        configured = subprocess.run(
            ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        if "not used by the project" in configured:
            fail("CMake does not know all arguments:\n" + configured)
        known = output_of("cmake", "-LA", "-N", build)
    for argument in sorted(given):
        name = argument[2:].partition("=")[0]
        if name != "BUILD_SHARED_LIBS" and name + ":" not in known:  # that one is CMake's own
            fail(f"{argument} is no setting of the project")
    print(f"spack: the recipe names version {version()}; CMake knows its {len(given)} arguments")


if __name__ == "__main__":
    main()
