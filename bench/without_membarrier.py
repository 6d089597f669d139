#!/usr/bin/env python3
"""without_membarrier.py [--build FOLDER] [--rounds N]: what a system without membarrier costs.

Measures some rows of the benchmark as the system is, and with membarrier refused (test/kernels).
The two take turns, so that both meet the same disturbances. A repetition takes about 2 ms, which
fits into a slice of the kernel. Prints a table in Markdown: the least time of all repetitions, since
a disturbance only adds time. Only for the blocking call, whose figure is a difference of two, it is
the median.
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFUSED = "membarrier=ENOSYS"
# What, the workload's arguments, the metric.
ROWS = (
    ("entering the runtime and leaving it", "entry --p 1 --n 200000", "ns_per_op"),
    ("announcing a blocking call", "call_guard --p 1 --n 10000", "guard_ns"),
    ("`yield`, two green threads", "yield --p 1 --n 40000 --k 2", "ns_per_op"),
    ("start and join of a green thread", "spawn_join --p 1 --n 8000", "ns_per_op"),
    ("start of 1000 and a wait for all", "spawn_batch --p 1 --n 8000 --k 1000", "ns_per_op"),
    ("a round trip over unbuffered channels", "pingpong --p 1 --n 8000", "ns_per_op"),
    ("a message, 4 senders and 4 receivers, buffer of 64", "mpmc --p 1 --n 40000 --k 4 --cap 64", "ns_per_op"),
    ("lock and unlock of a mutex", "mutex --p 1 --n 100000 --k 1", "ns_per_op"),
    ("a select of 4, one is ready", "select_ready --p 1 --n 20000", "ns_per_op"),
    ("adding and stopping a timer, 1000 are set", "timer_add_stop --p 1 --n 10000 --cap 1000", "ns_per_op"),
)
REPETITIONS = 40  # of a round


def measure(build, arguments, metric, refused):
    command = [build / "bench/weft_bench", *arguments.split(), "--reps", str(REPETITIONS)]
    if refused:
        command = [build / "test/refuse", REFUSED, "--", *command]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        sys.exit(f"without_membarrier.py: {' '.join(map(str, command))} ended with {ended.returncode}; its messages are above")
    return [float(json.loads(line)[metric]) for line in ended.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build/native")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print("| | with | without |\n|---|---|---|")
    for what, arguments, metric in ROWS:
        times = [], []
        for _ in range(args.rounds):
            for i in 0, 1:
                times[i].extend(measure(args.build, arguments, metric, refused=i == 1))
        chosen = min if metric == "ns_per_op" else statistics.median
        print(f"| {what} | {chosen(times[0]):.1f} ns | {chosen(times[1]):.1f} ns |", flush=True)


if __name__ == "__main__":
    main()
