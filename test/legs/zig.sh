#!/usr/bin/env bash
# zig.sh FOLDER [TARGET]: a compiler for another system, in FOLDER/TARGET: c++, cc, ar, ranlib. Without
# TARGET, a compiler for static Linux programs with musl and libc++, in FOLDER/bin.
#
# It is Clang with the sources of musl and libc++, and with the headers and the lists of functions of
# other systems, from the package ziglang of the Python index. Linking the first program for a system
# builds what it needs of these, in one to two minutes. FOLDER/cache keeps it.
set -euo pipefail
version=0.17.1
folder=$(realpath -m "$1")
target=${2:-x86_64-linux-musl}
tools=$folder/${2:-bin}
zig=$folder/ziglang/zig
if [[ $("$zig" version 2>/dev/null || true) != "$version" ]]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --target "$folder" "ziglang==$version" || {
        echo "zig.sh: could not install the Python package ziglang $version, which has the compiler: pip install ziglang==$version says why" >&2
        exit 1
    }
fi
mkdir -p "$tools"
# The compiler cache identifies the compiler by the text of these scripts, so it is the same in
# every clone of the repository.
for tool in c++ cc ar ranlib; do
    flags=
    # Without optimization, it checks for undefined behaviour by default, with a library that programs here do not link.
    [[ $tool != c* ]] || flags=" -target $target -fno-sanitize=undefined"
    cat >"$tools/$tool" <<END
#!/bin/sh
# ziglang $version
folder=\$(dirname "\$(dirname "\$(realpath "\$0")")")
ZIG_GLOBAL_CACHE_DIR=\$folder/cache ZIG_LOCAL_CACHE_DIR=\$folder/cache exec "\$folder/ziglang/zig" $tool$flags "\$@"
END
    chmod +x "$tools/$tool"
done
