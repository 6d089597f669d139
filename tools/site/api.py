"""api.py: pages of the reference, one for each public header.

Doxygen says which declarations are public, and where they are. Signatures and comments are taken
from the header itself, so they look as they were written. A page begins with the head comment of
its header. A class, a free function or a type is a section, in the order of the header. Overloads
share a section, and so does what follows without an empty line or differs only in _for and _until.
"""
import os
import re
import subprocess
import xml.etree.ElementTree as xml

import header_text

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = [("C++", "include/weft/"), ("Sockets", "include/weft/net/"), ("Observing", "include/weft/observe/"), ("TLS", "include/weft/tls/"),
          ("HTTP", "include/weft/http/"), ("HTTP client", "include/weft/http/client.h"), ("Redis", "include/weft/redis/"),
          ("PostgreSQL", "include/weft/postgres/"), ("NATS", "include/weft/nats/"), ("gRPC", "include/weft/grpc/"),
          ("Boost.Asio", "include/weft/asio/"), ("C", "include/weft/run/")]
LIBRARIES = {"Observing": "weft::observe", "TLS": "weft::tls", "HTTP": "weft::http",
             "HTTP client": "weft::http_client", "Redis": "weft::redis", "PostgreSQL": "weft::postgres", "NATS": "weft::nats",
             "gRPC": "weft::grpc", "Boost.Asio": "weft::asio"}
# Pages about headers that name none in their head comment.
ABOUT = {"error.h": "errors.md", "future.h": "futures.md", "runtime.h": "runtime.md", "local.h": "local.md", "signals.h": "signals.md",
         "trace.h": "recording.md", "weft.h": "start.md", "c.h": "c_api.md", "net/buffer.h": "sockets.md", "net/endpoint.h": "sockets.md",
         "tls/context.h": "tls.md", "tls/error.h": "tls.md", "tls/stream.h": "tls.md"}
SPECIAL = re.compile(r"^(~?%s|operator=)$")


class entry:
    """A public declaration. Members of classes have one in `within`."""

    def __init__(self, kind, name, path, line, within=None, space=""):
        self.kind, self.name, self.path, self.line, self.within, self.space = kind, name, path, line, within, space
        self.members = []
        self.shown = False  # on a page

    def qualified(self):
        return f"{self.space}::{self.name}" if self.space else self.name


