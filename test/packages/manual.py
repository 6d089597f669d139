#!/usr/bin/env python3
"""manual.py: the manual page programs/weft.1 has each command and option of `weft help`, and no other."""
import os
import re

from common import ROOT, fail


def main():
    with open(os.path.join(ROOT, "programs", "weft.cc"), encoding="utf-8") as file:
        text = re.search(r'help_text =\s*R"\((.*?)\)"', file.read(), re.DOTALL)[1]
    with open(os.path.join(ROOT, "programs", "weft.1"), encoding="utf-8") as file:
        page = re.sub(r"\\f[A-Z]", "", file.read()).replace("\\-", "-")
    options = [set(re.findall(r"(?<![\w-])--[a-z]+", where)) for where in (text, page)]
    if options[0] != options[1]:
        fail(f"the manual page and `weft help` differ in {sorted(options[0] ^ options[1])}")
    commands = re.findall(r"(?m)^  ([a-z]+)\b", text)
    for command in commands:
        if not re.search(rf"(?m)^\.(B|BI|BR) {command}\b", page):
            fail(f"the manual page does not have the command {command}")
    print(f"manual page: {len(set(commands))} commands, {len(options[0])} options")


if __name__ == "__main__":
    main()
