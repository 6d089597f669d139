#!/usr/bin/env python3
"""What it costs to see inside a program: recorder, exports, dumps and profiles of weft, beside Go.

    bench/observe.py                    all of it: some 20 minutes; writes docs/observing_costs.md
    bench/observe.py --only dumps       one section; writes nothing. The sections are below
    bench/observe.py --only dumps --add the same, into docs/observing_costs.md
    bench/observe.py --quick --build build/native
                                        what does not depend on the speed of the machine: instructions, and
                                        bytes for each event; fails if a bar is missed

Sections: off, recorder, servers, exports, dumps, profiler.

Variants of one measurement run in turns, round by round. Figures are CPU time where that is possible, because other programs may
use the machine meanwhile: the report says how busy it was. Ratios and differences are taken within each round; a figure is the median
of all rounds, with the quartiles. A bar is met, or missed, if the median is on that side of it with 95 % confidence; otherwise it is not decided.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import budget
import report
import run
import sockets
import toolchain
from row import Load, Row

ROUNDS = 9
PROGRAM_TIMEOUT_S = 300
SHORT_ROUNDS_FACTOR = 3  # so many times more rounds of what takes half a second
LOAD_ATTEMPTS = 5
COUNTED_MS, COUNTED_ROUNDS = (500, 2500), 3  # loads under callgrind
MANY = 100_000  # green threads that are dumped
MILLION = 1_000_000
PAGE = toolchain.ROOT / "docs" / "observing_costs.md"

# The most that is allowed.
RECORDED_PAIR_NS = 30
STACK_PAIR_NS = 60  # with a sampled stack
RECORDED_PAIR_INSTRUCTIONS = 192  # of the limit in budget.py
OFF_PERCENT = 0.5
SERVER_LOSS_PERCENT = 2
EXPORT_S = 1
EXPORT_BYTES = 25
OWN_BYTES = 7
DUMP_S = 1.5
DUMP_DELAY_US = 1000

PINGPONG_N = {"weft": 2 * MILLION, "go": MILLION}
YIELD_N = {"weft": 6 * MILLION, "go": 3 * MILLION}
PAIRS_OF = {"pingpong": 2, "yield": 1}  # in one operation


class Failed(Exception):
    """A program that did not do its work."""


@dataclasses.dataclass
class Figure:
    """One line of the report."""

    what: str
    weft: str
    go: str = "–"
    bar: str = ""
    met: bool | None = None  # None: there is no bar, or the figures do not decide
    note: str = ""

    def verdict(self):
        if not self.bar:
            return ""
        return "not decided" if self.met is None else "met" if self.met else "**missed**"


@dataclasses.dataclass
class Section:
    """One table."""

    title: str
    text: str
    figures: list = dataclasses.field(default_factory=list)

    def add(self, *arguments, **named):
        figure = Figure(*arguments, **named)
        self.figures.append(figure)
        bar = f"   bar: {figure.bar}: {figure.verdict()}" if figure.bar else ""
        note = f"   ({figure.note})" if figure.note else ""
        print(f"  {figure.what}: weft {figure.weft}; Go {figure.go}{bar}{note}", flush=True)


def number(value):
    if value == 0:
        return "0"
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 100 else f"{value:.3g}"


def spread(values, unit="", scale=1.0):
    """The median, and the quartiles in brackets."""
    scaled = [value * scale for value in values]
    if len(scaled) < 3:
        return f"{number(statistics.median(scaled))}{unit}"
    low, middle, high = statistics.quantiles(scaled, n=4, method="inclusive")
    return f"{number(middle)}{unit} ({number(low)} to {number(high)})"


def percent(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:+.1f} % ({low:+.1f} to {high:+.1f})"


def at_most(values, limit):
    """Whether their true median is at most the limit; None if that cannot be said with 95 % confidence (order statistics)."""
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 0.0
    while outside < count // 2 and tail + math.comb(count, outside) / 2**count <= 0.025:
        tail += math.comb(count, outside) / 2**count
        outside += 1
    low, high = ordered[max(outside - 1, 0)], ordered[count - max(outside, 1)]
    return True if high <= limit else False if low > limit else None


def environment(observe=None):
    chosen = {name: value for name, value in run.environment_of("weft").items() if name != "BENCH_OBSERVE"}
    if observe:
        chosen["BENCH_OBSERVE"] = observe
    return chosen


def in_turn(variants, index):
    """The variants in another order each round, because one may profit from what runs before it. The same orders in each run."""
    return random.Random(index).sample(variants, len(variants))


def line_of(program, workload, p, n, observe=None):
    """What the program printed, with the CPU seconds of its process as process_cpu_s."""
    command = [str(program), workload, "--p", str(p), "--n", str(n)]
    if workload == "yield":
        command += ["--k", "2"]
    before = run.children_cpu_seconds()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S, env=environment(observe), check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(command)}: not finished after {PROGRAM_TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {run.how_it_ended(done)}")
    return {**json.loads(done.stdout.splitlines()[-1]), "process_cpu_s": run.children_cpu_seconds() - before}


class Programs:
    """Paths, by name; None if there is no Go."""

    def __init__(self, build):
        if build:
            bench = pathlib.Path(build).resolve() / "bench"
            self.weft = {name: bench / name for name in ("weft_bench_observed", "weft_echo_observed", "weft_http_server_observed", "weft_budget",
                                                        "weft_budget_observed", "observe_costs")}
        else:
            toolchain.OUT.mkdir(parents=True, exist_ok=True)
            self.weft = toolchain.build_observed()
        self.go = {}

    def add_go(self):
        try:
            self.go = {"bench": toolchain.build_go(), "servers": toolchain.build_go_servers(), "costs": toolchain.build_go_costs()}
        except toolchain.Missing as reason:
            print(f"Go is left out: {reason}")

    def __getitem__(self, name):
        program = self.weft[name]
        if not program.is_file():
            raise Failed(f"there is no {program}; build the target {name}, for which weft::observe must be built, too")
        return program


# ---- Instructions.


def off(programs, _rounds):
    """The same object files with and without the component, under callgrind."""
    section = Section("Linked, and off", "Instructions of a program that is linked with `weft::observe` and has no recorder, beside the same "
                      "object files without it. By callgrind, so other programs do not matter.")
    for workload, name in (("yield", "yield"), ("round_trip", "ping-pong, round trip")):
        without = budget.slope(budget.instructions, str(programs["weft_budget"]), workload)
        linked = budget.slope(budget.instructions, str(programs["weft_budget_observed"]), workload)
        more = 100 * (linked / without - 1)
        section.add(name, f"{without:.1f} without, {linked:.1f} with: {more:+.2f} %", bar=f"at most {OFF_PERCENT} %", met=more <= OFF_PERCENT)
    trip = budget.slope(budget.instructions, str(programs["weft_budget"]), "round_trip")
    recorded = budget.slope(budget.instructions, str(programs["weft_budget"]), "recorded")
    pair = (recorded - trip) / PAIRS_OF["pingpong"]
    section.add("a wait and its wake-up, recorded", f"{pair:.0f} instructions more", bar=f"at most {RECORDED_PAIR_INSTRUCTIONS}",
                met=pair <= RECORDED_PAIR_INSTRUCTIONS)
    return section


# ---- Recorder and profiler, in the same program.


def compare(programs, rounds, workload, p, observers, with_go=True):
    """{(peer, observer): [nanoseconds of CPU time for each operation]}."""
    # Each repetition plays a tenth of the work before, which is not timed.
    n = PINGPONG_N if workload == "pingpong" else YIELD_N
    operations = {peer: 1.1 * count if workload == "pingpong" else count for peer, count in n.items()}
    variants = []
    peers = [("weft", programs["weft_bench_observed"])] + ([("go", programs.go["bench"])] if programs.go and with_go else [])
    for peer, program in peers:
        variants += [(peer, observer or "none", program, observer) for observer in (None, *observers)]
    found = {(peer, name): [] for peer, name, _, _ in variants}
    for index in range(SHORT_ROUNDS_FACTOR * rounds):
        for peer, name, program, observer in in_turn(variants, index):
            if peer == "go" and index % SHORT_ROUNDS_FACTOR != 0:
                continue  # its difference is large
            line = line_of(program, workload, p, n[peer], observer)
            found[peer, name].append(1e9 * line["process_cpu_s"] / operations[peer])
        print(f"  round {index + 1}/{SHORT_ROUNDS_FACTOR * rounds}  {workload} P={p}: " +
              "  ".join(f"{peer}/{name} {values[-1]:.1f}" for (peer, name), values in found.items()) + " ns", flush=True)
    return found


def differences(found, peer, observer):
    return [with_it - without for with_it, without in zip(found[peer, observer], found[peer, "none"])]


def ratios(found, peer, observer):
    return [100 * (with_it / without - 1) for with_it, without in zip(found[peer, observer], found[peer, "none"])]


def recorder(programs, rounds):
    section = Section("The recorder, for each wait and its wake-up", "Nanoseconds of CPU time that a recorder adds. Two green threads send "
                      "one value back and forth (two waits and two wake-ups for each round trip), or yield. Go: `trace.FlightRecorder`, or before "
                      "Go 1.25 the execution tracer.")
    for workload, p in (("pingpong", 1), ("pingpong", 2), ("yield", 1)):
        found = compare(programs, rounds, workload, p, ("recorder",))
        pairs = PAIRS_OF[workload]
        added = [value / pairs for value in differences(found, "weft", "recorder")]
        go = spread([value / pairs for value in differences(found, "go", "recorder")], " ns") if programs.go else "–"
        name = "ping-pong" if workload == "pingpong" else "yield, for each switch"
        section.add(f"{name}, P={p}", spread(added, " ns"), go, f"at most {RECORDED_PAIR_NS} ns", at_most(added, RECORDED_PAIR_NS),
                    f"{number(statistics.median(found['weft', 'none']) / pairs)} ns without; Go "
                    f"{number(statistics.median(found['go', 'none']) / pairs) if programs.go else '–'} ns")
    # Go's tracer always records stacks, so there is no other figure of Go.
    found = compare(programs, rounds, "pingpong", 1, ("sampled_stacks", "all_stacks"), with_go=False)
    for observer, name in (("sampled_stacks", "the stack of one wait in 16"), ("all_stacks", "the stack of each wait")):
        added = [value / PAIRS_OF["pingpong"] for value in differences(found, "weft", observer)]
        section.add(f"ping-pong, P=1, {name}", spread(added, " ns"), "as above", f"at most {STACK_PAIR_NS} ns", at_most(added, STACK_PAIR_NS))
    return section


def profiler(programs, rounds):
    section = Section("The CPU profiler", "CPU time that a profiler at 100 Hz adds to ping-pong at P=1.")
    found = compare(programs, rounds, "pingpong", 1, ("cpu_profiler",))
    section.add("ping-pong, P=1", percent(ratios(found, "weft", "cpu_profiler")),
                percent(ratios(found, "go", "cpu_profiler")) if programs.go else "–")
    return section


# ---- Servers.


def monitor_seconds(server):
    """CPU time of the monitor of a server; 0 if it has none by this name."""
    for thread in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        if (thread / "comm").read_text(encoding="utf-8").strip() == "weft-sysmon":
            return int((thread / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e9
    return 0.0


def loaded(client, row, server, address):
    """(µs of CPU time for each request without that of the monitor, ms of the monitor for each second).

    On a machine that is busy elsewhere the client may find no time within so short a load: then again.
    """
    for attempt in range(LOAD_ATTEMPTS):
        began, before = time.monotonic(), monitor_seconds(server)
        try:
            line = sockets.load_server(client, row, server, address, sockets.cpus_of(row.load, 1)[1])
        except sockets.Failure:
            if attempt + 1 == LOAD_ATTEMPTS:
                raise
            continue
        share = (monitor_seconds(server) - before) / (time.monotonic() - began)
        return line["cpu_us"] - 1e6 * share * (row.load.ms / 1000) / line["requests"], 1000 * share
    raise AssertionError


def load_in_turns(variants, rounds, row, client):
    """{(peer, observer): [what loaded() returns, for each request]}, and the same of monitors. All servers live until the end."""
    found = {(peer, observer): [] for peer, observer, _ in variants}
    monitors = {(peer, observer): [] for peer, observer, _ in variants}
    with contextlib.ExitStack() as until_end:
        started = []
        for peer, observer, program in variants:
            server, said = until_end.enter_context(sockets.serving(str(program), row, 1, environment(None if observer == "none" else observer)))
            started.append((peer, observer, server, said["address"]))
        for index in range(rounds):
            for peer, observer, server, address in in_turn(started, index):
                of_request, of_monitor = loaded(client, row, server, address)
                found[peer, observer].append(of_request)
                monitors[peer, observer].append(of_monitor)
            print(f"  round {index + 1}/{rounds}  {row.id}: " + "  ".join(f"{peer}/{o} {v[-1]:.2f}" for (peer, o), v in found.items()) + " us",
                  flush=True)
    return found, monitors


def server_instructions(program, client, observer, ms):
    """(instructions of an echo server under callgrind, requests that it served, but for those before the measured time)."""
    with tempfile.TemporaryDirectory() as folder:
        out, server = pathlib.Path(folder) / "callgrind.out", pathlib.Path(folder) / "server"
        server.write_text(f'#!/bin/sh\nexec valgrind -q --tool=callgrind --callgrind-out-file={out} {program} "$@"\n', encoding="utf-8")
        server.chmod(0o755)
        line = sockets.measure(str(server), client, Row("echo", "echo", "echo", "echo", 0, load=Load(50, ms=ms)), 1, environment(observer))
        return budget.total_of(out), line["requests"]


def instructions_of_request(program, client, observer):
    """By the difference between a short and a longer load."""
    (short, few), (long, many) = (server_instructions(program, client, observer, ms) for ms in COUNTED_MS)
    return (long - short) / (many - few)


def count_server(section, programs, client, cpu_us):
    """Adds what a recorder adds to an echo in instructions: other programs do not matter much. cpu_us: of a request without one."""
    program = programs["weft_echo_observed"]
    found = {observer: [] for observer in (None, "recorder")}
    for _ in range(COUNTED_ROUNDS):
        for observer, counts in found.items():
            counts.append(instructions_of_request(program, client, observer))
    without, recorded = (statistics.median(counts) for counts in found.values())
    share = 100 * (recorded - without) * RECORDED_PAIR_NS / RECORDED_PAIR_INSTRUCTIONS / (1000 * cpu_us)
    section.add("echo, instructions of the server's own code for each request",
                f"{number(without)} without, {number(recorded)} with: {share:.1f} % of the CPU time", bar=f"at most {SERVER_LOSS_PERCENT} %",
                met=share <= SERVER_LOSS_PERCENT, note=f"by callgrind, at {RECORDED_PAIR_NS} ns for {RECORDED_PAIR_INSTRUCTIONS} instructions")


def servers(programs, rounds):
    section = Section("The recorder, in servers", "The server's CPU time for each request, with a recorder beside without one; in µs without one. "
                      "Of weft without that of the monitor, which does not depend on the number of requests: it has a row of its own. Server and "
                      "client have a CPU each. HTTP is loaded by wrk.")
    observed = {"echo": "weft_echo_observed", "http": "weft_http_server_observed"}
    clients = toolchain.build_clients(["echo", "http"])
    loads = (
        ("echo-50", "echo, 50 connections, closed loop", "echo", Load(50, ms=300)),
        ("echo-open-50", "echo, 50 connections, 20 000 requests/s", "echo", Load(50, rate=20_000, ms=300)),
        ("http-64", "HTTP, 64 connections, closed loop", "http", Load(64, ms=1000)),
    )
    for name, title, workload, load in loads:
        row = Row(name, title, workload, workload, 0, load=load)
        variants = [("weft", observer, programs[observed[workload]]) for observer in ("none", "recorder")]
        if programs.go:
            variants += [("go", observer, programs.go["servers"]) for observer in ("none", "recorder")]
        found, monitors = load_in_turns(variants, rounds if workload == "http" else SHORT_ROUNDS_FACTOR * rounds, row, clients[workload])
        loss = ratios(found, "weft", "recorder")
        section.add(title, f"{percent(loss)} of {number(statistics.median(found['weft', 'none']))} µs",
                    f"{percent(ratios(found, 'go', 'recorder'))} of {number(statistics.median(found['go', 'none']))} µs" if programs.go else "–",
                    f"at most {SERVER_LOSS_PERCENT} %", at_most(loss, SERVER_LOSS_PERCENT))
        if name == "echo-open-50":
            with_it, without = monitors["weft", "recorder"], monitors["weft", "none"]
            section.add("the monitor meanwhile, for each second", f"{spread(with_it, ' ms')}; without a recorder {spread(without, ' ms')}",
                        note="it reads from the system how long threads waited for a CPU, every 50 ms")
        if name == "echo-50":
            count_server(section, programs, clients["echo"], statistics.median(found["weft", "none"]))
    return section


# ---- Exports.


def column(lines, name):
    return [line[name] for line in lines]


def exports(programs, rounds, n=MILLION):
    section = Section("Recordings of a million events", "CPU seconds of the calling thread, and bytes for each event. Ping-pong: two green "
                      "threads. Requests: four workers, a green thread for each request, a region, a counter, a lock, sleeps.")
    for workload, title in (("export_pingpong", "ping-pong"), ("export_mixed", "requests")):
        lines = [line_of(programs["observe_costs"], workload, 1, n) for _ in range(rounds)]
        million = [MILLION / line["events"] for line in lines]
        per_million = lambda name: [line[name] * factor for line, factor in zip(lines, million)]
        go_time = go_bytes = "–"
        if programs.go and workload == "export_pingpong":
            go = [line_of(programs.go["costs"], workload, 1, n) for _ in range(rounds)]
            go_time = spread(column(go, "write_s"), " s")
            events_of_pair = 3
            of_pair = number(statistics.median(column(go, "bytes_per_pair")))
            go_bytes = f"{of_pair} for a wait and its wake-up; weft {number(events_of_pair * lines[0]['bytes'])}"
        section.add(f"{title}: snapshot", spread(per_million("snapshot_s"), " s"))
        section.add(f"{title}: write", spread(per_million("write_s"), " s"), go_time)
        size = statistics.median(column(lines, "bytes"))
        section.add(f"{title}: write, bytes", number(size), go_bytes, f"at most {OWN_BYTES}", size <= OWN_BYTES)
        section.add(f"{title}: read", spread(per_million("read_s"), " s"))
        section.add(f"{title}: summary", spread(per_million("summary_s"), " s"))
        perfetto = per_million("perfetto_s")
        section.add(f"{title}: write_perfetto", spread(perfetto, " s"), bar=f"at most {EXPORT_S} s", met=at_most(perfetto, EXPORT_S))
        size = statistics.median(column(lines, "perfetto_bytes"))
        section.add(f"{title}: write_perfetto, bytes", number(size), bar=f"at most {EXPORT_BYTES}", met=size <= EXPORT_BYTES)
        for name, form in (("chrome", "write_chrome_json"), ("text", "write_text")):
            section.add(f"{title}: {form}", f"{spread(per_million(name + '_s'), ' s')}, {number(statistics.median(column(lines, name + '_bytes')))} bytes")
    return section


def sizes(programs, n=100_000):
    """What --quick needs of the above: a smaller recording has the same bytes for each event."""
    section = Section("Bytes for each event", "")
    for workload, title in (("export_pingpong", "ping-pong"), ("export_mixed", "requests")):
        line = line_of(programs["observe_costs"], workload, 1, n)
        for key, form, bar in (("bytes", "write", OWN_BYTES), ("perfetto_bytes", "write_perfetto", EXPORT_BYTES)):
            section.add(f"{title}: {form}", number(line[key]), bar=f"at most {bar}", met=line[key] <= bar)
    return section


# ---- Dumps.


def beside(programs, rounds, workload, p):
    """Interleaved: (weft's lines, Go's)."""
    weft, go = [], []
    for _ in range(rounds):
        weft.append(line_of(programs["observe_costs"], workload, p, MANY))
        if programs.go and workload not in ("dump_delays_hogs", "page_state"):
            go.append(line_of(programs.go["costs"], workload, p, MANY))
    return weft, go


def dumps(programs, rounds):
    section = Section("Dumps of 100 000 parked green threads", "Of four kinds, with stacks of 4 to 12 frames. CPU seconds, and wall time where it "
                      "says so. Equal stacks are counted once; Go: `pprof` with `debug=1`, which does so too, and stops the world meanwhile.")

    def seconds(lines, name, wall):
        return f"{spread(column(lines, name), ' s')}; wall time {number(statistics.median(column(lines, wall)))} s" if lines else "–"

    weft, go = beside(programs, rounds, "dump", 1)
    section.add("dump, with names", seconds(weft, "names_s", "names_wall_s"), seconds(go, "names_s", "names_wall_s"), f"at most {DUMP_S} s",
                at_most(column(weft, "names_s"), DUMP_S))
    section.add("dump, without names", seconds(weft, "no_names_s", "no_names_wall_s"))

    def delays(lines, clock=""):
        if not lines:
            return "–"
        return f"{spread(column(lines, f'during{clock}_us'), ' µs')}; without a dump {spread(column(lines, f'quiet{clock}_us'), ' µs')}"

    weft, go = beside(programs, rounds, "dump_delays_pingpong", 1)
    section.add("longest round trip of two green threads at P=1 meanwhile, wall time", delays(weft), delays(go),
                note="wall time has the delays by other programs in it")
    section.add("the same, CPU time of their thread", delays(weft, "_cpu"), bar=f"at most {DUMP_DELAY_US} µs",
                met=at_most(column(weft, "during_cpu_us"), DUMP_DELAY_US))
    weft, _ = beside(programs, rounds, "dump_delays_hogs", 2)
    section.add("longest gap of a green thread that computes, CPU time of its thread, while all Ps compute", delays(weft),
                bar=f"at most {DUMP_DELAY_US} µs", met=at_most(column(weft, "during_us"), DUMP_DELAY_US))
    weft, go = beside(programs, rounds, "goroutine_profile", 1)
    section.add("`goroutine_profile()`", seconds(weft, "cpu_s", "wall_s"), seconds(go, "profile_s", "profile_wall_s"))
    weft, _ = beside(programs, rounds, "page_state", 1)
    section.add("`/api/state` of the page", seconds(weft, "cpu_s", "wall_s"))
    if run.available_gib() >= 12:
        line = line_of(programs["observe_costs"], "dump", 1, MILLION)
        section.add("dump of 1 000 000, with names, once", f"{number(line['names_s'])} s; wall time {number(line['names_wall_s'])} s")
    else:
        print(f"  a dump of 1 000 000 is left out: it takes 12 GiB of memory, and {run.available_gib():.0f} GiB are available")
    return section


def page_with(text, section, remark):
    """A page with the table of one section replaced."""
    lines = page([section], [])
    new = lines[lines.index(f"## {section.title}"):].rstrip("\n")
    parts = text.split("\n## ")
    for index, part in enumerate(parts):
        if part.startswith(section.title + "\n"):
            parts[index] = new.removeprefix("## ") + f"\n\n{remark}\n"
            return "\n## ".join(parts)
    raise Failed(f"the page has no section {section.title}; write all of it without --only")


SECTIONS = {"off": off, "recorder": recorder, "servers": servers, "exports": exports, "dumps": dumps, "profiler": profiler}


# ---- The page.


def load_average():
    return os.getloadavg()[0]


def page(sections, facts):
    text = ["""# What it costs to see inside

