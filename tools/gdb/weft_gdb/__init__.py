"""weft_gdb: green threads in gdb, of processes and of core files.

    layout      offsets and constants, from the debug information of the library
    green       runtimes and green threads, read from memory in bulk
    stacks      return addresses by frame pointers; groups of equal stacks
    selection   shows one green thread's frames as those of the current thread: an unwinder
    listing     info green-threads
    commands    green-thread
    waits       what a green thread waits for, and which one must act first
    printers    pretty-printers

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
    from weft_gdb import commands, listing, printers, selection
    selection.install()
    listing.install()
    commands.install()
    printers.install()
    INSTALLED = True
