"""Finds or installs what the peers are built with, and builds weft and the peers.

Toolchains come from Debian packages, and only when the command is missing. Everything built lies under build/.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
OUT = ROOT / "build" / "bench"
JOBS = 2

OLDEST_CARGO = (1, 85)
OLDEST_BOOST = 108100
BOOST_PACKAGES = ("libboost1.81-dev", "libboost-fiber1.81-dev", "libboost-context1.81-dev")


class Missing(Exception):
    """A peer cannot be built here; the message says what to do."""


def say(text):
    print(text, flush=True)


def run(command, cwd=ROOT, env=None, quiet=True):
    """Runs a command; on failure shows what it printed and raises Missing."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, text=True, check=False,
                          stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None)
    if done.returncode != 0:
        if quiet:
            sys.stdout.write(done.stdout)
        raise Missing(f"'{' '.join(str(word) for word in command)}' failed with exit code {done.returncode}")
    return done.stdout


def install(*packages):
    """apt-get install, as root or through sudo."""
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise Missing(f"no apt-get here; install what Debian calls: {names}")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if sudo and shutil.which("sudo") is None:
        raise Missing(f"as root, run: apt-get install {names}")
    say(f"installing {names}")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install_command = [*sudo, "apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    try:
        run(install_command, env=environment)
    except Missing:
        run([*sudo, "apt-get", "update", "-q"], env=environment)
        run(install_command, env=environment)


def need(command, *packages):
    if shutil.which(command) is None:
        install(*packages)


def build_weft():
    need("g++", "g++")
    need("cmake", "cmake")
    need("ninja", "ninja-build")
    # The flags of the native preset, in a tree without tests: their tools are not needed to measure.
    tree = OUT / "weft"
    run(["cmake", "--preset", "native", "-B", tree, "-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF"])
    run(["cmake", "--build", tree, "--target", "weft_bench", "-j", JOBS])
    return tree / "bench" / "weft_bench"


def build_go():
    need("go", "golang-go")
    program = OUT / "go_bench"
    environment = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-buildvcs=false")
    run(["go", "build", "-p", JOBS, "-o", program, "."], cwd=BENCH / "peers" / "go", env=environment)
    return program


def build_tokio():
    # Debian 12's own cargo is 1.63; the packages for its web browsers are newer.
    need("cargo", "cargo-web", "rustc-web")
    need("cc", "gcc", "libc6-dev")
    version = re.search(r"(\d+)\.(\d+)", run(["cargo", "--version"]))
    if tuple(map(int, version.groups())) < OLDEST_CARGO:
        raise Missing(f"cargo {version[0]} is too old for this tokio; run: apt-get install cargo-web rustc-web")
    run(["cargo", "build", "--release", "--locked", "-j", JOBS, "--target-dir", OUT / "rust"],
        cwd=BENCH / "peers" / "rust")
    return OUT / "rust" / "release" / "tokio_bench"


def _installed_boost():
    try:
        text = pathlib.Path("/usr/include/boost/version.hpp").read_text(encoding="utf-8")
        version = int(re.search(r"define BOOST_VERSION (\d+)", text)[1])
    except (OSError, TypeError):
        return 0
    return version if pathlib.Path("/usr/include/boost/fiber/all.hpp").exists() else 0


def _unpacked_boost():
    """Unpacks Boost 1.81 beside our build: its packages do not go together with those of Debian's default Boost."""
    place = OUT / "boost"
    if not (place / "usr" / "include" / "boost" / "fiber" / "all.hpp").exists():
        if shutil.which("apt-get") is None:
            raise Missing("no Boost of 1.81 or newer here; install its headers, fiber and context libraries")
        place.mkdir(parents=True, exist_ok=True)
        try:
            run(["apt-get", "download", "-q", *BOOST_PACKAGES], cwd=place)
        except Missing:
            if os.geteuid() == 0:
                run(["apt-get", "update", "-q"])
            run(["apt-get", "download", "-q", *BOOST_PACKAGES], cwd=place)
        for package in sorted(place.glob("*.deb")):
            run(["dpkg-deb", "-x", package, place])
            package.unlink()
    library = next(place.glob("usr/lib/*/libboost_fiber.a")).parent
    return ["-isystem", place / "usr" / "include"], [library / "libboost_fiber.a", library / "libboost_context.a"]


def _compile(source, program, includes=(), libraries=()):
    need("g++", "g++")
    run(["g++", "-std=c++20", "-O2", "-DNDEBUG", "-I", BENCH, *includes, source, "-o", program, *libraries, "-pthread"])
    return program


def build_boost():
    if _installed_boost() >= OLDEST_BOOST:
        includes, libraries = [], ["-lboost_fiber", "-lboost_context"]
    else:
        includes, libraries = _unpacked_boost()
    return _compile(BENCH / "peers" / "boost_fiber" / "boost_fiber_bench.cc", OUT / "boost_fiber_bench", includes,
                    libraries)


def build_std():
    return _compile(BENCH / "peers" / "std_thread" / "std_thread_bench.cc", OUT / "std_thread_bench")


def build_tbb():
    if not pathlib.Path("/usr/include/oneapi/tbb/task_group.h").exists():
        install("libtbb-dev")
    return _compile(BENCH / "peers" / "tbb" / "tbb_bench.cc", OUT / "tbb_bench", libraries=["-ltbb"])


BUILDERS = {"weft": build_weft, "go": build_go, "tokio": build_tokio, "boost": build_boost, "std": build_std, "tbb": build_tbb}


def build(peers):
    """Builds the programs of these peers. Returns {peer: path} and {peer: why not}."""
    OUT.mkdir(parents=True, exist_ok=True)
    programs, missing = {}, {}
    for peer in peers:
        if peer not in BUILDERS:
            continue
        say(f"building {peer}")
        try:
            programs[peer] = str(BUILDERS[peer]())
        except Missing as reason:
            missing[peer] = str(reason)
            say(f"  left out: {reason}")
    if "go-nogc" in peers and "go" in programs:
        programs["go-nogc"] = programs["go"]
    return programs, missing
