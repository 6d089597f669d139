"""From raw results to docs/benchmarks.md and its charts."""

from dataclasses import dataclass
from statistics import median

import chart
import record
from curves import CURVES, DETAILS, NOT_LESS
from record import Ratio, factor
from row import EVERY_ROUND, FLOOR, MAIN_PEERS, PEERS
from rows import GROUPS, ROWS
from targets import TARGETS

ROW = {row.id: row for row in ROWS}
SCALING_LIMIT = 1.15


def number(value):
    """Three significant digits, and commas."""
    if value is None:
        return "—"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


class Results:
    """What was measured, over what an earlier report says of the rows that were not."""

    def __init__(self, raw, kept=None):
        self.raw = raw
        self.lines = {}  # (row, p, peer): {round: line}
        for run in raw["runs"]:
            if not run["failure"]:
                self.lines.setdefault((run["row"], run["p"], run["peer"]), {})[run["round"]] = run["line"]
        self.measured = sorted({run["row"] for run in raw["runs"]}, key=list(ROW).index)
        self.kept = kept or record.Record()
        self.kept.forget(self.measured)

    def by_round(self, row, p, peer, metric):
        return {index: line[metric] for index, line in self.lines.get((row, p, peer), {}).items() if metric in line}

    def middle(self, row, p, peer, metric):
        values = self.by_round(row, p, peer, metric).values()
        return median(values) if values else self.kept.middles.get((row, p, peer, metric))

    def has(self, row):
        return any(self.has_run(row, p, peer) for p in ROW[row].procs for peer in PEERS)

    def has_run(self, row, p, peer):
        return (row, p, peer) in self.lines or self.kept.has(row, p, peer)

    def rounds_of(self, row):
        return self.raw["rounds"] if row in self.measured else EVERY_ROUND

    @staticmethod
    def ratio(ours, theirs):
        """The median of the ratios, round by round; None when no round has both."""
        ratios = [ours[index] / theirs[index] for index in ours if theirs.get(index, 0) > 0]
        return Ratio(median(ratios), min(ratios), max(ratios), len(ratios)) if ratios else None

    def to_peer(self, row, p, peer, metric):
        measured = self.ratio(self.by_round(row, p, "weft", metric), self.by_round(row, p, peer, metric))
        return measured or self.kept.ratios.get((row, p, peer, metric))

    def to_best(self, row, p, metric):
        best = {}
        for peer in PEERS:
            if peer not in ("weft", FLOOR):
                for index, value in self.by_round(row, p, peer, metric).items():
                    best[index] = min(value, best.get(index, value))
        return self.ratio(self.by_round(row, p, "weft", metric), best)

    def between(self, peer, metric, first, second):
        """One peer's figure in one (row, p) against that in another: of medians, where they are not of the same rounds."""
        measured = self.ratio(self.by_round(*first, peer, metric), self.by_round(*second, peer, metric))
        ours, theirs = self.middle(*first, peer, metric), self.middle(*second, peer, metric)
        if measured or not ours or not theirs:
            return measured
        return Ratio(ours / theirs, ours / theirs, ours / theirs, 0)


# Targets.


@dataclass(frozen=True)
class Verdict:
    text: str
    figures: dict  # p: (what was measured, as text; met or not)

    @property
    def word(self):
        if not self.figures:
            return "not measured"
        missed = [p for p, (_, met) in self.figures.items() if not met]
        if not missed:
            return "met"
        if len(missed) == len(self.figures):
            return "missed"
        return "missed at " + ", ".join(f"P={p}" for p in missed)


def judge(results, target):
    figures = {}
    for p in target.procs:
        ours = results.by_round(target.row, p, "weft", target.metric)
        if not ours and target.row not in results.measured and (target.text, p) in results.kept.verdicts:
            figures[p] = results.kept.verdicts[target.text, p]
            continue
        if not ours and target.against != "P=1":
            continue
        if target.against == "":
            value = max(ours.values()) if target.in_every_run else median(ours.values())
            text = f"{number(value)} {target.unit}".rstrip()
            if target.metric == "parked_bytes":
                text += f" + {number(results.middle(target.row, p, 'weft', 'page_table_bytes'))} B page tables"
            figures[p] = (text, value <= target.limit)
            continue
        if target.against == "best":
            ratio = results.to_best(target.row, p, target.metric)
        elif target.against == "P=1":
            ratio = results.between("weft", target.metric, (target.row, p), (target.row, 1))
        elif target.against.startswith("self:"):
            ratio = results.between("weft", target.metric, (target.row, p), (target.against[5:], p))
        else:
            ratio = results.to_peer(target.row, p, target.against, target.metric)
        if ratio is not None:
            figures[p] = (str(ratio), ratio.middle <= target.limit)
    return Verdict(target.text, figures)


