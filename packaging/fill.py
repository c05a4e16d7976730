#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Fill in what other places take, for what lies in a folder: the source distribution, the .deb and, for the Space, the
page for browsers.

    fill.py DIST

Writes DIST/Dockerfile, DIST/vramreplay.rb, DIST/package.nix, DIST/server.json, DIST/conda/, DIST/action/, the root of a
repository with the Action alone, DIST/vscode/, the editor's extension, and DIST/space/, a static Space, if DIST has
vramreplay.html.
"""
import base64
import hashlib
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r"project\(replay VERSION ([0-9.]+)", (HERE.parent / "CMakeLists.txt").read_text())[1]

# Which template is written where.
PLACES = {"conda/recipe.yaml": "conda/recipe.yaml", "vramreplay.rb": "vramreplay.rb", "Dockerfile": "Dockerfile",
          "places/package.nix": "package.nix", "places/server.json": "server.json",
          "places/action.md": "action/README.md", "vscode/package.json": "vscode/package.json"}


def only(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"fill: {len(found)} files {pattern} in {folder}, not one")
    return found[0]


def write(path, template, values):
    text = re.sub(r"(?<![$]){{(\w+)}}", lambda mark: values[mark[1]], (HERE / template).read_text())
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def main():
    dist = pathlib.Path(sys.argv[1])
    source = only(dist, f"vramreplay-{VERSION}.tar.gz")
    digest = hashlib.sha256(source.read_bytes())
    values = {
        "version": VERSION,
        "sha256": digest.hexdigest(),
        "sri": f"sha256-{base64.b64encode(digest.digest()).decode()}",
        "deb": only(dist, "vramreplay_*.deb").name,
        # Where PyPI keeps a source distribution.
        "source": f"https://pypi.org/packages/source/v/vramreplay/{source.name}",
    }
    for template, place in PLACES.items():
        write(dist / place, template, values)
    shutil.copy(HERE / "conda/build.sh", dist / "conda")
    shutil.copy(HERE.parent / "python/action/action.yml", dist / "action")
    for name in ("extension.js", "README.md"):
        shutil.copy(HERE / "vscode" / name, dist / "vscode")
    for place in ("action", "vscode"):
        shutil.copy(HERE.parent / "LICENSE", dist / place)
    if (dist / "vramreplay.html").exists():
        write(dist / "space/README.md", "places/space.md", values)
        shutil.copy(dist / "vramreplay.html", dist / "space/index.html")


if __name__ == "__main__":
    main()
