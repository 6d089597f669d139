#!/usr/bin/env python3
"""meson_wrap.py: a Meson project takes weft by packaging/meson/weft.wrap, builds hello and runs it.

Meson comes from the Python index: Debian 12 has one that is too old. The address in the wrap is
replaced by that of a temporary repository with the files of this one.
"""
import os
import re
import shutil
import tempfile

from common import HELLO, JOBS, ROOT, check_hello, fail, output_of, run, tagged_repository, version, virtual_environment

MESON = "meson==1.12.1"


def main():
    programs = virtual_environment(os.path.join(ROOT, "build", "packages_meson"), MESON)
    environment = dict(os.environ, PATH=programs + os.pathsep + os.environ["PATH"])
    with tempfile.TemporaryDirectory(prefix="weft-meson-") as work:
        repository = tagged_repository(os.path.join(work, "repository"))
        project = os.path.join(work, "project")
        os.makedirs(os.path.join(project, "subprojects"))
        shutil.copy(os.path.join(ROOT, "test", "packages", "meson", "meson.build"), project)
        shutil.copy(HELLO, project)
        with open(os.path.join(ROOT, "packaging", "meson", "weft.wrap"), encoding="utf-8") as file:
            wrap = file.read()
        if f"revision = v{version()}\n" not in wrap:
            fail(f"weft.wrap does not name the version {version()}")
        with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as file:
            if f"  version: '{version()}',\n" not in file.read():
                fail(f"meson.build does not have the version {version()}")
        with open(os.path.join(project, "subprojects", "weft.wrap"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"(?m)^url = .*$", f"url = file://{repository}", wrap))
        build = os.path.join(work, "build")
        run("meson", "setup", build, project, env=environment)
        run("ninja", "-C", build, "-j", JOBS, "hello", env=environment)
        check_hello(output_of(os.path.join(build, "hello")), "by the Meson wrap")


if __name__ == "__main__":
    main()
