#!/usr/bin/env python3
"""c_names.py [--check]: writes include/weft/c.h, which gives each name of the C interface as weft_… and WEFT_….

The interface is declared once, as run_… and RUN_…, in include/weft/run/*.h. c.h defines a macro for
each function, type, constant and macro that these declare. With --check it writes nothing, and fails
if c.h is not what it would write.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "weft" / "run"
OUTPUT = ROOT / "include" / "weft" / "c.h"

# Of the headers themselves: no part of the interface.
INTERNAL = {"RUN_NOEXCEPT", "RUN_INT_ENUM", "RUN_NO_SHORT_NAMES"}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
DECLARED = re.compile(r"""
    ^\s*\#\s*define\s+(\w+)             # a macro
  | \b(run_\w+_t)\b                     # a type
  | \b(run_\w+)\s*\(                    # a function
  | \(\s*(run_\w+)\s*\)\s*\(            # a function behind a macro of the same name
  | \b(RUN_\w+)\s*(?:=|,|\})            # a constant of an enumeration
""", re.X | re.M)

HEAD = """\
// c.h: the C interface with names that begin with weft_ and WEFT_.
//
//     #include <weft/c.h>
//
//     weft_scheduler_init();
//     weft_spawn(square, &job);
//
// Each name is a macro for the one that begins with run_ or RUN_, so both may be used in one
// program, and libraries and debuggers know the latter only. See weft/run.h for the interface.
//
// Written by tools/c_names.py.
#pragma once

#include <weft/run.h>

// clang-format off
"""


def names():
    """The names that the headers declare, each once, in the order of the headers."""
    found = {}
    for path in sorted(HEADERS.glob("*.h")):
        for match in DECLARED.finditer(COMMENT.sub("", path.read_text())):
            name = next(group for group in match.groups() if group)
            if name.startswith(("run_", "RUN_")) and name not in INTERNAL:
                found.setdefault(name, path.stem)
    return found


def text():
    lines, of = [], None
    for name, header in names().items():
        if header != of:
            lines.append(f"\n// {header}.h")
            of = header
        lines.append(f"#define {'WEFT' if name.isupper() else 'weft'}{name[3:]} {name}")
    return HEAD + "\n".join(lines) + "\n// clang-format on\n"


def main():
    wanted = text()
    if sys.argv[1:] != ["--check"]:
        OUTPUT.write_text(wanted)
        return 0
    if OUTPUT.exists() and OUTPUT.read_text() == wanted:
        return 0
    print("include/weft/c.h is not what the headers declare: run python3 tools/c_names.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
