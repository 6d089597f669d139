"""green.py: the runtimes of a process and their green threads.

Gs lie in chunks of a mebibyte (src/sched/g_pool.h). Each chunk is read at once and taken apart with
one `struct` format, so that a million Gs take seconds. A process of this machine is read through
/proc/PID/mem, which costs less than the debugger's own reads.
"""
import collections
import fnmatch
import functools
import os
import struct
import time

from weft_green import debugger, layout

PAGE = 4096
WAIT_TEXTS = {
    "none": "waiting",
    "chan_receive_nil": "chan receive (nil chan)",
    "chan_send_nil": "chan send (nil chan)",
    "wait_group_wait": "wait group",
    "future_get": "future",
    "select_no_cases": "select (no cases)",
    "once": "call once",
    "fd_readable": "I/O read",
    "fd_writable": "I/O write",
    "select_fd": "select (I/O)",
    "file_operation": "file",
    "process_end": "process",
}

# What is read of a G: (name, field, format of struct).
FIELDS = [
    ("sp", "context.sp", "Q"), ("pc", "context.pc", "Q"), ("fp", "context.fp", "Q"),
    ("special", "special", "H"), ("last_p", "last_p", "H"), ("state", "state", "B"), ("reason", "reason", "B"),
    ("traits", "traits", "B"), ("stack", "stack", "Q"), ("id", "id", "Q"), ("parent", "parent", "Q"),
    ("waiting", "waiting", "Q"), ("since_ns", "since_ns", "q"), ("where", "where", "Q"), ("name", "name", "32s"),
    ("labels", "labels", "Q"),
]
SIZES = {"Q": 8, "q": 8, "H": 2, "B": 1, "32s": 32}


class memory:
    """Reads memory of the current process or core file. Use it in a with statement."""

    def __init__(self):
        self.file = None
        pid = debugger.local_pid()
        if pid:
            try:
                self.file = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.file is not None:
            os.close(self.file)

    def read(self, address, size):
        """Bytes, possibly fewer than size; none if the memory cannot be read."""
        try:
            return self.read_or_raise(size, address)
        except (OSError, OverflowError, *debugger.unreadable):
            return b""

    @property
    def read_or_raise(self):
        """A function of size and address, for loops: a call of it costs least."""
        if self.file is not None:
            return functools.partial(os.pread, self.file)
        return debugger.memory_reader()


class record(collections.namedtuple("record", ["address", "runtime"] + [name for name, _, _ in FIELDS])):
    """What is known of one green thread."""
    __slots__ = ()

    @property
    def label(self):
        """Its number as users write it."""
        return str(self.id) if self.runtime.alone else f"{self.runtime.number}.{self.id}"

    @property
    def name_text(self):
        if not self.traits & layout.bit("named"):
            return ""
        return self.name.partition(b"\0")[0].decode("utf-8", "replace")

    @property
    def state_name(self):
        return state_names()[self.state]

    @property
    def doing(self):
        """Its state, or what it waits for: the text of a dump."""
        return wait_texts().get(self.reason, "?") if self.state_name == "waiting" else self.state_name

    @property
    def is_running(self):
        """Whether its frames are those of a thread."""
        return self.state_name in ("running", "in call")

    @property
    def never_ran(self):
        return self.sp == 0 or self.pc == first_pc()

    @property
    def title(self):
        name = f' "{self.name_text}"' if self.name_text else ""
        return f"green thread {self.label}{name} [{self.doing}]"


@layout.cached
def state_names():
    return {value: name.replace("_", " ") for value, name in layout.names_of("g_state").items()}


@layout.cached
def wait_texts():
    return {value: WAIT_TEXTS.get(name, name.replace("_", " ")) for value, name in layout.names_of("wait_reason").items()}


@layout.cached
def first_pc():
    """The address at which each green thread begins."""
    return debugger.address_of("run_context_entry")


