#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Keeps README.md, CONTRIBUTING.md, CHANGELOG.md, the example policy's README and doc/ true.

    tests/check_docs.py PROGRAM [--write]      # PROGRAM: build/replay of any build folder

- README.md has at most 150 lines.
- Every file and folder of this tree that a page names is there, and so is every target of a link.
- Every `replay COMMAND --option` that a page shows is known to the program's own --help.
- A sentence "Without `--policy` a replay takes ..." names what --help calls the default.
- A block after <!-- output: COMMAND --> holds what COMMAND prints today. Lines of the block that start with "$ " or
  "..." come first and are the page's own, with what a backslash continues. COMMAND runs in a folder with build/replay,
  samples/, examples/, sim/ and tests/; the commands of one page share that folder. --write puts the present output into
  the pages.

Exit status: 0 all true, 1 not, 2 wrong usage.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
README_LINES_MAX = 150
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/policy/README.md", "replay/README.md",
         "python/skill/SKILL.md"]
# Other people's trees, what a build makes, and a test's name.
FOREIGN = ("c10/", "torch/", "build/", "dist/", "include/", "engines/", "test/unit/", "tests/regression/",
           "policies/live_")
ENDINGS = (".c", ".h", ".md", ".sh", ".py", ".def", ".txt", ".csv", ".cmake", ".sbatch")
# Options of other programs, of all commands, and former names.
OTHER_OPTIONS = {"--flag", "--list", "--version", "--fetch", "--write", "--map-by", "--bind-to", "--prefix",
                 "--preset", "--build", "--install", "--peaks-md", "--timeout", "--run-programs",
                 "--releases",               # the former name of an option
                 "--query-gpu", "--query-compute-apps"}                  # of nvidia-smi
OUTPUT = re.compile(r"^<!-- output: ([^\n]*) -->\n```\n(.*?)^```$", re.M | re.S)

failures = []


def fail(page, text):
    failures.append(f"{page}: {text}")


# ---- paths ----

def is_there(path):
    path = path.rstrip("/")
    return any(True for _ in ROOT.glob(path)) if "*" in path else (ROOT / path).exists()


def check_paths(page, text):
    top = [re.escape(d.name) for d in ROOT.iterdir() if d.is_dir() and not d.name.startswith((".", "build"))]
    named = set(re.findall(r"(?<![\w./<>{$-])((?:%s)/[\w.*/-]*[\w*/])" % "|".join(top), text))
    for code in re.findall(r"`([^`\n]+)`( \(new\))?", text):
        word, is_new = code
        if not is_new and "<" not in word and re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/?", word):
            if word.endswith("/") or ("/" in word and word.endswith(ENDINGS)):
                named.add(word)
    for path in sorted(named):
        new = re.search(r"`[^`\n]*%s[^`\n]*` \(new\)" % re.escape(path), text)
        if not path.startswith(FOREIGN) and not is_there(path) and not new:
            fail(page, f"names {path}, which is not in the tree")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file = target.split("#")[0]
        if file and "://" not in target and not ((ROOT / page).parent / file).exists():
            fail(page, f"links to {target}, which is not there")


# ---- commands and options ----

def options_of(program, command):
    words = [*command, "--help"] if command else ["--help", "all"]
    text = subprocess.run([program, *words], capture_output=True, text=True).stdout
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def known_commands(program):
    text = subprocess.run([program, "--help", "all"], capture_output=True, text=True).stdout
    names = set(re.findall(r"^ +replay ([a-z][a-z-]*)\b", text, re.M))
    options = {name: options_of(program, [name]) for name in names}
    options[""] = options_of(program, [])
    return options