def targets_as_text(raw):
    results = Results(raw)
    width = max(len(target.text) for target in TARGETS) + 2
    out = ["", f"{'target':<{width}}{'P=1':<30}{'P=2':<30}"]
    for target in TARGETS:
        verdict = judge(results, target)
        if not verdict.figures:
            continue
        cells = "".join(f"{verdict.figures[p][0] if p in verdict.figures else '':<30}" for p in (1, 2))
        out.append(f"{verdict.text:<{width}}{cells}{verdict.word}")
    return "\n".join(out) if len(out) > 2 else ""


def targets_table(results):
    out = ["| target | P=1 | P=2 | |", "|---|---|---|---|"]
    for target in TARGETS:
        verdict = judge(results, target)
        cells = " | ".join(verdict.figures[p][0] if p in verdict.figures else "" for p in (1, 2))
        word = verdict.word if verdict.word in ("met", "not measured") else f"**{verdict.word}**"
        out.append(f"| {verdict.text} | {cells} | {word} |")
    return out


# Tables.


def peers_in(results, rows):
    return [peer for peer in PEERS if any(results.has_run(row.id, p, peer) for row in rows for p in row.procs)]


def group_table(results, rows):
    peers = peers_in(results, rows)
    out = ["| | unit | P | " + " | ".join(PEERS[peer] for peer in peers) + " |", "|---|---|---|" + "---|" * len(peers)]
    for row in rows:
        for p in row.procs:
            middles = {peer: results.middle(row.id, p, peer, row.metric) for peer in peers}
            if all(value is None for value in middles.values()):
                continue
            best = min((value for peer, value in middles.items() if value is not None and peer != FLOOR), default=None)
            cells = []
            for peer in peers:
                text = number(middles[peer])
                if middles[peer] == best and peer != FLOOR:
                    text = f"**{text}**"
                ratio = None if peer == "weft" else results.to_peer(row.id, p, peer, row.metric)
                if ratio is not None:
                    rounds = f", n={ratio.rounds}" if ratio.rounds < results.rounds_of(row.id) else ""
                    text += f" <sub>{ratio}{rounds}</sub>"
                cells.append(text)
            title = f"{row.title} <sub>{row.note}</sub>" if row.note else row.title
            out.append(f"| {title if p == row.procs[0] else ''} | {row.unit} | {p} | " + " | ".join(cells) + " |")
    return out


def curve_table(results, curve):
    peers = [peer for peer in MAIN_PEERS
             if any(results.middle(row, 1, peer, metric) is not None for row, metric in curve.points.values())]
    out = ["| N | " + " | ".join(PEERS[peer] for peer in peers) + " |", "|---|" + "---|" * len(peers)]
    for n, (row, metric) in curve.points.items():
        out.append(f"| {n:,} | " + " | ".join(number(results.middle(row, 1, peer, metric)) for peer in peers) + " |")
    return out


def details_table(results, details):
    rows = [ROW[row] for row, _, _, _ in details]
    peers = peers_in(results, rows)
    out = ["| | unit | P | " + " | ".join(PEERS[peer] for peer in peers) + " |", "|---|---|---|" + "---|" * len(peers)]
    for row, metric, title, unit in details:
        for p in (1,) if "P=1" in title else ROW[row].procs:
            values = [results.middle(row, p, peer, metric) for peer in peers]
            if any(value is not None for value in values):
                out.append(f"| {title} | {unit} | {p} | " + " | ".join(map(number, values)) + " |")
    return out


def losses(results):
    out = []
    compared = [(row.id, row.metric, row.title) for row in ROWS] + [detail[:3] for details in DETAILS.values() for detail in details]
    for row, metric, title in compared:
        if metric in NOT_LESS:
            continue
        for p in (1,) if "P=1" in title else ROW[row].procs:
            slower = []
            for peer in PEERS:
                ratio = None if peer == "weft" else results.to_peer(row, p, peer, metric)
                if ratio is not None and float(factor(ratio.middle)) > 1:  # as it is printed, and will be read back
                    slower.append(f"{PEERS[peer]} {ratio}")
            if slower:
                out.append(f"- {title}, P={p}: against {'; '.join(slower)}")
    return out or ["- Nowhere in these tables."]


def scales(row):
    """Whether the same work is done at P=1 and P=2, and time is what is counted."""
    of_time = row.metric in ("ns_per_op", "us_per_op", "ms") and row.group != "rest"
    return of_time and row.procs == (1, 2) and not row.k_per_p and row.load is None


