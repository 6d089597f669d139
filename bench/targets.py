"""The figures that weft is held to."""

from dataclasses import dataclass

from rows import FORKS, ROWS


@dataclass(frozen=True)
class Target:
    """weft's metric in a row against `limit` times what it is compared with.

    against: a peer's key; "best" for the fastest peer in each round, other than the floor; "self:ROW" for weft in another row;
    "P=1" for weft's own P=1, measured at P=2; "" when limit is the figure itself, in `unit`.
    """

    text: str
    row: str
    limit: float
    against: str
    metric: str = "ns_per_op"
    procs: tuple = (1, 2)
    unit: str = "B"
    in_every_run: bool = False  # the worst round counts, not the middle one; with against = ""


# Shorter than the row's title.
PLAIN = {"yield-2": "yield, 2 Gs", "yield-10": "yield, 10 Gs", "yield-1000": "yield, 1000 Gs", "spawn_join": "spawn + join",
         "ring": "thread ring"}


def _targets():
    for row, tasks in (("yield-2", "2"), ("yield-10", "10"), ("yield-1000", "1000")):
        yield Target(f"yield, {tasks} Gs ≤ 0.4 × Go", row, 0.4, "go")
        yield Target(f"yield, {tasks} Gs ≤ 0.4 × Boost.Fiber", row, 0.4, "boost")
    yield Target("spawn + join ≤ 0.15 × Go", "spawn_join", 0.15, "go")
    yield Target("spawn + join ≤ 0.5 × tokio", "spawn_join", 0.5, "tokio")
    yield Target("unbuffered round trip ≤ 0.25 × Go", "pingpong-0", 0.25, "go")
    yield Target("unbuffered round trip ≤ 0.45 × tokio", "pingpong-0", 0.45, "tokio")
    yield Target("buffered message ≤ 0.4 × Go", "stream-128", 0.4, "go")
    yield Target("4 × 4 on one channel ≤ the best peer", "mpmc-4", 1.0, "best")
    yield Target("64 × 64 on one channel ≤ the best peer", "mpmc-64", 1.0, "best")
    yield Target("skynet ≤ 0.25 × Go", "skynet", 0.25, "go", metric="ms")
    yield Target("skynet ≤ 0.6 × tokio", "skynet", 0.6, "tokio", metric="ms")
    yield Target("1e6 parked, create + release, warm ≤ 0.3 × Go", "spawn_block-1e6", 0.3, "go")
    yield Target("yield among 1e6 ≤ 8 × among 1e3", "yield-1e6", 8.0, "self:yield-1000")
    yield Target("yield among 1e6 ≤ 0.1 × Go", "yield-1e6", 0.1, "go")
    for row in ROWS:
        if row.serial:
            what = PLAIN.get(row.id, row.title.split(": ")[0])
            yield Target(f"P=2 ≤ 1.15 × P=1: {what}", row.id, 1.15, "P=1", metric=row.metric, procs=(2,))
    yield Target("G that has not run ≤ 256 B + its closure (8 B)", "spawn_batch-1e6", 264, "", metric="unstarted_bytes",
                 procs=(1,))
    yield Target("parked G ≤ 4416 B resident", "spawn_block-1e6", 4416, "", metric="parked_bytes")
    yield Target("select, one ready ≤ 0.6 × Go", "select-ready", 0.6, "go")
    yield Target("select among 4, all empty ≤ 0.6 × Go", "select-block", 0.6, "go")
    yield Target("select among 4, all empty ≤ 0.5 × the best peer", "select-block", 0.5, "best")
    yield Target("select with a default ≤ 1.2 × Go", "select-default-1", 1.2, "go")
    yield Target("select among 1024, per case ≤ Go", "select-width-1024", 1.0, "go", metric="case_ns", procs=(1,))
    yield Target("mutex, uncontended ≤ Go", "mutex-1", 1.0, "go", procs=(1,))
    yield Target("mutex shared by 8 ≤ Go", "mutex-8", 1.0, "go")
    yield Target("mutex shared by 64 ≤ Go", "mutex-64", 1.0, "go")
    yield Target("condition variable ≤ 0.5 × Go", "cond", 0.5, "go")
    for workload, title, *_ in FORKS[:3]:
        yield Target(f"{title} ≤ 0.12 × Go", workload, 0.12, "go", metric="ms")
        yield Target(f"{title} ≤ 0.8 × oneTBB", workload, 0.8, "tbb", metric="ms")
    yield Target("start and stop a timer, none pending ≤ 0.15 × Go", "timer-add-0", 0.15, "go", procs=(1,))
    yield Target("start and stop a timer, 1e6 pending ≤ 0.15 × Go", "timer-add-1e6", 0.15, "go", procs=(1,))
    yield Target("the same among 1e7 ≤ 2 × among 1", "timer-add-1e7", 2.0, "self:timer-add-stop-curve-1", procs=(1,))
    yield Target("reset one of 1e6 timers ≤ 0.6 × Go", "timer-reset-1e6", 0.6, "go", procs=(1,))
    yield Target("1e6 timers fire, late by at p99 ≤ 1 ms", "timer-fire-1e6", 1000, "", metric="p99_us", unit="µs")
    yield Target("sleep 100 µs, late by at p50 ≤ 60 µs", "sleep-100us", 60, "", metric="p50_us", procs=(1,), unit="µs")
    yield Target("the same ≤ 0.06 × Go", "sleep-100us", 0.06, "go", metric="p50_us", procs=(1,))
    yield Target("50 short sleepers, CPU ≤ 2 × Go", "sleep-50-tasks", 2.0, "go", metric="cpu_percent")
    yield Target("the same with 1 ms of timer slack ≤ Go", "sleep-50-tasks-slack", 1.0, "go", metric="cpu_percent")
    yield Target("wake-up, the waker parks ≤ 0.6 × Go", "wake-same", 0.6, "go", metric="p50_ns", procs=(1,))
    yield Target("wake-up, the waker parks, at p99 ≤ 0.6 × Go", "wake-same", 0.6, "go", metric="p99_ns", procs=(1,))
    yield Target("wake-up, the other has just parked ≤ 0.6 × Go", "wake-spinning", 0.6, "go", metric="p50_ns", procs=(2,))
    yield Target("wake-up, the waker keeps running ≤ 0.6 × Go", "wake-busy", 0.6, "go", metric="p50_ns", procs=(2,))
    yield Target("wake-up, the other has just parked, at p99 ≤ 0.6 × Go", "wake-spinning", 0.6, "go", metric="p99_ns", procs=(2,))
    yield Target("wake-up, the waker keeps running, at p99 ≤ 0.6 × Go", "wake-busy", 0.6, "go", metric="p99_ns", procs=(2,))
    yield Target("wake-up, all asleep ≤ 1.15 × std::thread", "wake-idle", 1.15, "std", metric="p50_ns")
    for n in ("2", "64", "1e4"):
        yield Target(f"a close wakes {n} ≤ 0.8 × Go", f"fan-out-{n}", 0.8, "go", metric="p50_us", procs=(2,))
        yield Target(f"a close wakes {n}: OS threads woken ≤ P", f"fan-out-{n}", 2, "", metric="os_wakes", procs=(2,), unit="")
    yield from _promises()
    yield from _servers()
    for row in ROWS:
        if row.group == "cforall":
            yield Target(f"{row.id} ≤ Go", row.id, 1.0, "go", metric=row.metric, procs=row.procs)
        if row.group == "savina":
            yield Target(f"{row.id} ≤ 0.6 × Go", row.id, 0.6, "go")
    yield Target("a wait beside 1e5 others ≤ 2 × beside one", "withdraw-curve-100000", 2.0, "self:withdraw-curve-1", procs=(1,))


