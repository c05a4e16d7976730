#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The recipes of `./dev package` name this version and these files, and other people's tools can read them.

    recipes.py DIST

Needs rattler-build's library and hadolint (packaging/lint-requirements.txt), Ruby and shellcheck.
"""
import hashlib
import pathlib
import re
import subprocess
import sys

import rattler_build

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = pathlib.Path(sys.argv[1]).resolve()
VERSION = re.search(r"project\(replay VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
failures = 0


def expect(is_true, *what):
    global failures
    if not is_true:
        failures += 1
        print("FAILED:", *what)


def accepts(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    expect(done.returncode == 0, *command, done.stdout, done.stderr)


def checksum():
    return hashlib.sha256((DIST / f"vramreplay-{VERSION}.tar.gz").read_bytes()).hexdigest()


def check_conda():
    """rattler-build, which builds conda-forge's packages, reads the recipe and fills in its variables."""
    recipe = rattler_build.Stage0Recipe.from_file(str(DIST / "conda/recipe.yaml"))
    variants = recipe.render(rattler_build.VariantConfig(
        {"python": ["3.11"], "c_compiler": ["gcc"], "c_stdlib": ["sysroot"]}))
    rendered = variants[0].recipe
    expect((rendered.package.name, str(rendered.package.version)) == ("vramreplay", VERSION), "conda: another version")
    expect(checksum() in (DIST / "conda/recipe.yaml").read_text(), "conda: another checksum")
    accepts("shellcheck", DIST / "conda/build.sh")


def check_homebrew():
    accepts("ruby", "-wc", DIST / "vramreplay.rb")
    expect(checksum() in (DIST / "vramreplay.rb").read_text(), "Homebrew: another checksum")


def check_dockerfile():
    accepts(pathlib.Path(sys.executable).with_name("hadolint"), DIST / "Dockerfile")
    copied = re.search(r"^COPY (\S+)", (DIST / "Dockerfile").read_text(), re.M)[1]
    expect((DIST / copied).is_file() and VERSION in copied, "Dockerfile: copies", copied)


def check_dependencies():
    """Each library that CMake asks pkg-config for is in the recipes, by the name that it has there."""
    names = {"libzstd": "zstd", "libcrypto": "openssl", "sqlite3": "sqlite", "libprotobuf-c": "protobuf-c",
             "libelf": "elfutils", "liblz4": "lz4"}
    asked = re.findall(r"^ *pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\S+)\)",
                       (ROOT / "CMakeLists.txt").read_text(), re.M)
    expect(len(asked) >= 7, "CMakeLists.txt asks for no library")
    for name in asked:
        for file in ("conda/recipe.yaml", "vramreplay.rb"):
            expect(names.get(name, name) in (DIST / file).read_text(), file, "lacks", name)


def main():
    for check in (check_conda, check_homebrew, check_dockerfile, check_dependencies):
        check()
    expect("{{" not in re.sub(r"\${{.*?}}", "", "".join((DIST / name).read_text() for name in (
        "conda/recipe.yaml", "vramreplay.rb", "Dockerfile"))), "a mark is not filled in")
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
