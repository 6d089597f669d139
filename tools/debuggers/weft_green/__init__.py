"""weft_green: green threads of processes and core files, for gdb and lldb.

    layout      offsets and constants, from the debug information of the library
    green       runtimes and green threads, read from memory in bulk
    stacks      return addresses by frame pointers; groups of equal stacks
    listing     the lists of green threads
    waits       what a green thread waits for, and which one must act first
    printers    texts for channels, locks and timers

What differs between the debuggers is in the module `debugger` of weft_gdb and weft_lldb. Both have
the same functions, and their values and types have the same methods, those of gdb's Python.

Nothing here writes to the program: neither its memory nor its registers.
"""
