"""What is measured: the rows of the tables, the peers, and the figures that weft is held to."""

from dataclasses import dataclass, field

# Keys of results, and how the report calls them. The order is the order of every table.
PEERS = {
    "weft": "weft",
    "go": "Go",
    "go-nogc": "Go, GOGC=off",
    "tokio": "tokio",
    "boost": "Boost.Fiber",
    "std": "std::thread",
}
MAIN_PEERS = ("weft", "go", "tokio", "boost")
ALL_PEERS = (*MAIN_PEERS, "std")
WITH_GC_OFF = ("weft", "go", "go-nogc", "tokio", "boost")

EVERY_ROUND = 1_000_000


@dataclass(frozen=True)
class Row:
    id: str
    title: str
    group: str
    workload: str
    n: int
    k: int = 1
    cap: int = 0
    metric: str = "ns_per_op"
    unit: str = "ns"
    procs: tuple = (1, 2)
    peers: tuple = ALL_PEERS
    n_for: dict = field(default_factory=dict)  # peer: a smaller n, where one operation takes long
    rounds_for: dict = field(default_factory=dict)  # peer: fewer rounds, where one run takes long
    rounds: int = EVERY_ROUND
    memory_gib: float = 1.0
    quick_rounds: int = EVERY_ROUND
    note: str = ""

    @property
    def heavy(self) -> bool:
        return self.quick_rounds == 1


GROUPS = {
    "yield": "Taking turns",
    "spawn": "Starting and ending",
    "channel": "Channels and the mutex",
    "program": "Whole programs",
    "curve": "Growth with the number of green threads",
}

MILLION = 1_000_000
# At P=2 Boost.Fiber moves a message between threads, and a thread is always slow at it.
SLOW_HOPS = {"boost": 300_000, "std": 10_000}