@layout.cached
def g_format():
    """The struct format of a G, and the positions of FIELDS in what it yields."""
    places = []
    for index, (_, path, code) in enumerate(FIELDS):
        offset, size = layout.field("G", path)
        if size != SIZES[code]:
            raise debugger.failure(f"weft: G::{path} has {size} bytes, not {SIZES[code]}: {layout.OTHER_VERSION}")
        places.append((offset, SIZES[code], code, index))
    places.sort()
    text, end = "<", 0
    for offset, size, code, _ in places:
        text += f"{offset - end}x{code}" if offset > end else code
        end = offset + size
    total = layout.lookup("G").sizeof
    text += f"{total - end}x" if total > end else ""
    order = [index for _, _, _, index in places]
    return struct.Struct(text), [order.index(i) for i in range(len(FIELDS))]


class runtime:
    """One scheduler."""

    def __init__(self, address, number, alone):
        self.address = address
        self.number = number
        self.alone = alone
        self.value = layout.at(address, "scheduler")
        self.name = text_of(self.value["name"])

    def chunks(self):
        """(address, first address of its Gs) of each chunk."""
        unit_size = self.unit_size
        chunk = layout.load(self.value["gs"]["chunks_"])
        while int(chunk):
            yield int(chunk), int(chunk) + int(chunk["first_unit"]) * unit_size
            chunk = layout.load(chunk["next"])

    @property
    def unit_size(self):
        return max(PAGE, page_size())

    def green_threads(self, mem):
        """Every G that is neither dead nor unused, as a tuple (address, *fields in memory order)."""
        unpacker, order = g_format()
        names = layout.names_of("g_state")
        unused = {value for value, name in names.items() if name in ("idle", "dead")}
        state = order[[name for name, _, _ in FIELDS].index("state")]
        size, unit_size = unpacker.size, self.unit_size
        for chunk, begin in self.chunks():
            end = chunk + layout.constant("detail::g_pool::chunk_size")
            for address, data in pieces(mem, begin, end, unit_size):
                usable = len(data) // size * size
                for fields in unpacker.iter_unpack(memoryview(data)[:usable]):
                    if fields[state] not in unused:
                        yield address, fields
                    address += size

    def records(self, mem):
        for address, fields in self.green_threads(mem):
            yield self.record(address, fields)

    def record(self, address, fields):
        """What green_threads() yields, as a record."""
        return record(address, self, *[fields[i] for i in g_format()[1]])

    def runners(self):
        """{address of a G: its M} of those that run or are in a blocking call."""
        found = {}
        m = self.value["all_ms"]
        while int(m):
            for name in ("g", "lent_by"):
                if int(m[name]):
                    found[int(m[name])] = m
            m = m["all_next"]
        return found

    def latest_ns(self):
        """The newest clock of its Ps: about now."""
        count = int(layout.load(self.value["ps"]["made_"]))
        first = self.value["ps"]["at_"]
        return max((int(first[i]["now_ns"]) for i in range(count)), default=0)


def pieces(mem, begin, end, step):
    """(address, data) of what can be read between two addresses."""
    data = mem.read(begin, end - begin)
    if len(data) == end - begin:
        yield begin, data
        return
    for address in range(begin, end, step):
        data = mem.read(address, step)
        if data:
            yield address, data


@layout.cached
def page_size():
    """That of the program's machine; a core file may come from another."""
    return debugger.page_size() or os.sysconf("SC_PAGE_SIZE")


def text_of(value):
    """A std::string, as far as its layout is known."""
    try:
        return value["_M_dataplus"]["_M_p"].string("utf-8", "replace")
    except debugger.unreadable:
        return str(value).strip('"')


def runtimes():
    """All runtimes of the process: weft::main's first, then the oldest first."""
    layout.lookup("G")
    registry = layout.variable("registry")
    if registry is None:
        raise debugger.failure(layout.NO_TYPES)
    try:
        at = int(layout.load(registry))
    except debugger.unreadable as error:
        raise debugger.failure(f"weft: there is no process and no core file to read ({error})") from None
    found = []
    while at:
        found.append(at)
        at = int(layout.load(layout.at(at, "scheduler")["next_registered"]))
    found.reverse()
    found.sort(key=lambda at: not bool(layout.at(at, "scheduler")["is_mains"]))   # keeps the order otherwise
    return [runtime(address, number, len(found) == 1) for number, address in enumerate(found, 1)]