Recorder, exports, dumps and profiles of weft, beside Go; and whether each is within its bar.
Written by `./dev bench observe`, which measures all of it again.
""", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts), """
A figure is the median of the rounds, with the quartiles in brackets. The variants of a measurement
ran in turns, and differences were taken within each round. Times are CPU times unless it says
otherwise, because other programs used the machine too. A bar is met, or missed, if the median is on
that side of it with 95 % confidence.
"""]
    for section in sections:
        text += [f"## {section.title}\n", wrapped(section.text), "", "| | weft | Go | bar | |", "|---|---|---|---|---|"]
        for figure in section.figures:
            what = figure.what + (f" ({figure.note})" if figure.note else "")
            text.append(f"| {what} | {figure.weft} | {figure.go} | {figure.bar or '–'} | {figure.verdict()} |")
        text.append("")
    return "\n".join(text)


def wrapped(text, width=100):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="What it costs to see inside.", epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what does not depend on the machine's speed; fails if a bar is missed")
    parser.add_argument("--build", help="a build tree with the programs; without it they are built under build/bench")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="only this section; repeatable")
    parser.add_argument("--add", action="store_true", help="with --only: replaces these sections in docs/observing_costs.md")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="default: %(default)s")
    arguments = parser.parse_args()
    if arguments.add and not arguments.only:
        parser.error("--add needs --only")
    if arguments.rounds < 3:
        parser.error("--rounds must be at least 3")
    try:
        programs = Programs(arguments.build)
        if arguments.quick:
            sections = [off(programs, 1), sizes(programs)]
            return 0 if all(figure.met is not False for section in sections for figure in section.figures) else 1
        programs.add_go()
        began, before = time.monotonic(), load_average()
        busy = [before]
        sections = []
        for name in arguments.only or SECTIONS:
            print(f"{name}; load average {load_average():.1f}", flush=True)
            sections.append(SECTIONS[name](programs, arguments.rounds))
            busy.append(load_average())
    except (Failed, sockets.Failure, toolchain.Missing) as failure:
        print(f"observe.py: {failure}", file=sys.stderr)
        return 2
    facts = [("date", datetime.date.today().isoformat()), ("weft", run.weft_version())]
    facts.append(("Go", toolchain.run(["go", "version"]).split()[2].removeprefix("go") if programs.go else "left out"))
    machine = report.machine_line(run.machine()).strip("| ").split(" | ", 1)
    facts += [tuple(machine), ("rounds", arguments.rounds), ("load average meanwhile", f"{min(busy):.1f} to {max(busy):.1f}")]
    print(f"measured in {(time.monotonic() - began) / 60:.0f} minutes; load average {min(busy):.1f} to {max(busy):.1f}")
    if arguments.add:
        text = PAGE.read_text(encoding="utf-8")
        for section in sections:
            text = page_with(text, section, f"Measured on {facts[0][1]}, with a load average of {min(busy):.1f} to {max(busy):.1f}.")
        PAGE.write_text(text, encoding="utf-8")
    if not arguments.only:
        PAGE.write_text(page(sections, facts), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(toolchain.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