class reference:
    def __init__(self, root, work):
        self.root = root
        self.pages = {}  # header → page
        self.headers = {}  # header → its text
        self.entries = {}  # header → [entry] outside of classes
        self.anchors = {}  # entry → page#anchor
        for folder, _, files in sorted(os.walk(os.path.join(root, "include", "weft"))):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(".h") and "/detail/" not in path:
                    self.pages[path] = "api/" + path[len("include/weft/"):-2] + ".md"
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        self.headers[path] = header_text.header(file.read())
                    self.entries[path] = []
        self.read(self.run_doxygen(work))

    def run_doxygen(self, work):
        with open(os.path.join(HERE, "Doxyfile"), encoding="utf-8") as file:
            settings = file.read()
        os.makedirs(work, exist_ok=True)
        done = subprocess.run(["doxygen", "-"], input=f"{settings}OUTPUT_DIRECTORY = {work}\n", cwd=self.root, text=True,
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"site: doxygen has failed:\n{done.stderr}")
        return os.path.join(work, "xml")

    # ---- Reading.

    def read(self, folder):
        for item in xml.parse(os.path.join(folder, "index.xml")).getroot():
            if item.get("kind") in ("class", "struct", "union", "namespace", "file"):
                self.read_compound(xml.parse(os.path.join(folder, item.get("refid") + ".xml")).getroot()[0])
        classes = {e.qualified(): e for all_ in self.entries.values() for e in all_ if e.kind == "class"}
        for path, all_ in self.entries.items():
            for alias in [e for e in all_ if e.kind == "typedef" and self.headers[path].opening(e.line) != e.line]:
                named = [e for e in all_ if e.line == self.headers[path].opening(alias.line)]
                for e in named:  # C: the structure goes by the name of its type
                    e.name = alias.name
                if named:
                    all_.remove(alias)
            for e in [e for e in all_ if e.kind == "class" and e.space in classes]:
                classes[e.space].members.append(e)
                e.within = classes[e.space]
                all_.remove(e)
            for e in all_:
                e.members.sort(key=lambda m: m.line)
            all_.sort(key=lambda e: e.line)

    def place(self, element):
        at = element.find("location")
        path = os.path.join("include", at.get("file", "")) if at is not None else ""
        return (path, int(at.get("line"))) if path in self.pages else (None, 0)

    def read_compound(self, compound):
        name, within = compound.findtext("compoundname"), None
        if "detail" in name.split("::") or compound.get("prot") == "private":
            return
        is_class = compound.get("kind") in ("class", "struct", "union")
        if is_class:
            path, line = self.place(compound)
            if path is None or "<" in name or self.headers[path].is_private(line):
                return
            space, _, own = name.rpartition("::")
            within = entry("class", own, path, line, space=space)
            self.entries[path].append(within)
        space = name if compound.get("kind") == "namespace" else ""
        for member in compound.iter("memberdef"):
            path, line = self.place(member)
            kind = member.get("kind")
            if path is None or member.get("prot") in ("private", "protected") or self.is_internal(member, path, line):
                continue
            e = entry("function" if kind == "friend" else kind, member.findtext("name") or "", path, line, within, space)
            if self.headers[path].is_forward(line) or self.headers[path].is_unusable(line, kind):
                continue
            into = within.members if within else self.entries[path]
            if all((m.line, m.name) != (e.line, e.name) for m in into):
                into.append(e)

    def is_internal(self, member, path, line):
        name = member.findtext("name") or ""
        if member.get("kind") == "define":
            return name.endswith("_") or name in ("RUN_NOEXCEPT", "RUN_INT_ENUM") or path == "include/weft/c.h"
        return name.startswith("@") or "::detail" in (member.findtext("definition") or "").split("(")[0].split(" ")[-1]

    # ---- Relations to the other pages.

    def pages_about(self, path):
        found = [p for p in self.headers[path].see if p.endswith(".md")]
        own = ABOUT.get(path[len("include/weft/"):])
        return found or (["docs/" + own] if own else [])

    def headers_about(self, page):
        return [(f"<{path[len('include/'):]}>", self.pages[path]) for path in self.pages if page in self.pages_about(path)
                and ("/run/" not in path or page == "docs/c_api.md")]

    def group_of(self, path):
        if path in ("include/weft/run.h", "include/weft/c.h"):
            return "C"
        return max((g for g in GROUPS if path.startswith(g[1])), key=lambda g: len(g[1]))[0]

    def of_group(self, name):
        return [path for path in self.pages if self.group_of(path) == name]

    def nav(self):
        nav = ["api/index.md", {"All names": "api/names.md"}]
        for group, folder in GROUPS:
            nav.append({group: [{path[len(folder) if path.startswith(folder) else len("include/weft/"):] or os.path.basename(path): self.pages[path]}
                                for path in self.of_group(group)]})
        return [{"API": nav}]

    # ---- Writing.

    def texts(self, guide, titles):
        """[(path, page, text)]"""
        found = [(path, page, self.page_text(path, guide, titles)) for path, page in self.pages.items()]
        found.append((None, "api/index.md", self.index_text()))
        found.append((None, "api/names.md", self.names_text()))
        hidden = [f"{e.path}:{e.line}: {e.name}" for all_ in self.entries.values() for top in all_ for e in [top] + top.members if not e.shown]
        if hidden:
            raise SystemExit("site: public declarations without a place on a page:\n" + "\n".join(hidden))
        return found

    def page_text(self, path, guide, titles):
        header, include = self.headers[path], path[len("include/"):]
        here = os.path.dirname(self.pages[path])
        out = [f"# {include[len('weft/'):]}", "", f"{header.title}", ""]
        links = [f"[{titles(p)}]({os.path.relpath(guide[p], here)})" for p in self.pages_about(path) if p in guide]
        facts = [f"`#include <{include}>`"]
        if self.group_of(path) in LIBRARIES:
            facts.append(f"library `{LIBRARIES[self.group_of(path)]}`")
        if links:
            facts.append("guide: " + ", ".join(links))
        out += [" · ".join(facts), "{ .reference }", "", header.head, ""]
        if path == "include/weft/c.h":
            out += ["```c", *[line for line in header.lines if line.startswith(("#define", "// "))][10:], "```", ""]
        self.write_entries(self.entries[path], out, "##", path)
        return self.with_links("\n".join(out) + "\n", path, guide, titles)

    def with_links(self, text, path, guide, titles):
        """Names of pages and headers in comments, which header_text.py has marked, become links."""
        here = os.path.dirname(self.pages[path])

        def link(match):
            name, anchor = match.group(1), match.group(2) or ""
            if name in guide:
                return f"[{titles(name)}]({os.path.relpath(guide[name], here)}{anchor})"
            for header in (f"include/weft/{name.removeprefix('weft/')}", os.path.join(os.path.dirname(path), name)):
                if header in self.pages and header != path:
                    return f"[`{name}`]({os.path.relpath(self.pages[header], here)})"
            return f"`{name}`"

        return re.sub(r"\x01([^\x01#]+)(#[^\x01]+)?\x01", link, text)

    def write_entries(self, entries, out, level, path, prefix=""):
        header, groups = self.headers[path], []
        for e in entries:
            e.shown = True
            last = groups[-1] if groups else None
            same = last and last[0].kind == e.kind and e.kind != "class"
            if same and (last[0].name == e.name or (header.comment(e.line) is None and self.belongs(header, last, e, prefix))):
                last.append(e)
            else:
                groups.append([e])
        for group in groups:
            self.write_group(group, out, level, path, prefix)

    def belongs(self, header, group, e, prefix):
        """Whether e, which has no comment, is explained by that of the group, or the group has none either."""
        if header.follows(group[-1].line, e.line) or re.sub("_until$", "_for", e.name) == group[-1].name:
            return True
        return bool(prefix) and all(header.comment(other.line) is None for other in group)

    def write_group(self, group, out, level, path, prefix):
        header, first = self.headers[path], group[0]
        names = list(dict.fromkeys(e.name for e in group))
        anchor = re.sub(r"[^\w]+", "-", prefix + (first.qualified() if not prefix else first.name)).strip("-").lower() or "x"
        used = set(self.anchors.values())
        page = self.pages[path]
        while f"{page}#{anchor}" in used:
            anchor += "-2"
        for e in group:
            self.anchors[e] = f"{page}#{anchor}"
        title = ", ".join(names) if len(names) <= 4 or header.comment(first.line) else "other members"
        if first.kind == "class":
            title = f"{first.qualified()}" if not prefix else first.name
        elif not prefix and first.space not in ("", "weft"):
            title = f"{first.space}::{title}"
        out += [f"{level} {header_text.escaped(title)} {{ #{anchor} }}", ""]
        comments = [c for c in (header.comment(e.line) for e in group) if c]
        if first.kind == "class":
            self.write_class(first, out, level, path)
            return
        language = "c" if "/run/" in path else "cpp"
        out += [f"```{language}", *"\n".join(header.signature(e.line, e.kind) for e in group).splitlines(), "```", ""]
        for comment in dict.fromkeys(comments):
            out += [comment, ""]

    def write_class(self, e, out, level, path):
        header = self.headers[path]
        comment = header.comment(e.line)
        functions = [m for m in e.members if m.kind in ("function", "class")]
        language = "c" if "/run/" in path else "cpp"
        if not functions:
            for m in e.members:
                m.shown = True
            out += [f"```{language}", header.block(e.line), "```", "", comment or "", ""]
            return
        out += [f"```{language}", header.signature(e.line, "class") + ";", "```", "", comment or "", ""]
        rest = [m for m in e.members if m.kind not in ("function", "class")]
        special = [m for m in functions if SPECIAL.match(m.name) or m.name in (e.name, "~" + e.name)]
        special = [m for m in special + [m for m in functions if m.name == "operator="] if header.comment(m.line) is None]
        if all(header.comment(m.line) is None and m.kind == "function" for m in functions):
            special = functions
        special = sorted(set(special) | set(rest), key=lambda m: m.line)
        for m in special:
            m.shown = True
        if special:
            out += [f"```{language}", *[header.signature(m.line, m.kind, True) for m in special], "```", ""]
        self.write_entries([m for m in functions if m not in special], out, level + "#", path, prefix=f"{e.name}-")

    def index_text(self):
        out = ["# API", "", "One page for each public header. Names are in the namespace `weft`, or in one of its inner namespaces."
               " [All names](names.md) is the list of them.", ""]
        for group, _ in GROUPS:
            out += [f"## {group}", "", "| | |", "|---|---|"]
            for path in self.of_group(group):
                title = self.headers[path].title.split(". ")[0].rstrip(".").replace("|", "\\|")
                out.append(f"| [`<{path[len('include/'):]}>`]({self.pages[path][len('api/'):]}) | {title} |")
            out.append("")
        return "\n".join(out)

    def names_text(self):
        out, letter = ["# All names", ""], None
        top = [e for all_ in self.entries.values() for e in all_]
        found = {}
        for e in top:
            name = e.qualified()
            found.setdefault(name[len("weft::"):] if name.startswith("weft::") else name, self.anchors[e])
        for name in sorted(found, key=str.lower):
            if name[0].lower() != letter:
                letter = name[0].lower()
                out += ["", f"## {letter}", ""]
            out.append(f"[`{name}`]({found[name][len('api/'):]})" + "{ .name }")
        return "\n".join(out) + "\n"
