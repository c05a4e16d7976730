#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The editor's extension shows the page that the program writes, says why there is none, ends the program with its tab,
and its package.json holds what the editor and its marketplace demand.

    test_vscode.py PROGRAM BUILD SOURCE

vscode_host.js stands in for the editor. Needs Debian's nodejs.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PROGRAM, SOURCE = (pathlib.Path(sys.argv[i]).resolve() for i in (1, 3))
FOLDER = SOURCE / "packaging/vscode"
#: The marketplace's words for what an extension is: https://code.visualstudio.com/api/references/extension-manifest
CATEGORIES = {"AI", "Azure", "Chat", "Data Science", "Debuggers", "Education", "Extension Packs", "Formatters",
              "Keymaps", "Language Packs", "Linters", "Machine Learning", "Notebooks", "Other",
              "Programming Languages", "SCM Providers", "Snippets", "Testing", "Themes", "Visualization"}


def opened(program, file, *begun):
    """What the tab of a file showed, one page after the other, and what the extension told the editor."""
    editor = SOURCE / "tests/project/vscode_host.js"
    done = subprocess.run(["node", editor, FOLDER / "extension.js", program, file, *begun], capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


def check_the_page(work):
    copy = work / "a b;$(touch x) <i>.zst"             # a name that a shell or a page would take for more
    copy.write_bytes((SOURCE / "samples/cnn.trace.zst").read_bytes())
    page = subprocess.run([PROGRAM, "report", copy, "--html", "-"], capture_output=True, text=True, check=True).stdout
    tab = opened(PROGRAM, copy)
    assert tab["shown"][-1] == page and len(tab["shown"]) == 2
    assert "Content-Security-Policy" in page
    assert tab["options"] == {"enableScripts": True, "localResourceRoots": []} and tab["kept"] == 1


def check_the_reasons(work):
    other = work / "<b>x.pickle"
    other.write_bytes(b"\x80\x02no snapshot")
    said = opened(PROGRAM, other)["shown"][-1]
    assert "There is no page of this file" in said and "&lt;b&gt;x.pickle" in said and "<b>" not in said, said
    said = opened(work / "none", other)["shown"][-1]
    assert "pip install vramreplay" in said and "default-src 'none'" in said


def check_the_end(work):
    sleeper, begun = work / "sleeper", work / "begun"
    sleeper.write_text(f"#!/bin/sh\necho $$ >{begun}.new\nmv {begun}.new {begun}\nexec sleep 1000\n")
    sleeper.chmod(0o755)
    assert len(opened(sleeper, work / "x.zst", begun)["shown"]) == 1       # nothing is shown in a tab that is closed
    process = pathlib.Path("/proc", begun.read_text().strip())
    for _ in range(600):
        if not process.exists():
            return
        time.sleep(0.1)
    raise AssertionError("the program goes on after its tab was closed")


def check_the_manifest():
    package = json.loads((FOLDER / "package.json").read_text())
    assert re.fullmatch(r"[a-z0-9-]+", package["name"]) and package["version"] == "{{version}}"
    assert set(package["categories"]) <= CATEGORIES and re.fullmatch(r"\^1\.\d+\.0", package["engines"]["vscode"])
    assert (FOLDER / package["main"]).is_file() and package["publisher"] == "OWNER" and package["license"]
    editor, = package["contributes"]["customEditors"]
    assert editor["priority"] == "option"              # other people's pickles open as they did
    assert {entry["filenamePattern"] for entry in editor["selector"]} == {"*.pickle", "*.zst"}
    code = (FOLDER / "extension.js").read_text()
    assert f'"{editor["viewType"]}"' in code
    for name in package["contributes"]["configuration"]["properties"]:
        assert name in code and name in package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]


def main():
    check_the_manifest()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        check_the_page(work)
        check_the_reasons(work)
        check_the_end(work)


if __name__ == "__main__":
    main()
