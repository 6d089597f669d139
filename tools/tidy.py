#!/usr/bin/env python3
"""tidy.py [ROOT]: rules for every file here that no compiler checks.

Each complaint is one line: where, what, and what to do. Change a rule here if it prevents better
code.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs  # noqa: E402

LINE_WIDTH = 160
PROSE_WIDTH = 100
README_LINES = 150
FILE_LINES_WARN = 400
FILE_LINES_FAIL = 600

# Files in which long lines are data, not prose.
WIDE = re.compile(r"\.(expected|svg|json|md)$|(^|/)(LICENSE|go\.sum|Cargo\.lock)$")
TABS = re.compile(r"\.(go|mod|sum|svg)$|(^|/)(Makefile)$")
CODE = re.compile(r"\.(h|cc|S)$")
INPUT = re.compile(r"^test/fuzz/corpus/")  # bytes, whatever they look like
CHECKERS = re.compile(r"^tools/(tidy|docs)(_test)?\.py$")

# In src/ and include/, outside tests: what the runtime replaces with its own, or must not have.
# src/observe/ has plain threads, and src/sim/ is called by them: they may use what plain threads use.
# src/http/, src/http_client/ and the clients of databases and brokers are written like programs of weft: they have std::functions,
# and the time.
WITH_PLAIN_THREADS = re.compile(r"^(src|include/weft)/(observe|sim|http|http_client|redis|postgres|nats|grpc)/")
RANDOM_NUMBERS = "src/sim/random_numbers.cc"  # defines them
BANNED = [
    (re.compile(r"\bstd::(recursive_|timed_|shared_)?mutex\b"), "use base's or weft's own lock: a std::mutex blocks the OS thread"),
    (re.compile(r"\bstd::j?thread\b(?!::id)"), "threads come from os/: they need a signal stack, a name and a G"),
    (re.compile(r"\bstd::condition_variable\b"), "use a note: a condition variable blocks the OS thread"),
    (re.compile(r"(?<![\w.:>])s?rand\s*\("), "use the generator that the runtime was given, so that a run can be replayed"),
    (re.compile(r"\b(steady|system|high_resolution)_clock::now\b"), "ask the runtime's clock, so that a run can be replayed"),
    (re.compile(r"\bstd::random_device\b"), "ask os/ for a seed once"),
    (re.compile(r"#\s*include\s*<(iostream|regex|functional)>"), "too heavy for the runtime and its headers: do without it"),
]
LEFT_BEHIND = re.compile(r"\b(FIX" r"ME|XX" r"X|HA" r"CK)\b")
BARE_TODO = re.compile(r"\bTO" r"DO\b(?!\(\w)")

# References that mean something only to their author.
PRIVATE = [
    (re.compile(r"(?<![\w.])/(?:home|root|mnt|srv|work|Users)/\w"), "a path of one machine: use a relative one"),
    (re.compile(r"\b(?:issue|ticket)s?\s+#?\d+\b", re.IGNORECASE), "a number that a reader cannot look up: say what it stands for"),
    (re.compile(r"\b(?:spec|research)[/]\d?\w+"), "a document that is not here: say what it says, or write it under docs/"),
    (re.compile(r"(?i)\b(?:this|an?other|earlier|previous|last|my) session\b"), "say what holds, not which session did the work"),
    (re.compile(r"(?i)\bas (?:requested|instructed|discussed)\b"), "give the reason, not the request"),
]
# A letter and a number name a rule of some list. The list must be here: bold, a heading, or "D7."
# at the beginning of a line.
LABEL = re.compile(r"(?<![\w-])D(?:[1-9]|1\d|20)(?![\w-])")
LABEL_HOME = re.compile(r"^(?:#+\s|\*\*|[-*]\s+\*\*)?\W*(D\d{1,2})\b")

# Hosts that the documentation may point to. Downloads come from package managers, never from an
# address.
HOSTS = {
    "www.boost.org", "boost.org", "en.cppreference.com", "eel.is", "open-std.org", "www.open-std.org", "go.dev", "golang.org", "research.swtch.com",
    "man7.org", "www.kernel.org", "docs.kernel.org", "kernel.org", "lwn.net", "github.com", "llvm.org", "clang.llvm.org",
    "gcc.gnu.org", "sourceware.org", "spinroot.com", "www.1024cores.net", "refspecs.linuxfoundation.org", "semver.org", "keepachangelog.com",
    "packages.debian.org", "www.debian.org", "www.w3.org", "doi.org", "dl.acm.org", "www.usenix.org", "developer.arm.com",
    "cmake.org", "valgrind.org",
}
ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://([A-Za-z0-9.-]+)")
BARE_HOST = re.compile(r"(?<![\w./@-])((?:[a-z0-9-]+\.)+(?:org|com|net|io))(?![\w.(-])")
LOCAL_HOSTS = re.compile(r"^(localhost|127\.0\.0\.1|example\.(com|org|net)|[\w.-]+\.example)$")

ORDER = re.compile(
    r"(?:std::memory_order(?:_|::)|(?:^|[(,])\s*)(relaxed|acquire|release|acq_rel|consume)\b(?=\s*(?:[,)]|$))")
ORDER_DEFINITION = re.compile(r"\bconstexpr\b.*=\s*std::memory_order|^\s*#\s*define\b|^\s*(using|enum)\b")


def split_comment(line):
    """Returns (code, comment) of one C++ line; strings in the code are emptied."""
    code, i = [], 0
    while i < len(line):
        if line.startswith(("//", "/*"), i):
            return "".join(code), line[i:]
        if line[i] in "\"'" and not (line[i] == "'" and i > 0 and line[i - 1].isalnum()):
            end = i + 1
            while end < len(line) and line[end] != line[i]:
                end += 2 if line[end] == "\\" else 1
            code.append(line[i] * 2)
            i = end + 1
            continue
        code.append(line[i])
        i += 1
    return "".join(code), ""


def preformatted(text):
    """Whether a comment's text is a table, a drawing, an example, or one long word."""
    return bool(re.search(r"\S {2,}\S|[─-╿═]|NOLINT|^(mutants?|needs): |[;{}]$|[;{}] +//", text.strip()) or " " not in text.strip())


