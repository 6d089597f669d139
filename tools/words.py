#!/usr/bin/env python3
"""words.py [ROOT]: the language of comments and documentation: the field's words, and sentences
that are easy to read.

Two rules, for the comments of C and C++ sources and the paragraphs of Markdown files:

1. No word of WORDS. Each has the word to use instead; docs/glossary.md explains the terms.
2. No sentence of more than LONGEST words.

tools/words_left.txt lists the files that have not been rewritten. They are not checked. A file that
passes must not be in the list.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "house"))
from closure import COMMENT as LITERAL_OR_COMMENT  # noqa: E402

LEFT = "tools/words_left.txt"
LONGEST = 40

# (pattern, what to write instead)
WORDS = [
    (r"\bwho(m|ever)?\b", "name the thing: the caller, the waiter, the thread that ..."),
    (r"\b(some|no|every|any)body\b", "name the thing: another thread, no thread, every waiter"),
    (r"\b(lie|lies|lay|lying|lain) down\b", "go idle, park the M"),
    (r"\blook-?outs?\b", "sentinel"),
    (r"\bone too many\b", "surplus"),
    (r"\boff[- ]P\b", "without a P"),
    (r"\bbelongings\b", "spawn resources"),
    (r"\bin vain\b", "without success; spurious, of a wake-up"),
    (r"\banew\b", "again"),
    (r"\blikewise\b", "also, or say it"),
    (r"\bgo(es|ing)? on on\b", "resume on"),
    (r"\bany ?more\b(?! than)", "say what holds, not what changed"),
    (r"\b(is|are|was) none\b", "say that it does not exist, or is not valid"),
    (r"\b(is|are) to be\b", "must be, or use the active voice"),
    (r"\bsees? to it\b", "make sure, ensure"),
    (r"\b(has|have) patience\b", "waits for at most"),
    (r"\bby lot\b", "at random"),
    (r"\bfor nothing\b", "without need; spurious, of a wake-up"),
    (r"\b(he|she|his|her|him)\b", "it, the caller, the thread"),
]
PATTERNS = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in WORDS]

CODE_FILE = re.compile(r"^(src|include|test|examples|bench)/.*\.(h|cc|c)$")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*(\[\"0-9]|$)")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)]|[A-Z]{1,2}\d{0,2}[.:]?(?= {2}))\s+")


def prose_of_code(text):
    """[(line number, text, whether it is trailing)]: the lines of comments, without what looks like
    code or drawings. A trailing comment stands after code, and begins a sentence."""
    found = []
    for match in LITERAL_OR_COMMENT.finditer(text):
        comment = match.group()
        if not comment.startswith("/"):
            continue
        number = text.count("\n", 0, match.start()) + 1
        trailing = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip() != ""
        for offset, line in enumerate(comment.splitlines()):
            line = re.sub(r"^\s*(//+!?<?|/\*+|\*+/?)", "", line).rstrip("*/ ")
            found.append((number + offset, line if not line.startswith("    ") and "NOLINT" not in line else "", trailing and offset == 0))
    return found


def prose_of_markdown(text):
    """[(line number, line, False)]: lines of paragraphs and lists; empty lines for headings, tables, code and comments."""
    found, fenced = [], False
    for number, line in enumerate(text.splitlines(), start=1):
        if docs.FENCE.match(line):
            fenced = not fenced
            line = ""
        elif fenced or line.startswith(("|", "#", "<!--", "    ")):
            line = ""
        found.append((number, line, False))
    return found


def sentences(lines):
    """[(line number, sentence)]: paragraphs are lines that follow one another, up to an empty one or a list item."""
    paragraph, begin, last = [], 0, None

    def cut():
        at = begin
        for sentence in SENTENCE_END.split("\n".join(paragraph)):
            yield at, " ".join(sentence.split())
            at += sentence.count("\n")
            # The line break that the split consumes counts if the next sentence begins on its own
            # line. This is exact enough for a report.

    for number, line, begins in [*lines, (None, "", False)]:
        new = begins or LIST_ITEM.match(line) or not line.strip() or (last is not None and number != last + 1)
        if new and paragraph:
            yield from cut()
            paragraph = []
        if line.strip():
            if not paragraph:
                begin = number
            paragraph.append(LIST_ITEM.sub("", line))
        last = number if number is not None else last


def check_file(path, text):
    """Complaints of one file, each FILE:LINE: what, and what to do."""
    lines = prose_of_markdown(text) if path.endswith(".md") else prose_of_code(text)
    for number, line, _ in lines:
        plain = QUOTED.sub("x", line)
        for pattern, instead in PATTERNS:
            match = pattern.search(plain)
            if match:
                yield f"{path}:{number}: \"{match.group()}\": {instead}"
    for number, sentence in sentences(lines):
        count = len(re.findall(r"[A-Za-z][\w'-]*", QUOTED.sub("x", sentence)))
        if count > LONGEST:
            yield f"{path}:{number}: a sentence of {count} words; {LONGEST} is the limit: {sentence[:60]}..."


def is_checked(path):
    return (path.endswith(".md") or CODE_FILE.search(path) is not None) and path != "docs/glossary.md"


def check(root):
    """Returns complaints about the files under root."""
    left_path = os.path.join(root, LEFT)
    left_files = set()
    if os.path.exists(left_path):
        with open(left_path, encoding="utf-8") as file:
            left_files = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    complaints = []
    files = {path: text for path, text in docs.text_files(root) if text is not None and is_checked(path)}
    for path, text in files.items():
        found = list(check_file(path, text))
        if path not in left_files:
            complaints += found
        elif not found:
            complaints.append(f"{LEFT}: {path} passes: remove it from the list")
    complaints += [f"{LEFT}: {path} does not exist: remove it from the list" for path in sorted(left_files - set(files))]
    return complaints, len(files) - len(left_files), len(left_files)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    complaints, checked, left = check(root)
    print("\n".join(complaints), end="\n" if complaints else "")
    print(f"words: {checked} files, {left} to be rewritten, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