ROWS = [
    # Taking turns.
    Row("yield-2", "yield, 2 tasks", "yield", "yield", 5 * MILLION, k=2, n_for={"std": 200_000}),
    Row("yield-10", "yield, 10 tasks", "yield", "yield", 5 * MILLION, k=10, n_for={"std": 200_000}),
    Row("yield-1000", "yield, 1000 tasks", "yield", "yield", 4 * MILLION, k=1000, n_for={"std": 200_000}),
    Row("yield-1e4", "yield, 10 000 tasks", "yield", "yield", 2 * MILLION, k=10_000, peers=MAIN_PEERS),
    Row("yield-1e5", "yield, 100 000 tasks", "yield", "yield", 2 * MILLION, k=100_000, peers=MAIN_PEERS,
        rounds_for={"boost": 3}),
    Row("yield-1e6", "yield, 1 000 000 tasks", "yield", "yield", 4 * MILLION, k=MILLION, peers=MAIN_PEERS,
        rounds_for={"boost": 2, "tokio": 3}, memory_gib=9, quick_rounds=1),
    # Starting and ending.
    Row("spawn_join", "spawn + join, one by one", "spawn", "spawn_join", MILLION, n_for={"std": 5_000}),
    Row("spawn_batch-1000", "spawn 1000, join all: per task", "spawn", "spawn_batch", MILLION, k=1000,
        n_for={"std": 10_000}),
    Row("spawn_batch-1e6", "spawn 1 000 000, join all: per task", "spawn", "spawn_batch", MILLION, k=MILLION,
        peers=WITH_GC_OFF, rounds_for={"boost": 2, "go-nogc": 3}, memory_gib=9, quick_rounds=1),
    Row("spawn_block-1e6", "1 000 000 park on a channel, close wakes them: per task", "spawn", "spawn_block", MILLION,
        peers=WITH_GC_OFF, rounds_for={"boost": 2, "go-nogc": 3}, memory_gib=9, quick_rounds=1),
    # Channels and the mutex.
    Row("pingpong-0", "unbuffered round trip", "channel", "pingpong", MILLION, n_for=SLOW_HOPS,
        note="tokio: capacity 1"),
    Row("pingpong-1", "round trip, capacity 1", "channel", "pingpong", MILLION, cap=1, n_for=SLOW_HOPS),
    Row("stream-0", "stream, unbuffered: per message", "channel", "mpmc", MILLION, n_for=SLOW_HOPS,
        note="tokio: capacity 1"),
    Row("stream-1", "stream, capacity 1: per message", "channel", "mpmc", MILLION, cap=1, n_for=SLOW_HOPS),
    Row("stream-128", "stream, capacity 128: per message", "channel", "mpmc", 5 * MILLION, cap=128,
        n_for={"std": 500_000}, note="Boost.Fiber: 127 slots"),
    Row("mpmc-4", "4 senders, 4 receivers, capacity 128: per message", "channel", "mpmc", 4 * MILLION, k=4, cap=128,
        n_for={"std": 200_000}, note="tokio: async-channel"),
    Row("mpmc-64", "64 senders, 64 receivers, capacity 128: per message", "channel", "mpmc", 4 * MILLION, k=64, cap=128,
        n_for={"std": 100_000}, note="tokio: async-channel"),
    Row("mutex-8", "mutex shared by 8: lock + unlock", "channel", "mutex", 4 * MILLION, k=8,
        note="tokio hands over in order; the others let a newcomer in first"),
    # Whole programs.
    Row("sieve", "prime sieve, 2000 primes", "program", "sieve", 17_389, metric="ms", unit="ms", peers=MAIN_PEERS,
        note="tokio: capacity 1"),
    Row("ring", "thread ring of 503: per hop", "program", "ring", 2 * MILLION, k=503, n_for=SLOW_HOPS,
        note="tokio: capacity 1"),
    Row("skynet", "skynet, 1 000 000 leaves", "program", "skynet", MILLION, metric="ms", unit="ms", peers=WITH_GC_OFF,
        rounds_for={"boost": 2, "go-nogc": 3}, memory_gib=9, quick_rounds=1, note="tokio: capacity 1"),
    # Only for the growth curves; the points that are missing here are rows above.
    *(Row(f"yield-curve-{k}", f"yield, {k} tasks", "curve", "yield", 2 * MILLION, k=k, procs=(1,), peers=MAIN_PEERS,
          rounds=3, quick_rounds=1) for k in (1, 100)),
    *(Row(f"spawn-curve-{k}", f"spawn {k}, join all: per task", "curve", "spawn_batch", MILLION, k=k, procs=(1,),
          peers=MAIN_PEERS, rounds=3, quick_rounds=1) for k in (1, 10, 100, 10_000, 100_000)),
    *(Row(f"bytes-curve-{n}", f"{n} parked tasks: bytes each", "curve", "spawn_block", n, metric="parked_bytes",
          unit="B", procs=(1,), peers=MAIN_PEERS, rounds=3, quick_rounds=1) for n in (1, 10, 100, 1000, 10_000, 100_000)),
]


@dataclass(frozen=True)
class Curve:
    id: str
    title: str
    unit: str
    points: dict  # number of tasks: (row id, metric)


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
]

# Further metrics of a row, shown in a table of their own.
DETAILS = [
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
]


@dataclass(frozen=True)
class Target:
    """weft's metric in a row against `limit` times what it is compared with.

    against: a peer's key; "best" for the fastest peer in each round; "self:ROW" for weft in another row;
    "P=1" for weft's own P=1, measured at P=2; "" when limit is the figure itself.
    """

    text: str
    row: str
    limit: float
    against: str
    metric: str = "ns_per_op"
    procs: tuple = (1, 2)


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
    for row, what in (("yield-2", "yield, 2 Gs"), ("yield-10", "yield, 10 Gs"), ("yield-1000", "yield, 1000 Gs"),
                      ("spawn_join", "spawn + join"), ("pingpong-0", "unbuffered round trip"),
                      ("pingpong-1", "round trip, capacity 1"), ("ring", "thread ring")):
        yield Target(f"P=2 ≤ 1.15 × P=1: {what}", row, 1.15, "P=1", procs=(2,))
    yield Target("G that has not run ≤ 256 B + its closure (8 B)", "spawn_batch-1e6", 264, "", metric="unstarted_bytes",
                 procs=(1,))
    yield Target("parked G ≤ 4416 B resident", "spawn_block-1e6", 4416, "", metric="parked_bytes")


TARGETS = list(_targets())