def check_prose(path, lines):
    """Pages, and comments that have a line of their own. Tables, drawings and examples may be wider."""
    if path.startswith("docs/benchmarks"):  # written by bench/run.py
        return
    example = False
    for number, line in enumerate(lines, start=1):
        if path.endswith(".md"):
            example ^= line.lstrip().startswith("```")
            prose = "" if example or line.startswith("|") else line
        else:
            match = re.match(r"\s*///?\s(.*)$", line) if path.endswith((".h", ".cc", ".c")) else None
            prose = match.group(1) if match and not preformatted(match.group(1)) else ""
        if len(line) > PROSE_WIDTH and " " in prose.strip():
            yield f"{path}:{number}: {len(line)} columns of prose: {PROSE_WIDTH} is the limit"
    if path == "README.md" and len(lines) > README_LINES:
        yield f"{path}: {len(lines)} lines: {README_LINES} is the limit: move details to docs/"


def is_test(path):
    return path.startswith("test/") or path.endswith("_test.cc")


def check_lines(path, lines):
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        if len(line) > LINE_WIDTH and not WIDE.search(path):
            yield f"{where}: {len(line)} columns: {LINE_WIDTH} is the limit"
        if "\t" in line and not TABS.search(path):
            yield f"{where}: a tab: indent with spaces"
        if line != line.rstrip() and not path.endswith((".svg", ".expected")):
            yield f"{where}: blanks at the end of the line"
        if CHECKERS.match(path):
            continue
        match = LEFT_BEHIND.search(line)
        if match:
            yield f"{where}: {match.group(0)}: finish it, or write a TO" "DO(name) that says what and why"
        if BARE_TODO.search(line):
            yield f"{where}: a TO" "DO without (name)"
        for pattern, why in PRIVATE:
            match = pattern.search(line)
            if match:
                yield f"{where}: {match.group(0)}: {why}"


def check_addresses(path, lines):
    if path.endswith(".svg") or CHECKERS.match(path):
        return
    for number, line in enumerate(lines, start=1):
        hosts = ADDRESS.findall(line)
        if not CODE.search(path) and not path.endswith((".go", ".rs", ".mod", ".sum", ".lock", ".toml")):
            hosts += BARE_HOST.findall(line)
        for host in hosts:
            if host not in HOSTS and not LOCAL_HOSTS.match(host):
                yield f"{path}:{number}: the address {host}: install with a package manager, or add a reference to HOSTS in tools/tidy.py"


