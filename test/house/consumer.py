#!/usr/bin/env python3
"""consumer.py [--installed] BUILD: foreign projects build against weft and run, in three ways.

The build is installed, and the installed tree is then moved, since a package may be: nothing in it
may depend on where it was made. consumer/main.cc and main.c are compiled with find_package and with
pkg-config against that tree, main.c also in projects without C++; and with add_subdirectory against
the sources. --installed leaves out the last, which is the same for all builds. All of this happens
outside the repository, so that nothing is found by accident. The components tls (secured.cc) and
asio (adapted.cc) are included where they are available.

Finally two plug-ins (consumer/plug_in.cc) are built against the installed tree. A program that does
not use weft opens, runs and closes them (consumer/host.cc). Two programs, main.cc and the first of
the examples, are built with each of the flags of FLAGS.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXPECTED = "the sum of the first hundred squares is 338350\n"
# Flags of programs that use the static library. The library is compiled without them.
FLAGS = ["-fno-rtti", "-static", "-flto", "-D_GLIBCXX_DEBUG", "-D_GLIBCXX_ASSERTIONS", "-fcf-protection=full"]


def run(*command, **more):
    print("+ " + " ".join(command), flush=True)
    return subprocess.run(command, check=True, **more)


def library_folder(prefix):
    for folder, _, files in os.walk(prefix):
        if any(name.startswith("libweft.") for name in files):
            return folder
    raise FileNotFoundError(f"no libweft under {prefix}")


def run_consumer(program, library_path=None, arguments=(), expected=EXPECTED):
    environment = dict(os.environ)
    if library_path:
        environment["LD_LIBRARY_PATH"] = library_path
    output = run(program, *arguments, stdout=subprocess.PIPE, text=True, env=environment, timeout=60).stdout
    if output != expected:
        raise RuntimeError(f"{program} printed {output!r}")


def by_cmake(project, work, library_path, *settings):
    build = os.path.join(work, project)
    run("cmake", "-G", "Ninja", "-S", os.path.join(HERE, "consumer", project), "-B", build, "-DCMAKE_BUILD_TYPE=Release", *settings)
    run("cmake", "--build", build, "-j", str(os.cpu_count() or 1))
    run_consumer(os.path.join(build, "consumer"), library_path)
    for component in ("instrumented", "secured", "adapted", "served"):
        if os.path.exists(os.path.join(build, component)):
            run_consumer(os.path.join(build, component), library_path)


def ask_pkg_config(prefix, package, *arguments):
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(library_folder(prefix), "pkgconfig"))
    return run("pkgconf", *arguments, package, stdout=subprocess.PIPE, text=True, env=environment).stdout.split()


def is_static(library_path):
    return not any(name.endswith(".so") for name in os.listdir(library_path))


def by_pkg_config(work, prefix, library_path, package="weft", source="main.cc"):
    def ask(*arguments):
        return ask_pkg_config(prefix, package, *arguments)

    program = os.path.join(work, f"by_pkg_config_{package}_{source}")
    static = ["--static"] if is_static(library_path) else []
    compiler = [os.environ.get("CC", "cc"), "-std=c99"] if source.endswith(".c") else [os.environ.get("CXX", "c++"), "-std=c++20"]
    run(*compiler, "-O2", *ask("--cflags"), os.path.join(HERE, "consumer", source), *ask("--libs", *static), "-o", program)
    print("version " + ask("--modversion")[0])
    run_consumer(program, library_path)


class prepared:
    """A compiler for sources that are compiled often. It uses the installed tree in a folder of the
    build, so that a compiler cache finds the results again.
    """

    def __init__(self, prefix):
        self.prefix = prefix
        self.launcher = ["ccache"] if os.environ.get("CCACHE_BASEDIR") and shutil.which("ccache") else []
        self.libraries = library_folder(prefix)
        static = ["--static"] if is_static(self.libraries) else []
        self.cflags = [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", *ask_pkg_config(prefix, "weft", "--cflags")]
        self.libs = ask_pkg_config(prefix, "weft", "--libs", *static)

    def build(self, source, program, flags, libs):
        made = os.path.join(self.prefix, program)
        run(*self.launcher, *self.cflags, *flags, "-c", source, "-o", made + ".o", cwd=ROOT)
        run(*self.cflags, *flags, made + ".o", *libs, "-o", made)
        return made


def in_plug_ins(prefix):
    compiler = prepared(prefix)
    host = compiler.build(os.path.join(HERE, "consumer", "host.cc"), "host", [], ["-pthread", "-ldl"])
    # One of them has no symbols that are unique in the process: such symbols alone keep a module
    # loaded.
    plug_ins = [
        compiler.build(os.path.join(HERE, "consumer", "plug_in.cc"), f"plug_in_{i}.so", ["-fPIC", "-shared", *more], compiler.libs)
        for i, more in enumerate((["-fno-gnu-unique"], []))
    ]
    run_consumer(host, compiler.libraries, plug_ins)


def by_debug_files(prefix):
    """Lines in reports: by GCC and Clang, and of a stripped program with a separate debug file."""
    static = ["--static"] if is_static(library_folder(prefix)) else []
    flags = ask_pkg_config(prefix, "weft-observe", "--cflags")
    libs = ask_pkg_config(prefix, "weft-observe", "--libs", *static)
    source = os.path.join(HERE, "consumer", "observed.cc")
    compilers = [c for c in (os.environ.get("CXX", "c++"), "clang++-19") if shutil.which(c)]
    for number, compiler in enumerate(compilers):
        program = os.path.join(prefix, f"observed_{number}")
        run(compiler, "-std=c++20", "-O2", "-g", "-fno-omit-frame-pointer", *flags, source, *libs, "-o", program)
        run_consumer(program, library_folder(prefix), ["observed.cc:11"])
    # Not in place: the process that has found the names may still execute the file.
    stripped = os.path.join(prefix, "stripped")
    run("objcopy", "--only-keep-debug", program, program + ".debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=" + program + ".debug", program, stripped)
    run_consumer(stripped, library_folder(prefix), ["observed.cc:11"])
    print("consumer: dumps have lines with " + ", ".join(compilers) + ", and of a stripped program")


def by_flags(prefix):
    compiler = prepared(prefix)
    examples = os.path.join(ROOT, "examples")
    with open(os.path.join(examples, "01_hello.expected"), encoding="utf-8") as file:
        hello = file.read()
    for flag in FLAGS:
        name = flag.strip("-").replace("=", "_")
        run_consumer(compiler.build(os.path.join(HERE, "consumer", "main.cc"), f"channels_{name}", [flag], compiler.libs))
        run_consumer(compiler.build(os.path.join(examples, "01_hello.cc"), f"hello_{name}", [flag], compiler.libs), expected=hello)
    print("consumer: hello and channels ran with each of " + " ".join(FLAGS))


def check_nothing_remembers(prefix, *places):
    """Yields the text files of the package that mention the build or the first prefix."""
    for folder, _, files in os.walk(prefix):
        for name in files:
            if name.endswith((".cmake", ".pc", ".h")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                for place in places:
                    if place + os.sep in text:
                        raise RuntimeError(f"{name} contains the path {place}")


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
            raise RuntimeError("the headers of tls are installed without its library, or the library without them")
        if has_tls:
            by_pkg_config(work, prefix, libraries, "weft-tls", "secured.cc")
        has_http = os.path.exists(os.path.join(libraries, "pkgconfig", "weft-http.pc"))
        if has_http != os.path.exists(os.path.join(prefix, "include", "weft", "http")):
            raise RuntimeError("the headers of http are installed without its library, or the library without them")
        if has_http:
            by_pkg_config(work, prefix, libraries, "weft-http", "served.cc")
        has_client = os.path.exists(os.path.join(libraries, "pkgconfig", "weft-http-client.pc"))
        if has_client != os.path.exists(os.path.join(prefix, "include", "weft", "http", "client.h")):
            raise RuntimeError("the header of http_client is installed without its library, or the library without it")
        if has_client:
            by_pkg_config(work, prefix, libraries, "weft-http-client", "asked.cc")
        for client in ("redis", "postgres", "nats"):
            has_client = os.path.exists(os.path.join(libraries, "pkgconfig", f"weft-{client}.pc"))
            if has_client != os.path.exists(os.path.join(prefix, "include", "weft", client)):
                raise RuntimeError(f"the headers of {client} are installed without its library, or the library without them")
            if has_client:
                by_pkg_config(work, prefix, libraries, f"weft-{client}", f"{client}_user.cc")
        if os.path.exists(os.path.join(libraries, "pkgconfig", "weft-hooks.pc")):
            by_pkg_config(work, prefix, libraries, "weft-hooks", "hooks_user.cc")
        if os.path.exists(os.path.join(libraries, "pkgconfig", "weft-observe.pc")):
            by_pkg_config(work, prefix, libraries, "weft-observe", "observed.cc")
        if not installed_only:
            by_cmake("add_subdirectory", work, None, f"-DWEFT_ROOT={ROOT}", "-DWEFT_LIBRARY_TOGETHER=ON", "-DWEFT_TEST_TOGETHER=ON")
        kept = os.path.join(build, "consumer")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.move(prefix, kept)
        in_plug_ins(kept)
        if os.path.exists(os.path.join(library_folder(kept), "pkgconfig", "weft-observe.pc")):
            by_debug_files(kept)
        if is_static(library_folder(kept)):
            by_flags(kept)
    print("consumer: find_package" + (" and pkg-config" if installed_only else ", pkg-config and add_subdirectory") + " built and ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
