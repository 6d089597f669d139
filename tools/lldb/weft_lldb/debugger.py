"""debugger.py: what weft_green needs of lldb; weft_green/debugger.py says what each name means.

value and type have the methods of gdb.Value and gdb.Type that weft_green uses. The target is that of
the command or summary that runs; each of them calls use() first.
"""
import collections
import os
import re

import lldb

from weft_green import layout

LISTING = "green-threads"
TEXT_MAX = 4096


class failure(Exception):
    """An error for the user."""


class not_readable(Exception):
    """What is asked for cannot be read."""


unreadable = (not_readable,)
TARGET = None
USED = None     # what the caches of layout are of


def use(target):
    """Sets the target of what follows."""
    global TARGET, USED
    TARGET = target
    now = (target.GetDebugger().GetID(), str(target.GetExecutable()), target.GetNumModules(), target.GetProcess().GetUniqueID())
    if now != USED:
        USED = now
        layout.forget()


def process():
    return TARGET.GetProcess()


field = collections.namedtuple("field", "name type bitpos is_base_class")
enumerator = collections.namedtuple("enumerator", "name enumval")
REFERENCES = (lldb.eTypeClassReference,)
STRUCTS = lldb.eTypeClassStruct | lldb.eTypeClassClass | lldb.eTypeClassUnion


class type_of_lldb:
    """An SBType."""

    def __init__(self, sb):
        self.sb = sb

    def __str__(self):
        return self.sb.GetName() or "?"

    @property
    def tag(self):
        return self.sb.GetName()

    @property
    def sizeof(self):
        return self.sb.GetByteSize()

    @property
    def alignof(self):
        """The alignment without alignas, which lldb 14 does not tell."""
        t = self.sb.GetCanonicalType()
        if t.IsArrayType():
            return type_of_lldb(t.GetArrayElementType()).alignof
        if not t.GetTypeClass() & STRUCTS:
            return max(1, min(16, t.GetByteSize()))
        return max((f.type.alignof for f in type_of_lldb(t).fields()), default=1)

    def strip_typedefs(self):
        return type_of_lldb(self.sb.GetCanonicalType())

    def unqualified(self):
        return type_of_lldb(self.sb.GetUnqualifiedType())

    def target(self):
        return type_of_lldb(self.sb.GetPointeeType() if self.sb.IsPointerType() else self.sb.GetDereferencedType())

    def template_argument(self, index):
        return type_of_lldb(self.sb.GetTemplateArgumentType(index))

    def fields(self):
        t = self.sb.GetCanonicalType()
        if t.GetTypeClass() == lldb.eTypeClassEnumeration:
            members = t.GetEnumMembers()
            found = (members.GetTypeEnumMemberAtIndex(i) for i in range(members.GetSize()))
            return [enumerator(m.GetName(), m.GetValueAsUnsigned()) for m in found]
        bases = [(t.GetDirectBaseClassAtIndex(i), True) for i in range(t.GetNumberOfDirectBaseClasses())]
        own = [(t.GetFieldAtIndex(i), False) for i in range(t.GetNumberOfFields())]
        return [field(m.GetName(), type_of_lldb(m.GetType()), m.GetOffsetInBytes() * 8, is_base) for m, is_base in bases + own]


