#!/usr/bin/env python3
"""doc_comments.py [--check] [FILE...]: comments of public declarations are ///, so that editors show them.

In the headers under include/weft (not detail/, which users do not call) a comment above a declaration
in a namespace, or in the public part of a class, begins with ///, and one behind a member or a constant
with ///<. Comments at the head of a file, between sections, in bodies and about private members stay
//. Without --check the files are rewritten.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {"include/weft/c.h"}

LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')
WHOLE_LINE = re.compile(r"^\s*//(?!/)")
BEHIND_CODE = re.compile(r"^(.*?\S\s+)// (?!NOLINT)(.*)$")
ACCESS = re.compile(r"^\s*(public|private|protected):")


class scopes:
    """The braces around a line of code, and whether a declaration there is public."""

    def __init__(self):
        self.stack = []  # "namespace", "enum", "body" and "detail"; of a class: "public", "private" or "protected"
        self.statement = ""

    def is_public(self):
        return all(kind in ("namespace", "enum", "public") for kind in self.stack)

    def has_members(self):
        return bool(self.stack) and self.stack[-1] in ("enum", "public")

    def read(self, code):
        access = ACCESS.match(code)
        if access and self.stack and self.stack[-1] in ("public", "private", "protected"):
            self.stack[-1] = access.group(1)
            return
        for c in code:
            if c == "{":
                self.stack.append(self.kind())
                self.statement = ""
            elif c == "}":
                if self.stack:
                    self.stack.pop()
                self.statement = ""
            elif c == ";" or (c == "," and self.stack and self.stack[-1] == "enum"):
                self.statement = ""
            else:
                self.statement += c
        self.statement += " "

    def kind(self):
        """What the brace after the statement opens."""
        s = self.statement.strip()
        if re.match(r"(inline )?namespace\b", s):
            return "detail" if "detail" in s or s.endswith("namespace") else "namespace"
        if re.match(r'extern\s+""', s):
            return "namespace"
        if re.search(r"\benum\b", s):
            return "enum"
        without_template = re.sub(r"template\s*<[^{}]*?>\s*(?=class|struct|requires)", "", s)
        if re.search(r"\b(class|struct|union)\b[^()]*$", without_template) and "=" not in without_template:
            return "private" if re.search(r"\bclass\b", without_template) else "public"
        return "body"


def rewritten(text):
    lines = text.split("\n")
    out = list(lines)
    around, block, begun, continued = scopes(), [], False, False
    for i, line in enumerate(lines):
        if not begun:
            begun = line.startswith("#pragma once")
            continue
        if WHOLE_LINE.match(line):
            block.append(i)
            continue
        code = re.sub(r"//.*", "", LITERAL.sub('""', line)).rstrip()
        declares = code.strip() != "" and not code.strip().startswith(("#", "}"))
        if block and declares and around.is_public() and around.statement.strip() == "" and "// ----" not in lines[block[0]]:
            for b in block:
                out[b] = lines[b].replace("//", "///", 1)
        block = []
        behind = BEHIND_CODE.match(line)
        if behind and declares and around.is_public() and around.has_members() and "(" not in code and re.search(r"[;,]$|^\s*\w+(\s*=.*)?$", code):
            out[i] = f"{behind.group(1)}///< {behind.group(2)}"
        if code.strip().startswith("#") or continued:
            continued = line.endswith("\\")
            continue
        around.read(code)
    return "\n".join(out)


def public_headers():
    for path in sorted((ROOT / "include" / "weft").rglob("*.h")):
        name = path.relative_to(ROOT).as_posix()
        if "/detail/" not in name and name not in GENERATED:
            yield path


def main():
    check = "--check" in sys.argv
    files = [pathlib.Path(a).resolve() for a in sys.argv[1:] if a != "--check"] or list(public_headers())
    complaints = 0
    for path in files:
        text = path.read_text()
        wanted = rewritten(text)
        if wanted == text:
            continue
        if not check:
            path.write_text(wanted)
            continue
        for number, (is_, should) in enumerate(zip(text.split("\n"), wanted.split("\n")), start=1):
            if is_ != should:
                complaints += 1
                print(f"{path.relative_to(ROOT)}:{number}: the comment of a public declaration begins with ///: "
                      "run python3 tools/doc_comments.py")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
