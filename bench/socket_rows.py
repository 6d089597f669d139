"""What is measured over sockets: a server of each peer, and one client for all of them (net/)."""

from row import Load, Row

SERVERS = ("weft", "go", "tokio", "asio", "epoll")
HTTP_SERVERS = ("weft", "go", "tokio")
SELDOM = {"rounds": 3, "quick_rounds": 1}
RATE, SPARSE_RATE, ACTIVE_RATE = 50_000, 2000, 5000
IDLE = {"buffer": 512, "rest_ms": 1500, "rate": ACTIVE_RATE}


def _closed(name, title, load, **more):
    """As fast as the server can."""
    return Row(f"echo-{name}", f"{title}: time per request", "echo", "echo", 0, metric="us_per_op", unit="µs", peers=SERVERS, load=load,
               **{**SELDOM, **more})


def _open(name, title, load, **more):
    """At a given rate."""
    return Row(f"echo-{name}", f"{title}: server's CPU time per request", "echo", "echo", 0, metric="cpu_us", unit="µs", peers=SERVERS,
               load=load, **{**SELDOM, **more})


def _idle(name, title, metric, unit, load):
    return Row(f"idle-conns-{name}", title, "idle-conns", "echo", 0, metric=metric, unit=unit, peers=SERVERS, load=load, rounds=2,
               quick_rounds=1)


SOCKET_ROWS = [
    # Closed loop: each connection sends its next request when it has the echo.
    _closed("1", "1 connection, 64 B", Load(1)),
    _closed("50", "50 connections, 64 B", Load(50)),
    _closed("100", "100 connections, 64 B", Load(100)),
    _closed("1000", "1000 connections, 64 B", Load(1000)),
    _closed("100-4k", "100 connections, 4 KiB", Load(100, payload=4096)),
    _closed("unix-100", "100 Unix connections, 64 B", Load(100, unix=True)),
    # Open loop: requests come when they come.
    _open("open-50", "50 connections, 50 000/s", Load(50, rate=RATE)),
    _open("open-1000", "1000 connections, 50 000/s", Load(1000, rate=RATE)),
    _open("sparse-50", "50 connections, 2000/s", Load(50, rate=SPARSE_RATE, ms=1000)),
    # On a machine with few CPUs.
    _closed("shared-100", "100 connections, client on the same CPUs", Load(100, shared=True), procs=(2,)),
    _open("shared-open-50", "50 connections, 20 000/s, client on the same CPUs", Load(50, rate=20_000, shared=True), procs=(2,)),
    # Most of them silent. What the 100 that are not take is to be what they take by themselves.
    _idle("1e4", "10 000 connections: resident memory for each", "bytes_per_conn", "B", Load(100, idle=9900, **IDLE)),
    _idle("100", "100 connections, 5000/s: from when a request is due to its echo, p50", "p50_us", "µs", Load(100, **IDLE)),
    Row("http-64", "GET, keep-alive, 64 connections: time per request", "http", "http", 0, metric="us_per_op", unit="µs", peers=HTTP_SERVERS,
        note="weft: Beast; tokio: hyper; client: wrk", load=Load(64, ms=2000), **SELDOM),
]

# Of which rows the further metrics are shown, and what they are called there.
_SHOWN = {
    "echo-1": "1 connection", "echo-50": "50 connections", "echo-100": "100 connections", "echo-1000": "1000 connections",
    "echo-100-4k": "100 connections, 4 KiB", "echo-unix-100": "100 Unix connections", "echo-open-50": "50 connections, 50 000/s",
    "echo-open-1000": "1000 connections, 50 000/s", "echo-sparse-50": "50 connections, 2000/s",
    "echo-shared-100": "100 connections, shared CPUs", "echo-shared-open-50": "50 connections, 20 000/s, shared CPUs",
}
_ROW = {row.id: row for row in SOCKET_ROWS}


def _details():
    for name, title in _SHOWN.items():
        of_echoes = [("p50_us", "from request to echo, p50", "µs"), ("p99_us", "from request to echo, p99", "µs"),
                     ("syscalls", "system calls of the server, per request", ""),
                     ("switches", "how often a thread of the server went to sleep, per request", "")]
        if _ROW[name].metric != "cpu_us":
            of_echoes.insert(0, ("cpu_us", "server's CPU time per request", "µs"))
        for metric, what, unit in of_echoes:
            yield name, metric, f"{title}: {what}", unit
    for metric, what, unit in (
            ("page_table_bytes", "page tables for each", "B"), ("idle_cpu_percent", "CPU time while idle", "%"),
            ("cpu_us", "1 % send 5000/s: server's CPU time per request", "µs"), ("p50_us", "1 % send 5000/s: until the echo, p50", "µs"),
            ("p99_us", "1 % send 5000/s: until the echo, p99", "µs")):
        yield "idle-conns-1e4", metric, f"10 000 connections: {what}", unit
    yield "idle-conns-100", "p99_us", "100 connections alone, 5000/s: until the echo, p99", "µs"
    for metric, what, unit in (("requests_per_s", "requests per second", ""), ("cpu_us", "server's CPU time per request", "µs"),
                               ("p50_us", "p50", "µs"), ("p99_us", "p99", "µs"),
                               ("syscalls", "system calls of the server, per request", "")):
        yield "http-64", metric, f"HTTP, 64 connections: {what}", unit


SOCKET_DETAILS = list(_details())
