"""layout.py: where things are in the memory of the program, by the library's debug information.

No offset is written down here. Whatever is looked up is kept until gdb loads or drops an object
file.
"""
import functools

import gdb

NO_TYPES = ("weft: no debug information of the library, so green threads cannot be found. Build weft with -g (its own "
            "build does), do not strip the program, or load the separate debug file (symbol-file, debuginfod)")
CACHES = []


def cached(function):
    """functools.lru_cache, emptied when object files come or go."""
    wrapped = functools.lru_cache(maxsize=None)(function)
    CACHES.append(wrapped)
    return wrapped


def forget(_event=None):
    for one in CACHES:
        one.cache_clear()


def install():
    for events in ("new_objfile", "clear_objfiles", "free_objfile"):
        if hasattr(gdb.events, events):
            getattr(gdb.events, events).connect(forget)


@cached
def lookup(name):
    """The type of this name in weft::detail."""
    try:
        return gdb.lookup_type(f"weft::detail::{name}")
    except gdb.error:
        raise gdb.GdbError(NO_TYPES) from None


def data_fields(t):
    """The fields that lie in an object of this type. Static members have no place."""
    return [f for f in t.strip_typedefs().fields() if hasattr(f, "bitpos")]


@cached
def field(type_name, path):
    """(offset, size) of the field a.b.c of a type in weft::detail, also of its base classes."""
    t, offset = lookup(type_name), 0
    for name in path.split("."):
        found = find_field(t, name)
        if found is None:
            raise gdb.GdbError(f"weft: {t} has no field {name}: these commands do not fit the version of weft in the program")
        offset, t = offset + found[0], found[1]
    return offset, t.sizeof


def find_field(t, name):
    for f in data_fields(t):
        if f.name == name and not f.is_base_class:
            return f.bitpos // 8, f.type
        if f.is_base_class:
            found = find_field(f.type, name)
            if found is not None:
                return f.bitpos // 8 + found[0], found[1]
    return None


def load(value):
    """The value of an atomic, a peekable, or anything else that wraps one value."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        value = value[data_fields(value.type)[0]]
    return value


def at(address, type_name):
    """The object of that type of weft::detail at this address."""
    return gdb.Value(address).cast(lookup(type_name).pointer()).dereference()


def evaluate(expression):
    """The value of a C++ expression, also while the current frame is not of C++."""
    before = gdb.parameter("language")
    gdb.execute("set language c++", to_string=True)
    try:
        return gdb.parse_and_eval(expression)
    finally:
        gdb.execute(f"set language {before}", to_string=True)


@cached
def constant(name):
    """A constant of weft."""
    try:
        return int(evaluate(f"::weft::{name}"))
    except gdb.error:
        raise gdb.GdbError(f"weft: {name} is not in the debug information: these commands do not fit the version of weft in the program") from None


@cached
def bit(name):
    """A bit of G::traits or G::special: debugger_bit in src/sched/g_pool.cc."""
    values = {f.name.rpartition("::")[2]: f.enumval for f in lookup("(anonymous namespace)::debugger_bit").fields()}
    if name not in values:
        raise gdb.GdbError(f"weft: the bit {name} is not in the debug information: these commands do not fit the version of weft in the program")
    return values[name]


def static(value, name):
    """A static constant of the value's class."""
    for f in value.type.strip_typedefs().fields():
        if f.name == name:
            return int(value[f])
    raise gdb.GdbError(f"weft: {value.type} has no constant {name}: these commands do not fit the version of weft in the program")


def variable(name):
    """A variable in an unnamed namespace of weft::detail; None: there is none."""
    full = f"weft::detail::(anonymous namespace)::{name}"
    for symbol in gdb.lookup_static_symbols(full) or []:
        if symbol.is_variable:
            return symbol.value()
    try:
        value = evaluate(f"'{full}'")
    except gdb.error:
        return None
    return None if value.type.code == gdb.TYPE_CODE_FUNC else value


@cached
def names_of(enum_name):
    """{value: name} of an enumeration in weft::detail."""
    return {f.enumval: f.name.rpartition("::")[2] for f in lookup(enum_name).fields()}
