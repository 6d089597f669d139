"""debugger.py: the debugger that runs this code.

    failure         an error for the user; the debugger shows its text
    unreadable      exceptions for what cannot be read, a tuple
    LISTING         the command that lists green threads
    lookup_type     the type of a name; None: there is none
    value_at        the object of a type at an address
    constant        a constant by its full name; None: there is none
    static          a static constant of a value's class; None: there is none
    variable        a variable by its full name; None: there is none
    is_struct       whether a type is a class or union
    address_of      the address of a C function; 0: there is none
    function_at     the name of the function at an address, the one that others are inlined into
    source_of       the source file of a function; None: unknown
    frames_of       the frames of a green thread, from the innermost
    local_pid       the process, if it runs on this machine under no other debugger's control; else 0
    is_live         whether the clock of this machine is that of the process
    memory_reader   a function of size and address
    page_size       of the program's machine
    processor       of the program, as the debugger calls it
"""
try:
    import gdb  # noqa: F401
except ImportError:
    from weft_lldb.debugger import *  # noqa: F401, F403
else:
    from weft_gdb.debugger import *  # noqa: F401, F403
