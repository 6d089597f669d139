#!/usr/bin/env bash
# zig.sh FOLDER: a compiler for static programs with musl and libc++, in FOLDER/bin: c++, cc, ar,
# ranlib.
#
# It is Clang with the sources of musl and libc++, from the package ziglang of the Python index.
# Linking the first program builds both, in one to two minutes. FOLDER/cache keeps them.
set -euo pipefail
version=0.17.1
folder=$(realpath -m "$1")
zig=$folder/ziglang/zig
if [[ $("$zig" version 2>/dev/null || true) != "$version" ]]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --target "$folder" "ziglang==$version" || {
        echo "musl: could not install the Python package ziglang $version, which has the compiler: pip install ziglang==$version says why" >&2
        exit 1
    }
fi
mkdir -p "$folder/bin"
# The compiler cache identifies the compiler by the text of these scripts, so it is the same in
# every clone of the repository.
for tool in c++ cc ar ranlib; do
    target=
    # Without optimization, it checks for undefined behaviour by default, with a library that programs here do not link.
    [[ $tool != c* ]] || target=" -target x86_64-linux-musl -fno-sanitize=undefined"
    cat >"$folder/bin/$tool" <<END
#!/bin/sh
# ziglang $version
folder=\$(dirname "\$(dirname "\$(realpath "\$0")")")
ZIG_GLOBAL_CACHE_DIR=\$folder/cache ZIG_LOCAL_CACHE_DIR=\$folder/cache exec "\$folder/ziglang/zig" $tool$target "\$@"
END
    chmod +x "$folder/bin/$tool"
done
