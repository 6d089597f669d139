"""stacks.py: the return addresses of parked green threads, and groups of equal stacks.

The walk follows frame pointers, as the library's own dumps do (read_frames in
src/lifecycle/crash.cc), so it stops at code compiled without them. Most green threads of a large
program park at the same few places. Those with equal resume address and stack depth are expected to
have the same chain as the first of them, which takes one read each to confirm; only if that fails
is the chain walked.
"""
import operator
import os
import re
import struct

from weft_green import debugger, green, layout

FRAMES_MAX = 32           # as in a dump: stack_frames::max
IDS_MAX = 8               # as in a dump
WORD = 8
AT_ONCE = 1024            # bytes read above the stack pointer, at first
WINDOW_MAX = 256 * 1024
CANDIDATES_MAX = 8        # chains compared before the walk
USER_ADDRESS = (1 << 48) - 1   # without the signature of AArch64's return addresses


class group:
    """Green threads with the same state, stack and start place. first: the one with the lowest id."""

    def __init__(self, first, pcs):
        self.first = first
        self.pcs = pcs
        self.count = 0
        self.ids = []
        self.kinds = set()      # (traits, name, parent, address of labels)
        self.oldest_ns = self.newest_ns = first.since_ns

    def join(self, other):
        if other.first.id < self.first.id:
            self.first = other.first
        self.count += other.count
        self.ids = sorted(self.ids + other.ids)[:IDS_MAX]
        self.oldest_ns = min(self.oldest_ns, other.oldest_ns)
        self.newest_ns = max(self.newest_ns, other.newest_ns)
        self.kinds |= other.kinds

    @property
    def names(self):
        return {name if traits & layout.bit("named") else b"" for traits, name, _, _ in self.kinds}

    @property
    def parents(self):
        return {parent for _, _, parent, _ in self.kinds}

    @property
    def labels(self):
        return {labels if traits & layout.bit("labelled") else 0 for traits, _, _, labels in self.kinds}


class chain:
    """The frames of one green thread, relative to its stack pointer, and how to recognise them."""

    def __init__(self, number, pcs, offsets, below):
        self.number = number      # the same for equal return addresses
        self.pcs = pcs
        self.size = offsets[-1] + 2 * WORD if offsets else 0
        text, end = "<", 0
        for offset in offsets:
            text += f"{offset - end}x" if offset > end else ""
            text += "QQ"
            end = offset + 2 * WORD
        self.words = struct.Struct(text)
        self.returns = pcs[1:]
        self.links = max(0, len(offsets) - 1)   # the last frame's leads nowhere
        self.links_sum = sum(offsets[1:]) + below * self.links


class walker:
    def __init__(self, mem):
        self.mem = mem
        self.pread = mem.read_or_raise
        self.chains = {}     # by resume address and depth
        self.known = {}      # by return addresses and their places
        self.numbers = {}
        self.below = 2 * WORD if debugger.processor().startswith("riscv") else 0   # src/context/frame_record.h
        stack = layout.lookup("stack")
        self.record_size = stack.sizeof
        self.end_at, self.next_at, self.continues_at = (layout.find_field(stack, name)[0] for name in ("end", "next", "continues"))

    def record_of(self, stack):
        """(highest frame record, the stack on which the frames go on or 0) of a stack: src/stack/stack.h."""
        data = self.mem.read(stack, self.record_size)
        if len(data) != self.record_size:
            return stack - 2 * WORD, 0
        end, = struct.unpack_from("<Q", data, self.end_at)    # of an OS thread's stack; others end at the record
        following, = struct.unpack_from("<Q", data, self.next_at)
        return (end or stack) - 2 * WORD, following if data[self.continues_at] else 0

    def walk(self, sp, pc, fp, stack):
        """(return addresses, offsets of the frame records from sp); no offsets if they are on several stacks."""
        pcs, offsets = [pc], []
        highest, following = self.record_of(stack)
        at = self.walk_one(sp, fp - self.below, highest, pcs, offsets)
        if not following:
            return tuple(pcs), tuple(offsets)
        while following and at:
            stack = following
            highest, following = self.record_of(stack)
            at = self.walk_one(at, at, highest, pcs, []) if at <= highest < at + WINDOW_MAX else 0
        return tuple(pcs), None

    def walk_one(self, sp, at, highest, pcs, offsets):
        """Appends the frames of one stack, from the record at. Returns the record that leaves it; 0: the frames end."""
        lowest = sp
        data = self.mem.read(sp, min(AT_ONCE, max(0, highest + 2 * WORD - sp)))
        while len(pcs) < FRAMES_MAX and lowest <= at <= highest and at % WORD == 0:
            place = at - sp
            if place + 2 * WORD > len(data):
                if place > WINDOW_MAX:
                    return 0
                data = self.mem.read(sp, min(highest + 2 * WORD - sp, 2 * place + AT_ONCE))
                if place + 2 * WORD > len(data):
                    return 0
            link, back = struct.unpack_from("<QQ", data, place)
            if back == 0:
                return 0
            pcs.append(back & USER_ADDRESS)
            offsets.append(place)
            lowest, at = at + 1, link - self.below
        return at if len(pcs) < FRAMES_MAX else 0

    def chain_of(self, sp, pc, fp, stack):
        """The chain of a parked green thread."""
        key = (pc, fp - sp, stack - sp)
        for one in self.chains.get(key, ()):
            try:
                data = self.pread(one.size, sp)
            except (OSError, *debugger.unreadable):
                break
            if len(data) != one.size:
                break
            words = one.words.unpack(data)
            # The sum of the links instead of each: a loop takes a quarter of the listing's time.
            if words[1::2] == one.returns and sum(words[:-2:2]) - sp * one.links == one.links_sum:
                return one
        return self.new_chain(sp, pc, fp, stack, self.chains.setdefault(key, []))

    def new_chain(self, sp, pc, fp, stack, candidates):
        pcs, offsets = self.walk(sp, pc, fp, stack)
        one = self.known.get((pcs, offsets))
        if one is None:
            one = self.known[pcs, offsets] = chain(self.numbers.setdefault(pcs, len(self.numbers)), pcs, offsets or (), self.below)
        if len(candidates) < CANDIDATES_MAX and offsets and one not in candidates:
            candidates.append(one)
        return one


