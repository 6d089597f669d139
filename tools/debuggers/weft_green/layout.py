"""layout.py: where things are in the memory of the program, by the library's debug information.

No offset is written down here. Whatever is looked up is kept until the debugger loads or drops an
object file.
"""
import functools

from weft_green import debugger

NO_TYPES = ("weft: no debug information of the library, so green threads cannot be found. Build weft with -g (its own "
            "build does), do not strip the program, or load the separate debug file (symbol-file, debuginfod)")
OTHER_VERSION = "these commands do not fit the version of weft in the program"
CACHES = []


def cached(function):
    """functools.lru_cache, emptied when object files come or go."""
    wrapped = functools.lru_cache(maxsize=None)(function)
    CACHES.append(wrapped)
    return wrapped


def forget(_event=None):
    for one in CACHES:
        one.cache_clear()


@cached
def lookup(name):
    """The type of this name in weft::detail."""
    t = debugger.lookup_type(f"weft::detail::{name}")
    if t is None:
        raise debugger.failure(NO_TYPES)
    return t


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
            raise debugger.failure(f"weft: {t} has no field {name}: {OTHER_VERSION}")
        offset, t = offset + found[0], found[1]
    return offset, t.sizeof


def find_field(t, name):
    for f in data_fields(t):
        if f.name == name and not f.is_base_class:
            return f.bitpos // 8, f.type
        if f.is_base_class or not f.name:    # a base, or a union without a name
            found = find_field(f.type, name)
            if found is not None:
                return f.bitpos // 8 + found[0], found[1]
    return None


def load(value):
    """The value of an atomic, a peekable, or anything else that wraps one value."""
    while debugger.is_struct(value.type):
        value = value[data_fields(value.type)[0]]
    return value


def at(address, type_name):
    """The object of that type of weft::detail at this address."""
    return debugger.value_at(address, lookup(type_name))


def as_type(address, name):
    """The object of a type, of any namespace, at this address."""
    t = debugger.lookup_type(name)
    if t is None:
        raise debugger.failure(f"weft: the type {name} is not in the debug information: {OTHER_VERSION}")
    return debugger.value_at(address, t)


@cached
def constant(name):
    """A constant of weft."""
    value = debugger.constant(f"weft::{name}")
    if value is None:
        raise debugger.failure(f"weft: {name} is not in the debug information: {OTHER_VERSION}")
    return value


def bit(name):
    """A bit of G::traits or G::special: debugger_bit in src/sched/debugger.h."""
    return enumerator("(anonymous namespace)::debugger_bit", name)


@cached
def enumerator(enum_name, name):
    """The value of an enumerator of an enumeration in weft::detail."""
    for f in lookup(enum_name).fields():
        if f.name.rpartition("::")[2] == name:
            return f.enumval
    raise debugger.failure(f"weft: {enum_name} has no {name} in the debug information: {OTHER_VERSION}")


def variable(name):
    """A variable in an unnamed namespace of weft::detail; None: there is none."""
    return debugger.variable(f"weft::detail::(anonymous namespace)::{name}")


@cached
def names_of(enum_name):
    """{value: name} of an enumeration in weft::detail."""
    return {f.enumval: f.name.rpartition("::")[2] for f in lookup(enum_name).fields()}
