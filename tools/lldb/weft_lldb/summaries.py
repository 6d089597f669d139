"""summaries.py: the printers of weft_green as summaries and synthetic children of lldb."""
from weft_green import printers
from weft_lldb import debugger

CATEGORY = "weft"


def printer_of(sb):
    debugger.use(sb.GetTarget())
    return printers.printer_of(debugger.value_of_lldb(sb))


def summary(sb, _internal_dict):
    printer = printer_of(sb)
    return printer.to_string() if printer is not None else ""


class children:
    """The method names are those that lldb calls."""

    def __init__(self, sb, _internal_dict):
        self.sb = sb
        self.found = []

    def update(self):
        printer = printer_of(self.sb.GetNonSyntheticValue())
        self.found = [(name, value.sb) for name, value in printer.children()] if hasattr(printer, "children") else []
        return False

    def num_children(self):
        return len(self.found)

    def has_children(self):
        return bool(self.found)

    def get_child_index(self, name):
        return next((i for i, (found, _) in enumerate(self.found) if found == name), -1)

    def get_child_at_index(self, index):
        if not 0 <= index < len(self.found):
            return None
        name, sb = self.found[index]
        return self.sb.CreateValueFromData(name, sb.GetData(), sb.GetType())


def install(lldb_debugger):
    for name in printers.PRINTERS:
        pattern = f"^{name}(<.*>)?$"
        lldb_debugger.HandleCommand(f'type summary add -w {CATEGORY} -e -x "{pattern}" -F weft_lldb.summaries.summary')
        lldb_debugger.HandleCommand(f'type synthetic add -w {CATEGORY} -x "{pattern}" -l weft_lldb.summaries.children')
    lldb_debugger.HandleCommand(f"type category enable {CATEGORY}")
