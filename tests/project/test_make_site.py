#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Each page of doc/ has one row in doc/README.md, which the site's navigation is made of. What is dead in a site is
found: a link, a heading, a file from another host, and Markdown that came out as text.

    test_make_site.py PROGRAM BUILD SOURCE

`./dev test` makes the whole site with mkdocs.
"""
import pathlib
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[3])
sys.path.insert(0, str(SOURCE / "packaging/site"))
import make_site  # noqa: E402

PAGES = {
    "index.html": '<a href="sub/b.html#there">b</a> <a href="sub/b.html#gone">b</a> <a href="no.html">no</a>'
                  '<a href="https://example.org/x">out</a> <script src="https://example.org/x.js"></script>'
                  '<link rel="stylesheet" href="sub/a.css"><img src="no.png"><p>A list:\n- item</p>',
    "sub/b.html": '<h2 id="there">There</h2><a href="../index.html">up</a><pre>- in code</pre><p>a - b</p>',
    "sub/a.css": "",
}
DEAD = ["index.html: not taken as Markdown: - item", "index.html: links to sub/b.html#gone, where that heading is not",
        "index.html: links to no.html, which is not there", "index.html: links to no.png, which is not there",
        "index.html: loads https://example.org/x.js from another host"]


def found_in_a_small_site():
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder).resolve()
        (site / "sub").mkdir()
        for name, text in PAGES.items():
            (site / name).write_text(text)
        return sorted(make_site.dead(site))


def main():
    wrong = []
    listed = [path for _, paths in make_site.kinds() for path in paths]
    wrong += [f"{path} has no row in {make_site.INDEX}" for path in make_site.unlisted(listed)]
    wrong += [f"{path} has two rows in {make_site.INDEX}" for path in {p for p in listed if listed.count(p) > 1}]
    kinds = [kind for kind, _ in make_site.kinds()]
    if kinds[:4] != ["Tutorial", "How-to", "Reference", "Explanation"]:
        wrong.append(f"the kinds of pages are {kinds}")
    if found_in_a_small_site() != sorted(DEAD):
        wrong.append(f"in a small site these are found: {found_in_a_small_site()}")
    for text in wrong:
        print("FAILED:", text)
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
