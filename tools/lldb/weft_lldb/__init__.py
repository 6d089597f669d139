"""weft_lldb: green threads in lldb, of processes and of core files.

    (lldb) command script import .../share/weft/lldb/weft_lldb

    debugger    what weft_green, the part for all debuggers, needs of lldb
    selection   shows chosen green threads as threads
    plugin      the operating-system plug-in, by which lldb asks for these threads
    commands    green-threads, green-thread
    summaries   texts and children for channels, locks and timers

Needs lldb 14 with Python 3.6 or later: docs/debuggers.md. Nothing here writes to the program:
neither its memory nor its registers.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
if os.path.join(_FOLDER, "debuggers") not in sys.path:
    sys.path.insert(0, os.path.join(_FOLDER, "debuggers"))


def __lldb_init_module(lldb_debugger, _internal_dict):
    """Registers everything with one debugger of lldb."""
    from weft_lldb import commands, summaries
    commands.install(lldb_debugger)
    summaries.install(lldb_debugger)
