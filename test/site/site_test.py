#!/usr/bin/env python3
"""site_test.py SITE [--pictures FOLDER]: whether the documentation site works, in headless Chromium.

1. Every link and anchor within the site leads somewhere; no page asks for anything outside of it.
2. No page is wider than a telephone, and none reports an error. Pages are read from files.
3. The search finds a page and a function, from files and from a server. The switch between light
   and dark works and is remembered.
4. Pages of the guide and of the reference are linked both ways. Every documented declaration of the
   public headers is on the page of its header.

First, pages with planted faults: each check must find its own. --pictures keeps screenshots.
"""
import argparse
import contextlib
import functools
import html.parser
import http.server
import os
import pathlib
import re
import sys
import tempfile
import threading
import urllib.parse

from playwright.sync_api import TimeoutError, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import doc_comments  # noqa: E402

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
PICTURES = ["index.html", "start.html", "channels.html", "api/chan.html", "benchmarks.html"]
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}


class page(html.parser.HTMLParser):
    """The links, anchors and loaded files of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors, self.text = [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag in LOADED and attributes.get(LOADED[tag]) and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(attributes[LOADED[tag]])

    def handle_data(self, data):
        self.text.append(data)


def pages_of(site):
    return {path: page(path) for path in sorted(site.rglob("*.html"))}


def broken(site, pages):
    """Links, anchors and files that do not exist; files of others."""
    for path, content in pages.items():
        where = path.relative_to(site)
        for target in content.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme not in ("", "data") or parts.netloc:
                yield f"{where}: loads {target}, which is not in the site"
        for target in content.links + content.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc or (not parts.path and not parts.fragment):
                continue
            name = urllib.parse.unquote(parts.path)
            to = path if not name else (path.parent / name).resolve()
            to = to / "index.html" if to.is_dir() else to
            if not to.is_file() or site not in to.parents:
                yield f"{where}: {target} does not exist"
            elif parts.fragment and to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].anchors:
                yield f"{where}: {target}: there is no such anchor"


def loaded(browser, site, pages):
    """What loading each page shows: errors, requests to others, pages wider than the screen."""
    with browser.new_context(viewport=PHONE) as context:
        tab, seen = context.new_page(), []
        tab.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:", "about:")) or seen.append(f"asks for {r.url}"))
        tab.on("requestfailed", lambda r: r.failure == "net::ERR_ABORTED" or seen.append(f"could not load {r.url}"))
        tab.on("pageerror", lambda e: seen.append(f"error: {e}"))
        tab.on("console", lambda m: m.type == "error" and seen.append(f"console: {m.text}"))
        for path in pages:
            tab.goto(path.as_uri(), wait_until="load")
            tab.evaluate("() => document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
            width = tab.evaluate("() => document.scrollingElement.scrollWidth")
            if width > PHONE["width"]:
                seen.append(f"is {width} pixels wide on a screen of {PHONE['width']}")
            yield from (f"{path.relative_to(site)}: {what}" for what in seen)
            seen.clear()


def search(tab, address, words, wanted):
    """Complains unless one of the first results for the words leads to a wanted page."""
    tab.goto(address)
    if tab.is_visible("label[for=__search].md-header__button"):  # on a telephone, the field is behind a button
        tab.click("label[for=__search].md-header__button")
    tab.click("input[name=query]")
    try:
        tab.wait_for_function("() => !/Initializing/.test(document.querySelector('.md-search-result__meta').textContent)", timeout=60000)
        tab.locator("input[name=query]").press_sequentially(words)
        tab.wait_for_function("""wanted => [...document.querySelectorAll('.md-search-result__link')].slice(0, 8)
                                 .some(link => link.href.split(/[?#]/)[0].endsWith(wanted))""", arg="/" + wanted, timeout=60000)
    except TimeoutError:
        found = [link.get_attribute("href") for link in tab.query_selector_all(".md-search-result__link")[:8]]
        yield f"{address}: the search for {words} finds {found or 'nothing'}, not {wanted}"


def background(tab):
    return tab.evaluate("() => getComputedStyle(document.body).backgroundColor")


def brightness(colour):
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3])


def switches(browser, address):
    """The colours follow the system; the switch changes them; the choice survives a new page."""
    for scheme in ("light", "dark"):
        with browser.new_context(viewport=DESKTOP, color_scheme=scheme) as context:
            tab = context.new_page()
            tab.goto(address)
            if (brightness(background(tab)) > 384) != (scheme == "light"):
                yield f"{address}: {background(tab)} where the system asks for {scheme}"
    with browser.new_context(viewport=DESKTOP, color_scheme="light") as context:
        tab = context.new_page()
        tab.goto(address)
        for light in (True, False):  # from "as the system" to light, then to dark
            tab.click("form[data-md-component=palette] label:not([hidden])")
            tab.wait_for_timeout(400)
            if (brightness(background(tab)) > 384) != light:
                yield f"{address}: {background(tab)} after a click that asks for {'light' if light else 'dark'}"
        tab.goto(address)
        if brightness(background(tab)) > 384:
            yield f"{address}: the choice of dark is forgotten"


def one_way(site, pages):
    """Pages of the guide that link to the reference, which does not link back; and the reverse."""
    links = {path: {(path.parent / urllib.parse.urlsplit(link).path).resolve() for link in content.links} for path, content in pages.items()}
    api = site / "api"
    for path, content in pages.items():
        text = "".join(content.text)
        if api in path.parents and "guide:" in text:
            for guide in {to for to in links[path] if to in pages and to.parent == site} & about(path, content, pages):
                if path not in links[guide]:
                    yield f"{path.relative_to(site)}: {guide.name} does not link back"
    if sum(1 for path in pages if api in path.parents and "guide:" in "".join(pages[path].text)) < 80:
        yield "few pages of the reference link to the guide"


def about(path, content, pages):
    """The pages that a page of the reference names as its guide; those about the C interface link to one page only."""
    marked = re.search(r'<p class="reference">(.*?)</p>', path.read_text(encoding="utf-8"), re.DOTALL)
    found = {(path.parent / target).resolve() for target in re.findall(r'href="([^"#]+)', marked.group(1) if marked else "")}
    return {to for to in found if to.name == "c_api.html"} if path.parent.name == "run" else found


def undescribed(site, headers):
    """Documented declarations of public headers whose name is not on the page. A function that takes an object of
    the namespace detail is for the library only."""
    for header in headers:
        name = header.relative_to(ROOT / "include" / "weft").with_suffix(".html")
        place = site / "api" / name
        if not place.is_file():
            yield f"{header.name} has no page"
            continue
        text = re.sub(r"\s+", " ", "".join(page(place).text))
        lines = header.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if not line.strip().startswith("///") or (number + 1 < len(lines) and lines[number + 1].strip().startswith("///")):
                continue
            rest = re.sub(r"template\s*<[^;{]*?>\s*(?=[\w\[])|requires\s+\S.*|\[\[.*?\]\]|\b(RUN|WEFT)_[A-Z_]+\b", " ", " ".join(lines[number + 1:number + 5]))
            declared = re.match(r"[^({;=]*?(~?\b\w+|operator\s*\S+)\s*(?=[({;=]|(?<!:):(?!:))", rest)
            if declared and declared.group(1) not in text and not re.match(r"\s*\(detail::\w+\*", rest[declared.end(1):]):
                yield f"{header.name}:{number + 2}: {declared.group(1)} is not on {name}"
        if "detail::" in text:
            yield f"{name} shows a name of the namespace detail"


@contextlib.contextmanager
def served(site):
    class quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        finally:
            server.shutdown()


def plant_faults(browser):
    """Each planted fault that is not found."""
    faults = {
        "there is no such anchor": '<a href="#gone">x</a>',
        "none.html does not exist": '<a href="none.html">x</a>',
        "which is not in the site": '<img src="https://example.org/x.png">',
        "asks for https://example.org/y": '<script>fetch("https://example.org/y").catch(() => 0)</script>',
        "pixels wide": '<div style="width: 900px">x</div>',
        "error: ": "<script>throw new Error('planted')</script>",
    }
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder).resolve()
        for number, text in enumerate(faults.values()):
            (site / f"{number}.html").write_text(f'<!doctype html><meta name="viewport" content="width=device-width"><body>{text}', encoding="utf-8")
        pages = pages_of(site)
        found = list(broken(site, pages)) + list(loaded(browser, site, pages))
        for number, what in enumerate(faults):
            if not any(line.startswith(f"{number}.html") and what in line for line in found):
                yield f"a planted fault is not found: {what}"


