"""markdown_forms.py: Markdown as code hosting sites read it, rewritten for Python-Markdown.

Pages are written for the first. The second needs four blanks of indentation for what belongs to a
list item, an empty line before a list, and no escape of a bar in the code of a table cell.
"""
import re

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(\s*)([-*+]|\d{1,3}[.)])(\s+)(?=\S)")


def for_mkdocs(text):
    out, items, shift, fenced = [], [], 0, False  # items: where the texts of the items around begin
    before = ""
    for line in text.splitlines():
        if fenced:
            fenced = not FENCE.match(line)
            out.append(moved(line, shift))
            continue
        if line.strip() == "":
            before = ""
            out.append("")
            continue
        indent = len(line) - len(line.lstrip())
        item = ITEM.match(line)
        if item or before == "" or FENCE.match(line) or line.startswith(("#", "|", "<")):
            while items and indent < items[-1]:
                items.pop()
        shift = 4 * len(items) - (items[-1] if items else 0)
        if item:
            if not items and before and not ITEM.match(before) and not before.startswith(" "):
                out.append("")
            items.append(item.end())
        if FENCE.match(line):
            fenced = True
        if line.lstrip().startswith("|"):
            line = re.sub(r"`[^`]*`", lambda code: code.group(0).replace("\\|", "|"), line)
        out.append(moved(line, shift))
        before = line
    return "\n".join(out) + "\n"


def moved(line, by):
    if by >= 0:
        return " " * by + line if line else line
    return line[min(-by, len(line) - len(line.lstrip())):]