def check_labels(path, lines, homes):
    if not CODE.search(path):
        return
    for number, line in enumerate(lines, start=1):
        for label in LABEL.findall(split_comment(line)[1] if not path.endswith(".S") else ""):
            if label not in homes:
                yield f"{path}:{number}: {label}: no document here explains that label: say what it stands for"


def check_head(path, lines):
    name = os.path.basename(path)
    if not lines or not re.match(rf"^(?://|/\*|#) {re.escape(name)}: \S.*[.…:]?$", lines[0]):
        yield f"{path}:1: begin with: // {name}: one line that says what it is."


def check_size(path, lines):
    """Returns (complaints, warnings)."""
    count = len(lines)
    if count > FILE_LINES_FAIL:
        return [f"{path}: {count} lines, more than {FILE_LINES_FAIL}: split it into two files"], []
    if count > FILE_LINES_WARN:
        return [], [f"{path}: {count} lines, close to the limit of {FILE_LINES_FAIL}: split it soon (warning)"]
    return [], []


ORDER_WORDS = r"\b(relaxed|acquire|release|acq_rel|seq_cst|[RAF][0-9])\b"


def explained_beside(lines, number):
    """Whether a memory order on line number (from 1) is explained on the comment line above, or
    where its statement ends.
    """
    above = lines[number - 2].strip() if number >= 2 else ""
    if above.startswith("//") and re.search(ORDER_WORDS, above):
        return True
    code, _ = split_comment(lines[number - 1])
    ends = code.rstrip().endswith((";", "{", "}"))
    return not ends and number < len(lines) and split_comment(lines[number])[1] != ""


def check_code(path, lines):
    """Rules for the library's own sources."""
    in_block_comment = False
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        if in_block_comment:
            in_block_comment = "*/" not in line
            continue
        code, comment = split_comment(line)
        if comment.startswith("/*") and "*/" not in comment:
            in_block_comment = True
        if not path.startswith("src/os/") and path != RANDOM_NUMBERS:
            for pattern, why in BANNED:
                match = pattern.search(code)
                if match and not (WITH_PLAIN_THREADS.search(path) and re.match(r"std::(mutex|thread|condition_variable)|steady_clock|#", match.group(0))):
                    yield f"{where}: {match.group(0).strip()}: {why}"
        if not comment and ORDER.search(code) and not ORDER_DEFINITION.search(code) and not explained_beside(lines, number):
            order = ORDER.search(code).group(1)
            yield f"{where}: {order} without a reason on its line or beside it: a label (R1, A1) or a comment (\"only we write it\")"


def check_file(path, text, homes):
    """Returns (complaints, warnings) for one file."""
    lines = text.splitlines()
    complaints, warnings = [], []
    if text and not text.endswith("\n"):
        complaints.append(f"{path}: no newline at the end of the file")
    if "\r" in text:
        complaints.append(f"{path}: carriage returns: lines end in a newline")
    complaints += check_lines(path, lines)
    complaints += check_prose(path, lines)
    complaints += check_addresses(path, lines)
    complaints += check_labels(path, lines, homes)
    own = path.startswith(("src/", "include/")) and CODE.search(path)
    if own:
        complaints += check_head(path, lines)
    if own and not is_test(path):
        complaints += check_code(path, lines)
    if path.endswith((".h", ".cc")) and not is_test(path):
        too_long, soon = check_size(path, lines)
        complaints += too_long
        warnings += soon
    return complaints, warnings


def check(root):
    files = dict(docs.text_files(root))
    homes = {match.group(1) for path, text in files.items() if path.endswith(".md") and text
             for match in map(LABEL_HOME.match, text.splitlines()) if match}
    complaints, warnings = [], []
    for path, text in files.items():
        if INPUT.match(path):
            continue
        if text is None:
            complaints.append(f"{path}: not UTF-8")
            continue
        found, soon = check_file(path, text, homes)
        complaints += found
        warnings += soon
        if path.endswith(".md"):
            complaints += docs.broken_links(root, path, text)
    return complaints, warnings, len(files)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(here)
    complaints, warnings, count = check(root)
    for line in warnings + complaints:
        print(line)
    print(f"tidy: {count} files, {len(complaints)} complaints, {len(warnings)} warnings")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
