"""waits.py: what a green thread waits for, and which one must act first: src/debug/deadlock.cc."""
import struct

from weft_green import debugger, green, layout

WAITS_MAX = 100
CHILDREN_MAX = 8
LOCKS = ("mutex_lock", "shared_mutex_lock", "shared_mutex_lock_shared")
JOINS = ("wait_group_wait", "scope_join")


def whose(word):
    """The address of the G in the holder word of a mutex; 0: unknown, or it has ended. See
    src/per_g/inheritance.h."""
    records = layout.variable("records")
    if records is None:
        return 0
    per_chunk, chunks_max, generation_bits = (
        layout.enumerator("(anonymous namespace)::debugger_records", name) for name in ("per_chunk", "chunks_max", "generation_bits"))
    handle = word & (per_chunk * chunks_max << generation_bits) - 1   # above are the classes of waiters
    number = handle >> generation_bits
    chunk = layout.load(records["chunks"][number // per_chunk])
    if number == 0 or int(chunk) == 0:
        return 0
    record = chunk[number % per_chunk]
    return int(record["g"]) if int(record["generation"]) == handle & (1 << generation_bits) - 1 else 0


def mutex_holder(mutex):
    """The address of the G that holds a weft::mutex; 0: unknown, or free."""
    recorded = int(layout.load(mutex["state_"])) & layout.constant("mutex::recorded")
    return whose(int(layout.load(mutex["holder_"]))) if recorded else 0


def shared_mutex_writer(mutex):
    if not int(layout.load(mutex["state_"])) & layout.constant("shared_mutex::writer"):
        return 0
    return whose(int(layout.load(mutex["writer_"])))


class wait:
    """A green thread that waits. object: address of what it waits at, or 0. next: address of the G
    that must act first, or 0."""

    def __init__(self, g, mem):
        self.g = g
        self.reason = layout.names_of("wait_reason").get(g.reason, "?")
        lock, slot = read_waiter(g.waiting, mem)
        self.object = slot if self.reason in LOCKS else lock
        self.next = 0
        if slot == 0:
            return
        if self.reason == "future_get":
            self.next, = struct.unpack("<Q", mem.read(slot, 8) or bytes(8))
        elif self.reason == "mutex_lock":
            self.next = mutex_holder(layout.as_type(slot, "weft::mutex"))
        elif self.reason in LOCKS:
            self.next = shared_mutex_writer(layout.as_type(slot, "weft::shared_mutex"))

    @property
    def is_known(self):
        """Whether something is known of who must act first."""
        return self.next != 0 or self.reason in JOINS


def read_waiter(address, mem):
    """(lock, slot) of a waiter; zeros: there is none."""
    if address == 0:
        return 0, 0
    lock, slot = (layout.field("waiter", name)[0] for name in ("lock", "slot"))
    data = mem.read(address, layout.lookup("waiter").sizeof)
    if len(data) != layout.lookup("waiter").sizeof:
        return 0, 0
    return struct.unpack_from("<Q", data, lock)[0], struct.unpack_from("<Q", data, slot)[0]


class some:
    """Numbers of green threads: the first few, and how many."""

    def __init__(self):
        self.first = []
        self.count = 0

    def add(self, label):
        self.count += 1
        if len(self.first) < CHILDREN_MAX:
            self.first.append(label)

    def __str__(self):
        more = f" and {self.count - len(self.first)} more" if self.count > len(self.first) else ""
        return ", ".join(self.first) + more


class graph:
    """All waits. Those of which nothing is known are counted by what they wait at."""

    def __init__(self):
        self.known = {}       # {address of a G: its wait}
        self.others = {}      # {(what it does, object): some}
        self.children = {}    # {(runtime, parent): some}
        self.count = self.waiting = 0
        with green.memory() as mem:
            for one in green.runtimes():
                for g in one.records(mem):
                    self.add(g, mem)

    def add(self, g, mem):
        self.count += 1
        self.children.setdefault((g.runtime.number, g.parent), some()).add(g.label)
        if g.state_name != "waiting":
            return
        self.waiting += 1
        w = wait(g, mem)
        if w.is_known:
            self.known[g.address] = w
        else:
            self.others.setdefault((g.doing, w.object), some()).add(f"{g.label}{name_of(g)}")

    def line(self, w):
        text = f"green thread {w.g.label}{name_of(w.g)}: {w.g.doing}{at(w.object)}"
        other = green.at_address(w.next) if w.next else None
        if other is not None:
            verb = "must fulfil" if w.reason == "future_get" else "holds"
            text += f", which green thread {other.label}{name_of(other)} {verb}{' itself' if other.address == w.g.address else ''}"
        if w.reason in JOINS:
            started = self.children.get((w.g.runtime.number, w.g.id))
            text += f"; it has started green thread {started}" if started else "; all green threads that it started have ended"
        return text

    def cycles(self):
        """Each cycle once, from its lowest address."""
        for start in sorted(self.known):
            path, now = [], start
            while now in self.known and self.known[now].next and now not in path:
                path.append(now)
                now = self.known[now].next
            if path and now == start and start == min(path):
                yield [self.known[address].g.label for address in path]


def name_of(g):
    return f' "{g.name_text}"' if g.name_text else ""


def at(address):
    return f" at {address:#x}" if address else ""


def print_graph():
    all_waits = graph()
    print(f"{all_waits.waiting} of {all_waits.count} green threads wait:")
    for w in list(all_waits.known.values())[:WAITS_MAX]:
        print(f"    {all_waits.line(w)}")
    if len(all_waits.known) > WAITS_MAX:
        print(f"    and {len(all_waits.known) - WAITS_MAX} more")
    for (doing, address), who in sorted(all_waits.others.items(), key=lambda item: -item[1].count)[:WAITS_MAX]:
        print(f"    {doing}{at(address)}: green thread{'' if who.count == 1 else 's'} {who}")
    if len(all_waits.others) > WAITS_MAX:
        print(f"    and at {len(all_waits.others) - WAITS_MAX} other places")
    found = list(all_waits.cycles())
    for path in found:
        first, *rest = [*path[1:], path[0]]
        print(f"a cycle: {path[0]} waits for {first}" + "".join(f", which waits for {label}" for label in rest))
    if not found and any("mutex" in doing for doing, _ in all_waits.others):
        print("to see which green thread holds a mutex, run the program with RUN_DEBUG=lockowners=1")