def _promises():
    """No task delays the others, and an idle process costs nothing."""
    yield Target("announcing a call costs ≤ 10 ns", "call-guard", 10, "", metric="guard_ns", unit="ns")
    yield Target("the same ≤ 0.2 × Go", "call-guard", 0.2, "go", metric="guard_ns")
    yield Target("entering the runtime and leaving it ≤ 1 ns", "entry", 1, "", procs=(1,), unit="ns")
    yield Target("a call of 50 µs and a runnable G ≤ 0.5 × Go: until both are done", "call-wait", 0.5, "go", metric="p50_us")
    yield Target("a call of 50 µs and a runnable G ≤ 0.5 × Go: until that G runs", "call-wait", 0.5, "go", metric="other_p50_us")
    for row, what in (("50us", "50 µs"), ("5ms", "5 ms")):
        yield Target(f"counting beside calls of {what}: ≥ 95 % kept", f"call-count-{row}", 1 / 0.95, "", metric="slowdown",
                     unit="× as long")
        yield Target(f"counting beside calls of {what}, not announced: as much kept as in Go", f"call-count-{row}-undeclared", 1.0, "go",
                     metric="slowdown")
    for suffix, how, limit_ms in (("", "", 35), ("-undeclared", ", not announced", 60)):
        yield Target(f"64 calls of 10 ms{how}, beside computing, all done ≤ {limit_ms} ms", f"call-crowd-64{suffix}", limit_ms, "",
                     metric="p50_ms", procs=(1,), unit="ms")
        yield Target(f"64 calls of 10 ms{how}, never one after the other: < 600 ms in each round", f"call-crowd-64{suffix}", 600, "",
                     metric="max_ms", procs=(1,), unit="ms", in_every_run=True)
    yield Target("a sleeper beside a hog for each P, late by at p50 ≤ 0.5 ms", "hog-sleeper", 500, "", metric="p50_us", unit="µs")
    yield Target("the same at p99 ≤ 11 ms", "hog-sleeper", 11_000, "", metric="p99_us", unit="µs")
    yield Target("requests of 2 µs beside a hog, p99 ≤ 0.5 × Go", "hog-tail", 0.5, "go", metric="p99_us", procs=(2,))
    yield Target("requests of 2 µs beside a hog, p99 ≤ a slice of 10 ms", "hog-tail", 10_000, "", metric="p99_us", procs=(1,), unit="µs")
    yield Target("100 000 come and go: resident memory grows by ≤ 2 %", "lifetimes", 2, "", metric="drift_percent", unit="%")
    yield Target("100 000 come and go: starting one at p99.9 ≤ 0.5 × Go", "lifetimes", 0.5, "go", metric="spawn_p999_ns")
    yield Target("an idle process: no context switches", "idle", 0, "", metric="switches_per_s", unit="/s")
    yield Target("an idle process: CPU < 0.1 %", "idle", 0.1, "", metric="cpu_percent", unit="%")


