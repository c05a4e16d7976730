#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The map of the tree: which rooms there are, what each answers, and which rooms it uses. Fails on what is not so.

    tests/include_arrows.py [ROOT]         check the tree
    tests/include_arrows.py --map [ROOM]   print the map, or the part of it in one folder, for the pages

A room is a folder of sources. ROOMS is the only place that says which rooms there are, in order from the bottom, and
exactly which rooms below it each uses. Exit status 1, with file and line, for:

  - an include of a room that the including room may not use, and a room that is listed as used and is not;
  - a file in a room that is not in ROOMS, or an include of a file that does not exist;
  - two sources (.c, .h) of the same name anywhere in the tree;
  - a header guard that does not match the header's path;
  - a source that the README of its room does not name;
  - a file that a README of a room or a comment names and that is not in the tree.
"""
import fnmatch
import os
import re
import subprocess
import sys
import textwrap

ALL = None                                                      # every room below: nothing is below these but tests

# (room, rooms that it uses, what it answers)
ROOMS = [
    ("base", "", "Errors, events, byte arithmetic, arrays: what all else needs. Only libc below it."),
    ("packaging/wasm/lacking/sys", "", "The same, in the folder sys of a C library."),
    ("packaging/wasm/lacking", "", "Headers in front of those of WebAssembly's C library, with what these lack."),
    ("packaging/linux", "", "What a glibc before 2.34 expects inside of a program."),
    ("packaging/wasm", "", "The calls that WebAssembly's C library lacks."),
    ("capture", "base", "How is a CUDA call written down? The journal's format and its writer."),
    ("sim", "base", "What does a card do? The simulated card and the real one, behind one interface."),
    ("policies", "base sim", "What is an allocator? The contract, what people type, the small policies."),
    ("policies/parts", "base policies", "What are allocators made of? Blocks, sets, upstreams."),
    ("policies/described", "base policies policies/parts", "Allocators as papers and descriptions tell of them."),
    ("policies/zoo", "base sim policies policies/parts", "Allocators of other libraries, as they were asked."),
    ("policies/pytorch", "base sim policies policies/parts", "PyTorch's caching allocator, release by release."),
    ("traces", "base", "How is a recording kept? The native format: reader and writer. Never a policy."),
    ("import", "base capture traces", "What do other formats say? One importer each. Never a policy."),
    ("import/pytorch", "base traces import", "What does a snapshot of PyTorch say?"),
    ("loads", "base sim traces import", "Traces made by a rule: patterns, programs of a given shape."),
    ("report/text", "base", "How are paragraphs, tables and JSON written?"),
    ("answers", "", "What does an answer in JSON hold? One table each: writer, schema, classes."),
    ("report/measure", "base sim policies", "What is measured while a trace runs?"),
    ("report/explain", "base policies report/text answers", "Why does a request not fit?"),
    ("report/rows", "base sim policies report/text answers report/measure report/explain",
     "Runs as rows: columns, database, and which run is best."),
    ("report/write", "base report/text answers report/rows", "A finished replay as table, sentence, JSON."),
    ("report/schema", "report/text answers report/rows", "What may stand in an answer? Its JSON Schema."),
    ("report/page", "base report/text report/measure report/rows", "The page of `replay report`, and Markdown."),
    ("embed", "base report/page", "Files that become part of the program: a tool of the build."),
    ("replay/engine", "base sim policies traces report/measure report/explain", "One trace through many policies."),
    ("replay/recording", "base sim policies policies/pytorch traces import import/pytorch report/text report/rows "
     "replay/engine answers", "What does a recording hold? Steps, holders, settings, its allocator."),
    ("replay/trials", "base traces replay/engine", "Many runs of one trace: which need not be made? Changed copies."),
    ("replay/extrapolate", "base traces", "A program's trace at a size that was not recorded."),
    ("replay/technique", "base traces replay/recording", "What would another way of training request?"),
    ("replay/conform", "base sim policies", "Is a policy the allocator that it stands for?"),
    ("replay/plan", "base sim traces report/rows replay/engine", "What is the least memory that any allocator needs?"),
    ("replay/results", "base sim policies traces import report/text answers report/measure report/rows report/page "
     "replay/engine replay/recording replay/plan", "Finished runs as reports, alone or side by side."),
    ("replay/advise", "base sim policies/pytorch traces report/text answers report/rows replay/engine replay/recording "
     "replay/trials replay/plan replay/results", "Which card is large enough, and which setting is best?"),
    ("replay/why", "base sim traces report/text answers report/rows replay/recording replay/trials "
                   "replay/technique replay/advise",
     "Why did a program run out of memory, and what helps?"),
    ("replay/blame", "policies/pytorch traces report/text replay/trials replay/results",
     "Which rule of the allocator holds the memory that no request asked for?"),
    ("replay/shrink", "base policies/pytorch report/text replay/recording replay/trials replay/results replay/why",
     "What is the smallest recording that still does it?"),
    ("replay/adversary", "base policies/pytorch traces replay/shrink",
     "On which program do two allocators differ, or one waste most?"),
    ("replay/bisect", "base", "Which of many versions to try next, and which one raised the peak?"),
    ("replay/graphs", "base traces report/text answers replay/engine replay/results",
     "What do the private pools of CUDA graphs take?"),
    ("replay/likeness", "traces loads replay/trials", "Is a made load like a recording?"),
    ("replay/diff", "base traces report/text answers report/rows replay/engine replay/recording replay/results",
     "What differs between two traces, policies or results?"),
    ("replay/sweep", "base sim import report/rows replay/recording replay/trials replay/results",
     "Many runs into a database; the frozen benchmark."),
    ("replay/contest", "base traces loads report/text answers replay/trials replay/sweep",
     "Which allocator serves programs best? Edition 2 of the benchmark."),
    ("replay/pools", "base loads report/text answers", "What does each kind of pool make of a server's memory?"),
    ("replay/export", "base traces import/pytorch policies/pytorch report/text replay/engine replay/recording",
     "A run as a timeline or PyTorch's snapshot; what is held as a flame graph."),
    ("cudasim/core", "base capture sim policies policies/zoo", "What does CUDA do, without a GPU? All of its state."),
    ("cudasim/code", "base cudasim/core", "What does a program's machine code say of itself?"),
    ("cudasim/standins", "base cudasim/core", "What stands in for NVIDIA's other libraries?"),
    ("cudasim/api", "capture cudasim/core", "CUDA's entry points: runtime, driver, NVML."),
    ("record", "capture", "The library that records a program's calls on a real card."),
    ("live", "base policies", "A policy as PyTorch's allocator on a real card."),
    ("dryrun/safe", "base", "How are a program's files kept safe while its values are not real?"),
    ("dryrun/run", "base capture sim import report/text answers cudasim/core cudasim/standins dryrun/safe",
     "The program as a child, the simulated card under it, its journals."),
    ("dryrun/smi", "base sim import cudasim/core dryrun/run", "The nvidia-smi of the simulated card."),
    ("dryrun", "base sim traces import report/text answers report/rows replay/recording replay/trials "
     "replay/plan replay/results replay/advise replay/pools cudasim/core dryrun/safe dryrun/run",
     "What does a program need, without a GPU? Largest batch, smallest card."),
    ("dryrun/bisect", "base traces report/text answers replay/recording replay/bisect replay/diff dryrun/safe "
     "dryrun/run dryrun", "Which commit, or release of a package, raised the peak? Run by run."),
    ("replay/program", ALL, "The command line. Only tests stand above it."),
    ("examples/policy", "base policies policies/parts", "A policy built outside the tree, from installed headers."),
    ("bench", ALL, "Measurements of speed and memory."),
]
TEST_ROOMS = {
    "tests": "What tests share.",
    "tests/golden": "What real allocators answered, and the comparison with it.",
    "tests/fuzz": "Fuzz targets.", "tests/faults": "What makes calls of another program fail.",
    "tests/against-torch": "Comparisons with an installed PyTorch.",
    "tests/against-cuda": "Programs that nvcc builds, on the simulated card.",
    "tests/contributing/policy": "A policy as a newcomer would add it.",
    "tests/contributing/importer": "An importer as a newcomer would add it.",
    "tests/contributing/subcommand": "A sub-command as a newcomer would add it.",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
GUARD = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)")
SOURCES = (".c", ".h", ".cpp", ".def")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# A file as a comment or a README names it: with its folder, or by its name alone.
NAMED = re.compile(r"(?<![\w/.<*-])((?:[a-z_-]+/)*[a-z][a-z0-9_]*\.(?:c|h|def))\b(?!/|\.\w)")
# Files of others: what PyTorch, CUDA, libc and the build have; what a comment makes up to explain itself.
FOREIGN = {"cuda.h", "cuda_occupancy.h", "cuda_runtime_api.h", "cudnn_adv.h", "cudnn_cnn.h", "cudnn_graph.h",
           "cudnn_ops.h", "cusparse.h", "driver_types.h", "fatbinary_section.h", "malloc/mtrace.c", "nvml.h",
           "src/common/utils.h", "src/prof_data.c", "src/storage/pooled_storage_manager.h"}


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = tracked(root)
        self.sources = sorted(p for p in self.files if p.endswith(SOURCES))
        self.names = {os.path.basename(p) for p in self.files}

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as text:
            return text.read()


def tracked(root):
    """All files, by path from the root: those that git knows or would add; without git, those that are there."""
    if os.path.exists(os.path.join(root, ".git")):
        git = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]
        paths = subprocess.run(git, capture_output=True, text=True, check=True).stdout.splitlines()
    else:
        paths = []
        for folder, names, files in os.walk(root):
            names[:] = [n for n in names if not n.startswith((".", "build"))]
            paths += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return [p for p in paths if os.path.isfile(os.path.join(root, p))]


def is_test(room):
    return room == "tests" or room.startswith("tests/")


def allowed_rooms():
    """Room -> the rooms it may include. Stops if ROOMS itself has an arrow that points up."""
    allowed, below = {}, []
    for name, uses, _ in ROOMS:
        up = [room for room in (uses or "").split() if room not in below]
        if up:
            sys.exit(f"{__file__}: ROOMS lets {name} use {', '.join(up)}, which stands above it")
        allowed[name] = set(below if uses is ALL else uses.split())
        below.append(name)
    return allowed


def room_of(path):
    return os.path.dirname(path)


def guard_of(path):
    return "REPLAY_" + re.sub(r"[^A-Z0-9]", "_", path.upper())


def check_file(tree, path, known, allowed, arrows):
    """Complaints about one file; its arrows are counted in `arrows`."""
    room, guard, complaints = room_of(path), None, []
    if room not in allowed and not is_test(room):
        return [f"{path}:1: its folder is not in ROOMS of tests/include_arrows.py"]
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        guard = guard or GUARD.match(line)
        include = INCLUDE.match(line)
        if not include:
            continue
        target = include[1]
        to = room_of(target)
        if target not in known:
            complaints.append(f"{path}:{number}: \"{target}\" is not a file of the tree, as seen from its root")
        elif to != room:
            arrows[(room, to)] = arrows.get((room, to), 0) + 1
            if not is_test(room) and to not in allowed[room]:
                complaints.append(f"{path}:{number}: {room} may not include {to} (\"{target}\")")
    if path.endswith(".h") and (guard is None or guard[1] != guard_of(path)):
        complaints.append(f"{path}:1: its guard is {guard[1] if guard else 'missing'}, not {guard_of(path)}")
    return complaints


def unused_arrows(arrows, rooms):
    return [f"tests/include_arrows.py: ROOMS says that {name} uses {to}, and no file there does"
            for name, uses, _ in ROOMS if name in rooms for to in (uses or "").split() if (name, to) not in arrows]


def same_names(paths):
    seen, complaints = {}, []
    for path in paths:
        name = os.path.basename(path)
        if name.endswith((".c", ".h")) and name in seen:
            complaints.append(f"{path}:1: {seen[name]} has the same name")
        seen.setdefault(name, path)
    return complaints


def readme_of(tree, path):
    """The README that answers for a file: in its folder, or in the nearest one above."""
    folder = room_of(path)
    while folder and f"{folder}/README.md" not in tree.files:
        folder = os.path.dirname(folder)
    return f"{folder}/README.md" if folder else None


def is_named(path, words):
    """Whether one of a README's words, a name with or without its ending or a pattern, is this file."""
    name = os.path.basename(path)
    stem = os.path.splitext(name)[0]
    return any(fnmatch.fnmatch(name, word) or fnmatch.fnmatch(stem, word) for word in words)


