"""selection.py: shows the frames of one green thread as those of the current thread.

While a green thread is selected, an unwinder claims the innermost frame of one thread, the carrier,
and says that its caller's registers are those that the green thread saved when it parked. So frame
0 is the carrier, and frames 1 and up are the green thread's: bt, up, frame, info locals and
expressions work there. Registers are only read, so this is the same for processes and core files,
and there is nothing to restore.

The selection ends before the program continues. A call of one of its functions by gdb does not
count: gdb.events.cont is not emitted for it, and the carrier's registers differ meanwhile.

Rejected. Writing the registers of a thread: impossible in a core file, and a process whose debugger
dies meanwhile is left with them.
"""
import gdb
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

from weft_green import green, layout

# Registers of a saved context (src/context/context.h), by architecture: stack pointer, resume
# address, frame pointer.
REGISTERS = {
    "i386:x86-64": ("rsp", "rip", "rbp"),
    "aarch64": ("sp", "pc", "x29"),
    "riscv:rv64": ("sp", "pc", "fp"),
}
WORD = 8


class frame_id:
    def __init__(self, sp, pc):
        self.sp = gdb.Value(sp)
        self.pc = gdb.Value(pc)


class selected:
    """The selected green thread. carrier_registers: those by which its innermost frame is known."""

    def __init__(self, g, thread):
        self.g = g
        self.inferior = gdb.selected_inferior().num
        self.thread = thread.ptid
        frame = gdb.newest_frame()
        self.names = registers_of(frame.architecture())
        self.carrier_registers = [word(frame.read_register(name)) for name in self.names[:2]]

    def is_here(self):
        thread = gdb.selected_thread()
        return thread is not None and thread.ptid == self.thread and gdb.selected_inferior().num == self.inferior


CURRENT = None     # a selected, or None


def word(value):
    return int(value.cast(gdb.lookup_type("unsigned long")))


def registers_of(architecture):
    names = REGISTERS.get(architecture.name())
    if names is None:
        raise gdb.GdbError(f"weft: green threads of {architecture.name()} programs cannot be shown, only those of {', '.join(REGISTERS)}")
    return names


class unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("weft")

    def __call__(self, pending):
        now = CURRENT
        if now is None or not now.is_here():
            return None
        if [word(pending.read_register(name)) for name in now.names[:2]] != now.carrier_registers:
            return None
        # Below every frame of the green thread, because gdb expects stacks to grow downwards.
        info = pending.create_unwind_info(frame_id(now.g.sp - 2 * WORD, now.g.pc))
        for name, value in zip(now.names, (now.g.sp, now.g.pc, now.g.fp)):
            info.add_saved_register(name, gdb.Value(value).cast(pending.read_register(name).type))
        return info


class carrier_frame(FrameDecorator):
    """Frame 0, which belongs to the thread."""

    def function(self):
        return f"<{CURRENT.g.title}>"

    def address(self):
        return None

    def filename(self):
        return None

    def line(self):
        return None

    def frame_args(self):
        return None

    def frame_locals(self):
        return None


class carrier_filter:
    """A frame filter: backtraces say which green thread they show."""

    def __init__(self):
        self.name = "weft"
        self.priority = 1
        self.enabled = True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if CURRENT is None or not CURRENT.is_here():
            return frames
        return (carrier_frame(f) if f.inferior_frame().level() == 0 else f for f in frames)


def forget(_event=None):
    """Shows the threads as they are."""
    global CURRENT
    if CURRENT is not None:
        CURRENT = None
        gdb.invalidate_cached_frames()


def thread_of(g):
    """The thread that runs a green thread; None: it cannot be found."""
    m = g.runtime.runners().get(g.address)
    if m is None:
        return None
    tid = int(layout.load(m["thread_id"]))
    for thread in gdb.selected_inferior().threads():
        if tid in thread.ptid[1:]:
            return thread
    try:
        return gdb.selected_inferior().thread_from_handle(m["thread"])
    except gdb.error:
        return None


def show(g):
    """Makes a green thread's frames the current ones."""
    global CURRENT
    forget()
    if g.is_running:
        thread = thread_of(g)
        if thread is None:
            raise gdb.GdbError(f"weft: green thread {g.label} is {g.doing}, but its thread was not found; see: info threads")
        thread.switch()
        gdb.newest_frame().select()
        return
    if g.never_ran:
        file, line, function = green.place(g.where)
        raise gdb.GdbError(f"weft: green thread {g.label} has not run, so it has no frames; it was started at {file}:{line}, in {function}")
    thread = gdb.selected_thread()
    if thread is None:
        raise gdb.GdbError("weft: no thread is selected; see: info threads")
    CURRENT = selected(g, thread)
    gdb.invalidate_cached_frames()
    try:
        gdb.newest_frame().older().select()
    except (AttributeError, gdb.error) as error:
        CURRENT = None
        gdb.invalidate_cached_frames()
        raise gdb.GdbError(f"weft: the stack of green thread {g.label} cannot be read ({error})") from None


class kept:
    """Restores the selection of thread, green thread and frame. Use it in a with statement."""

    def __enter__(self):
        self.before = CURRENT
        self.thread = gdb.selected_thread()
        self.level = None
        try:
            self.level = gdb.selected_frame().level()
        except gdb.error:
            pass
        return self

    def __exit__(self, *error):
        global CURRENT
        if self.thread is None or not self.thread.is_valid():
            return
        self.thread.switch()
        CURRENT = self.before
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame()
        while frame is not None and frame.level() != self.level:
            frame = frame.older()
        if frame is not None:
            frame.select()


def install():
    gdb.unwinder.register_unwinder(None, unwinder(), replace=True)
    carrier_filter()
    for events in (gdb.events.cont, gdb.events.exited, gdb.events.clear_objfiles):
        events.connect(forget)
