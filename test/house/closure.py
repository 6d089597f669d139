"""closure.py: the files of this repository that a C++ source includes, directly or not, and hashes
of them.

Only files of the repository count, so that a result does not depend on the patch level of the
standard library. Where it does, ./dev test full finds it. Comments do not count, except those that
a tool reads: NOLINT, and the lines "mutants:" and "spin:" of models.
"""
import hashlib
import os
import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Literals come first, because their contents may look like comments.
COMMENT = re.compile(r'''R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/''', re.DOTALL)
READ_BY_TOOLS = re.compile(r"NOLINT|^(//|/\*) *(mutants|spin):")


def without_comments(text):
    """The text of a C++ source without comments, indentation and empty lines."""
    def keep(match):
        found = match.group()
        return found if found[0] != "/" or READ_BY_TOOLS.search(found) else " "

    lines = (" ".join(line.split()) for line in COMMENT.sub(keep, text).splitlines())
    return "\n".join(line for line in lines if line)


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
            self._digests[path] = hashlib.sha256(without_comments(text).encode()).hexdigest()
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