def scaling_section(results):
    """P=2 against P=1, row by row; first those that are slower."""
    rows = [row for row in ROWS if row.group != "curve" and scales(row)]
    of_weft = {row.id: results.between("weft", row.metric, (row.id, 2), (row.id, 1)) for row in rows}
    rows = [row for row in rows if of_weft[row.id] is not None]
    if not rows:
        return []
    slower = [row for row in rows if of_weft[row.id].middle > SCALING_LIMIT]
    steps = [row for row in rows if row.serial]

    def names(chosen):
        return "; ".join(f"{row.title} ({of_weft[row.id]})" for row in chosen) or "none"

    peers = [peer for peer in peers_in(results, rows) if peer != "weft"]
    out = [f"Time of an operation at P=2, divided by that at P=1. Above {SCALING_LIMIT}, the second P costs time. In {len(steps)} of",
           f"{len(rows)} rows each step waits for the one before (→). There, 1 is the best possible figure.", "",
           f"- Above {SCALING_LIMIT}, with →: {names([row for row in slower if row.serial])}.",
           f"- Above {SCALING_LIMIT}, without →: {names([row for row in slower if not row.serial])}.", "",
           "| | weft | " + " | ".join(PEERS[peer] for peer in peers) + " |", "|---|---|" + "---|" * len(peers)]
    for row in rows:
        others = [results.between(peer, row.metric, (row.id, 2), (row.id, 1)) for peer in peers]
        cells = " | ".join("—" if ratio is None else f"×{factor(ratio.middle)}" for ratio in others)
        ours = f"**{of_weft[row.id]}**" if row in slower else str(of_weft[row.id])
        out.append(f"| {row.title}{' →' if row.serial else ''} | {ours} | {cells} |")
    return out


# The page.

PEER_NOTES = """\
- **Go**: goroutines, channels, `select`, package `sync`, `time.AfterFunc`, default settings.
  - "GOGC=off" is the same program without garbage collection, where memory matters.
  - Go's stacks start at 2 KiB and grow by copying.
  - Its semaphore is a channel with room for one.
  - Where the number of cases is known only at run time, it uses `reflect.Select`.
  - It has no thread outside its scheduler that could wake an idle process.
  - System calls go through package `syscall`, which announces each of them to the scheduler. The cost
    of that is `Syscall` minus `RawSyscall`.
- **tokio**: stackless tasks on the multi-threaded runtime with P workers, link-time optimization, and
  mimalloc (with glibc's malloc, spawning takes twice as long). It has no I/O driver, and a time driver
  only where a row waits for time.
  - It has no rendezvous channel. Where the others are unbuffered it has an `mpsc` of capacity 1,
    whose send returns before the value is received.
  - Channels with several receivers are async-channel 1.9 (2.5 is slower).
  - Its mutex hands off in order. With Go's, Boost.Fiber's and weft's, a running task can lock first.
  - It uses `tokio::select!`, and `select_all` of futures-util where the number of cases is known only
    at run time.
  - Its timers count milliseconds and are futures: a first poll starts one, dropping it stops it. A
    timer that fires by itself is a task that sleeps.
  - It has no condition variable.
  - A task made ready goes to a slot of the waker's worker, from which others do not steal.
  - It is left out of the rows about blocking calls and hogs. Its tasks must do neither; it only has a
    pool of threads that calls are sent to.
- **Boost.Fiber**: `round_robin` and pooled stacks at P=1; `work_stealing` and a malloc that never trims
  at P=2. Its threads do not sleep when they have nothing to do. Stacks have 16 KiB and no guard pages.
  - A `buffered_channel` of capacity 128 holds 127 values.
  - Where a task forks, `launch::dispatch` starts the children.
  - A call that blocks, or a task that computes, delays its thread and what is queued there.
  - It has no select, no semaphore, no reader-writer lock, and no timers other than sleeping.
- **std::thread**: one OS thread for each task, held to P CPUs by affinity. Channels are a mutex and
  condition variables. It runs fewer operations, with at most 1000 threads.
- **oneTBB**: tasks of a `task_group`, which have no stack and wait only for their children. It is in
  the rows about fork and join only.
- **weft**: default stacks of 256 KiB with guard regions. Checks of arguments and states are on, as in
  every build. Fork and join use `weft::go` and a `wait_group`, as in Go. Rows of their own use
  `weft::scope`, which adds exceptions and cancellation.
- **Servers** (`bench/net/`): read, write back, read the next. Each connection has 8 KiB to read into
  (512 bytes where there are 10 000), and sends at once (no delay).
  - Go, tokio and weft have a goroutine, a task or a green thread for each connection.
  - **Boost.Asio** uses callbacks and one `io_context` for each thread. Connections are dealt out in
    turn and never move. That is its fastest form.
  - **raw epoll** is a loop for each thread on the system calls themselves, level-triggered, with
    connections dealt out in turn. It shows what the system takes. It is no peer, so it is never "the
    best peer".
  - HTTP is Boost.Beast over weft's sockets, Go's `net/http`, and hyper over tokio. All limit the size
    of the header and the time for it, and send a date and the same 14 bytes.
- The compilers' code multiplies the matrices: gcc and rustc use vector instructions, Go does not."""