def groups_of(one, mem, wanted=None):
    """The groups of a runtime's green threads, the largest first. wanted(record): which ones."""
    order = green.g_format()[1]
    place = {name: position for position, (name, _, _) in zip(order, green.FIELDS)}
    id_at, since_at, where_at, reason_at, special_at = (place[n] for n in ("id", "since_ns", "where", "reason", "special"))
    pick = operator.itemgetter(*(place[n] for n in ("state", "sp", "pc", "fp", "stack")))
    kind_of = operator.itemgetter(*(place[n] for n in ("traits", "name", "parent", "labels")))
    chain_of = walker(mem).chain_of
    names = layout.names_of("g_state")
    saved = {value for value, name in names.items() if name in ("waiting", "runnable")}
    waiting = next(value for value, name in names.items() if name == "waiting")
    shown_bits = layout.bit("high") | layout.bit("low") | layout.bit("pinned")
    begins_at = green.first_pc()
    not_begun, unknown = chain(-1, (), (), 0), chain(-2, (), (), 0)
    found = {}
    for address, f in one.green_threads(mem):
        if wanted is not None and not wanted(one.record(address, f)):
            continue
        state, sp, pc, fp, stack = pick(f)
        if state not in saved:
            frames = unknown
        elif sp == 0 or pc == begins_at:
            frames = not_begun
        else:
            frames = chain_of(sp, pc, fp, stack)
        # A running one is alone: its stack is in its thread's registers.
        key = (frames.number, f[where_at], state, f[reason_at] if state == waiting else 0, f[special_at] & shown_bits,
               address if frames is unknown else 0)
        g = found.get(key)
        if g is None:
            g = found[key] = group(one.record(address, f), frames.pcs)
        g.count += 1
        if g.count <= IDS_MAX:
            g.ids.append(f[id_at])
        since = f[since_at]
        if since < g.oldest_ns:
            g.oldest_ns = since
        elif since > g.newest_ns:
            g.newest_ns = since
        g.kinds.add(kind_of(f))
    return sorted(merged(found), key=lambda g: (-g.count, g.first.id))


def merged(found):
    """Joins groups that differ only in the frames of the library in which they parked."""
    kept = {}
    for key, g in found.items():
        same = (outside_library(g.pcs), *key[1:])
        if same in kept:
            kept[same].join(g)
        else:
            kept[same] = g
    return kept.values()


def outside_library(pcs):
    """Return addresses without the innermost ones in weft::detail."""
    begin = 0
    while begin < len(pcs) and (function_at(pcs[begin] - 1) or "").startswith(("weft::detail::", "run_context_")):
        begin += 1
    return pcs[begin:]


@layout.cached
def function_at(pc):
    return debugger.function_at(pc)


@layout.cached
def library_sources():
    """The folder of the library's sources, as the debug information names it; None: unknown."""
    path = debugger.source_of("weft::detail::g_main")
    return os.path.dirname(os.path.dirname(os.path.normpath(path))) + os.sep if path else None


# Lambdas of the library: debug information from a compiler cache may name the folder of another copy
# of the sources, and their names do not say whose they are.
LIBRARY_FILE = re.compile(r"/src/(handoff|lifecycle|netpoll|per_g|sched)/\w+\.(cc|h)$")


def is_library(name, path):
    """Whether a function is one of the library, or a lambda in one. path: of its source, or None."""
    if name.startswith(("weft::", "run_context_")) or name == "_FUN":   # _FUN: GCC's name of a lambda as a plain function
        return True
    if path is None:
        return False
    return is_library_file(path) or (name == "operator()" and LIBRARY_FILE.search(path) is not None)


def is_library_file(path):
    path = os.path.normpath(path)
    return "/include/weft/" in path or bool(library_sources() and path.startswith(library_sources()))


def shown_frames(g, pcs, limit):
    """Lines for the frames of a green thread that are the program's own, as bt numbers them."""
    if not g.is_running and g.never_ran:
        return ["(not started)"]
    lines = []
    try:
        for f in debugger.frames_of(g, pcs):
            if len(lines) == limit:
                break
            if not is_library(f.name or "", f.path):
                place = f" at {f.file}:{f.line}" if f.path is not None else ""
                lines.append(f"#{f.level:<3} {f.name or hex(f.pc)}{place}")
    except debugger.failure as error:
        return [f"({error})"]
    return lines