def unnamed_files(tree):
    words = {}
    for path in tree.files:
        if path.endswith("/README.md"):
            in_code = re.findall(r"`([^`\n]+)`", tree.read(path))
            words[path] = {os.path.basename(w) for code in in_code for w in re.split(r"[ ,]+", code)}
            words[path] |= {os.path.splitext(w)[0] for w in words[path]}
    for path in tree.sources:
        readme = readme_of(tree, path)
        if readme and not is_test(room_of(path)) and not is_named(path, words[readme]):
            yield f"{readme}:1: does not name {os.path.basename(path)}"


def missing_files(tree, path):
    """Names of files in the comments of a source, or in a README of a room, that are not in the tree."""
    text = tree.read(path)
    parts = [text] if path.endswith(".md") else COMMENT.findall(text)
    for part in parts:
        for name in NAMED.findall(part):
            there = name in tree.files if "/" in name else name in tree.names
            if not there and name not in FOREIGN:
                yield f"{path}:1: names {name}, which is not in the tree"


def check_names(tree):
    readmes = [p for p in tree.files if p.endswith("/README.md") and any(room_of(p) == r for r, _, _ in ROOMS)]
    complaints = list(unnamed_files(tree))
    for path in readmes + [p for p in tree.sources if not is_test(room_of(p))]:
        complaints += missing_files(tree, path)
    return complaints


def print_map(folder):
    """The rooms from the top, 100 columns wide: name, what it answers, what it uses."""
    rows = [(name, uses, answer) for name, uses, answer in reversed(ROOMS) if name.startswith(folder)]
    width = max(len(name) for name, _, _ in rows)
    for name, uses, answer in rows:
        print(f"{name:{width}}  {answer}")
        words = "all below" if uses is ALL else uses or "nothing"
        print(textwrap.fill(words, 98, initial_indent=f"{'':{width}}  -> ", subsequent_indent=f"{'':{width}}     ",
                            break_on_hyphens=False, break_long_words=False))


def main():
    if sys.argv[1:2] == ["--map"]:
        return print_map(sys.argv[2] if len(sys.argv) > 2 else "")
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    allowed, tree, arrows = allowed_rooms(), Tree(root), {}
    known = set(tree.sources)
    complaints = same_names(tree.sources)
    for path in tree.sources:
        complaints += check_file(tree, path, known, allowed, arrows)
    complaints += unused_arrows(arrows, {room_of(path) for path in tree.sources}) + check_names(tree)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not tree.sources:
        print(f"{root}: no sources", file=sys.stderr)
    return 1 if complaints or not tree.sources else 0


if __name__ == "__main__":
    sys.exit(main())
