#!/usr/bin/env python3
"""conan.py: `conan create` of packaging/conan, which also builds and runs its test_package.

Conan comes from the Python index. It runs offline, with a home of its own: weft requires nothing.
"""
import os
import tempfile

from common import HELLO_PRINTS, JOBS, ROOT, fail, run, virtual_environment

CONAN = "conan==2.34.0"


def main():
    programs = virtual_environment(os.path.join(ROOT, "build", "packages_conan"), CONAN)
    with tempfile.TemporaryDirectory(prefix="weft-conan-") as home:
        environment = dict(os.environ, CONAN_HOME=home, CONAN_CPU_COUNT=JOBS)
        conan = os.path.join(programs, "conan")
        run(conan, "profile", "detect", env=environment)
        run(conan, "remote", "disable", "*", env=environment)
        log = os.path.join(home, "create.log")
        recipe = os.path.join(ROOT, "packaging", "conan")
        # With the default of the profile: a compiler's default standard may be older than C++20.
        with open(log, "w", encoding="utf-8") as file:
            run(conan, "create", recipe, "--settings", "compiler.cppstd=20", "--conf", "tools.cmake.cmaketoolchain:generator=Ninja",
                "--test-folder", copy_of_test(home, recipe), env=environment, stdout=file, stderr=-2)
        with open(log, encoding="utf-8") as file:
            if HELLO_PRINTS not in file.read():
                fail("conan create succeeded, but its test package did not print what hello prints")
    print("hello by Conan: ran")


def copy_of_test(home, recipe):
    """Conan builds the test package beside its sources, so it gets a copy."""
    import shutil

    return shutil.copytree(os.path.join(recipe, "test_package"), os.path.join(home, "test_package"))


if __name__ == "__main__":
    main()