def _servers():
    """As cheap as an event loop."""
    for row, what in (("echo-open-50", "50"), ("echo-open-1000", "1000")):
        cpu = f"echo, {what} connections, 50 000/s: server's CPU time per request"
        yield Target(f"{cpu} ≤ 1.1 × raw epoll", row, 1.1, "epoll", metric="cpu_us")
        yield Target(f"{cpu} ≤ the best peer", row, 1.0, "best", metric="cpu_us")
        yield Target(f"{cpu} ≤ 0.8 × Go", row, 0.8, "go", metric="cpu_us")
    yield Target("echo, 1000 connections, 50 000/s: p99 ≤ the best peer", "echo-open-1000", 1.0, "best", metric="p99_us")
    for row, what in (("echo-50", "50 connections, as fast as it goes"), ("echo-open-50", "50 connections, 50 000/s"),
                      ("echo-open-1000", "1000 connections, 50 000/s")):
        yield Target(f"echo, {what}: system calls per request ≤ 2.1", row, 2.1, "", metric="syscalls", unit="")
    yield Target("echo, 100 connections: time per request ≤ 0.6 × Go", "echo-100", 0.6, "go", metric="us_per_op", procs=(2,))
    yield Target("echo, 100 connections: time per request ≤ tokio", "echo-100", 1.0, "tokio", metric="us_per_op")
    yield Target("10 000 connections: resident memory ≤ 6 KiB each", "idle-conns-1e4", 6144, "", metric="bytes_per_conn")
    yield Target("10 000 connections, 1 % active: p50 ≤ 1.1 × that of 100 alone", "idle-conns-1e4", 1.1, "self:idle-conns-100", metric="p50_us")
    yield Target("10 000 connections, 1 % active: p99 ≤ 1.1 × that of 100 alone", "idle-conns-1e4", 1.1, "self:idle-conns-100", metric="p99_us")
    yield Target("10 000 connections, idle: CPU ≤ 0.1 %", "idle-conns-1e4", 0.1, "", metric="idle_cpu_percent", unit="%")
    # 1.5 times the requests are a share of 1 / 1.5 of the time.
    yield Target("HTTP, 64 connections: requests per second ≥ 1.5 × Go (as time: ≤ 0.67)", "http-64", 1 / 1.5, "go", metric="us_per_op")


TARGETS = list(_targets())
