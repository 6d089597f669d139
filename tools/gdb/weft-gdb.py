"""weft-gdb.py: loads the commands and pretty-printers for green threads into gdb.

    (gdb) source .../share/weft/gdb/weft-gdb.py

gdb also loads it by itself: see docs/debuggers.md. Needs gdb 12 with Python 3.6 or later.
"""
import os
import sys

_folder = os.path.dirname(os.path.realpath(__file__))
for _path in (os.path.join(os.path.dirname(_folder), "debuggers"), _folder):
    if _path not in sys.path:
        sys.path.insert(0, _path)

import weft_gdb  # noqa: E402

weft_gdb.install()
