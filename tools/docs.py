#!/usr/bin/env python3
"""docs.py [ROOT]: checks that the documentation matches the repository.

1. Every relative link in a Markdown file leads to a file, and its #anchor to a heading.
2. Every Markdown file that any text file names exists.
3. A ```cpp block under a line <!-- example: examples/x.cc --> equals that file.
4. A block under a line <!-- lines: examples/x.cc --> holds consecutive lines of that file.
   Indentation does not matter. A line of dots (…) stands for any omitted lines.
5. Where a Markdown file says that something is missing ("not there yet", "waits for sysmon"),
   tools/missing.txt must agree. Otherwise such sentences outlive what they describe. Each line
   there is a file and words of the line in question, and means that the sentence was verified. A
   line that matches nothing must be removed.
6. ARCHITECTURE.md names every folder under src/, and names only files and folders that exist.
7. docs/README.md, the navigation of the site, lists every page of docs/: by a link, or by a pattern
   in a line <!-- pages: x/*.md -->.
8. A table under a line <!-- figures: docs/x.md P=2 --> has the figures of that page: each row, of a
   name and a unit, the same cells in columns of the same names. P=2 is the column P there.
"""
import fnmatch
import os
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
FENCE = re.compile(r"^\s*(```|~~~)")
EXAMPLE = re.compile(r"^<!-- example: (\S+) -->$")
LINES = re.compile(r"^<!-- lines: (\S+) -->$")
PAGES = re.compile(r"^<!-- pages: (.+) -->$")
FIGURES = re.compile(r"^<!-- figures: (\S+) P=(\d+) -->$")
CONTENTS = "docs/README.md"
HOME = "docs/home.md"  # the first page of the site
NAMED_MARKDOWN = re.compile(r"(?<![\w*<{])((?:[\w.-]+/)*[\w-]+\.md)\b")
MISSING = re.compile(r"\b(yet|not there|is fixed|are fixed|no monitor|not implemented|not supported|for now|planned)\b"
                     r"|\| waits for \w+( support)? \|$", re.IGNORECASE)
MISSING_LIST = "tools/missing.txt"
MAP = "ARCHITECTURE.md"
SKIPPED_FOLDERS = {".git", "build", "install", "__pycache__", ".cache", "node_modules", "target"}


def text_files(root):
    """The files of the repository according to git. Without git, those that are not build results."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) if has_git(root) else None
    if listed is not None and listed.returncode == 0:
        paths = [name.decode() for name in listed.stdout.split(b"\0") if name]
    else:
        paths = []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    for path in sorted(set(paths)):
        full = os.path.join(root, path)
        if not os.path.isfile(full):
            continue
        with open(full, "rb") as file:
            data = file.read()
        if b"\0" in data[:8000]:
            continue
        try:
            yield path.replace(os.sep, "/"), data.decode("utf-8")
        except UnicodeDecodeError:
            yield path.replace(os.sep, "/"), None


def has_git(root):
    if not os.path.exists(os.path.join(root, ".git")):
        return False
    try:
        return subprocess.run(["git", "--version"], stdout=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def anchors(text):
    """The #anchors of a Markdown file's headings, as code hosting sites make them."""
    found, fenced = set(), False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        match = None if fenced else re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
        if match:
            title = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).lower()
            base = anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            number = 0
            while anchor in found:
                number += 1
                anchor = f"{base}-{number}"
            found.add(anchor)
    return found


def broken_links(root, path, text):
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        if fenced:
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(root, os.path.dirname(path), name)) if name else os.path.join(root, path)
            if not os.path.exists(full):
                yield f"{path}:{number}: the link target {target} does not exist"
            elif anchor and full.endswith(".md"):
                with open(full, encoding="utf-8") as file:
                    if anchor.lower() not in anchors(file.read()):
                        yield f"{path}:{number}: {name or path} has no heading #{anchor}"


