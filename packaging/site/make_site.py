#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Make the pages of this tree a static site. Run by ./dev docs.

    make_site.py WORK SITE [PAGE]

Takes README.md, doc/README.md with the pages in its tables, and each file of the tree that one of these links to, as
they are. WORK gets links to them, at their places in the tree, so that a link works in the site as it does on a forge.
The navigation is doc/README.md: a heading is a kind of page, a row of its table a page. PAGE is the page for browsers
(./dev web); without it the site has none. SITE is written anew.

Exit status 1: mkdocs warns, a page of doc/ has no kind, or a link leads nowhere.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INDEX = "doc/README.md"
BROWSER_PAGE = "vramreplay.html"
LINK = re.compile(r"\]\(([^)\s]+)\)")


# ---- which pages ----

def kinds():
    """[(kind, [path])]: the tables of doc/README.md."""
    found = []
    for line in (ROOT / INDEX).read_text().splitlines():
        row = re.match(r"\| \[[^\]]+\]\(([^)#\s]+)\) \|", line)
        if line.startswith("## "):
            found.append((line[3:], []))
        elif row and found:
            found[-1][1].append(os.path.normpath(f"doc/{row[1]}"))
    return [(kind, pages) for kind, pages in found if pages]


def unlisted(pages):
    there = {f"doc/{page.name}" for page in ROOT.glob("doc/*.md")}
    return sorted(there - set(pages) - {INDEX})


def linked(path):
    """The files of this tree that a page links to."""
    for target in LINK.findall((ROOT / path).read_text()):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            yield os.path.normpath(os.path.join(os.path.dirname(path), target.split("#")[0]))


def with_linked(pages):
    """These, and all that can be reached from them."""
    found, left = [], list(pages)
    while left:
        path = left.pop(0)
        if path not in found and (ROOT / path).is_file():
            found.append(path)
            left += linked(path) if path.endswith(".md") else []
    return found


# ---- the site ----

def title_of(path):
    return re.search(r"^# (.*)", (ROOT / path).read_text(), re.M)[1]


def navigation(tables, pages, has_browser_page):
    listed = {path for _, paths in tables for path in paths}
    others = [path for path in pages if path.endswith(".md") and path not in listed | {"README.md", INDEX}]
    lines = ["nav:", "  - Start: README.md"]
    lines += ["  - In your browser: in-your-browser.md"] if has_browser_page else []
    for kind, paths in tables + [("Source", [INDEX, *others])]:
        lines += [f"  - {kind}:"] + [f"      - {json.dumps(title_of(path))}: {path}" for path in paths]
    return lines


def lay_out(work, pages, browser_page):
    shutil.rmtree(work, ignore_errors=True)
    for path in pages:
        (work / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
        (work / "pages" / path).symlink_to(ROOT / path)
    if browser_page:
        (work / "pages" / BROWSER_PAGE).symlink_to(pathlib.Path(browser_page).resolve())
        (work / "pages/in-your-browser.md").write_text(
            "# In your browser\n\nNothing is uploaded: the program runs in this page. "
            f"[Alone in the window]({BROWSER_PAGE})\n\n"
            f'<iframe src="{BROWSER_PAGE}" title="replay in your browser" style="width: 100%; height: 80vh; '
            'border: 1px solid #888"></iframe>\n')


def build(work, site, lines):
    settings = (HERE / "mkdocs.yml").read_text() + "\n".join(
        [f"docs_dir: {work.resolve()}/pages", f"site_dir: {site.resolve()}", *lines]) + "\n"
    (work / "mkdocs.yml").write_text(settings)
    env = dict(os.environ, NO_MKDOCS_2_WARNING="1")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-q", "-f", work / "mkdocs.yml"]
    status = subprocess.run(command, env=env).returncode
    (site / "404.html").unlink(missing_ok=True)                  # its links would hold at the root of a host alone
    return status


# ---- what was made ----

class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, its anchors, and text that Markdown did not take as it was meant."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors, self.raw, self.inside = [], [], {"", "__comments"}, [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(values.get("href", ""))
        elif values.get("src"):
            self.loads.append(values["src"])
        self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data):
        if self.inside[-1:] == ["p"]:
            self.raw += re.findall(r"^(?:[-*] |\| |\d+\. |```).*", data, re.M)


def dead(site):
    """Sentences: each link or file of a page of the site that leads nowhere, or to another host's files."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != BROWSER_PAGE}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: not taken as Markdown: {text}" for text in page.raw)
        for target in page.links + page.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    yield f"{name}: loads {target} from another host"
                continue
            file = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                yield f"{name}: links to {target}, which is not there"
            elif file in pages and urllib.parse.unquote(parts.fragment) not in pages[file].anchors:
                yield f"{name}: links to {target}, where that heading is not"


def main():
    work, site = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    browser_page = sys.argv[3] if len(sys.argv) > 3 else None
    tables = kinds()
    listed = [path for _, paths in tables for path in paths]
    pages = with_linked(["README.md", INDEX, *listed])
    complaints = [f"{page}: {INDEX} has no row for it" for page in unlisted(listed)]
    lay_out(work, pages, browser_page)
    if build(work, site, navigation(tables, pages, browser_page)) != 0:
        complaints.append("mkdocs warns")
    complaints += dead(site.resolve())
    for text in complaints:
        print("FAILED:", text)
    return len(complaints) > 0


if __name__ == "__main__":
    sys.exit(main())
