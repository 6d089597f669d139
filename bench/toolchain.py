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
NET = BENCH / "net"
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
        raise Missing(f"there is no apt-get; install the equivalents of the Debian packages {names}")
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


def _build_weft(target, *settings, root=ROOT):
    need("g++", "g++")
    need("cmake", "cmake")
    need("ninja", "ninja-build")
    # The flags of the native preset, in a tree without tests: their tools are not needed to measure.
    tree = root / OUT.relative_to(ROOT) / "weft"
    run(["cmake", "--preset", "native", "-B", tree, "-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF", *settings], cwd=root)
    run(["cmake", "--build", tree, "--target", target, "-j", JOBS], cwd=root)
    return tree / "bench" / target


def build_weft(root=ROOT):
    return _build_weft("weft_bench", root=root)


def build_weft_echo(root=ROOT):
    return _build_weft("weft_echo", root=root)


def build_weft_http(target="weft_http_server", root=ROOT):
    folder = _boost_headers()
    return _build_weft(target, *([f"-DBoost_INCLUDE_DIR={folder}"] if folder else []), root=root)


def build_version(root, suites):
    """The programs of another checkout: {suite: path}."""
    builders = {"tasks": build_weft, "echo": build_weft_echo, "http": build_weft_http}
    return {suite: builders[suite](root=root) for suite in suites}


def build_observed():
    """What observe.py runs: {name: path}."""
    names = ["weft_budget", "weft_budget_observed", "weft_bench_observed", "weft_echo_observed", "weft_http_server_observed", "observe_costs"]
    for name in names:
        try:
            (build_weft_http if name.startswith("weft_http_server") else _build_weft)(name)
        except Missing as reason:
            if "observe" not in name:
                raise
            raise Missing(f"{reason}; it takes weft::observe: apt-get install libdw-dev libprotozero-dev zlib1g-dev") from reason
    return {name: OUT / "weft" / "bench" / name for name in names}


def _build_go(folder, program):
    need("go", "golang-go")
    environment = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-buildvcs=false")
    run(["go", "build", "-p", JOBS, "-o", OUT / program, "."], cwd=folder, env=environment)
    return OUT / program


def build_go():
    return _build_go(BENCH / "peers" / "go", "go_bench")


def build_go_servers():
    return _build_go(NET / "go", "go_servers")


def build_go_costs():
    return _build_go(BENCH / "observe" / "go", "go_observe_costs")


def _build_rust(folder, tree, program):
    # Debian 12's own cargo is 1.63; the packages for its web browsers are newer.
    need("cargo", "cargo-web", "rustc-web")
    need("cc", "gcc", "libc6-dev")
    version = re.search(r"(\d+)\.(\d+)", run(["cargo", "--version"]))
    if tuple(map(int, version.groups())) < OLDEST_CARGO:
        raise Missing(f"cargo {version[0]} is too old for this tokio; run: apt-get install cargo-web rustc-web")
    run(["cargo", "build", "--release", "--locked", "-j", JOBS, "--target-dir", OUT / tree], cwd=folder)
    return OUT / tree / "release" / program


def build_tokio():
    return _build_rust(BENCH / "peers" / "rust", "rust", "tokio_bench")


def build_tokio_servers():
    return _build_rust(NET / "rust", "rust_servers", "servers")


def _installed_boost():
    """The version of the headers; 0 if there are none."""
    try:
        text = pathlib.Path("/usr/include/boost/version.hpp").read_text(encoding="utf-8")
        return int(re.search(r"define BOOST_VERSION (\d+)", text)[1])
    except (OSError, TypeError):
        return 0


def _boost_headers():
    """The folder of headers that are new enough, None for the system's own."""
    if _installed_boost() >= OLDEST_BOOST:
        return None
    return _unpacked_boost()[0][1]


def _has_fiber_library():
    """Headers may be there without it: a package of its own."""
    return any(path for folder in ("lib", "lib64", "lib/*", "local/lib") for path in pathlib.Path("/usr").glob(f"{folder}/libboost_fiber.*"))


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


def _compile(sources, program, includes=(), libraries=()):
    need("g++", "g++")
    run(["g++", "-std=c++20", "-O2", "-DNDEBUG", "-I", BENCH, *includes, *sources, "-o", program, *libraries, "-pthread"])
    return program


def build_epoll_echo():
    return _compile([NET / "server" / "epoll_echo.cc"], OUT / "epoll_echo")


def build_asio_echo():
    folder = _boost_headers()
    return _compile([NET / "server" / "asio_echo.cc"], OUT / "asio_echo", ["-isystem", folder] if folder else [])


def build_client():
    """The one that loads the echo servers. Those of HTTP are loaded by wrk."""
    return _compile(sorted((NET / "client").glob("*.cc")), OUT / "echo_client")


def build_boost():
    if _installed_boost() >= OLDEST_BOOST and _has_fiber_library():
        includes, libraries = [], ["-lboost_fiber", "-lboost_context"]
    else:
        includes, libraries = _unpacked_boost()
    return _compile([BENCH / "peers" / "boost_fiber" / "boost_fiber_bench.cc"], OUT / "boost_fiber_bench", includes,
                    libraries)


def build_std():
    return _compile([BENCH / "peers" / "std_thread" / "std_thread_bench.cc"], OUT / "std_thread_bench")


def build_tbb():
    if not pathlib.Path("/usr/include/oneapi/tbb/task_group.h").exists():
        install("libtbb-dev")
    return _compile([BENCH / "peers" / "tbb" / "tbb_bench.cc"], OUT / "tbb_bench", libraries=["-ltbb"])


# What runs the rows of a suite (row.py), for each peer.
BUILDERS = {
    "tasks": {"weft": build_weft, "go": build_go, "tokio": build_tokio, "boost": build_boost, "std": build_std, "tbb": build_tbb},
    "echo": {"weft": build_weft_echo, "go": build_go_servers, "tokio": build_tokio_servers, "asio": build_asio_echo,
             "epoll": build_epoll_echo},
    "http": {"weft": build_weft_http, "go": build_go_servers, "tokio": build_tokio_servers},
}


def build(peers, suites):
    """Builds what these peers need for these suites. Returns {(suite, peer): path} and {peer: why not}."""
    OUT.mkdir(parents=True, exist_ok=True)
    programs, missing = {}, {}
    for suite in suites:
        for peer in peers:
            if peer not in BUILDERS[suite]:
                continue
            say(f"building {peer}, {suite}")
            try:
                programs[suite, peer] = str(BUILDERS[suite][peer]())
            except Missing as reason:
                missing[peer] = f"{suite}: {reason}"
                say(f"  left out: {reason}")
    if "go-nogc" in peers and ("tasks", "go") in programs:
        programs["tasks", "go-nogc"] = programs["tasks", "go"]
    return programs, missing


def build_clients(suites):
    """What loads the servers of these suites: {suite: path}."""
    clients = {}
    if "echo" in suites:
        clients["echo"] = str(build_client())
    if "http" in suites:
        need("wrk", "wrk")
        clients["http"] = shutil.which("wrk")
    return clients