def missing_documents(root, path, text, known):
    """Names of Markdown files that do not exist here."""
    basenames = {os.path.basename(name) for name in known}
    for number, line in enumerate(text.splitlines(), start=1):
        if PAGES.match(line):
            continue
        if "://" in line:
            line = re.sub(r"\S+://\S+", "", line)
        for name in NAMED_MARKDOWN.findall(line):
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name)).replace(os.sep, "/")
            if name in known or beside in known or ("/" not in name and name in basenames):
                continue
            yield f"{path}:{number}: names {name}, which does not exist here"


def block_after(lines, number):
    """The fenced block that begins after line `number`, without its last line; None if there is
    none.
    """
    begin = next((i for i in range(number, len(lines)) if lines[i].strip()), len(lines))
    end = next((i for i in range(begin + 1, len(lines)) if lines[i].strip() == "```"), None)
    if end is None or not lines[begin].startswith("```"):
        return None
    return lines[begin:end]


def first_not_quoted(block, file):
    """The first line of a run of quoted lines that is not in the file; None if all are."""
    runs = [[]]
    for line in block:
        if line in ("…", "// …"):
            runs.append([])
        else:
            runs[-1].append(line)
    at = 0
    for run in runs:
        found = next((i for i in range(at, len(file)) if file[i:i + len(run)] == run), None)
        if found is None:
            return run[0]
        at = found + len(run)
    return None


def stale_quotes(root, path, text):
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        match = LINES.match(line.strip())
        if not match:
            continue
        source = match.group(1)
        if not os.path.isfile(os.path.join(root, source)):
            yield f"{path}:{number}: there is no {source}"
            continue
        block = block_after(lines, number)
        if block is None or len(block) < 2:
            yield f"{path}:{number}: no block follows"
            continue
        with open(os.path.join(root, source), encoding="utf-8") as file:
            wrong = first_not_quoted([quoted.strip() for quoted in block[1:]], [own.strip() for own in file])
        if wrong is not None:
            yield f"{path}:{number}: {source} does not contain these lines, starting at \"{wrong}\": copy them from the file"


def stale_examples(root, path, text):
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        match = EXAMPLE.match(line.strip())
        if not match:
            continue
        example = match.group(1)
        if not os.path.isfile(os.path.join(root, example)):
            yield f"{path}:{number}: there is no {example}"
            continue
        block = block_after(lines, number)
        if block is None or block[0] != "```cpp":
            yield f"{path}:{number}: no ```cpp block follows"
            continue
        block = block[1:]
        with open(os.path.join(root, example), encoding="utf-8") as file:
            wanted = file.read().rstrip("\n").splitlines()
        if block != wanted:
            first = next((i for i, (a, b) in enumerate(zip(block, wanted)) if a != b), min(len(block), len(wanted)))
            yield f"{path}:{number}: the block differs from {example} at its line {first + 1}: copy the file here"


def said_to_be_missing(text):
    """Yields number and text of each line outside of code blocks that says that something is
    missing.
    """
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and MISSING.search(line):
            yield number, line


def stale_gaps(files):
    """Complaints about sentences that are not in the list of what is missing, and about entries
    that match no sentence.
    """
    allowed = []
    for number, line in enumerate((files.get(MISSING_LIST) or "").splitlines(), start=1):
        if line and not line.startswith("#"):
            path, _, words = line.partition(": ")
            allowed.append((number, path, words))
    used = set()
    for path in sorted(name for name in files if name.endswith(".md")):
        for number, line in said_to_be_missing(files[path] or ""):
            fitting = [n for n, where, words in allowed if where == path and words and words in line]
            used.update(fitting)
            if not fitting:
                yield f"{path}:{number}: says that something is missing; add it to {MISSING_LIST}, or correct the text: {line.strip()[:80]}"
    for number, path, words in allowed:
        if number not in used:
            yield f"{MISSING_LIST}:{number}: {path} no longer says this: remove the line"


