#!/usr/bin/env python3
"""Measures weft beside the same work in Go, tokio, Boost.Fiber, std::thread, oneTBB, Boost.Asio and a bare event loop.

    bench/run.py                    everything: about an hour and a half on 2 cores
    bench/run.py --quick            about 25 minutes, fewer rounds of less work
    bench/run.py --only pingpong    the rows whose name contains the word
    bench/run.py --only hog --add   the same, into docs/benchmarks.md; what it says of other rows stays
    bench/run.py --report-only      the tables and charts again, from the last results

Builds weft and the peers and runs them in turns (A B C D, A B C D, …), so that a slow minute of the machine hits
all of them. A full run writes docs/benchmarks.md and docs/img/bench-*.svg; --quick and --only write the same
to build/bench/report. Raw results: build/bench/results.json, results-quick.json, results-only.json.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import record
import report
import sockets
import toolchain
from row import PEERS
from rows import ROWS

ROUNDS, QUICK_ROUNDS = 7, 3
QUICK_DIVISOR = 4
RUN_TIMEOUT_S = 180
DISTURBED_SHARE = 0.15  # of one core, used by others while we ran
RETRY_SHARE = 0.15  # of all runs may be repeated because they were disturbed
TICKS = os.sysconf("SC_CLK_TCK")


def machine():
    """What the figures depend on, as far as the machine tells."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    virtual = "hypervisor" in (re.search(r"^flags\s*:.*$", cpuinfo, re.MULTILINE) or [""])[0]
    memory = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text(encoding="utf-8"))
    system = "?"
    for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        if line.startswith("PRETTY_NAME="):
            system = line.split("=", 1)[1].strip('"')

    def setting(path):
        try:
            return pathlib.Path(path).read_text(encoding="utf-8").strip()
        except OSError:
            return "?"

    thp = re.search(r"\[(\w+)\]", setting("/sys/kernel/mm/transparent_hugepage/enabled"))
    return {
        "cpu": model[1].strip() if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "virtual": virtual,
        "memory_gib": round(int(memory[1]) / 2**20) if memory else 0,
        "system": system,
        "kernel": re.match(r"[\d.]+", platform.release())[0],
        "thp": thp[1] if thp else "?",
        "max_map_count": setting("/proc/sys/vm/max_map_count"),
    }


def weft_version():
    changelog = toolchain.ROOT / "CHANGELOG.md"
    heading = re.search(r"^## \[(\d+\.\d+\.\d+)", changelog.read_text(encoding="utf-8"), re.MULTILINE)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=toolchain.ROOT, capture_output=True, text=True,
                            check=False).stdout.strip()
    return " ".join(filter(None, [heading[1] if heading else "?", f"({commit})" if commit else ""]))


def available_gib():
    text = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8")
    return int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) / 2**20


def machine_cpu_seconds():
    """(busy, stolen) seconds of all CPUs since boot."""
    with open("/proc/stat", encoding="utf-8") as stat:
        user, nice, system, _idle, _wait, irq, soft, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + soft) / TICKS, steal / TICKS


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command_of(program, row, p, n):
    k = row.k * p if row.k_per_p else row.k
    return [program, row.workload, "--p", str(p), "--n", str(n), "--k", str(k), "--cap", str(row.cap)]


def environment_of(peer):
    environment = dict(os.environ)
    for name in [name for name in environment if name.startswith(("RUN_", "GO", "TOKIO_", "BENCH_"))]:
        del environment[name]
    if peer == "go-nogc":
        environment["GOGC"] = "off"
    return environment