def find(number):
    """The green thread with a number as users write it: 7, or 2.7 in the second runtime."""
    head, dot, tail = number.rpartition(".")
    if not tail.isdigit() or (dot and not head.isdigit()):
        raise debugger.failure(f'weft: "{number}" is not the number of a green thread; see: {debugger.LISTING}')
    all_runtimes = runtimes()
    wanted = int(head) if dot else 1
    with memory() as mem:
        for one in all_runtimes:
            if one.number != wanted:
                continue
            id_at = g_format()[1][[name for name, _, _ in FIELDS].index("id")]
            for address, fields in one.green_threads(mem):
                if fields[id_at] == int(tail):
                    return one.record(address, fields)
    raise debugger.failure(f"weft: there is no green thread {number}; see: {debugger.LISTING}")


def at_address(address):
    """The green thread at the address of a G; None: it has ended."""
    unpacker, _ = g_format()
    with memory() as mem:
        data = mem.read(address, unpacker.size)
    if len(data) != unpacker.size:
        return None
    fields = unpacker.unpack(data)
    home = int(layout.load(layout.at(address, "G")["home"]))
    for one in runtimes():
        if one.address == home:
            g = one.record(address, fields)
            return None if g.state_name in ("dead", "idle") else g
    return None


@layout.cached
def place(where):
    """(file, line, function) of a std::source_location's pointer."""
    if where == 0:
        return "", 0, ""
    pointer = layout.data_fields(layout.find_field(layout.lookup("G"), "where")[1])[0].type
    value = debugger.value_at(where, pointer.strip_typedefs().target())
    named = {f.name: value[f] for f in layout.data_fields(value.type)}

    def pick(part):
        return next(v for name, v in named.items() if part in name)
    return pick("file").string(), int(pick("line")), pick("function").string()


def labels_of(g):
    """Its labels, as pairs."""
    if g.labels == 0 or not g.traits & layout.bit("labelled"):
        return []
    return read_labels(g.labels)


def read_labels(address):
    block = layout.at(address, "label_block")
    count = int(block["count"])
    entry = layout.lookup("label_block::entry")
    first = address + block.type.sizeof
    text = first + count * entry.sizeof
    found = []
    with memory() as mem:
        for i in range(count):
            e = debugger.value_at(first + i * entry.sizeof, entry)
            key = mem.read(text + int(e["key_at"]), int(e["key_size"]))
            value = mem.read(text + int(e["value_at"]), int(e["value_size"]))
            found.append((key.decode("utf-8", "replace"), value.decode("utf-8", "replace")))
    return found


def matches(g, wanted):
    """Whether a green thread passes the options of the list of green threads."""
    if wanted.state and wanted.state not in (g.state_name, g.doing):
        return False
    if wanted.name and not fnmatch.fnmatchcase(g.name_text, wanted.name):
        return False
    if wanted.label:
        key, equals, value = wanted.label.partition("=")
        if not any(k == key and (not equals or v == value) for k, v in labels_of(g)):
            return False
    if wanted.at:
        file, line, _ = place(g.where)
        if not f"{file}:{line}".endswith(wanted.at) and os.path.basename(file) != wanted.at:
            return False
    return True


def now_ns(all_runtimes):
    """The monotonic clock: of this machine, or in a core file the newest that a P has read."""
    if debugger.is_live():
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return max((one.latest_ns() for one in all_runtimes), default=0)


def split_apply(text):
    """The arguments of `green-thread apply`: ("all" or a list of IDs, the command)."""
    rest, numbers = text.strip(), []
    while rest:
        word, _, after = rest.partition(" ")
        if word == "all" and not numbers:
            numbers, rest = "all", after.strip()
            break
        if not word.replace(".", "").isdigit():
            break
        numbers.append(word)
        rest = after.strip()
    if not numbers or not rest:
        raise debugger.failure("weft: usage: green-thread apply all|ID... COMMAND")
    return numbers, rest


def chosen(numbers):
    """The records that split_apply's first result names; "all": those that have a stack."""
    if numbers != "all":
        return [find(number) for number in numbers]
    with memory() as mem:
        return [g for one in runtimes() for g in one.records(mem) if g.is_running or not g.never_ran]
