#!/usr/bin/env python3
"""heap_check.py PROGRAM: heap profiles with the allocators that are installed.

Runs tests of PROGRAM with jemalloc and gperftools by LD_PRELOAD, each with its profiler on and off.
Exits with 77 if neither is installed, or the program has a sanitizer's allocator.
"""
import glob
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
FOLDERS = ["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/lib"]


def library(name):
    found = [path for folder in FOLDERS for path in sorted(glob.glob(f"{folder}/{name}"))]
    return found[0] if found else None


def passes(program, which, expected, preload, **environment):
    ended = subprocess.run([program, f"--gtest_filter={which}", "--gtest_brief=1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env={**os.environ, "LD_PRELOAD": preload, "WEFT_TEST_HEAP": expected, "GTEST_TOTAL_SHARDS": "1", "GTEST_SHARD_INDEX": "0",
                                "GTEST_OUTPUT": "", **environment})
    good = ended.returncode == 0 and "1 test" in ended.stdout
    print(f"{os.path.basename(preload)} {environment}: {'passed' if good else 'FAILED'}")
    if not good:
        print(ended.stdout)
    return good


def main():
    program = sys.argv[1]
    with open(program, "rb") as file:
        if b"__asan_init" in (content := file.read()) or b"__tsan_init" in content:
            print("skipped: the program has the allocator of a sanitizer")
            return SKIPPED
    jemalloc, tcmalloc = library("libjemalloc.so.2"), library("libtcmalloc.so.4")
    if jemalloc is None and tcmalloc is None:
        print("skipped: neither jemalloc nor gperftools is installed")
        return SKIPPED
    good = True
    kind, broken = "HeapProfile.IsThatOfTheAllocator", "HeapProfile.ReportsAFileThatCannotBeWritten"
    with tempfile.TemporaryDirectory() as folder:
        if jemalloc is not None:
            good &= passes(program, kind, "MALLOC_CONF=prof:true", jemalloc, MALLOC_CONF="")
            good &= passes(program, kind, "heap_v2/", jemalloc, MALLOC_CONF="prof:true,prof_final:false,lg_prof_sample:12")
            good &= passes(program, broken, "", jemalloc, MALLOC_CONF="prof:true,prof_final:false")
        if tcmalloc is not None:
            prefix = os.path.join(folder, "run")
            good &= passes(program, kind, "HEAPPROFILE=PREFIX", tcmalloc)
            good &= passes(program, kind, "heap profile:", tcmalloc, HEAPPROFILE=prefix)
            good &= passes(program, broken, "", tcmalloc, HEAPPROFILE=prefix)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
