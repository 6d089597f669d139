"""debugger.py: what weft_green needs of gdb; weft_green/debugger.py says what each name means."""
import collections
import re

import gdb

from weft_green import layout

LISTING = "info green-threads"
failure = gdb.GdbError
unreadable = (gdb.error, gdb.MemoryError)


def install():
    for events in ("new_objfile", "clear_objfiles", "free_objfile"):
        if hasattr(gdb.events, events):
            getattr(gdb.events, events).connect(layout.forget)


def lookup_type(name):
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        return None


def value_at(address, t):
    return gdb.Value(address).cast(t.pointer()).dereference()


def is_struct(t):
    return t.strip_typedefs().code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def evaluate(expression):
    """The value of a C++ expression, also while the current frame is not of C++."""
    before = gdb.parameter("language")
    gdb.execute("set language c++", to_string=True)
    try:
        return gdb.parse_and_eval(expression)
    finally:
        gdb.execute(f"set language {before}", to_string=True)


def constant(name):
    try:
        return int(evaluate(f"::{name}"))
    except gdb.error:
        return None


def variable(name):
    for symbol in gdb.lookup_static_symbols(name) or []:
        if symbol.is_variable:
            return symbol.value()
    try:
        value = evaluate(f"'{name}'")
    except gdb.error:
        return None
    return None if value.type.code == gdb.TYPE_CODE_FUNC else value


def address_of(function):
    try:
        return int(evaluate(f"(unsigned long)&{function}"))
    except gdb.error:
        return 0


def function_at(pc):
    block, name = gdb.block_for_pc(pc), None
    while block is not None and not block.is_global:
        if block.function is not None:
            name = block.function.name
        block = block.superblock
    return name


def source_of(function):
    symbol = gdb.lookup_global_symbol(f"{function}(void*, void*)") or gdb.lookup_global_symbol(function)
    return symbol.symtab.fullname() if symbol is not None and symbol.symtab is not None else None


shown_frame = collections.namedtuple("shown_frame", "level pc name file path line")


def frames_of(g, _pcs):
    from weft_gdb import selection
    with selection.kept():
        selection.show(g)
        frame = gdb.selected_frame()
        while frame is not None:
            sal = frame.find_sal()    # its function's source is that of its caller, if it is inlined
            table = sal.symtab
            yield shown_frame(frame.level(), frame.pc(), frame.name(), table and table.filename, table and table.fullname(), sal.line)
            frame = frame.older()


def is_live():
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection is not None and connection.type == "native"


def local_pid():
    return gdb.selected_inferior().pid if is_live() else 0


def memory_reader():
    read_memory = gdb.selected_inferior().read_memory
    return lambda size, address: bytes(read_memory(address, size))


def page_size():
    try:
        found = re.search(r"AT_PAGESZ.* (\d+)$", gdb.execute("info auxv", to_string=True), re.MULTILINE)
    except gdb.error:
        found = None
    return int(found[1]) if found else None


def processor():
    return gdb.selected_inferior().architecture().name()
