#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""codemeta.json says what CITATION.cff says, and requires what CMakeLists.txt does.

    test_citation.py PROGRAM BUILD SOURCE

In CodeMeta's context a requirement is a reference: a plain word would be an address relative to the page that is read.
"""
import json
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[3])
meta = json.loads((source / "codemeta.json").read_text())
cited = (source / "CITATION.cff").read_text()
cmake = (source / "CMakeLists.txt").read_text()
# Libraries whose package has another name than they have.
PACKAGES = {"libcrypto": "openssl", "libzstd": "zstd", "libprotobuf-c": "protobuf-c", "liblz4": "lz4",
            "sqlite3": "sqlite"}
failures = []


def same(what, one, other):
    if one != other:
        failures.append(f"{what}: {one} in codemeta.json, {other} elsewhere")


def listed(key):
    """The texts of a list of CITATION.cff."""
    return re.findall(r"^  - (?:name: )?(.*)$", re.search(rf"^{key}:\n((?:  .*\n)+)", cited, re.M)[1], re.M)


same("keywords", meta["keywords"], listed("keywords"))
same("authors", [author["name"] for author in meta["author"]], listed("authors"))
same("license", meta["license"], f"https://spdx.org/licenses/{re.search(r'^license: (.*)$', cited, re.M)[1]}")
required = {PACKAGES.get(name, name) for name in re.findall(r"pkg_check_modules\(\w+ REQUIRED.* ([\w-]+)\)", cmake)}
required |= {name.lower() for name in re.findall(r"find_package\((?!PkgConfig|Threads)(\w+) REQUIRED\)", cmake)}
same("requirements", sorted(one["name"].lower() for one in meta["softwareRequirements"]), sorted(required))
same("types of requirements", {one.get("@type") for one in meta["softwareRequirements"]}, {"SoftwareApplication"})
print("\n".join(failures) or "codemeta.json is as CITATION.cff and CMakeLists.txt")
sys.exit(bool(failures))
