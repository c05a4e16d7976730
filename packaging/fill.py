#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Fill in the recipes for what lies in a folder: the source distribution and the .deb.

    fill.py DIST

Writes DIST/Dockerfile, DIST/vramreplay.rb and DIST/conda/.
"""
import hashlib
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r"project\(replay VERSION ([0-9.]+)", (HERE.parent / "CMakeLists.txt").read_text())[1]


def only(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"fill: {len(found)} files {pattern} in {folder}, not one")
    return found[0]


def main():
    dist = pathlib.Path(sys.argv[1])
    source = only(dist, f"vramreplay-{VERSION}.tar.gz")
    values = {
        "version": VERSION,
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "deb": only(dist, "vramreplay_*.deb").name,
        # Where PyPI keeps a source distribution.
        "source": f"https://pypi.org/packages/source/v/vramreplay/{source.name}",
    }
    (dist / "conda").mkdir(exist_ok=True)
    for name in ("conda/recipe.yaml", "vramreplay.rb", "Dockerfile"):
        text = re.sub(r"(?<!\$){{(\w+)}}", lambda mark: values[mark[1]], (HERE / name).read_text())
        (dist / name).write_text(text)
    shutil.copy(HERE / "conda/build.sh", dist / "conda")


if __name__ == "__main__":
    main()
