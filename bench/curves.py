"""What is shown of rows beside their tables: growth curves, and further metrics."""

from dataclasses import dataclass

from rows import CALLERS, FORKS, MILLION, SECONDS, WAITERS, WIDTHS
from socket_rows import SOCKET_DETAILS


@dataclass(frozen=True)
class Curve:
    id: str
    title: str
    unit: str
    points: dict  # number of tasks, or of what `of` says: (row id, metric)
    of: str = "tasks"


CURVES = [
    Curve("yield", "One yield among N tasks", "ns", {
        1: ("yield-curve-1", "ns_per_op"), 10: ("yield-10", "ns_per_op"), 100: ("yield-curve-100", "ns_per_op"),
        1000: ("yield-1000", "ns_per_op"), 10_000: ("yield-1e4", "ns_per_op"), 100_000: ("yield-1e5", "ns_per_op"),
        MILLION: ("yield-1e6", "ns_per_op")}),
    Curve("spawn", "Starting and joining one of N tasks (warm)", "ns", {
        1: ("spawn-curve-1", "ns_per_op"), 10: ("spawn-curve-10", "ns_per_op"), 100: ("spawn-curve-100", "ns_per_op"),
        1000: ("spawn_batch-1000", "ns_per_op"), 10_000: ("spawn-curve-10000", "ns_per_op"),
        100_000: ("spawn-curve-100000", "ns_per_op"), MILLION: ("spawn_batch-1e6", "ns_per_op")}),
    Curve("bytes", "Resident memory of one of N parked tasks", "B", {
        **{n: (f"bytes-curve-{n}", "parked_bytes") for n in (1, 10, 100, 1000, 10_000, 100_000)},
        MILLION: ("spawn_block-1e6", "parked_bytes")}),
    Curve("select-width", "Select, per case, among N channels of which one is ready", "ns",
          {k: (f"select-width-{k}", "case_ns") for k in WIDTHS}, of="cases"),
    *(Curve(f"timer-{short}", title, "ns", {
        **{n: (f"timer-{long}-curve-{n}", "ns_per_op") for n in (1, 10, 100)}, 1000: (f"timer-{short}-1e3", "ns_per_op"),
        10_000: (f"timer-{long}-curve-10000", "ns_per_op"), 100_000: (f"timer-{short}-1e5", "ns_per_op"),
        MILLION: (f"timer-{short}-1e6", "ns_per_op"), 10 * MILLION: (f"timer-{short}-1e7", "ns_per_op")}, of="pending timers")
      for short, long, title in (("add", "add-stop", "Starting and stopping a timer while N are pending"),
                                 ("reset", "reset", "Resetting one of N timers"))),
    Curve("timer-fire", "CPU time for one of N timers that fire, a million in a second", "ns", {
        **{n: (f"timer-fire-curve-{n}", "fire_ns") for n in (1, 10, 100, 1000, 10_000, 100_000, 10 * MILLION)},
        MILLION: ("timer-fire-1e6", "fire_ns")}, of="timers"),
    *(Curve(f"waiters-{metric}", title, "ns", {k: (f"waiters-curve-{k}", f"{metric}_ns") for k in WAITERS}, of="waiters")
      for metric, title in (("send", "A send to each of N waiters of a channel"), ("recv", "A receive from each of N waiters"),
                            ("close", "A close, for each of N waiters"))),
    Curve("call-crowd", "N calls that block for 10 ms, beside a task that computes: until all are done", "ms", {
        k: (f"call-crowd-{'' if k == 64 else 'curve-'}{k}", "p50_ms") for k in CALLERS}, of="calls"),
    Curve("after-burst", "Resident memory N seconds after 300 000 tasks that had parked have ended", "MiB",
          {s: ("after-burst", f"mib_at_{s}") for s in SECONDS}, of="seconds"),
    Curve("withdraw", "A select that waits on a channel beside N others, and is served by another channel", "ns",
          {k: (f"withdraw-curve-{k}", "ns_per_op") for k in WAITERS}, of="waiters"),
]

