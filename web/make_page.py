#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Put the engine, the scripts and the licences into one page.

    make_page.py ENGINE_FOLDER VERSION LICENCE_FILE... > PAGE

The same inputs give the same bytes.
"""
import base64
import gzip
import html
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "samples" / "oom-fragmented.trace.zst"


def script(path):
    """A script as it may stand in a page: nothing in it ends the element."""
    text = path.read_text()
    if re.search(r"</script|<!--", text, re.I):
        raise SystemExit(f"make_page: {path} would end its element")
    return text


def licence(path):
    return f"---- {path.stem} ----\n\n{path.read_text().strip()}\n"


def main():
    engine, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    packed = gzip.compress((engine / "engine.wasm").read_bytes(), compresslevel=9, mtime=0)
    parts = {
        "version": version,
        "style": (HERE / "page.css").read_text(),
        "script": script(HERE / "page.js"),
        "frame": script(HERE / "engine_frame.js"),
        "glue": script(engine / "engine.js"),
        "wasm": base64.b64encode(packed).decode(),
        "example": base64.b64encode(EXAMPLE.read_bytes()).decode(),
        "licences": html.escape("\n".join(licence(pathlib.Path(name)) for name in sys.argv[3:])),
    }
    sys.stdout.write(re.sub(r"{{(\w+)}}", lambda mark: parts[mark[1]], (HERE / "page.html").read_text()))


if __name__ == "__main__":
    main()
