#!/usr/bin/env python3
"""thread_record_check.py FILE [shared]: the program, or with shared the library, exports
otel_thread_ctx_v1 as OTEP 4947 demands: a thread-local of eight bytes in the dynamic symbol table.
A shared library uses a TLS descriptor for it; in a program the linker may choose its offset.
"""
import re
import subprocess
import sys


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


def main():
    file, is_shared = sys.argv[1], sys.argv[2:] == ["shared"]
    symbols = [line for line in readelf("--dyn-syms", file).splitlines() if "otel_thread_ctx_v1" in line]
    print("\n".join(symbols))
    if len(symbols) != 1 or not re.search(r" 8 TLS +GLOBAL +DEFAULT +\d+ otel_thread_ctx_v1(@\S*)?$", symbols[0]):
        print("thread_record_check: no such defined dynamic symbol")
        return 1
    relocations = [line for line in readelf("--relocs", file).splitlines() if "otel_thread_ctx_v1" in line]
    print("\n".join(relocations))
    if is_shared and not (relocations and all("TLSDESC" in line for line in relocations)):
        print("thread_record_check: the library does not use a TLS descriptor")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
