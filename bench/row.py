"""A row of the tables: what is measured, and how, and the peers that it is measured with."""

from dataclasses import dataclass, field

# Keys of results, and how the report calls them. The order is the order of every table.
PEERS = {
    "weft": "weft",
    "go": "Go",
    "go-nogc": "Go, GOGC=off",
    "tokio": "tokio",
    "boost": "Boost.Fiber",
    "std": "std::thread",
    "tbb": "oneTBB",
    "asio": "Boost.Asio",
    "epoll": "raw epoll",
}
# No runtime: what it has in a table is what the system takes, and no runtime can be below it.
FLOOR = "epoll"
MAIN_PEERS = ("weft", "go", "tokio", "boost")
ALL_PEERS = (*MAIN_PEERS, "std")

EVERY_ROUND = 1_000_000


@dataclass(frozen=True)
class Load:
    """What the client does to a server; net/client/options.h."""

    connections: int
    payload: int = 64
    rate: int = 0  # requests a second; 0: closed loop
    idle: int = 0  # further connections, which do nothing
    rest_ms: int = 0  # watched while nothing happens
    unix: bool = False
    shared: bool = False  # server and client on the same CPUs
    buffer: int = 8192  # bytes that each connection of the server has: more than the payload
    ms: int = 700


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
    k_per_p: bool = False  # k is multiplied by P
    serial: bool = False  # each step waits for the one before: a second P can only be in the way
    futexes: bool = False  # once, under strace: futex calls for each round of n/k
    note: str = ""
    settings: dict = field(default_factory=dict)  # weft's environment variables
    load: Load | None = None  # a server, and a client that loads it; workload says which: echo, http

    @property
    def suite(self) -> str:
        """Which of a peer's programs runs it."""
        return self.workload if self.load else "tasks"

    @property
    def heavy(self) -> bool:
        return self.quick_rounds == 1
