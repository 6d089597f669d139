#!/usr/bin/env python3
"""source.py: the release tarball builds without git, and FetchContent takes weft from a git tag.

tools/tarball.py writes the tarball. It is unpacked outside the repository, with git out of reach,
built, installed and used. Then a repository with the same files and a tag is made in a temporary
directory, and a project fetches the tag from there.
"""
import os
import tarfile
import tempfile

from common import HELLO, JOBS, ONLY_CORE, ROOT, check_hello, fail, output_of, run, tagged_repository, version

NO_GIT = os.path.join("/nonexistent", "git")


def from_tarball(work):
    run("python3", os.path.join(ROOT, "tools", "tarball.py"), work)
    name = f"weft-{version()}"
    with tarfile.open(os.path.join(work, name + ".tar.gz")) as file:
        if any(os.path.basename(path) == ".git" for path in file.getnames()):
            fail("the tarball has a repository in it")
        file.extractall(work)
    source, build, prefix = (os.path.join(work, folder) for folder in (name, "tarball_build", "tarball_prefix"))
    environment = dict(os.environ, GIT_DIR=NO_GIT)  # git fails
    run("cmake", "-G", "Ninja", "-S", source, "-B", build, *ONLY_CORE, "-DCMAKE_BUILD_TYPE=Release", env=environment)
    run("cmake", "--build", build, "-j", JOBS, env=environment)
    run("cmake", "--install", build, "--prefix", prefix, stdout=-3)
    program = os.path.join(work, "hello")
    flags = output_of("pkgconf", "--static", "--cflags", "--libs", "weft", env=dict(os.environ, PKG_CONFIG_PATH=pkg_config_folder(prefix))).split()
    run("c++", "-std=c++20", HELLO, *flags, "-o", program)
    check_hello(output_of(program), "by the tarball")


def pkg_config_folder(prefix):
    for folder, _, files in os.walk(prefix):
        if "weft.pc" in files:
            return folder
    raise SystemExit(f"no weft.pc under {prefix}")


def by_fetch_content(work):
    repository, project, build = (os.path.join(work, folder) for folder in ("repository", "project", "fetched"))
    tagged_repository(repository)
    os.mkdir(project)
    with open(os.path.join(ROOT, "test", "packages", "fetch_content.cmake"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    run("cmake", "-G", "Ninja", "-S", project, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
        f"-DWEFT_REPOSITORY=file://{repository}", f"-DWEFT_TAG=v{version()}", f"-DHELLO={HELLO}")
    run("cmake", "--build", build, "--target", "hello", "-j", JOBS)
    check_hello(output_of(os.path.join(build, "hello")), "by FetchContent")


def main():
    with tempfile.TemporaryDirectory(prefix="weft-source-") as work:
        from_tarball(work)
        by_fetch_content(work)


if __name__ == "__main__":
    main()