def futexes(program, peer, row, p, n):
    """Futex calls for each round of n/k, by the slope between two sizes under strace; None where there is no strace."""
    if shutil.which("strace") is None:
        return None
    rounds = (max(1, n // row.k // 8), max(2, n // row.k // 4))
    calls = []
    for size in rounds:
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as table:
            command = ["strace", "-f", "-c", "-e", "trace=futex", "-o", table.name, *command_of(program, row, p, size * row.k)]
            try:
                done = subprocess.run(command, capture_output=True, timeout=RUN_TIMEOUT_S, env=environment_of(peer), check=False)
            except subprocess.TimeoutExpired:
                return None
            if done.returncode != 0:
                return None
            counted = re.search(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?futex$", table.read(), re.MULTILINE)
            calls.append(int(counted[1]) if counted else 0)
    return (calls[1] - calls[0]) / (rounds[1] - rounds[0])


def how_it_ended(done):
    """In words. Whoever is killed leaves none of its own: for want of memory, as a rule."""
    if done.returncode == -signal.SIGKILL:
        return "killed: the machine has too little memory for it"
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    said = done.stderr.strip()[-300:]
    return f"{how}: {said}" if said else how


def line_of(command, environment):
    """What one process printed, as (line, why there is none)."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not finished after {RUN_TIMEOUT_S} s"
    if done.returncode != 0:
        return None, how_it_ended(done)
    try:
        return json.loads(done.stdout.splitlines()[-1]), ""
    except (IndexError, ValueError):
        return None, f"printed no result: {done.stdout[-200:]!r}"


def line_of_server(program, client, row, p, environment):
    """The same of a server and its client."""
    try:
        return sockets.measure(program, client, row, p, environment), ""
    except sockets.Failure as failure:
        return None, str(failure)


def run_once(program, client, peer, row, p, n):
    """One process, or two. Returns the JSON line with how it went."""
    environment = environment_of(peer)
    if peer == "weft":
        environment.update(row.settings)
    busy, stolen = machine_cpu_seconds()
    ours = children_cpu_seconds()
    begin = time.monotonic()
    if row.load:
        line, failure = line_of_server(program, client, row, p, environment)
    else:
        line, failure = line_of(command_of(program, row, p, n), environment)
    wall = time.monotonic() - begin
    ours = children_cpu_seconds() - ours
    busy_after, stolen_after = machine_cpu_seconds()
    others = max(0.0, (busy_after - busy) - ours) + (stolen_after - stolen)

    result = {"wall_s": round(wall, 3), "cpu_s": round(ours, 3), "others_s": round(others, 3), "failure": failure}
    if not failure:
        result["line"] = line
    return result


def disturbed(result, row, p):
    """Whether others took more than a run at this P can spare. /proc/stat counts in ticks: a little slack."""
    used = p + 1 if row.load else p  # the client has a CPU, too
    spare = max(DISTURBED_SHARE, len(os.sched_getaffinity(0)) - used - 0.5)
    return result["others_s"] > spare * result["wall_s"] + 2 / TICKS


def rows_chosen(arguments):
    return [row for row in ROWS if not arguments.only or any(word in row.id or word == row.group for word in arguments.only)]


class Campaign:
    """All rounds of one call."""

    def __init__(self, programs, clients, arguments):
        self.programs = programs
        self.clients = clients
        self.quick = arguments.quick
        self.rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
        self.asked = arguments.rounds is not None
        chosen = rows_chosen(arguments)
        self.skipped = [row.id for row in chosen if row.memory_gib > available_gib()]
        self.rows = [row for row in chosen if row.id not in self.skipped]
        self.runs = []
        self.retries = 0
        self.seconds = {}  # (row, p, peer): of the latest run

    def plan(self, index):
        """What round `index` (from 0) runs, in order: (row, p, [peers])."""
        for row in self.rows:
            if not self.asked and index >= (row.quick_rounds if self.quick else row.rounds):
                continue
            for p in row.procs:
                peers = [peer for peer in row.peers
                         if (row.suite, peer) in self.programs and index < row.rounds_for.get(peer, self.rounds)
                         and not (self.quick and row.heavy and peer in row.rounds_for)]
                if peers:
                    yield row, p, peers

    def all_runs(self):
        return sum(len(peers) for index in range(self.rounds) for _, _, peers in self.plan(index))

    def remaining_s(self, index, done_in_round):
        """An estimate from the latest run of each kind; None in the first round."""
        if index == 0:
            return None
        left = sum(self.seconds.get((row.id, p, peer), 0) for later in range(index, self.rounds)
                   for row, p, peers in self.plan(later) for peer in peers)
        return left - done_in_round

    def size(self, row, peer):
        n = row.n_for.get(peer, row.n)
        if self.quick and row.metric == "ns_per_op" and row.workload != "spawn_block":
            n = max(n // QUICK_DIVISOR, row.k)
        return n

    def count_calls(self, row, p, peer, result):
        """In the first round, beside what is timed: of the futex, or of a server all system calls."""
        if result["round"] != 0 or result["failure"]:
            return
        program, count = self.programs[row.suite, peer], None
        if row.futexes:
            count = futexes(program, peer, row, p, self.size(row, peer))
        elif row.load and not row.load.idle:
            count = sockets.count(program, self.clients[row.suite], row, p, environment_of(peer))
        if count is not None:
            result["line"]["futexes" if row.futexes else "syscalls"] = round(count, 2)

    def measure(self, index, row, p, peer):
        program, client, n = self.programs[row.suite, peer], self.clients.get(row.suite), self.size(row, peer)
        result = run_once(program, client, peer, row, p, n)
        if not result["failure"] and disturbed(result, row, p) and self.retries < RETRY_SHARE * self.all_runs():
            self.retries += 1
            again = run_once(program, client, peer, row, p, n)
            if not again["failure"] and again["others_s"] < result["others_s"]:
                result = again
        result.update(round=index, row=row.id, p=p, peer=peer, disturbed=disturbed(result, row, p))
        self.count_calls(row, p, peer, result)
        self.runs.append(result)
        self.seconds[row.id, p, peer] = result["wall_s"]
        return result

    def run(self, save):
        for index in range(self.rounds):
            done_in_round = 0.0
            for row, p, peers in self.plan(index):
                cells = []
                for peer in peers:
                    result = self.measure(index, row, p, peer)
                    done_in_round += result["wall_s"]
                    if result["failure"]:
                        cells.append(f"{PEERS[peer]} FAILED ({result['failure']})")
                    else:
                        mark = "*" if result["disturbed"] else ""
                        cells.append(f"{PEERS[peer]} {report.number(result['line'][row.metric])}{mark}")
                left = self.remaining_s(index, done_in_round)
                clock = "" if left is None else f"   [{max(0, left) / 60:.0f} min left]"
                print(f"round {index + 1}/{self.rounds}  {row.id} P={p}: {'  '.join(cells)} {row.unit}{clock}", flush=True)
            save()


def main():
    parser = argparse.ArgumentParser(description="Measures weft beside its peers.", epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help=f"rounds (default {ROUNDS}; quick: {QUICK_ROUNDS}), also of rows that have fewer otherwise")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of less work")
    parser.add_argument("--only", action="append", metavar="WORD", help="only rows whose name contains WORD, or of that group; repeatable")
    parser.add_argument("--add", action="store_true", help="with --only: put the rows into docs/benchmarks.md; it keeps the others")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated: %(default)s")
    parser.add_argument("--report-only", action="store_true", help="write the report from the last results")
    arguments = parser.parse_args()
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.add and (arguments.quick or not arguments.only):
        parser.error("--add needs --only, and cannot be used with --quick")
    wanted = arguments.peers.split(",")
    if unknown := [peer for peer in wanted if peer not in PEERS]:
        parser.error(f"unknown peer {unknown[0]}; the peers are: {', '.join(PEERS)}")

    full = not arguments.only and not arguments.quick
    kind = "" if full else "-only" if arguments.only else "-quick"
    stored = toolchain.OUT / f"results{kind}.json"
    if arguments.report_only:
        if not stored.exists():
            sys.exit(f"run.py: there are no results in {stored}; run without --report-only first")
        results = json.loads(stored.read_text(encoding="utf-8"))
    else:
        begin = time.monotonic()
        suites = sorted({row.suite for row in rows_chosen(arguments)}, reverse=True)
        programs, missing = toolchain.build(wanted, suites)
        try:
            clients = toolchain.build_clients(suites)
        except toolchain.Missing as reason:
            sys.exit(f"run.py: cannot build the client of the servers: {reason}")
        if "weft" in missing:
            sys.exit("run.py: cannot build weft, for the reason above; to measure only the others, name them with --peers")
        if not programs:
            sys.exit("run.py: cannot build any program, for the reasons above")
        campaign = Campaign(programs, clients, arguments)
        if not campaign.rows:
            sys.exit("run.py: no row matches --only; the rows are: " + ", ".join(row.id for row in ROWS))
        results = {"machine": machine(), "weft": weft_version(), "missing": missing, "quick": arguments.quick,
                   "date": datetime.date.today().isoformat(), "rounds": campaign.rounds, "skipped": campaign.skipped,
                   "runs": campaign.runs, "retries": 0}

        def save():
            results["retries"] = campaign.retries
            stored.write_text(json.dumps(results, indent=1), encoding="utf-8")

        try:
            campaign.run(save)
        except KeyboardInterrupt:
            print("\ninterrupted: reporting what was measured so far", flush=True)
            save()
        print(f"measured in {(time.monotonic() - begin) / 60:.1f} minutes; raw results: {stored.relative_to(toolchain.ROOT)}")

    print(report.targets_as_text(results))
    docs = toolchain.ROOT / "docs"
    kept = None
    if arguments.add:
        kept = record.read((docs / "benchmarks.md").read_text(encoding="utf-8"))
        if kept.machine() != report.machine_line(results["machine"]):
            sys.exit("run.py: docs/benchmarks.md was measured on another machine, so --add cannot add to it; run without --add")
    for path in report.write(results, docs if full or kept else toolchain.OUT / "report", kept):
        print(f"wrote {path.relative_to(toolchain.ROOT)}")
    return 1 if any(run["failure"] for run in results["runs"]) else 0


if __name__ == "__main__":
    sys.exit(main())
