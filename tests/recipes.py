#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The recipes of `./dev package` name this version and these files, and other people's tools can read them.

    recipes.py DIST

Needs what packaging/lint-requirements.txt lists, Ruby, shellcheck and nix-instantiate.
"""
import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import rattler_build
import yaml

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


def tool(name):
    return pathlib.Path(sys.executable).with_name(name)


def check_nix():
    accepts("nix-instantiate", "--parse", DIST / "package.nix")
    text = (DIST / "package.nix").read_text()
    hashes = [base64.b64decode(found).hex() for found in re.findall(r'hash = "sha256-([^"]+)"', text)]
    expect(checksum() in hashes, "nix: another checksum")
    dygraphs = re.search(r'_all.deb"\n +sha256 "(\w+)"', (DIST / "vramreplay.rb").read_text())[1]
    expect(dygraphs in hashes, "nix: another dygraphs than Homebrew's")


def check_github():
    """The Action in the root of a repository, as the Marketplace wants it, and what people copy into theirs."""
    for schema, file in (("github-actions", DIST / "action/action.yml"),
                         ("github-workflows", ROOT / "examples/workflow/peak-memory.yml")):
        accepts(tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", file)
    accepts(tool("pre-commit"), "validate-config", ROOT / "examples/workflow/pre-commit-config.yaml")
    action = yaml.safe_load((DIST / "action/action.yml").read_text())
    expect({"icon", "color"} == set(action["branding"]), "the Action has no branding")
    expect(sorted(path.name for path in (DIST / "action").iterdir()) == ["LICENSE", "README.md", "action.yml"],
           "dist/action/ has other files")


def check_vscode():
    """The extension's folder is whole; test_vscode.py tries what is in it."""
    expect(json.loads((DIST / "vscode/package.json").read_text())["version"] == VERSION, "vscode: another version")
    expect(sorted(path.name for path in (DIST / "vscode").iterdir()) ==
           ["LICENSE", "README.md", "extension.js", "package.json"], "dist/vscode/ has other files")


def check_mcp_registry():
    """What the registry refuses: https://modelcontextprotocol.io says so, and mcp-publisher validate."""
    server = json.loads((DIST / "server.json").read_text())
    package = server["packages"][0]
    expect(server["version"] == package["version"] == VERSION, "server.json: another version")
    expect(len(server["description"]) <= 100, "server.json: its description has more than 100 characters")
    expect(re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]), "server.json: its name is none")
    expect(f"mcp-name: {server['name']} " in (ROOT / "python/PYPI.md").read_text(), "PYPI.md names another server")
    expect((package["identifier"], package["transport"]) == ("vramreplay", {"type": "stdio"}),
           "server.json: another package")


def check_space():
    """A static Space of Hugging Face: known keys in its front matter, and the page."""
    if not (DIST / "vramreplay.html").exists():
        return
    front = yaml.safe_load((DIST / "space/README.md").read_text().split("---\n")[1])
    expect(set(front) <= {"title", "emoji", "colorFrom", "colorTo", "sdk", "app_file", "pinned", "license",
                          "short_description"}, "Space: unknown keys")
    expect(front["sdk"] == "static" and (DIST / "space" / front["app_file"]).exists(), "Space: no page")
    expect(len(front["short_description"]) <= 60, "Space: its description has more than 60 characters")


def check_dependencies():
    """Each library that CMake asks pkg-config for is in the recipes, by the name that it has there."""
    names = {"libzstd": "zstd", "libcrypto": "openssl", "sqlite3": "sqlite", "libprotobuf-c": "protobuf-c",
             "libelf": "elfutils", "liblz4": "lz4"}
    asked = re.findall(r"^ *pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\S+)\)",
                       (ROOT / "CMakeLists.txt").read_text(), re.M)
    expect(len(asked) >= 7, "CMakeLists.txt asks for no library")
    for name in asked:
        for file in ("conda/recipe.yaml", "vramreplay.rb", "package.nix"):
            there = names.get(name, name)
            there = there.replace("-", "") if file == "package.nix" else there
            expect(there in (DIST / file).read_text(), file, "lacks", name)


def main():
    for check in (check_conda, check_homebrew, check_dockerfile, check_nix, check_github, check_vscode,
                  check_mcp_registry, check_space, check_dependencies):
        check()
    expect("{{" not in re.sub(r"\${{.*?}}", "", "".join((DIST / name).read_text() for name in (
        "conda/recipe.yaml", "vramreplay.rb", "Dockerfile", "package.nix", "server.json",
        "action/README.md", "vscode/package.json"))), "a mark is not filled in")
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
