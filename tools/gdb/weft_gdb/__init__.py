"""weft_gdb: green threads in gdb, of processes and of core files.

    debugger    what weft_green, the part for all debuggers, needs of gdb
    selection   shows one green thread's frames as those of the current thread: an unwinder
    commands    info green-threads, green-thread
    printers    registers the pretty-printers

Nothing here writes to the program: neither its memory nor its registers.
"""
import gdb

INSTALLED = False


def install():
    """Registers everything with gdb, once."""
    global INSTALLED
    if INSTALLED:
        return
    version = tuple(int(part) for part in gdb.VERSION.split("-")[0].split(".")[:1] if part.isdigit())
    if version and version < (12,):
        raise gdb.GdbError(f"weft: gdb {gdb.VERSION} is too old for the commands for green threads; use gdb 12 or later")
    from weft_gdb import commands, debugger, printers, selection
    debugger.install()
    selection.install()
    commands.install()
    printers.install()
    INSTALLED = True
