#!/usr/bin/env python3
"""consumer.py [--installed] BUILD: other people's projects build against weft and run, three ways.

The build is installed, and the installed tree then moved, since a package may be: nothing in it may remember where it
was made. consumer/main.cc and main.c are compiled with find_package and with pkg-config against that tree, main.c in projects without C++, too, and with
add_subdirectory against the sources; but for the last, which is the same for all builds, with --installed. Outside the
repository, so that nothing is found by accident. The components tls (secured.cc) and asio (adapted.cc), where they can be had.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXPECTED = "the sum of the first hundred squares is 338350\n"


def run(*command, **more):
    print("+ " + " ".join(command), flush=True)
    return subprocess.run(command, check=True, **more)


def library_folder(prefix):
    for folder, _, files in os.walk(prefix):
        if any(name.startswith("libweft.") for name in files):
            return folder
    raise FileNotFoundError(f"no libweft under {prefix}")


def run_consumer(program, library_path=None):
    environment = dict(os.environ)
    if library_path:
        environment["LD_LIBRARY_PATH"] = library_path
    output = run(program, stdout=subprocess.PIPE, text=True, env=environment, timeout=60).stdout
    if output != EXPECTED:
        raise RuntimeError(f"{program} printed {output!r}")


def by_cmake(project, work, library_path, *settings):
    build = os.path.join(work, project)
    run("cmake", "-G", "Ninja", "-S", os.path.join(HERE, "consumer", project), "-B", build, "-DCMAKE_BUILD_TYPE=Release", *settings)
    run("cmake", "--build", build, "-j", str(os.cpu_count() or 1))
    run_consumer(os.path.join(build, "consumer"), library_path)
    for component in ("instrumented", "secured", "adapted"):
        if os.path.exists(os.path.join(build, component)):
            run_consumer(os.path.join(build, component), library_path)


def by_pkg_config(work, prefix, library_path, package="weft", source="main.cc"):
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(library_folder(prefix), "pkgconfig"))

    def ask(*arguments):
        return run("pkgconf", *arguments, package, stdout=subprocess.PIPE, text=True, env=environment).stdout.split()

    program = os.path.join(work, f"by_pkg_config_{package}_{source}")
    static = [] if any(name.endswith(".so") for name in os.listdir(library_path)) else ["--static"]
    compiler = [os.environ.get("CC", "cc"), "-std=c99"] if source.endswith(".c") else [os.environ.get("CXX", "c++"), "-std=c++20"]
    run(*compiler, "-O2", *ask("--cflags"), os.path.join(HERE, "consumer", source), *ask("--libs", *static), "-o", program)
    print("version " + ask("--modversion")[0])
    run_consumer(program, library_path)


def check_nothing_remembers(prefix, *places):
    """Text files of the package that name the build or the first prefix."""
    for folder, _, files in os.walk(prefix):
        for name in files:
            if name.endswith((".cmake", ".pc", ".h")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                for place in places:
                    if place + os.sep in text:
                        raise RuntimeError(f"{name} remembers {place}")


def main():
    installed_only = "--installed" in sys.argv[1:]
    build = os.path.abspath(sys.argv[-1])
    with tempfile.TemporaryDirectory(prefix="weft-consumer-") as work:
        first, prefix = os.path.join(work, "made"), os.path.join(work, "moved")
        run("cmake", "--install", build, "--prefix", first)
        shutil.move(first, prefix)
        check_nothing_remembers(prefix, first, build, ROOT)
        libraries = library_folder(prefix)
        by_cmake("find_package", work, libraries, f"-DCMAKE_PREFIX_PATH={prefix}")
        run_consumer(os.path.join(work, "find_package", "consumer_c"), libraries)
        by_cmake("find_package_c", work, libraries, f"-DCMAKE_PREFIX_PATH={prefix}")
        by_pkg_config(work, prefix, libraries)
        by_pkg_config(work, prefix, libraries, source="main.c")
        has_tls = os.path.exists(os.path.join(libraries, "pkgconfig", "weft-tls.pc"))
        if has_tls != os.path.exists(os.path.join(prefix, "include", "weft", "tls")):
            raise RuntimeError("the headers of tls are installed without its library, or the other way round")
        if has_tls:
            by_pkg_config(work, prefix, libraries, "weft-tls", "secured.cc")
        if not installed_only:
            by_cmake("add_subdirectory", work, None, f"-DWEFT_ROOT={ROOT}", "-DWEFT_PRECOMPILE=ON")
    print("consumer: find_package" + (" and pkg-config" if installed_only else ", pkg-config and add_subdirectory") + " built and ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