def stale_map(files):
    """Differences between the map of the sources and the sources."""
    if MAP not in files:
        return
    text = re.sub(r"^```.*?^```", "", files[MAP], flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([^`\n]+)`", text))
    folders = {"/".join(path.split("/")[:n]) + "/" for path in files for n in range(1, path.count("/") + 1)}
    basenames = {os.path.basename(path) for path in files}
    for folder in sorted(folders):
        if re.fullmatch(r"src/[^/]+/", folder) and folder not in named:
            yield f"{MAP}: does not name {folder}: add it"
    for name in sorted(named):
        is_file = re.fullmatch(r"[\w/]*\w\w+\.(cc|h|S|py|md)", name) and not name.startswith("x_")
        is_folder = re.fullmatch(r"(src|include|test|tools|bench|examples)/[\w/]*", name) and name.endswith("/")
        known = name in files or f"src/{name}" in files if "/" in name else name in basenames
        if (is_file and not known) or (is_folder and name not in folders):
            yield f"{MAP}: names {name}, which does not exist"


def unlisted_pages(files):
    """Pages of docs/ that the navigation does not list."""
    if CONTENTS not in files:
        return
    listed, patterns = {CONTENTS, HOME}, []
    for line in files[CONTENTS].splitlines():
        pages = PAGES.match(line)
        patterns += [f"docs/{pattern}" for pattern in pages.group(1).split()] if pages else []
        listed |= {os.path.normpath(f"docs/{target.partition('#')[0]}") for target in LINK.findall(line)}
    for path in sorted(files):
        if path.startswith("docs/") and path.endswith(".md") and path not in listed:
            if not any(fnmatch.fnmatch(path, pattern) for pattern in patterns):
                yield f"{CONTENTS}: does not list {path}: add a row for it"


def cells(line):
    return [re.sub(r"<sub>.*?</sub>|\*\*", "", cell).strip() for cell in line.strip().strip("|").split("|")]


def figures_of(text, p):
    """{(name, unit): {column: figure}}: the rows of all tables of a page with this P."""
    found, columns, name = {}, [], ""
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        row = cells(line)
        if not columns:
            columns = row
        elif len(row) > 3 and columns[1:3] == ["unit", "P"]:
            name = row[0] or name
            if row[2] == p:
                found.setdefault((name, row[1]), dict(zip(columns[3:], row[3:])))
    return found


def stale_figures(path, files):
    lines = files[path].splitlines()
    for number, line in enumerate(lines, start=1):
        match = FIGURES.match(line)
        if not match:
            continue
        source, p = match.groups()
        known = figures_of(files.get(source) or "", p)
        table = [cells(row) for row in lines[number:next((i for i in range(number, len(lines)) if not lines[i].startswith("|")), len(lines))]]
        if len(table) < 3:
            yield f"{path}:{number}: no table follows"
        for row in table[2:]:
            figures = known.get((row[0], row[1]))
            if figures is None:
                yield f"{path}:{number}: {source} has no row \"{row[0]}\" in {row[1]} with P={p}"
                continue
            for column, figure in zip(table[0][2:], row[2:]):
                if figure != figures.get(column, "—"):
                    yield f"{path}:{number}: {row[0]}, {column}: {figure} here, {figures.get(column, '—')} in {source}"


def check(root):
    files = dict(text_files(root))
    known = set(files)
    complaints = []
    for path, text in files.items():
        if text is None:
            continue
        if path.endswith(".md"):
            complaints += broken_links(root, path, text)
            complaints += stale_examples(root, path, text)
            complaints += stale_quotes(root, path, text)
            complaints += stale_figures(path, files)
        # The tests of the checkers name files that intentionally do not exist.
        if not path.startswith("tools/"):
            complaints += missing_documents(root, path, text, known)
    complaints += stale_gaps(files)
    complaints += stale_map(files)
    complaints += unlisted_pages(files)
    return complaints


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(here)
    complaints = check(root)
    for complaint in complaints:
        print(complaint)
    print(f"docs: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