class value_of_lldb:
    """An SBValue, without summaries and synthetic children."""

    def __init__(self, sb):
        if sb.GetType().IsReferenceType():
            sb = sb.Dereference()
        self.sb = sb.GetNonSyntheticValue()

    @property
    def type(self):
        return type_of_lldb(self.sb.GetType())

    @property
    def address(self):
        at = self.sb.GetLoadAddress()
        if at == lldb.LLDB_INVALID_ADDRESS:
            raise not_readable("it is not in memory")
        return at

    def __getitem__(self, key):
        if isinstance(key, field):
            return checked(self.sb.CreateChildAtOffset(key.name or "base", key.bitpos // 8, key.type.sb))
        if isinstance(key, int):
            t = self.sb.GetType().GetCanonicalType()
            if t.IsPointerType():
                element, first = t.GetPointeeType(), int(self)
            else:
                element, first = t.GetArrayElementType(), self.address
            return value_at(first + key * element.GetByteSize(), type_of_lldb(element))
        child = self.sb.GetChildMemberWithName(key)
        if not child.IsValid():
            raise not_readable(f"{self.type} has no member {key}")
        return checked(child)

    def __int__(self):
        error = lldb.SBError()
        signed = self.sb.GetType().GetCanonicalType().GetTypeFlags() & lldb.eTypeIsSigned
        number = self.sb.GetValueAsSigned(error, 0) if signed else self.sb.GetValueAsUnsigned(error, 0)
        if error.Fail():
            raise not_readable(error.GetCString())
        return number

    def __bool__(self):
        return int(self) != 0

    def dereference(self):
        return checked(self.sb.Dereference())

    def string(self, encoding="utf-8", errors="replace"):
        """The characters that a pointer points to. Core files leave out constants, which then are read
        from the program."""
        at, data = int(self), b""
        while b"\0" not in data and len(data) < TEXT_MAX:
            error = lldb.SBError()
            size = 256 - at % 256
            more = TARGET.ReadMemory(TARGET.ResolveLoadAddress(at), size, error)
            if not more:
                raise not_readable(error.GetCString() or f"there is no memory at {at:#x}")
            data += more
            at += len(more)
        return data.partition(b"\0")[0].decode(encoding, errors)


def checked(sb):
    if not sb.IsValid() or sb.GetError().Fail():
        raise not_readable(sb.GetError().GetCString() or "it cannot be read")
    return value_of_lldb(sb)


def lookup_type(name):
    """A complete type of this name, without the leading namespaces that are unnamed."""
    found = TARGET.FindTypes(name)
    if not found.GetSize():
        # lldb 14 does not find a qualified name with an unnamed namespace in it.
        found = TARGET.FindTypes(name.rpartition("::")[2])
    for i in range(found.GetSize()):
        t = found.GetTypeAtIndex(i)
        if t.IsTypeComplete() and t.GetByteSize() and without_tag(t.GetName()) == name:
            return type_of_lldb(t)
    return None


def without_tag(name):
    return re.sub(r"^(?:struct|class|enum|union) ", "", name or "")


def value_at(address, t):
    if not address:
        raise not_readable("it is a null pointer")
    return checked(TARGET.CreateValueFromAddress("object", lldb.SBAddress(address, TARGET), t.sb))


def is_struct(t):
    return bool(t.sb.GetCanonicalType().GetTypeClass() & STRUCTS)


def globals_named(name):
    found = TARGET.FindGlobalVariables(name, 64)
    return [found.GetValueAtIndex(i) for i in range(found.GetSize()) if found.GetValueAtIndex(i).GetName() == name]


def constant(name):
    for v in globals_named(name):
        error = lldb.SBError()
        number = v.GetValueAsUnsigned(error, 0)
        if error.Success():
            return number
    return None


def variable(name):
    for v in globals_named(name):
        return value_of_lldb(v)
    return None


def address_of(function):
    found = TARGET.FindSymbols(function)
    for i in range(found.GetSize()):
        at = found.GetContextAtIndex(i).GetSymbol().GetStartAddress().GetLoadAddress(TARGET)
        if at != lldb.LLDB_INVALID_ADDRESS:
            return at
    return 0


def without_arguments(name):
    """The name of a function without its arguments and return type, as gdb shows it."""
    if name is None:
        return None
    text = name[2:] if name.startswith("::") else name
    depth, end = 0, len(text)
    for i, c in enumerate(text):
        if c == "<" and not text[:i].endswith("operator"):
            depth += 1
        elif c == ">" and depth:
            depth -= 1
        elif c == "(" and depth == 0 and not text.startswith("(anonymous", i) and not text[:i].endswith("operator"):
            end = i
            break
    return text[:end]


def function_at(pc):
    address = TARGET.ResolveLoadAddress(pc)
    name = address.GetFunction().GetName() or address.GetSymbol().GetName()
    return without_arguments(name)


def source_of(function):
    found = TARGET.FindFunctions(function)
    for i in range(found.GetSize()):
        path = path_of(found.GetContextAtIndex(i).GetFunction().GetStartAddress().GetLineEntry().GetFileSpec())
        if path:
            return path
    return None


def path_of(spec):
    return os.path.join(spec.GetDirectory() or "", spec.GetFilename()) if spec.IsValid() and spec.GetFilename() else None


shown_frame = collections.namedtuple("shown_frame", "level pc name file path line")


def frame_named(level, pc, name, entry):
    path = path_of(entry.GetFileSpec())
    return shown_frame(level, pc, without_arguments(name), entry.GetFileSpec().GetFilename(), path, entry.GetLine())


def frames_of(g, pcs):
    """Those of a parked one are found by the return addresses, as lldb counts them: each inlined call
    is a frame."""
    from weft_lldb import selection
    if g.is_running:
        thread = selection.thread_of(g)
        for i in range(thread.GetNumFrames()):
            f = thread.GetFrameAtIndex(i)
            yield frame_named(i, f.GetPC(), f.GetDisplayFunctionName(), f.GetLineEntry())
        return
    level = 0
    for index, pc in enumerate(pcs):
        address = TARGET.ResolveLoadAddress(pc if index == 0 else pc - 1)
        context = TARGET.ResolveSymbolContextForAddress(address, lldb.eSymbolContextEverything)
        while True:
            outer_address = lldb.SBAddress()
            outer = context.GetParentOfInlinedScope(address, outer_address)
            block = context.GetBlock().GetContainingInlinedBlock()
            name = block.GetInlinedName() if block.IsValid() else context.GetFunction().GetName() or context.GetSymbol().GetName()
            yield frame_named(level, pc, name, context.GetLineEntry())
            level += 1
            if not outer.IsValid():
                break
            context, address = outer, outer_address


def is_live():
    """Whether a debugger of this machine traces a process with that number and program: the server
    that lldb reads from may also run elsewhere."""
    p = process()
    if not p.IsValid() or p.GetPluginName() != "gdb-remote":
        return False
    try:
        with open(f"/proc/{p.GetProcessID()}/status", encoding="utf-8") as file:
            traced = re.search(r"^TracerPid:\s*[1-9]", file.read(), re.MULTILINE)
        program = os.readlink(f"/proc/{p.GetProcessID()}/exe")
    except OSError:
        return False
    return traced is not None and os.path.basename(program) == TARGET.GetExecutable().GetFilename()


def local_pid():
    return process().GetProcessID() if is_live() else 0


def memory_reader():
    read_memory = process().ReadMemory

    def read(size, address):
        error = lldb.SBError()
        data = read_memory(address, size, error)
        if data is None or error.Fail():
            raise not_readable(error.GetCString())
        return data
    return read


def page_size():
    return None     # the host's; lldb does not tell that of a core file


def processor():
    return process().GetTarget().GetTriple().partition("-")[0]