def take_pictures(browser, site, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for size, scheme in ((DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")):
        with browser.new_context(viewport=size, color_scheme=scheme) as context:
            tab = context.new_page()
            for name in PICTURES:
                tab.goto((site / name).as_uri())
                tab.wait_for_timeout(300)
                tab.screenshot(path=str(folder / f"{name.replace('/', '_')[:-5]}-{size['width']}-{scheme}.png"))


def check(browser, site):
    pages = pages_of(site)
    yield from plant_faults(browser)
    yield from broken(site, pages)
    yield from loaded(browser, site, pages)
    yield from one_way(site, pages)
    yield from undescribed(site, doc_comments.public_headers())
    first = (site / "index.html").as_uri()
    yield from switches(browser, first)
    with served(site) as address:
        for size in (DESKTOP, PHONE):
            with browser.new_context(viewport=size) as context:
                tab = context.new_page()
                for start in (first, address):
                    yield from search(tab, start, "channel", "channels.html")
                    yield from search(tab, start, "run_chan_send", "api/run/chan.html")
    print(f"site_test: {len(pages)} pages")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    with sync_playwright() as playwright:
        # No name is resolved, so nothing leaves this machine. Root may not have a sandbox.
        flags = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
        browser = playwright.chromium.launch(executable_path=arguments.browser, args=flags)
        try:
            if arguments.pictures:
                take_pictures(browser, site, arguments.pictures)
            complaints = list(check(browser, site))
        finally:
            browser.close()
    for line in complaints:
        print(f"site_test: {line}")
    print(f"site_test: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
