"""printers.py: registers the printers of weft_green with gdb."""
import gdb.printing

from weft_green import printers


class lookup:
    name = "weft"
    enabled = True
    subprinters = None

    def __call__(self, value):
        return printers.printer_of(value)


def install():
    gdb.printing.register_pretty_printer(None, lookup(), replace=True)