def check_commands(page, text, commands):
    shown = re.findall(r"(?:^|[`\s(])(?:build/)?replay ((?:[a-z][a-z-]*|--?\w[\w-]*|\S+\.\w+\b)[^`\n]*)", text)
    for line in shown:
        words = line.split(" -- ")[0].split("#")[0].split(" | ")[0]
        first = words.split()[0]
        if first.endswith(":"):
            continue                                             # a message of the program
        command = first if first in commands else ""
        options = re.findall(r"(?<![\w-])--[a-z][a-z-]*", words)
        if command == "" and not options and "." not in first:
            continue                                             # a sentence with the word replay in it
        if command == "" and re.fullmatch(r"[a-z-]+", first) and not first.startswith("-"):
            continue
        for option in options:
            if option not in commands[command] | OTHER_OPTIONS:
                fail(page, f"shows replay {command} {option}, which --help does not know")
    every = set().union(*commands.values()) | OTHER_OPTIONS
    for option in set(re.findall(r"`(--[a-z][a-z-]*)", text)) - every:
        fail(page, f"names {option}, which no command knows")


def check_named_commands(page, text, commands):
    for name in re.findall(r"build/replay ([a-z][a-z-]*)(?=[\s`])", text):
        if name not in commands:
            fail(page, f"shows build/replay {name}, which is no command")


def check_default_policies(page, text, program):
    known = subprocess.run([program, "FILE", "--help"], capture_output=True, text=True).stdout
    default = re.search(r"--policy P .*?\(default: what was recorded, (.*?)\)", " ".join(known.split()))
    if default is None:
        fail(page, "cannot be compared with the default of --policy, which --help does not name")
        return
    expected = re.split(r", | and ", default[1])
    for sentence in re.findall(r"Without `--policy` a replay takes(.*?\.)\n", text, re.S):
        named = re.findall(r"`([^`]*)`", sentence)
        if named != expected:
            fail(page, f"says that a replay takes {', '.join(named)} without --policy: it takes {', '.join(expected)}")


# ---- output ----

def make_folder(folder, program):
    os.mkdir(f"{folder}/build")
    built = pathlib.Path(program).resolve().parent
    os.symlink(built / "replay", f"{folder}/build/replay")
    for name in ("samples", "examples", "sim", "tests"):
        os.symlink(ROOT / name, f"{folder}/{name}")


def fresh_block(folder, command, old):
    lines = old.splitlines(keepends=True)
    kept = 0
    while kept < len(lines) and (lines[kept].startswith(("$ ", "...")) or
                                 kept > 0 and lines[kept - 1].endswith("\\\n")):
        kept += 1
    env = dict(os.environ, LC_ALL="C.UTF-8", COLUMNS="80", TERM="dumb", TZ="UTC")
    if " -- " in command:                        # a program loads our libraries late, which sanitizers do not expect
        env["ASAN_OPTIONS"] = "detect_leaks=0:verify_asan_link_order=0"
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    printed = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
    if printed == "":
        return None, done.stderr
    return "".join(lines[:kept]) + printed, done.stderr


def refresh(page, text, program):
    with tempfile.TemporaryDirectory() as folder:
        make_folder(folder, program)

        def one(found):
            block, said = fresh_block(folder, found[1], found[2])
            if block is None:
                fail(page, f"prints nothing: {found[1]}\n{said}")
                return found[0]
            if block != found[2]:
                fail(page, f"is not what the command prints now: {found[1]}")
            return f"<!-- output: {found[1]} -->\n```\n{block}```"

        return OUTPUT.sub(one, text)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    program, is_writing = os.path.abspath(sys.argv[1]), len(sys.argv) == 3
    commands = known_commands(program)
    pages = PAGES + sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("doc/*.md"))
    if len((ROOT / "README.md").read_text().splitlines()) > README_LINES_MAX:
        fail("README.md", f"has more than {README_LINES_MAX} lines")
    for page in pages:
        text = (ROOT / page).read_text()
        fresh = refresh(page, text, program)
        if is_writing and fresh != text:
            (ROOT / page).write_text(fresh)
            print(f"{page}: written")
        prose = OUTPUT.sub(lambda found: "\n".join(l for l in found[2].splitlines() if l.startswith("$ ")), fresh)
        check_paths(page, prose)
        check_commands(page, prose, commands)
        check_named_commands(page, prose, commands)
        check_default_policies(page, prose, program)
    if is_writing:
        failures[:] = [f for f in failures if "prints now" not in f]
    for text in failures:
        print(f"FAILED: {text}")
    if failures:
        print("Output that only changed: tests/check_docs.py build/replay --write, then read the difference")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
