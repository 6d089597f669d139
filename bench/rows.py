"""What is measured: the rows of the tables."""

from row import MAIN_PEERS, Row
from socket_rows import SOCKET_ROWS

WITH_GC_OFF = ("weft", "go", "go-nogc", "tokio", "boost")
WITH_SELECT = ("weft", "go", "tokio")
WITH_TIMERS = ("weft", "go", "tokio")
WITH_SHARED_LOCK = ("weft", "go", "tokio", "std")
WITH_SEMAPHORE = ("weft", "go", "tokio", "std")
WITH_CONDITION = ("weft", "go", "boost", "std")
WITH_OUTSIDE = ("weft", "tokio", "boost", "std")
WITH_FORKS = ("weft", "go", "tokio", "boost", "tbb")
WITH_CALLS = ("weft", "go", "boost", "std")
WITH_OTHERS = ("weft", "go", "std")  # in Boost.Fiber there are none beside a call
WITH_DECLARED_CALLS = ("weft", "go")
WITH_MANY_SLEEPERS = ("weft", "go", "boost")

GROUPS = {
    "yield": "Yield",
    "spawn": "Starting and ending",
    "channel": "Channels",
    "select": "Select",
    "lock": "Locks and conditions",
    "fork": "Fork and join",
    "timer": "Timers and sleep",
    "wake": "From a wake-up to running",
    "call": "Blocking calls",
    "hog": "Beside tasks that never yield",
    "rest": "Task lifetimes and idle processes",
    "echo": "Echo servers",
    "idle-conns": "Ten thousand connections",
    "http": "HTTP",
    "program": "Whole programs",
    "cforall": "Scheduler stress: five programs of Cforall",
    "savina": "Actors: five of Savina",
    "curve": "Growth",
}

MILLION = 1_000_000
FORKS = (("fib", "fib(30)", 30, ""), ("nqueens", "12 queens", 12, ""), ("uts", "unbalanced tree, 770 000 nodes", 11, ""),
         ("matmul", "512 × 512 matrices", 512, "mostly the compilers'"))
WAITERS = (1, 10, 100, 1000, 10_000, 100_000)
WIDTHS = (1, 4, 16, 64, 256, 1024)
# How many timers are pending, and how seldom that is measured.
PENDING = (("0", 0, {}), ("1e3", 1000, {}), ("1e5", 100_000, {}), ("1e6", MILLION, {"rounds": 3, "memory_gib": 2}),
           ("1e7", 10 * MILLION, {"rounds": 2, "quick_rounds": 1, "memory_gib": 8}))
CALLERS = (1, 4, 16, 64, 256)
SECONDS = (1, 2, 3, 4, 5, 6, 8, 10, 15)  # at which memory is looked at after a burst
SELDOM = {"rounds": 3, "quick_rounds": 1}
UNDECLARED = ("weft", "go")
# At P=2 Boost.Fiber moves a message between threads, and a thread is always slow at it.
SLOW_HOPS = {"boost": 300_000, "std": 10_000}

