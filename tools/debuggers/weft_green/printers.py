"""printers.py: pretty-printers for channels, locks, and what else green threads wait for.

They show the state that matters when something hangs: counts, owners, and which green threads wait.
"""
import re

from weft_green import debugger, green, layout, waits

WAITERS_MAX = 8


def waiters(queue):
    """Texts for the waiters of a wait_queue, the oldest first."""
    found, w = [], layout.load(queue["head_"])
    while int(w):
        if len(found) == WAITERS_MAX:
            found.append("…")
            break
        g = int(w["g"])
        found.append(number_of(g) if g else "a plain thread")
        w = layout.load(w["next"])
    return found


def number_of(address):
    """The number of the G at an address; its address, if it cannot be found."""
    try:
        g = green.at_address(address)
    except (debugger.failure, *debugger.unreadable):
        g = None
    return g.label if g is not None else hex(address)


def waited_on(queue, how="waiting"):
    """", waiting: 4, 5", or nothing."""
    found = waiters(queue)
    return f", {how}: {', '.join(found)}" if found else ""


def owner_text(address, mutex_is_locked):
    if address:
        return f"locked by green thread {number_of(address)}"
    return "locked" if mutex_is_locked else "unlocked"


def bits_of(word):
    return int(layout.load(word))


class printer:
    def __init__(self, value):
        self.value = value


class chan(printer):
    def __init__(self, value):
        super().__init__(value)
        state = value["state_"]
        self.state = state.dereference() if int(state) else None

    def to_string(self):
        if self.state is None:
            return "nil channel"
        core = self.state
        capacity = int(core["capacity"])
        text = f"{self.count()} of {capacity} values" if capacity else "unbuffered"
        text += ", closed" if bool(layout.load(core["closed"])) else ""
        return text + waited_on(core["receivers"], "receiving") + waited_on(core["senders"], "sending")

    def count(self):
        return int(layout.load(self.state["count"]))

    def children(self):
        if self.state is None:
            return
        t = self.value.type.strip_typedefs().template_argument(0)
        size = self.state.type.strip_typedefs().sizeof
        align = max(t.alignof, 1)
        first = int(self.state.address) + (size + align - 1) // align * align
        capacity, head = int(self.state["capacity"]), int(layout.load(self.state["head"]))
        for i in range(self.count()):
            yield f"[{i}]", debugger.value_at(first + (head + i) % capacity * t.sizeof, t)

    def display_hint(self):
        return "array"


class mutex(printer):
    def to_string(self):
        value = layout.as_type(int(self.value.address), "weft::mutex")
        locked = bits_of(value["state_"]) & layout.constant("mutex::locked")
        return owner_text(waits.mutex_holder(value), locked) + waited_on(value["waiters_"])


class shared_mutex(printer):
    def to_string(self):
        value = layout.as_type(int(self.value.address), "weft::shared_mutex")
        bits = bits_of(value["state_"])
        if bits & layout.constant("shared_mutex::writer"):
            text = owner_text(waits.shared_mutex_writer(value), True)
        elif bits & layout.constant("shared_mutex::spread"):
            text = "readers are counted elsewhere"
        else:
            readers = bits >> layout.constant("shared_mutex::shift")
            text = f"{readers} reader{'' if readers == 1 else 's'}" if readers else "unlocked"
        return text + waited_on(value["writers_"], "writers waiting") + waited_on(value["readers_"], "readers waiting")


def count_of(word):
    """(count, text of its waiters) of a detail::count_word."""
    return bits_of(word["state_"]) >> layout.constant("detail::count_word::shift"), waited_on(word["waiters_"])


class wait_group(printer):
    def to_string(self):
        count, who = count_of(self.value["count_"])
        return f"{count} task{'' if count == 1 else 's'}{who}"


class task_scope(printer):
    def to_string(self):
        count, who = count_of(self.value["running_"])
        ends = ", ends early" if bool(self.value["ends_early_"]) else ""
        return f"{count} green thread{'' if count == 1 else 's'}{ends}{who}"


class future(printer):
    def __init__(self, value):
        super().__init__(value)
        pointer = value["state_"]["_M_ptr"] if layout.find_field(value["state_"].type, "_M_ptr") else layout.load(value["state_"])
        self.state = pointer.dereference() if int(pointer) else None

    def to_string(self):
        if self.state is None:
            return "no state"
        count, who = count_of(self.state["pending_"])
        if count == 0:
            return "failed" if int(layout.load(self.state["error_"])) else "ready"
        by = int(layout.load(self.state["fulfiller_"]))
        return "pending" + (f", green thread {number_of(by)} must fulfil it" if by else "") + who

    def children(self):
        if self.state is None or count_of(self.state["pending_"])[0] or int(layout.load(self.state["error_"])):
            return
        value = self.state["value_"]
        if debugger.is_struct(value.type) and layout.find_field(value.type.strip_typedefs(), "_M_payload"):
            value = value["_M_payload"]["_M_payload"]["_M_value"]   # libstdc++'s std::optional
        yield "value", value


class timer(printer):
    def to_string(self):
        pointer = self.value["handle_"]["state_"]
        if int(pointer) == 0:
            return "empty"
        state = pointer.dereference()
        if not bool(layout.load(state["armed"])):
            return "stopped"
        left = int(layout.load(state["due_ns"])) - green.now_ns(green.runtimes())
        text = f"due in {left / 1e9:.3f} s" if left > 0 else "due"
        period = int(layout.load(state["period_ns"]))
        return text + (f", every {period / 1e9:.3f} s" if period else "")


PRINTERS = {
    "weft::chan": chan,
    "weft::mutex": mutex,
    "weft::timed_mutex": mutex,
    "weft::shared_mutex": shared_mutex,
    "weft::shared_timed_mutex": shared_mutex,
    "weft::wait_group": wait_group,
    "weft::future": future,
    "weft::task_scope": task_scope,
    "weft::timer": timer,
    "weft::ticker": timer,
}


UNREADABLE = (debugger.failure, ArithmeticError, *debugger.unreadable)   # the object may not be initialised


class safe:
    """A printer that shows an error instead of failing."""

    def __init__(self, inner):
        self.inner = inner
        if hasattr(inner, "children"):
            self.children = self.safe_children
        if hasattr(inner, "display_hint"):
            self.display_hint = inner.display_hint

    def to_string(self):
        try:
            return self.inner.to_string()
        except UNREADABLE as error:
            return f"<{error}>"

    def safe_children(self):
        try:
            yield from self.inner.children()
        except UNREADABLE:
            return


def printer_of(value):
    """The printer of a value of one of the library's types; None: it has none."""
    t = value.type.strip_typedefs().unqualified()
    if not debugger.is_struct(t) or t.tag is None or not t.tag.startswith("weft::"):
        return None
    kind = PRINTERS.get(re.sub(r"<.*", "", t.tag))
    if kind is None:
        return None
    try:
        return safe(kind(value))
    except UNREADABLE:
        return None