METHOD = """\
- All programs do the same work and check its result: sums, counts, winners. The C++ programs share one
  source (`bench/workload/`). The Go and Rust programs follow it line by line (`bench/peers/`).
- Peers take turns within every round, so that a slow minute of the machine affects all of them. Times
  are medians over the rounds. "×0.31 (0.28–0.36)" is weft's time divided by the peer's in the same
  round: median (lowest–highest). Below 1, weft is faster. n is given where fewer rounds were run.
- P is the number of scheduler threads (GOMAXPROCS, tokio's workers, …). Every run is a process of its
  own. The timed part follows a warm-up in the same process; first-time costs have rows of their own.
  Only std::thread is pinned to CPUs.
- A run is repeated once if other processes or the hypervisor took more than 15 % of a core that it
  needed.
- Lateness and wake-ups are single measurements, of which percentiles are taken. Each contains two
  readings of the clock. In a virtual machine, a thread that the kernel must wake takes longest.
- Lateness counts from when an event was due, not from when it was first handled. Requests come at given
  moments even if earlier ones are late, and a sleeper wakes at multiples of 10 ms.
- Work of so many microseconds is hashing, calibrated at the start of each process, and not a reading of
  the clock. So a task that loses the core meanwhile must still do all of it.
- Blocking calls are `clock_nanosleep` with a timer slack of 1 ns, on the task's own thread. "Announced"
  means `weft::blocking`. Counting beside calls is compared with counting alone, 100 ms each in turns,
  in the same process.
- Runs of endless workloads are short. Requests come for 5 s. Tasks that start and end are measured for
  about 10 s after a warm-up of 1.5 s. The idle process is measured for 10 s after two seconds of rest,
  by a thread whose own share does not count.
- Futex calls are counted in a separate run under strace. That makes everything slower, so spinning ends
  in sleep more often there.
- A server has a process and a CPU of its own, and the client has another CPU. With two CPUs the server
  has one, also at P=2: then the row shows what a second P costs without a CPU for it, not what it
  gains. With more CPUs the server has P of them. In the rows "client on the same CPUs", neither is
  pinned.
- The client is one thread on epoll, and compares every byte (`bench/net/client/`). With a CPU of its own
  it never sleeps, so the server never pays for waking it, and answers are seen when they come.
- Requests of a given rate have random gaps (exponential). They are sent when they are due, even if
  earlier ones are late, and their time counts from then.
- The server's CPU time is that of all its threads, with the system's work for it, during the
  measurement. Its sleeps are the context switches that its threads asked for.
- System calls are counted by perf in a separate run under the same load. Where perf is missing or not
  permitted, strace counts them; everything is slower then, and more is done at once.
- On a machine like this one, differences below about 10 % mean nothing."""


def header(raw):
    """What was measured, when, and with what."""
    m, runs = raw["machine"], raw["runs"]
    versions = versions_of(raw)
    return [
        "| | |", "|---|---|",
        f"| date | {raw['date']} |",
        machine_line(m),
        f"| system | {m['system']}, Linux {m['kernel']}; huge pages: {m['thp']}; vm.max_map_count {m['max_map_count']} |",
        *(f"| {PEERS[peer]} | {versions[peer]} |" for peer in PEERS if peer in versions and peer != "go-nogc"),
        *(f"| {PEERS[peer]} | left out: {reason} |" for peer, reason in raw["missing"].items()),
        f"| rounds | {rounds_of(raw)} |",
    ]


def machine_line(m):
    return f"| machine | {m['cpu']}, {m['cores']} cores{', virtual machine' if m['virtual'] else ''}, {m['memory_gib']} GiB |"


def versions_of(raw):
    """{peer: what its programs were built from}, each thing once."""
    parts = {}
    for run in raw["runs"]:
        if not run["failure"]:
            parts.setdefault(run["peer"], {}).update(dict.fromkeys(run["line"]["version"].split(", ")))
    versions = {peer: ", ".join(names) for peer, names in parts.items()}
    if "weft" in versions:
        versions["weft"] = f"{raw['weft']}, {versions['weft']}"
    return versions