ROWS = [
    # Taking turns.
    Row("yield-2", "yield, 2 tasks", "yield", "yield", 5 * MILLION, k=2, n_for={"std": 200_000}, serial=True),
    Row("yield-10", "yield, 10 tasks", "yield", "yield", 5 * MILLION, k=10, n_for={"std": 200_000}, serial=True),
    Row("yield-1000", "yield, 1000 tasks", "yield", "yield", 4 * MILLION, k=1000, n_for={"std": 200_000}, serial=True),
    Row("yield-1e4", "yield, 10 000 tasks", "yield", "yield", 2 * MILLION, k=10_000, peers=MAIN_PEERS),
    Row("yield-1e5", "yield, 100 000 tasks", "yield", "yield", 2 * MILLION, k=100_000, peers=MAIN_PEERS,
        rounds_for={"boost": 3}),
    Row("yield-1e6", "yield, 1 000 000 tasks", "yield", "yield", 4 * MILLION, k=MILLION, peers=MAIN_PEERS,
        rounds_for={"boost": 2, "tokio": 3}, memory_gib=9, quick_rounds=1),
    # Starting and ending.
    Row("spawn_join", "spawn + join, one by one", "spawn", "spawn_join", MILLION, n_for={"std": 5_000}, serial=True),
    Row("spawn_batch-1000", "spawn 1000, join all: per task", "spawn", "spawn_batch", MILLION, k=1000,
        n_for={"std": 10_000}),
    Row("spawn_batch-1e6", "spawn 1 000 000, join all: per task", "spawn", "spawn_batch", MILLION, k=MILLION,
        peers=WITH_GC_OFF, rounds_for={"boost": 2, "go-nogc": 3}, memory_gib=9, quick_rounds=1),
    Row("spawn_block-1e6", "1 000 000 park on a channel, close wakes them: per task", "spawn", "spawn_block", MILLION,
        peers=WITH_GC_OFF, rounds_for={"boost": 2, "go-nogc": 3}, memory_gib=9, quick_rounds=1),
    # Channels and the mutex.
    Row("pingpong-0", "unbuffered round trip", "channel", "pingpong", MILLION, n_for=SLOW_HOPS,
        note="tokio: capacity 1", serial=True),
    Row("pingpong-1", "round trip, capacity 1", "channel", "pingpong", MILLION, cap=1, n_for=SLOW_HOPS, serial=True),
    Row("stream-0", "stream, unbuffered: per message", "channel", "mpmc", MILLION, n_for=SLOW_HOPS,
        note="tokio: capacity 1", serial=True),
    Row("stream-1", "stream, capacity 1: per message", "channel", "mpmc", MILLION, cap=1, n_for=SLOW_HOPS, serial=True),
    Row("stream-128", "stream, capacity 128: per message", "channel", "mpmc", 5 * MILLION, cap=128,
        n_for={"std": 500_000}, note="Boost.Fiber: 127 slots"),
    Row("mpmc-4", "4 senders, 4 receivers, capacity 128: per message", "channel", "mpmc", 4 * MILLION, k=4, cap=128,
        n_for={"std": 200_000}, note="tokio: async-channel"),
    Row("mpmc-64", "64 senders, 64 receivers, capacity 128: per message", "channel", "mpmc", 4 * MILLION, k=64, cap=128,
        n_for={"std": 100_000}, note="tokio: async-channel"),
    # Select.
    Row("select-ready", "select among 4, one ready", "select", "select_ready", 2 * MILLION, peers=WITH_SELECT),
    Row("select-block", "select among 4, all empty: per message", "select", "select_block", MILLION, peers=WITH_SELECT,
        note="tokio: capacity 1", serial=True),
    Row("select-default-1", "select of 1 and a default, empty", "select", "select_default", 5 * MILLION, k=1,
        peers=WITH_SELECT),
    Row("select-default-4", "select among 4 and a default, all empty", "select", "select_default", 2 * MILLION, k=4,
        peers=WITH_SELECT),
    Row("select-meet", "2 tasks select among the same 16: per message", "select", "select_meet", 200_000,
        peers=WITH_SELECT, note="tokio: capacity 1", serial=True),
    # Locks and conditions.
    Row("mutex-1", "mutex, uncontended: lock + unlock", "lock", "mutex", 10 * MILLION, procs=(1,)),
    Row("mutex-8", "mutex shared by 8: lock + unlock", "lock", "mutex", 4 * MILLION, k=8,
        note="tokio hands off in order; in the others a running task can lock first"),
    Row("mutex-64", "mutex shared by 64, locked in a loop", "lock", "mutex_fair", 4 * MILLION, k=64,
        n_for={"tokio": MILLION, "boost": MILLION, "std": MILLION}),
    Row("mutex-64-1us", "the same, held for 1 µs", "lock", "mutex_fair", 100_000, k=64, cap=1000),
    Row("rwlock-64", "reader-writer lock shared by 64, 90 % read", "lock", "rwlock", 2 * MILLION, k=64,
        n_for={"std": 500_000}, peers=WITH_SHARED_LOCK),
    Row("cond", "condition variable, round trip", "lock", "cond_pingpong", 500_000, n_for={"boost": 200_000, "std": 20_000},
        peers=WITH_CONDITION, serial=True),
    # Fork and join.
    *(Row(workload, title, "fork", workload, n, metric="ms", unit="ms", peers=WITH_FORKS,
          rounds_for={"boost": 2, "go": 3}, memory_gib=9 if workload == "fib" else 4, note=note)
      for workload, title, n, note in FORKS),
    *(Row(f"{workload}-scoped", f"{title}, with weft::scope", "fork", f"{workload}_scoped", n, metric="ms", unit="ms",
          peers=("weft",)) for workload, title, n, _ in FORKS),
    *(Row(f"{workload}-forked", f"{title}, with weft::forked", "fork", f"{workload}_forked", n, metric="ms", unit="ms",
          peers=("weft",)) for workload, title, n, _ in FORKS),
    # Timers and sleep.
    *(Row(f"timer-add-{name}", f"start and stop a timer, {name} pending", "timer", "timer_add_stop", MILLION, cap=pending,
          procs=(1,), peers=WITH_TIMERS, **few) for name, pending, few in PENDING),
    *(Row(f"timer-reset-{name}", f"reset one of {name} timers", "timer", "timer_reset", MILLION, cap=pending,
          procs=(1,), peers=WITH_TIMERS, **few) for name, pending, few in PENDING),
    Row("timer-fire-1e6", "1 000 000 timers fire in a second: late by, p99", "timer", "timer_fire", MILLION,
        metric="p99_us", unit="µs", peers=WITH_TIMERS, rounds=3, quick_rounds=1, memory_gib=3,
        note="tokio: a task each, to the millisecond"),
    *(Row(f"sleep-{us}us", f"sleep {us} µs: late by, p50", "timer", "sleep_precision", 2000, k=us, metric="p50_us",
          unit="µs", procs=(1,), rounds=3, quick_rounds=1) for us in (50, 100, 500, 2000)),
    Row("sleep-50-tasks", "50 tasks sleep about 0.7 ms: CPU", "timer", "sleep_staggered", 3000, k=50, metric="cpu_percent",
        unit="%", rounds=3, quick_rounds=1),
    Row("sleep-50-tasks-slack", "50 tasks sleep about 0.7 ms, weft with 1 ms of timer slack: CPU", "timer", "sleep_staggered",
        3000, k=50, metric="cpu_percent", unit="%", rounds=3, quick_rounds=1, settings={"RUN_TIMER_SLACK": "1ms"}),
    # From a wake-up to running.
    Row("wake-same", "the waker parks, p50", "wake", "wake_same", 200_000, n_for={"std": 20_000}, metric="p50_ns",
        procs=(1,)),
    Row("wake-spinning", "the waker keeps running, and the other has just parked, p50", "wake", "wake_busy", 5000, cap=500,
        metric="p50_ns", procs=(2,)),
    Row("wake-busy", "the waker keeps running, p50", "wake", "wake_busy", 5000, cap=5000, metric="p50_ns", procs=(2,)),
    Row("wake-idle", "all asleep, woken by an OS thread, p50", "wake", "wake_idle", 1000, metric="p50_ns",
        peers=WITH_OUTSIDE, rounds=3, quick_rounds=1),
    Row("fan-out-2", "a close wakes 2: until both run, p50", "wake", "fan_out", 20_000, k=2, metric="p50_us", unit="µs",
        n_for={"std": 4_000}, procs=(2,), futexes=True),
    Row("fan-out-64", "a close wakes 64: until the last runs, p50", "wake", "fan_out", 64_000, k=64, metric="p50_us",
        unit="µs", n_for={"std": 6_400}, procs=(2,), futexes=True),
    Row("fan-out-1e4", "a close wakes 10 000: until the last runs, p50", "wake", "fan_out", 200_000, k=10_000,
        metric="p50_us", unit="µs", procs=(2,), peers=MAIN_PEERS, futexes=True),
    # Blocking calls.
    Row("call-guard", "announcing a blocking call: cost beyond the call itself", "call", "call_guard", 2 * MILLION, metric="guard_ns",
        peers=WITH_DECLARED_CALLS, note="Go: Syscall, not RawSyscall"),
    Row("entry", "entering the runtime and leaving it, as most operations do", "call", "entry", 50 * MILLION, procs=(1,),
        peers=("weft",)),
    *(Row(f"call-wait{suffix}", f"{what}, until the call and a task made runnable before it are done, p50", "call",
          "call_wait", 3000, k=50, cap=declared, metric="p50_us", unit="µs", peers=peers, note=note, **SELDOM)
      for suffix, what, declared, peers, note in (
          ("", "a call of 50 µs", 1, WITH_CALLS, ""),
          ("-undeclared", "the same, not announced", 0, UNDECLARED, "in Go every call is announced"))),
    *(Row(f"call-count-{name}{suffix}", f"counting beside calls of {title}{how}: against counting alone", "call",
          "call_count", 9, k=us, cap=declared, metric="slowdown", unit="", peers=peers, **SELDOM)
      for name, title, us in (("50us", "50 µs", 50), ("5ms", "5 ms", 5000))
      for suffix, how, declared, peers in (("", "", 1, WITH_OTHERS), ("-undeclared", ", not announced", 0, UNDECLARED))),
    *(Row(f"call-crowd-64{suffix}", f"64 calls of 10 ms{how}, beside computing: until all are done, p50", "call",
          "call_crowd", 7, k=64, cap=declared, metric="p50_ms", unit="ms", procs=(1,), peers=peers, n_for={"boost": 2}, **SELDOM)
      for suffix, how, declared, peers in (("", "", 1, WITH_CALLS), ("-undeclared", ", not announced", 0, UNDECLARED))),
    # Beside tasks that never give way.
    Row("hog-sleeper", "every 10 ms, beside a hog for each P: late by, p50", "hog", "hog_sleeper", 300, k=1, k_per_p=True,
        metric="p50_us", unit="µs", peers=WITH_CALLS, note="Boost.Fiber: when the hogs end", **SELDOM),
    Row("hog-tail", "requests of 2 µs, half the capacity, 1 in 100 takes 2 ms, beside a hog: until served, p99", "hog",
        "hog_tail", 5000, metric="p99_us", unit="µs", peers=WITH_DECLARED_CALLS, note="for 5 s", **SELDOM),
    # A process over time.
    Row("lifetimes", "100 000 tasks live for up to 1 s each, and start another: CPU time for each", "rest", "lifetimes",
        2 * MILLION, k=100_000, peers=WITH_MANY_SLEEPERS, memory_gib=4, note="for about 10 s", **SELDOM),
    Row("idle", "100 tasks wait in an idle process: context switches per second", "rest", "idle", 10_000, k=100,
        metric="switches_per_s", unit="", peers=WITH_CALLS, note="for 10 s", rounds=2, quick_rounds=1),
    Row("after-burst", "300 000 have parked and ended: resident memory 10 s later", "rest", "after_burst", 300_000,
        metric="mib_at_10", unit="MiB", peers=UNDECLARED, memory_gib=2, note="nothing else happens", rounds=2, quick_rounds=1),
    Row("oscillate", "100 000 park and end every 100 ms, and 10 between: time for each", "rest", "oscillate", 50, k=100_000,
        peers=UNDECLARED, memory_gib=2, note="for 5 s or more", **SELDOM),
    *SOCKET_ROWS,
    # Whole programs.
    Row("sieve", "prime sieve, 2000 primes", "program", "sieve", 17_389, metric="ms", unit="ms", peers=MAIN_PEERS,
        note="tokio: capacity 1"),
    Row("ring", "thread ring of 503: per hop", "program", "ring", 2 * MILLION, k=503, n_for=SLOW_HOPS,
        note="tokio: capacity 1", serial=True),
    Row("skynet", "skynet, 1 000 000 leaves", "program", "skynet", MILLION, metric="ms", unit="ms", peers=WITH_GC_OFF,
        rounds_for={"boost": 2, "go-nogc": 3}, memory_gib=9, quick_rounds=1, note="tokio: capacity 1"),
    # What schedulers stumble over.
    Row("cycle-100", "rings of 5 semaphores, 100 tasks per P: per hop", "cforall", "cycle", 2 * MILLION, k=20, k_per_p=True,
        n_for={"std": 20_000}, peers=WITH_SEMAPHORE),
    Row("cycle-1", "the same, one ring per P", "cforall", "cycle", 2 * MILLION, k=1, k_per_p=True,
        n_for={"std": 20_000}, peers=WITH_SEMAPHORE),
    Row("yield-100-per-p", "yield, 100 tasks per P", "cforall", "yield", 5 * MILLION, k=100, k_per_p=True,
        n_for={"std": 200_000}),
    Row("yield-1-per-p", "yield, one task per P", "cforall", "yield", 5 * MILLION, k=1, k_per_p=True,
        n_for={"std": 200_000}),
    Row("churn-100", "chance meetings, 100 tasks per P: per meeting", "cforall", "churn", MILLION, k=100, k_per_p=True,
        n_for={"std": 20_000}, peers=WITH_SEMAPHORE),
    Row("churn-1", "the same, one task per P", "cforall", "churn", MILLION, k=1, k_per_p=True, procs=(2,),
        n_for={"std": 20_000}, peers=WITH_SEMAPHORE),
    Row("locality-100", "the same with 4 KiB to carry, 100 tasks per P", "cforall", "locality", MILLION, k=100, cap=64,
        k_per_p=True, n_for={"std": 20_000}, peers=WITH_SEMAPHORE),
    Row("locality-1", "the same, one task per P", "cforall", "locality", MILLION, k=1, cap=64, k_per_p=True, procs=(2,),
        n_for={"std": 20_000}, peers=WITH_SEMAPHORE),
    Row("transfer-100", "change of leader, 100 tasks per P", "cforall", "transfer", 1000, k=100, k_per_p=True,
        n_for={"std": 200}, metric="us_per_op", unit="µs"),
    Row("transfer-1", "the same, one task per P", "cforall", "transfer", 200_000, k=1, k_per_p=True, procs=(2,),
        n_for={"std": 20_000}, metric="us_per_op", unit="µs"),
    # Actors.
    Row("count", "count: per letter", "savina", "savina_count", 5 * MILLION, n_for={"std": 500_000}),
    Row("fjcreate", "fjcreate: per actor", "savina", "savina_fjcreate", 200_000, n_for={"std": 10_000}),
    Row("big", "big, 120 actors: per ping", "savina", "savina_big", 480_000, k=120, n_for={"std": 24_000}),
    Row("bndbuffer", "bounded buffer, 40 + 40: per item", "savina", "savina_bndbuffer", 400_000, k=40,
        n_for={"std": 20_000}),
    Row("banking", "banking, 1000 accounts: per transfer", "savina", "savina_banking", 200_000, k=1000,
        n_for={"std": 10_000}),
    # Only for the growth curves; the points that are missing here are rows above.
    *(Row(f"yield-curve-{k}", f"yield, {k} tasks", "curve", "yield", 2 * MILLION, k=k, procs=(1,), peers=MAIN_PEERS,
          rounds=3, quick_rounds=1) for k in (1, 100)),
    *(Row(f"spawn-curve-{k}", f"spawn {k}, join all: per task", "curve", "spawn_batch", MILLION, k=k, procs=(1,),
          peers=MAIN_PEERS, rounds=3, quick_rounds=1) for k in (1, 10, 100, 10_000, 100_000)),
    *(Row(f"bytes-curve-{n}", f"{n} parked tasks: bytes each", "curve", "spawn_block", n, metric="parked_bytes",
          unit="B", procs=(1,), peers=MAIN_PEERS, rounds=3, quick_rounds=1) for n in (1, 10, 100, 1000, 10_000, 100_000)),
    *(Row(f"{workload.replace('_', '-')}-curve-{n}", title.format(n), "curve", workload, MILLION, cap=n, procs=(1,),
          peers=WITH_TIMERS, rounds=3, quick_rounds=1)
      for workload, title in (("timer_add_stop", "start and stop a timer, {} pending"), ("timer_reset", "reset one of {} timers"))
      for n in (1, 10, 100, 10_000)),
    *(Row(f"timer-fire-curve-{n}", f"{n} timers fire: CPU time for each", "curve", "timer_fire", n, metric="fire_ns",
          procs=(1,), peers=WITH_TIMERS, rounds=3 if n < 10 * MILLION else 1, quick_rounds=1, memory_gib=1 + n // MILLION)
      for n in (1, 10, 100, 1000, 10_000, 100_000, 10 * MILLION)),
    *(Row(f"call-crowd-curve-{k}", f"{k} calls of 10 ms, beside computing: until all are done, p50", "curve", "call_crowd", 5,
          k=k, cap=1, metric="p50_ms", unit="ms", procs=(1,), peers=("weft", "go", "boost"), n_for={"boost": 1}, **SELDOM)
      for k in CALLERS if k != 64),
    *(Row(f"waiters-curve-{k}", f"{k} wait on one channel: served by send, receive, close", "curve", "chan_waiters",
          200_000, k=k, procs=(1,), peers=MAIN_PEERS, rounds=3, quick_rounds=1) for k in WAITERS),
    *(Row(f"withdraw-curve-{k}", f"{k} wait on one channel: one more waits and is withdrawn", "curve", "withdraw", 200_000, k=k,
          procs=(1,), peers=WITH_SELECT, rounds=3, quick_rounds=1) for k in WAITERS),
    *(Row(f"select-width-{k}", f"select among {k}, one ready: per case", "curve", "select_width", max(12_800, MILLION // k),
          k=k, metric="case_ns", procs=(1,), peers=WITH_SELECT, rounds=3, quick_rounds=1) for k in WIDTHS),
]
