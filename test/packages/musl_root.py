#!/usr/bin/env python3
"""musl_root.py BUILD: weft where there is no glibc: BUILD has the preset musl.

The installed tree of BUILD becomes a tarball. It is unpacked elsewhere, and `zig c++` builds a static
hello with its headers and its library. Hello runs in a root that has no other file: no C library, no
/proc, no /dev. So it runs in any Linux, also in Alpine, whose C library is musl. Needs root
privileges for chroot.
"""
import os
import sys
import tarfile
import tempfile

from common import HELLO, ROOT, check_hello, fail, output_of, run, version


def main():
    build = os.path.abspath(sys.argv[1])
    compiler = os.path.join(ROOT, "build", "zig", "bin", "c++")
    if not os.path.exists(compiler):
        fail("there is no build/zig; run test/legs/zig.sh build/zig")
    with tempfile.TemporaryDirectory(prefix="weft-musl-") as work:
        name = f"weft-{version()}-linux-musl-x86_64"
        run("cmake", "--install", build, "--prefix", os.path.join(work, "made", name), stdout=-3)
        archive = os.path.join(work, name + ".tar.gz")
        with tarfile.open(archive, "w:gz") as file:
            file.add(os.path.join(work, "made", name), arcname=name)
        unpacked = os.path.join(work, "unpacked")
        with tarfile.open(archive) as file:
            file.extractall(unpacked)
        tree, root = os.path.join(unpacked, name), os.path.join(work, "root")
        os.mkdir(root)
        run(compiler, "-std=c++20", "-O2", "-static", "-I" + os.path.join(tree, "include"), HELLO, os.path.join(tree, "lib", "libweft.a"),
            "-o", os.path.join(root, "hello"))
        dynamic = output_of("readelf", "-d", os.path.join(root, "hello"))
        if "NEEDED" in dynamic:
            fail("hello is not static:\n" + dynamic)
        if os.listdir(root) != ["hello"]:
            fail(f"the root has {os.listdir(root)}")
        check_hello(output_of("chroot", root, "/hello", env={}), "in a root with musl and nothing else")


if __name__ == "__main__":
    main()
