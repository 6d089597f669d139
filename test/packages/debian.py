#!/usr/bin/env python3
"""debian.py [--no-roots] BUILD: the Debian packages of BUILD, which has the preset packages.

CPack makes them. lintian must find nothing, and the core may not depend on a library of a component.
Then they are installed in clean roots of Debian 12 and 13: the runtime package alone runs a program
that was built here; with the development packages, programs are built there by CMake and pkg-config,
with the shared and the static library; and all of them are purged again. Needs root privileges.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import HELLO, HELLO_PRINTS, ROOT, fail, output_of, run

CONSUMER = os.path.join(ROOT, "test", "house", "consumer")
SUITES = ["bookworm", "trixie"]
OF_COMPONENTS = re.compile(r"ssl|dw1|elf|ncurses|boost|zlib|protozero|curl|nghttp2|hiredis|libpq|nats")
PACKAGES = ["libweft0", "libweft-dev", "libweft-tls0", "libweft-tls-dev", "libweft-http0", "libweft-http-dev",
            "libweft-http-client0", "libweft-http-client-dev", "libweft-redis0", "libweft-redis-dev", "libweft-postgres0", "libweft-postgres-dev",
            "libweft-nats0", "libweft-nats-dev", "libweft-sim0", "libweft-sim-dev",
            "libweft-observe0", "libweft-observe-page0", "libweft-observe-dev", "weft-tools"]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(hello CXX)
find_package(weft REQUIRED COMPONENTS tls observe observe_page)
foreach(kind IN ITEMS weft static)
  add_executable(hello_${kind} hello.cc)
  target_link_libraries(hello_${kind} PRIVATE weft::${kind})
endforeach()
add_executable(secured secured.cc)
target_link_libraries(secured PRIVATE weft::tls)
add_executable(observed observed.cc)
target_compile_options(observed PRIVATE -g)
target_link_libraries(observed PRIVATE weft::observe)
"""
# Runs in the root, in the folder with the packages and sources.
IN_ROOT = r"""
set -eux
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
dpkg-query -W -f '${Package}\n' | sort >before
apt-get install -y -q --no-install-recommends ./libweft0_*.deb
dpkg-query -W -f '${Package}\n' | sort | comm -13 before - >runtime_needs
./hello
apt-get install -y -q --no-install-recommends ./*.deb g++ make cmake pkgconf
weft help | grep -q 'weft COMMAND'
weft doctor || test $? = 1
test -s /usr/share/man/man1/weft.1.gz
c++ -std=c++20 hello.cc $(pkg-config --cflags --libs weft) -o by_pkg_config
./by_pkg_config
c++ -std=c++20 hello.cc $(pkg-config --cflags weft) -static $(pkg-config --static --libs weft) -o by_pkg_config_static
./by_pkg_config_static
cmake -S . -B made -DCMAKE_BUILD_TYPE=Release
cmake --build made
made/hello_weft
made/hello_static
made/secured
made/observed
ldd made/hello_weft | grep 'libweft.so.0 => .*/lib'
if ldd made/hello_static | grep libweft; then exit 1; fi
dpkg --purge PACKAGES
if ls -d /usr/lib/*/libweft* /usr/include/weft /usr/share/weft; then exit 1; fi
"""


def make(build, work):
    for stale in glob.glob(os.path.join(build, "*.deb")):
        os.remove(stale)
    run("cpack", "-G", "DEB", "-B", work, cwd=build)
    shutil.rmtree(os.path.join(work, "_CPack_Packages"))
    made = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(work, "*.deb"))}
    if sorted(made) != sorted(PACKAGES):
        fail(f"CPack made {sorted(made)} instead of {sorted(PACKAGES)}")
    return made


def check_depends(made):
    for name in ("libweft0", "libweft-dev"):
        depends = output_of("dpkg-deb", "--field", made[name], "Depends")
        print(f"{name} depends on {depends.strip()}")
        if OF_COMPONENTS.search(depends):
            fail(f"{name} depends on a library of a component: {depends}")
    if "libstdc++6" not in output_of("dpkg-deb", "--field", made["libweft0"], "Depends"):
        fail("libweft0 does not say that it needs libstdc++")


def check_lintian(made):
    # Not root's files, and not the machine's settings.
    command = ["lintian", "--allow-root", "--no-cfg", "--fail-on", "error,warning", "--suppress-tags-from-file",
               os.path.join(ROOT, "packaging", "debian", "lintian_suppressed"), *made.values()]
    run(*command)
    print(f"lintian: nothing to say about {len(made)} packages")


def prebuilt_hello(build, work):
    program = os.path.join(work, "hello")
    run("g++", "-std=c++20", "-O2", "-I" + os.path.join(ROOT, "include"), HELLO, "-L" + build, "-lweft", "-pthread", "-o", program)


def in_clean_root(suite, folder):
    """Runs IN_ROOT in a copy of a root that has nothing but the base system."""
    root_sh = os.path.join(ROOT, "test", "legs", "root.sh")
    run(root_sh, suite, "mawk", "true", env=dict(os.environ, WEFT_ROOT_NAME=f"clean_{suite}"))
    root = tempfile.mkdtemp(prefix=f"packages_{suite}_", dir=os.path.join(ROOT, "build", "roots"))
    try:
        run("cp", "-a", os.path.join(ROOT, "build", "roots", f"clean_{suite}") + "/.", root)
        os.chmod(root, 0o755)  # apt reads packages as another user
        shutil.copytree(folder, os.path.join(root, "w"))
        script = IN_ROOT.replace("PACKAGES", " ".join(PACKAGES))
        inner = 'mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; exec chroot "$1" bash -c "cd /w; $2"'
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        path = shutil.which("unshare")
        done = subprocess.Popen([path, "--mount", "bash", "-c", inner, "bash", root, script], env=clean,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        hellos = 0
        for line in done.stdout:
            hellos += line == HELLO_PRINTS
            print(line, end="", flush=True)
        if done.wait() != 0:
            fail(f"in the root of {suite}, the installation or a program failed")
        if hellos != 5:
            fail(f"in the root of {suite}, hello ran {hellos} times instead of 5")
        with open(os.path.join(root, "w", "runtime_needs"), encoding="utf-8") as file:
            needs = file.read().split()
        if any(OF_COMPONENTS.search(name) for name in needs):
            fail(f"libweft0 has brought {needs}")
        print(f"{suite}: libweft0 brought {needs}; programs were built and ran; everything was purged", flush=True)
    finally:
        shutil.rmtree(root)


def main():
    build = os.path.abspath(sys.argv[-1])
    with tempfile.TemporaryDirectory(prefix="weft-debian-") as work:
        made = make(build, work)
        check_depends(made)
        check_lintian(made)
        prebuilt_hello(build, work)
        for name in (HELLO, os.path.join(CONSUMER, "secured.cc"), os.path.join(CONSUMER, "observed.cc")):
            shutil.copy(name, work)
        with open(os.path.join(work, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT)
        for suite in [] if "--no-roots" in sys.argv else SUITES:
            in_clean_root(suite, work)


if __name__ == "__main__":
    main()