def rounds_of(raw):
    disturbed = sum(run["disturbed"] for run in raw["runs"])
    return f"{raw['rounds']}; {len(raw['runs'])} runs, {raw['retries']} repeated, {disturbed} kept although disturbed"


def added_line(results):
    """The line of the header that says which rows are younger than the rest."""
    raw = results.raw
    with_what = ", ".join(f"{PEERS[peer]} {version}" for peer, version in versions_of(raw).items() if peer != "go-nogc")
    names = ", ".join(f"`{row}`" for row in results.measured)
    return f"| {record.LATER} | {raw['date']}; {with_what}; rounds: {rounds_of(raw)}: {names} |"


def page(results):
    raw = results.raw
    out = [
        "# Benchmarks", "",
        "This page compares weft with Go, tokio, Boost.Fiber, std::thread, oneTBB and, over sockets, Boost.Asio",
        "and a bare event loop. All do the same work on one machine, in turns. `bench/run.py` writes",
        "this page" + (" in its **quick** form: fewer rounds of less work." if raw["quick"] else "; do not edit it."), "",
        *([*results.kept.header, added_line(results)] if results.kept.header else header(raw)),
        "",
    ]
    failures = results.kept.failures + [f"- {PEERS[run['peer']]}, {run['row']}, P={run['p']}: {run['failure']}"
                                        for run in raw["runs"] if run["failure"]]
    if failures:
        out += ["Failed runs:", "", *failures, ""]
    if raw["skipped"]:
        out += [f"Left out because of too little memory: {', '.join(raw['skipped'])}.", ""]

    out += ["## Targets", "", *targets_table(results), ""]
    out += ["## Where weft is slower, or larger", "", *losses(results), ""]
    for group, title in GROUPS.items():
        rows = [row for row in ROWS if row.group == group and results.has(row.id)]
        if group != "curve" and rows:
            out += [f"## {title}", "", f"![{title}](img/bench-{group}.svg)", "", *group_table(results, rows), ""]
    curves = [curve for curve in CURVES if any(results.has(row) for row, _ in curve.points.values())]
    if curves:
        out += [f"## {GROUPS['curve']}", "", "At P=1. The axes are logarithmic.", ""]
    for curve in curves:
        out += [f"### {curve.title}, {curve.unit}", "", f"![{curve.title}](img/bench-growth-{curve.id}.svg)", "",
                *curve_table(results, curve), ""]
        if curve.id == "bytes":
            out += ["The kernel counts memory in pages. Below a thousand tasks, most of the figure is the runtime's own.", ""]
    if section := scaling_section(results):
        out += ["## A second P", "", *section, ""]
    for title, details in DETAILS.items():
        table = details_table(results, details)
        if len(table) > 2:
            out += [f"## {title}", "", *table, ""]
    out += ["## Differences between the programs", "", PEER_NOTES, "", "## How this was measured", "", METHOD, "",
            "`./dev bench` or `bench/run.py` repeats all of it, `bench/run.py --only pingpong` one row.", ""]
    return "\n".join(out)


def charts(results):
    """{file name: SVG}"""
    out = {}
    for group, title in GROUPS.items():
        rows = []
        for row in ROWS:
            if row.group != group or group == "curve" or not results.has(row.id):
                continue
            by_p = {p: {peer: value for peer in PEERS
                        if (value := results.middle(row.id, p, peer, row.metric)) is not None} for p in row.procs}
            rows.append((row.title, row.unit, by_p))
        if rows:
            out[f"bench-{group}.svg"] = chart.bars(title, rows, PEERS, number)
    for curve in CURVES:
        series = {}
        for peer in MAIN_PEERS:
            points = {n: results.middle(row, 1, peer, metric) for n, (row, metric) in curve.points.items()}
            points = {n: value for n, value in points.items() if value is not None and value > 0}
            if points:
                series[peer] = points
        if series:
            out[f"bench-growth-{curve.id}.svg"] = chart.lines(curve.title, curve.unit, series, PEERS, number, curve.of)
    return out


def write(raw, folder, kept=None):
    """Writes the page, and the charts in img/ beside it, into the folder; returns their paths."""
    results = Results(raw, kept)
    images = folder / "img"
    images.mkdir(parents=True, exist_ok=True)
    for old in images.glob("bench-*.svg"):
        old.unlink()
    paths = [folder / "benchmarks.md"]
    paths[0].write_text(page(results), encoding="utf-8")
    for name, svg in charts(results).items():
        paths.append(images / name)
        paths[-1].write_text(svg, encoding="utf-8")
    return paths
