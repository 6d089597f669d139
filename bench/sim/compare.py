#!/usr/bin/env python3
"""compare.py BUILD [--seeds N]: how soon simulations find five bugs, and how soon others do.

BUILD is a build of weft with benchmarks. The others are built from bench/sim/peers/ in
build/bench/sim: Shuttle and loom (cargo), Go's testing/synctest (go). What cannot be built is left
out, with the reason. Tools with random orders run with N seeds (10), one
after the other; the table has the median of the schedules, with the most, and of the milliseconds.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench" / "sim" / "peers"
OUT = ROOT / "build" / "bench" / "sim"
BUGS = ["lost_update", "inverted_locks", "lost_wakeup", "notified_the_wrong_one", "barrier_without_phases"]


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def build_rust():
    run("cargo", "build", "--release", "--quiet", "--target-dir", OUT / "rust", cwd=PEERS / "rust")
    return OUT / "rust" / "release"


def build_go():
    program = OUT / "go_bugs"
    run("go", "test", "-c", "-o", program, ".", cwd=PEERS / "go")
    return program


def tools(build):
    """Yields (name, whether it has seeds, command)."""
    own = pathlib.Path(build).resolve() / "bench" / "sim_bugs"
    yield "weft::sim", True, [own, "SEED"]
    yield "weft::sim, dpor", False, [own, "1", "dpor"]
    for make, programs in (
            (build_rust, lambda made: [("Shuttle, random", True, [made / "shuttle_bugs", "BUG", "SEED"]),
                                       ("Shuttle, PCT", True, [made / "shuttle_bugs", "BUG", "SEED", "pct"]),
                                       ("loom", False, [made / "loom_bugs", "BUG"])]),
            (build_go, lambda made: [("Go, synctest", False, [made, "-test.run", "TestBugs"])])):
        try:
            yield from programs(make())
        except (OSError, subprocess.CalledProcessError) as reason:
            print(f"left out: {make.__name__}: {reason}", file=sys.stderr)


def results(command, has_seeds, seeds):
    """Returns {bug: [(schedules, milliseconds) or None]}. A program may look for one BUG at a time."""
    found = {bug: [] for bug in BUGS}
    for seed in range(1, 1 + (seeds if has_seeds else 1)):
        for bug in BUGS if "BUG" in command else [None]:
            output = run(*({"BUG": bug, "SEED": seed}.get(word, word) for word in command))
            for line in output.splitlines():
                words = line.split()
                if words and words[0] in found:
                    found[words[0]].append(None if words[1] == "not_found" else (int(words[1]), float(words[2])))
    return found


def cell(runs):
    done = [r for r in runs if r is not None]
    if not done:
        return "not found"
    schedules = [r[0] for r in done]
    text = f"{statistics.median(schedules):.0f} ({max(schedules)}), {statistics.median(r[1] for r in done):.2g} ms"
    return text if len(done) == len(runs) else f"{text}; in {len(done)} of {len(runs)} runs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    print("| | " + " | ".join(bug.replace("_", " ") for bug in BUGS) + " |")
    print("|---" * (len(BUGS) + 1) + "|")
    for name, has_seeds, command in tools(arguments.build):
        found = results(command, has_seeds, arguments.seeds)
        print(f"| {name} | " + " | ".join(cell(found[bug]) for bug in BUGS) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