# Further metrics of rows, in tables of their own.
MEMORY_DETAILS = [
    ("spawn_block-1e6", "create_ns", "1 000 000 parked, warm: create, per task", "ns"),
    ("spawn_block-1e6", "release_ns", "1 000 000 parked, warm: release, per task", "ns"),
    ("spawn_block-1e6", "cold_create_ns", "1 000 000 parked, first time in the process: create", "ns"),
    ("spawn_block-1e6", "cold_release_ns", "1 000 000 parked, first time in the process: release", "ns"),
    ("spawn_block-1e6", "parked_bytes", "resident memory of a parked task", "B"),
    ("spawn_block-1e6", "page_table_bytes", "its page tables, beside that", "B"),
    ("spawn_batch-1e6", "cold_ns", "1 000 000 spawned, first time in the process: per task", "ns"),
    ("spawn_batch-1e6", "unstarted_bytes", "resident memory of a task that has not run (P=1)", "B"),
    ("spawn_batch-1e6", "peak_mib", "peak memory of a million tasks that start and end", "MiB"),
    ("skynet", "cold_ms", "skynet, first time in the process", "ms"),
    ("skynet", "peak_mib", "peak memory of skynet", "MiB"),
    *((workload, "peak_mib", f"peak memory of {title}", "MiB") for workload, title, *_ in FORKS[:3]),
]
FAIRNESS_DETAILS = [
    *((row, metric, f"{what}: {title}", unit) for row, what in (("mutex-64", "mutex shared by 64"), ("mutex-64-1us", "held for 1 µs"))
      for metric, title, unit in (("max_wait_us", "longest wait", "µs"), ("share_spread", "largest minus smallest share, in fair shares", ""))),
    *((workload, "core_ns", f"{title}: P × time for each task", "ns") for workload, title, *_ in FORKS[:3]),
    *(("timer-fire-1e6", metric, f"1 000 000 timers: {title}", unit) for metric, title, unit in (
        ("p50_us", "late by, p50", "µs"), ("p999_us", "late by, p99.9", "µs"), ("cpu_s", "CPU time", "s"),
        ("arm_ns", "to start one", "ns"))),
    *((f"sleep-{us}us", "p99_us", f"sleep {us} µs: late by, p99", "µs") for us in (50, 100, 500, 2000)),
    ("sleep-50-tasks", "wakes_per_s", "50 tasks sleep: sleeping OS threads woken, per second", ""),
    *((row, metric, f"{what}, {title}", "ns") for row, what in (
        ("wake-same", "the waker parks"), ("wake-spinning", "the other has just parked"), ("wake-busy", "the waker keeps running"),
        ("wake-idle", "all asleep"))
      for metric, title in (("p99_ns", "p99"), ("p999_ns", "p99.9"))),
    *((f"fan-out-{n}", metric, f"a close wakes {n}: {title}", unit) for n in ("2", "64", "1e4") for metric, title, unit in (
        ("p99_us", "until the last runs, p99", "µs"), ("os_wakes", "sleeping OS threads woken by it", ""),
        ("futexes", "futex calls, with starting and parking them, under strace", ""))),
]
DECLARED_OR_NOT = (("", ""), ("-undeclared", ", not announced"))
CALL_DETAILS = [
    ("call-guard", "raw_ns", "the system call itself", "ns"),
    *((f"call-wait{suffix}", metric, f"a call of 50 µs{how}: {title}", "µs") for suffix, how in DECLARED_OR_NOT
      for metric, title in (("p99_us", "until both are done, p99"), ("other_p50_us", "until the other runs, p50"),
                            ("other_p99_us", "until the other runs, p99"))),
    *((f"call-count-{name}{suffix}", metric, f"calls of {what}{how}: {title}", unit)
      for name, what in (("50us", "50 µs"), ("5ms", "5 ms")) for suffix, how in DECLARED_OR_NOT
      for metric, title, unit in (("call_p50_us", "from call to resumption, p50", "µs"), ("calls_per_s", "calls made, per second", ""),
                                  ("new_threads", "threads created", ""))),
    *((f"call-crowd-64{suffix}", metric, f"64 calls{how}: {title}", unit) for suffix, how in DECLARED_OR_NOT
      for metric, title, unit in (("max_ms", "the slowest round of 7", "ms"), ("threads", "threads of the process", ""))),
    *(("hog-sleeper", metric, f"a sleeper beside hogs: late by, {title}", "µs") for metric, title in (
        ("p99_us", "p99"), ("max_us", "at most"))),
    *(("hog-tail", metric, f"beside a hog: {title}", unit) for metric, title, unit in (
        ("p50_us", "requests of 2 µs, p50", "µs"), ("p999_us", "requests of 2 µs, p99.9", "µs"),
        ("long_p50_us", "requests of 2 ms, p50", "µs"), ("requests_per_s", "requests served, per second", ""),
        ("hog_share", "what the hog computes, in cores", ""))),
    *(("lifetimes", metric, f"100 000 come and go: {title}", unit) for metric, title, unit in (
        ("spawn_p50_ns", "starting one, p50", "ns"), ("spawn_p999_ns", "starting one, p99.9", "ns"),
        ("start_p50_ns", "until it runs, p50", "ns"), ("start_p999_ns", "until it runs, p99.9", "ns"),
        ("lives_per_s", "lives, per second", ""), ("resident_mib", "resident memory", "MiB"),
        ("drift_percent", "resident memory at the end, against after the warm-up", "%"))),
    ("idle", "cpu_percent", "idle process: CPU time", "%"),
    *(("after-burst", metric, f"300 000 have parked: {title}", "MiB") for metric, title in (
        ("before_mib", "resident before"), ("peak_mib", "resident while they park"), ("page_table_mib", "page tables 15 s after the end"))),
    ("oscillate", "resident_mib", "100 000 every 100 ms: resident memory between", "MiB"),
]
# More is better, or neither: not compared.
NOT_LESS = {"calls_per_s", "requests_per_s", "lives_per_s", "hog_share", "raw_ns"}
DETAILS = {"Memory, and first-time costs": MEMORY_DETAILS, "Lateness and fairness": FAIRNESS_DETAILS,
           "Blocking calls, hogs, and memory over time": CALL_DETAILS, "Servers: latency, system calls, sleep": SOCKET_DETAILS}
