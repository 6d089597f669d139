#!/usr/bin/env python3
"""build.py [--site FOLDER]: builds the documentation site.

The pages are the Markdown files of the repository, copied to build/site_pages in the form that
mkdocs reads:

1. docs/README.md is the navigation: a heading is a section, the first cell of a table row is a
   page. Below <!-- pages: x/*.md --> come the pages of docs/ that match, as far as they exist and
   have no row. <!-- api --> is the reference, which api.py makes.
2. A link to another page stays a link. One to a public header leads to its page of the reference,
   one to any other file of the repository to a page that shows that file.
3. Names of headers and examples in code spans become links, too.
4. A page has links to the headers that name it in their "See:" line.

mkdocs then makes the site, and fails if a link or an anchor leads nowhere.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import api  # noqa: E402
import docs  # noqa: E402
import markdown_forms  # noqa: E402

HOME = "docs/home.md"
CONTENTS = "docs/README.md"
NAMES = {HOME: "index.md", CONTENTS: "contents.md", "README.md": "overview.md", "bench/README.md": "bench.md"}
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+)\) \|")
PAGES = re.compile(r"^<!-- pages: (.+) -->$")
HEADING = re.compile(r"^(#{2,3}) (.+)$")
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".yml": "yaml", ".pml": "c", ".S": "gas"}
CODE_OR_LINK = re.compile(r"(?P<code>(?<!`)`[^`]+`(?!`))|(?P<begin>!?\[(?:`[^`]*`|[^\]`])*\]\()(?P<target>[^)\s]+)(?P<end>(?:\s+\"[^\"]*\")?\))")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def title(path):
    return re.sub(r"[`*]", "", re.search(r"^# (.+)$", read(path), re.MULTILINE).group(1))


def page_name(path):
    """Where the page of a Markdown file of the repository is in the site."""
    if path in NAMES:
        return NAMES[path]
    name = path[len("docs/"):] if path.startswith("docs/") else path
    folder, base = os.path.split(name)
    base = "index.md" if base == "README.md" else base if path.startswith("docs/") else base.lower()
    return os.path.join(folder, base)


class site:
    def __init__(self, work):
        self.work = work
        self.nav = [{"Start": [{"Why weft": "index.md"}]}]
        self.pages = {HOME: "index.md", CONTENTS: "contents.md"}  # of the repository → of the site
        self.sources = {}  # other files of the repository with a page
        self.titles = {}  # of pages of the site
        self.images = set()
        self.reference = api.reference(ROOT, os.path.join(ROOT, "build", "site_api"))

    # ---- Navigation.

    def read_contents(self):
        place = None
        for line in read(CONTENTS).splitlines():
            heading, row, pages = HEADING.match(line), ROW.match(line), PAGES.match(line)
            if heading:
                level, name = len(heading.group(1)), heading.group(2)
                if level == 2:
                    top = name
                    section = next((s[name] for s in self.nav if name in s), None)
                    if section is None:
                        section = []
                        self.nav.append({name: section})
                    place = section
                else:
                    place = []
                    section.append({name: place})
            elif row:
                name, target = row.groups()
                target, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join("docs", target))
                if anchor:
                    place.append({name: page_name(path).replace(".md", ".html#" + anchor)})
                else:
                    self.add(place, path, name)
            elif pages:
                for pattern in pages.group(1).split():
                    for found in sorted(glob.glob(os.path.join(ROOT, "docs", pattern))):
                        path = os.path.relpath(found, ROOT)
                        if path not in self.pages:
                            self.add(place, path, "" if path.endswith("README.md") else title(path).removeprefix(f"{top} "))
            elif line == "<!-- api -->":
                place += self.reference.nav()
        self.nav[-1][list(self.nav[-1])[0]].append({"All pages": "contents.md"})
        self.nav = [s for s in self.nav if any(s.values())]

    def add(self, place, path, name):
        self.titles[page_name(path)] = title(path)
        self.pages[path] = page_name(path)
        place.append({name: self.pages[path]} if name else self.pages[path])

    # ---- Links.

    def target_of(self, path, target):
        """What a link of a page to target becomes, from the top of the site; None: it stays."""
        if re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            return None
        name, hash_, anchor = target.partition("#")
        return self.place_of(os.path.normpath(os.path.join(os.path.dirname(path), name)), hash_ + anchor.lower())

    def place_of(self, full, anchor=""):
        if full in self.pages:
            return self.pages[full] + anchor
        if full in self.reference.pages:
            return self.reference.pages[full]
        if full.startswith("docs/img/"):
            self.images.add(full)
            return full[len("docs/"):]
        if os.path.isdir(os.path.join(ROOT, full)):
            return None
        if full.endswith(".md"):
            self.pages[full] = page_name(full)
            return self.pages[full] + anchor
        self.sources[full] = f"source/{full}.md"
        return self.sources[full]

    def with_links(self, path, line):
        here = os.path.dirname(self.pages[path])

        def replaced(match):
            if match.group("code"):
                return self.code_span(match.group("code"), here)
            target = self.target_of(path, match.group("target"))
            if target is None:
                is_folder = not re.match(r"[a-z][a-z0-9+.-]*:|#", match.group("target"))
                return re.sub(r"^!?\[|\]\($", "", match.group("begin")) if is_folder else match.group(0)
            begin = match.group("begin")
            if begin == f"[{os.path.basename(match.group('target').partition('#')[0])}](" and target.partition("#")[0] in self.titles:
                begin = f"[{self.titles[target.partition('#')[0]]}]("  # the name of a file is no title
            return begin + os.path.relpath(target, here or ".") + match.group("end")

        return CODE_OR_LINK.sub(replaced, line)

    def code_span(self, code, here):
        name = code.strip("`").strip("<>")
        header = name if name.startswith("include/") else "include/" + name
        if header in self.reference.pages:
            target = self.reference.pages[header]
        elif name.startswith("examples/") and os.path.isfile(os.path.join(ROOT, name)) and not name.endswith(".md"):
            target = self.place_of(name)
        else:
            return code
        return f"[{code}]({os.path.relpath(target, here or '.')})"

    # ---- Pages.

    def write(self, name, text):
        full = os.path.join(self.work, "pages", name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def quoted_from(self, path, lines):
        """Below a block that is quoted from a file, a link to that file."""
        source, end = None, None
        for line in lines:
            yield line
            quote = docs.EXAMPLE.match(line.strip()) or docs.LINES.match(line.strip())
            if quote:
                source, end = quote.group(1), None
            elif source and docs.FENCE.match(line):
                if end is not None:
                    if not source.endswith((".expected", ".md")):
                        yield ""
                        yield f"[`{source}`]({os.path.relpath(source, os.path.dirname(path) or '.')})" + "{ .quoted }"
                    source = None
                end = line

    def stage(self, path):
        lines = list(self.quoted_from(path, read(path).splitlines()))
        out, fenced, headers = [], False, self.reference.headers_about(path)
        for line in lines:
            if docs.FENCE.match(line):
                fenced = not fenced
            if not fenced:
                line = self.with_links(path, self.with_picture(path, line))
            out.append(line)
            if headers and line.startswith("# "):
                here = os.path.dirname(self.pages[path]) or "."
                links = " · ".join(f"[`{name}`]({os.path.relpath(page, here)})" for name, page in headers)
                out += ["", f"Reference: {links}", "{ .reference }"]
        self.write(self.pages[path], markdown_forms.for_mkdocs("\n".join(out) + "\n"))

    def with_picture(self, path, line):
        """Drawings that use the colours of the theme are part of the page."""
        picture = re.fullmatch(r"!\[[^\]]*\]\(([^)]+\.svg)\)", line)
        if picture:
            drawing = read(os.path.normpath(os.path.join(os.path.dirname(path), picture.group(1))))
            if 'class="themed"' in drawing:
                return '<div class="picture">' + re.sub(r"\s*\n\s*", " ", drawing) + "</div>"
        return line

    def stage_source(self, path):
        text = read(path).rstrip("\n")
        fence = "`" * (3 + max([0] + [len(run) for run in re.findall(r"^`{3,}", text, re.MULTILINE)]))
        language = LANGUAGES.get(os.path.splitext(path)[1], "text")
        self.write(self.sources[path], "---\nsearch:\n  exclude: true\n---\n"
                   f"# {os.path.basename(path)} {{ .source-title }}\n\n`{path}`\n\n{fence}{language}\n{text}\n{fence}\n")

    def make_pages(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(os.path.join(HERE, "assets"), os.path.join(self.work, "pages"))
        self.read_contents()
        for path, name, text in self.reference.texts(self.pages, title):
            self.write(name, text)
        done = set()
        while set(self.pages) - done:  # pages that are only linked to join while others are staged
            for path in sorted(set(self.pages) - done):
                self.stage(path)
                done.add(path)
        for path in sorted(self.sources):
            self.stage_source(path)
        for image in self.images:
            os.makedirs(os.path.join(self.work, "pages", "img"), exist_ok=True)
            shutil.copy(os.path.join(ROOT, image), os.path.join(self.work, "pages", "img"))
        unlisted = [path for path in self.pages if path.startswith("docs/") and self.pages[path] not in str(self.nav)]
        if unlisted:
            sys.exit(f"site: {CONTENTS} does not list {', '.join(unlisted)}: add a row")

    def write_config(self, folder):
        import yaml
        for name in ("mkdocs.yml", "slugs.py"):
            shutil.copy(os.path.join(HERE, name), os.path.join(self.work, name))
        with open(os.path.join(self.work, "mkdocs.yml"), "a", encoding="utf-8") as file:
            file.write(yaml.safe_dump({"docs_dir": "pages", "site_dir": folder, "nav": self.nav}, allow_unicode=True, sort_keys=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", default=os.path.join(ROOT, "build", "site"), help="where the site goes")
    folder = os.path.abspath(parser.parse_args().site)
    work = os.path.join(ROOT, "build", "site_pages")
    made = site(work)
    made.make_pages()
    made.write_config(folder)
    environment = dict(os.environ, PYTHONPATH=work, PYTHONDONTWRITEBYTECODE="1", NO_MKDOCS_2_WARNING="1")
    status = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--clean",
                             "-f", os.path.join(work, "mkdocs.yml")], env=environment).returncode
    if status == 0:
        os.remove(os.path.join(folder, "404.html"))  # for servers only: its links begin at their top
        print(f"site: {len(made.pages)} pages, {len(made.reference.pages)} headers, {len(made.sources)} sources; open {os.path.join(folder, 'index.html')}")
    return status


if __name__ == "__main__":
    sys.exit(main())
