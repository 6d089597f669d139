"""closure.py: the files of this repository that a source includes, directly or not, and hashes of
them.

Only files of the repository count, so that a result does not depend on the patch level of the
standard library. Where it does, ./dev test full finds it. Comments and line breaks do not count,
except comments that a tool reads: NOLINT, and the lines "mutants:" and "spin:" of models.
"""
import ast
import hashlib
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Literals come first, because their contents may look like comments.
COMMENT = re.compile(r'''R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/''', re.DOTALL)
READ_BY_TOOLS = re.compile(r"NOLINT|^(//|/\*) *(mutants|spin):")

BLANK = "\0"  # in literals
NEEDLESS = re.compile(r"(?<=[^\w\s+\-<>&|=:]) | (?=[^\w\s+\-<>&|=:])|(?<=\w) (?=[+\-<>&|=:])|(?<=[+\-<>&|=:]) (?=\w)")


def without_comments(text):
    """The tokens of a C++ source or a Spin model, without comments and layout. Preprocessor lines stay lines."""
    def keep(match):
        found = match.group()
        return found.replace(" ", BLANK) if found[0] != "/" or READ_BY_TOOLS.search(found) else " "

    result = []
    for line in COMMENT.sub(keep, text).splitlines():
        words = line.split()
        if not words:
            continue
        directive = words[0].startswith(("#", "/"))  # a comment that is left is a line of its own
        goes_on = result and (not result[-1].startswith(("#", "/")) or result[-1].endswith("\\"))
        if goes_on and not directive:
            result[-1] += " " + " ".join(words)
        else:
            result.append(" ".join(words))
    return NEEDLESS.sub("", "\n".join(result))


def without_hash_comments(text):
    """A CMake or YAML file without comments and empty lines."""
    lines = (re.sub(r"(^|\s)#.*", "", line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def python_code(text):
    """A Python file without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body[0].value.value = ""
    return ast.dump(tree)


def code_of(path, text):
    """What counts of a file."""
    return python_code(text) if path.endswith(".py") else without_comments(text)


class closure:
    """folders: where includes are searched for, in order, besides the folder of the including file."""

    def __init__(self, root, folders):
        self.root = root
        self.folders = folders
        self._includes = {}
        self._digests = {}

    def _included_by(self, path):
        if path not in self._includes:
            found = []
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                text = file.read()
            for quote, name in INCLUDE.findall(text):
                own = [os.path.dirname(path)] if quote == '"' else []
                for folder in own + self.folders:
                    candidate = os.path.normpath(os.path.join(folder, name))
                    if os.path.isfile(os.path.join(self.root, candidate)):
                        found.append(candidate)
                        break
            self._includes[path] = found
            self._digests[path] = hashlib.sha256(code_of(path, text).encode()).hexdigest()
        return self._includes[path]

    def files(self, path):
        """The source and everything it includes, sorted."""
        seen, to_do = set(), [path]
        while to_do:
            file = to_do.pop()
            if file not in seen:
                seen.add(file)
                to_do += self._included_by(file)
        return sorted(seen)

    def digest(self, sources, *settings):
        """One short hash of the sources, what they include, and the settings."""
        total = hashlib.sha256()
        for file in sorted({file for source in sources for file in self.files(source)}):
            total.update(f"{file} {self._digests[file]}\n".encode())
        for setting in settings:
            total.update(f"{setting}\n".encode())
        return total.hexdigest()[:20]
