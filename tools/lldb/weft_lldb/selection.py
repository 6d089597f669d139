"""selection.py: shows chosen green threads as threads of lldb.

lldb asks an operating-system plug-in (plugin.py) for threads besides those of the process. It gets
the green threads that were chosen, and no others: lldb and the programs around it read the stack of
every thread at every stop, so some hundred threads make them slow.

A chosen green thread is shown while it is parked. While it runs, its thread shows it. Once it has
ended, it is no longer shown. The plug-in is set when the first one is chosen.

Rejected. Writing the registers of a thread: impossible in a core file, and a process whose debugger
dies meanwhile is left with them.
"""
import contextlib
import os
import struct

import lldb

from weft_green import green, layout
from weft_lldb import debugger

SHOWN_MAX = 100
FIRST_ID = 1_000_000_000    # of a shown one: above those of threads
SETTING = "target.process.python-os-plugin-path"
PLUGIN = os.path.join(os.path.dirname(os.path.realpath(__file__)), "plugin.py")

# Registers of a saved context (src/context/context.h), by architecture: (name, number in DWARF,
# generic name) of the stack pointer, resume address and frame pointer.
REGISTERS = {
    "x86_64": (("rsp", 7, "sp"), ("rip", 16, "pc"), ("rbp", 6, "fp")),
    "aarch64": (("sp", 31, "sp"), ("pc", 32, "pc"), ("fp", 29, "fp")),
}


class shown_list:
    """The chosen green threads of one process: {number of the thread: (address of the G, its id)}."""

    def __init__(self):
        self.by_thread = {}

    def thread_of(self, g):
        """The number of its thread; None: it was not chosen."""
        return next((number for number, key in self.by_thread.items() if key == (g.address, g.id)), None)

    def add(self, g):
        number = self.thread_of(g)
        if number is None:
            number = FIRST_ID + g.id % FIRST_ID
            while number in self.by_thread:
                number += 1
            self.by_thread[number] = (g.address, g.id)
        return number

    def record(self, number):
        """The green thread that a thread shows; None: it runs, or has ended."""
        if number not in self.by_thread:
            return None
        address, g_id = self.by_thread[number]
        g = green.at_address(address)
        if g is None or g.id != g_id:
            del self.by_thread[number]
            return None
        return None if g.is_running or g.never_ran else g


SHOWN = {}    # {number of the process in lldb: shown_list}


def shown():
    return SHOWN.setdefault(debugger.process().GetUniqueID(), shown_list())


def registers():
    name = debugger.TARGET.GetTriple().partition("-")[0]
    if name not in REGISTERS:
        raise debugger.failure(f"weft: green threads of {name} programs cannot be shown, only those of {', '.join(REGISTERS)}")
    return REGISTERS[name]


def register_info():
    """What lldb wants to know of the saved registers. It takes all others as not available."""
    return {"sets": ["saved"], "registers": [
        {"name": name, "bitsize": 64, "offset": 8 * index, "encoding": "uint", "format": "hex", "set": 0, "ehframe": number, "dwarf": number,
         "generic": generic, "alt-name": generic}
        for index, (name, number, generic) in enumerate(registers())]}


def register_data(number):
    """The saved registers; zeros if there are none any longer: lldb 14 crashes without bytes."""
    try:
        g = shown().record(number)
    except (debugger.failure, *debugger.unreadable):
        g = None
    values = {"sp": g.sp, "pc": g.pc, "fp": g.fp} if g is not None else {}
    return struct.pack("<QQQ", *(values.get(generic, 0) for _, _, generic in registers()))


def thread_info(number, g):
    name = f' "{g.name_text}"' if g.name_text else ""
    return {"tid": number, "name": f"green thread {g.label}{name}", "queue": g.doing, "state": "stopped", "stop_reason": "none"}


def thread_infos():
    if not shown().by_thread:
        return []
    found = ((number, shown().record(number)) for number in list(shown().by_thread))
    return [thread_info(number, g) for number, g in found if g is not None]


def execute(command, thread=None):
    """What a command of lldb prints, for the current frame of a thread."""
    result = lldb.SBCommandReturnObject()
    interpreter = debugger.TARGET.GetDebugger().GetCommandInterpreter()
    if thread is None:
        interpreter.HandleCommand(command, result)
    else:
        interpreter.HandleCommand(command, lldb.SBExecutionContext(thread.GetSelectedFrame()), result)
    if not result.Succeeded():
        raise debugger.failure((result.GetError() or f"{command} failed").strip())
    return result.GetOutput() or ""


def plugin_path():
    values = debugger.TARGET.GetDebugger().GetInternalVariableValue(SETTING, debugger.TARGET.GetDebugger().GetInstanceName())
    return values.GetStringAtIndex(0).strip('"') if values.GetSize() else ""


def set_plugin():
    """Makes lldb ask for the threads again, and keeps the selected one."""
    with kept():
        execute(f'settings set {SETTING} "{PLUGIN}"')
        debugger.process().GetNumThreads()


def need_plugin():
    now = plugin_path()
    if now == PLUGIN:
        return
    if now:
        raise debugger.failure(f"weft: another operating-system plug-in is set, {now}; to show green threads: settings clear {SETTING}")
    set_plugin()


def thread_of(g):
    """The thread of the process that runs a green thread."""
    m = g.runtime.runners().get(g.address)
    thread = debugger.process().GetThreadByID(int(layout.load(m["thread_id"]))) if m is not None else None
    if thread is None or not thread.IsValid():
        raise debugger.failure(f"weft: green thread {g.label} is {g.doing}, but its thread was not found; see: thread list")
    return thread


def choose(g):
    """The thread that shows a green thread. Makes it, if there is none."""
    if g.is_running:
        return thread_of(g)
    if g.never_ran:
        file, line, function = green.place(g.where)
        raise debugger.failure(f"weft: green thread {g.label} has not run, so it has no frames; it was started at {file}:{line}, in {function}")
    registers()
    need_plugin()
    p = debugger.process()
    if shown().thread_of(g) is None and len(shown().by_thread) >= SHOWN_MAX:
        raise debugger.failure(f"weft: {SHOWN_MAX} green threads are shown as threads, and more make lldb slow; to hide them: green-thread off")
    number = shown().add(g)
    thread = p.GetThreadByID(number)
    if not thread.IsValid():
        error = p.CreateOSPluginThread(number, g.address)
        thread = p.GetThreadByID(number)
        if not thread.IsValid():
            del shown().by_thread[number]
            raise debugger.failure(f"weft: lldb cannot show green thread {g.label} as a thread ({error or 'no reason given'})")
    return thread


def hide(numbers):
    """Shows these threads no more."""
    for number in numbers:
        shown().by_thread.pop(number, None)
    set_plugin()


def selected():
    """The green thread that the selected thread shows or runs; None: it does neither."""
    thread = debugger.process().GetSelectedThread()
    if not thread.IsValid():
        return None
    g = shown().record(thread.GetThreadID())
    if g is not None:
        return g
    for one in green.runtimes():
        for address, m in one.runners().items():
            if int(layout.load(m["thread_id"])) == thread.GetThreadID():
                return green.at_address(address)
    return None


@contextlib.contextmanager
def kept():
    """Restores the selected thread and frame, if they still exist."""
    p = debugger.process()
    before = p.GetSelectedThread()
    number, frame = before.GetThreadID(), before.GetSelectedFrame().GetFrameID()
    try:
        yield
    finally:
        thread = p.GetThreadByID(number)
        if thread.IsValid():
            p.SetSelectedThread(thread)
            thread.SetSelectedFrame(frame)
