#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Draw which room includes which, and fail if an include points up.

    tests/include_arrows.py [ROOT]

A room is a folder of sources. ROOMS is the only place that says which rooms there are, in order from the bottom, and
which rooms below it each may include. Exit status 1, with file and line, for:

  - an include of a room that the including room may not use;
  - a file in a room that is not in ROOMS, or an include of a file that does not exist;
  - two sources (.c, .h) of the same name anywhere in the tree;
  - a header guard that does not match the header's path.
"""
import os
import re
import subprocess
import sys

CORE = ["base", "sim", "policies", "traces", "report"]          # what the engine stands on
READ = CORE + ["policies/pytorch", "import"]                    # plus what knows PyTorch, and what reads its files
LOOK = READ + ["replay/engine", "replay/coverage", "replay/who", "replay/conf"]
STUDY = LOOK + ["replay/plan", "replay/verify", "replay/extrapolate"]
ALL = None                                                      # every room below

# (room, rooms that it may include, what it is for)
ROOMS = [
    ("base", [], "Errors, events, byte arithmetic, arrays: what everything else needs. Only libc below it."),
    ("capture", ["base"], "The journal of a process's CUDA calls: one format, one writer, one reader."),
    ("sim", ["base"], "Devices: the simulated card and the real one, behind one interface."),
    ("policies", ["base", "sim"], "Allocator policies. A policy never sees a trace or a report."),
    ("policies/parts", ["base", "sim", "policies"], "What allocators are made of: blocks, sets, upstreams."),
    ("policies/described", ["base", "sim", "policies", "policies/parts"], "Allocators from papers and descriptions."),
    ("policies/zoo", ["base", "sim", "policies", "policies/parts"], "Allocators of other libraries."),
    ("policies/pytorch", ["base", "sim", "policies/parts", "policies"], "PyTorch's caching allocator, by release."),
    ("traces", ["base"], "The native trace format: its reader and its writer."),
    ("import", ["base", "capture", "traces"], "Other formats read as traces. An importer never sees a policy."),
    ("loads", ["base", "sim", "traces", "import"], "Traces made by a rule: patterns, and programs of a given shape."),
    ("report", ["base", "sim", "policies", "policies/pytorch"], "What is measured, and the writers of it."),
    ("replay/engine", CORE, "The loop: one trace through one or many policies."),
    ("replay/coverage", READ + ["replay/engine"], "What a recording covers: its begin, its end, its whole steps."),
    ("replay/who", READ + ["replay/engine"], "What is live at a moment, by line, stack, size, stream and pool."),
    ("replay/conf", READ, "What PyTorch makes of a settings text, and what a recording says of its own."),
    ("replay/extrapolate", LOOK, "A program's trace at a size that was not recorded."),
    ("replay/technique", LOOK, "What another way of training would request: the changed trace."),
    ("replay/conform", CORE, "Recorded cases of other libraries' allocators through a policy."),
    ("replay/plan", CORE + ["replay/engine"], "The least memory that any allocator needs for a trace."),
    ("replay/verify", READ + ["replay/engine"], "Is the pytorch policy the allocator that made a recording?"),
    ("replay/results", STUDY, "Finished runs as reports, alone or several side by side."),
    ("replay/advise", STUDY + ["replay/results"], "fit and tune: which card, which setting."),
    ("replay/why", STUDY + ["replay/results", "replay/advise"], "Why a program ran out of memory, and what helps."),
    ("replay/graphs", STUDY + ["replay/results"], "What the private pools of CUDA graphs take, in any arrangement."),
    ("replay/likeness", STUDY + ["replay/results", "replay/advise", "loads"], "Loads that are like a recording."),
    ("replay/diff", STUDY + ["replay/results"], "What differs between two traces, policies or results."),
    ("replay/sweep", STUDY + ["replay/results", "replay/advise"],
     "Many runs into a database, in one process or several."),
    ("replay/suite", STUDY + ["replay/results", "replay/sweep"],
     "The frozen benchmark: fixed traces, policies and cards."),
    ("replay/export", STUDY + ["replay/results"], "A run as a timeline or as PyTorch's snapshot."),
    ("cudasim", ["base", "capture", "sim", "traces", "policies", "policies/zoo"],
     "A CUDA without a GPU, to run a program on."),
    ("record", ["base", "capture", "sim", "traces"], "The library that records a program's calls on a real card."),
    ("live", ["base", "sim", "policies", "traces"], "A policy as PyTorch's allocator on a real card."),
    ("dryrun/safe", ["base"], "Files of a program kept safe while it runs on values that are not real."),
    ("dryrun/run", ["base", "sim", "capture", "import", "report", "cudasim", "dryrun/safe"],
     "A program, the simulated card under it, and what it recorded."),
    ("dryrun", STUDY + ["replay/results", "replay/advise", "cudasim", "dryrun/safe", "dryrun/run"],
     "A program without a GPU: what it needs, its largest batch, its smallest card."),
    ("replay/program", ALL, "The command line: nothing includes it but tests."),
    ("examples/policy", ["base", "sim", "policies"], "A policy built outside the tree, from installed headers."),
    ("bench", ALL, "Measurements of speed and memory."),
    ("tests", ALL, "The tests."),
    ("tests/fuzz", ALL, "Fuzz targets."),
    ("tests/faults", [], "What makes calls of another program fail."),
    ("tests/golden", ALL, "What PyTorch answered, and the comparison with it."),
    ("tests/record", ALL, "Programs that the tests record."),
    ("tests/contributing/policy", ALL, "A policy as a newcomer would add it."),
    ("tests/contributing/importer", ALL, "An importer as a newcomer would add it."),
    ("tests/contributing/subcommand", ALL, "A sub-command as a newcomer would add it."),
    ("tests/against-torch", ALL, "Comparisons with an installed PyTorch."),
    ("tests/against-cuda", [], "Programs that nvcc builds, on the simulated card."),
]

# Rooms that include each other: the tests are one house.
TESTS = {name for name, _, _ in ROOMS if name == "tests" or name.startswith("tests/")}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
GUARD = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)")
SOURCES = (".c", ".h", ".cpp", ".def")


def allowed_rooms():
    """Room -> the rooms it may include. Stops if ROOMS itself has an arrow that points up."""
    allowed, below = {}, []
    for name, may, _ in ROOMS:
        up = [] if may is ALL else [room for room in may if room not in below]
        if up:
            sys.exit(f"{__file__}: ROOMS lets {name} include {', '.join(up)}, which stands above it")
        allowed[name] = set(below if may is ALL else may) | {name}
        below.append(name)
    for name in TESTS:
        allowed[name] |= TESTS
    return allowed


def sources(root):
    """All sources, by path from the root: those that git knows or would add; without git, those that are there."""
    if os.path.exists(os.path.join(root, ".git")):
        git = ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]
        paths = subprocess.run(git, capture_output=True, text=True, check=True).stdout.splitlines()
    else:
        paths = []
        for folder, names, files in os.walk(root):
            names[:] = [n for n in names if not n.startswith((".", "build"))]
            paths += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(p for p in paths if p.endswith(SOURCES) and os.path.isfile(os.path.join(root, p)))


def room_of(path):
    return os.path.dirname(path)


def guard_of(path):
    return "REPLAY_" + re.sub(r"[^A-Z0-9]", "_", path.upper())


def check_file(root, path, known, allowed, arrows):
    """Complaints about one file; its arrows are counted in `arrows`."""
    room, guard, complaints = room_of(path), None, []
    if room not in allowed:
        return [f"{path}:1: its folder is not in ROOMS of tests/include_arrows.py"]
    with open(os.path.join(root, path), encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            guard = guard or GUARD.match(line)
            include = INCLUDE.match(line)
            if not include:
                continue
            target = include[1]
            if target not in known:
                complaints.append(f"{path}:{number}: \"{target}\" is no file of the tree, as seen from its root")
                continue
            if room_of(target) != room:
                arrows[(room, room_of(target))] = arrows.get((room, room_of(target)), 0) + 1
            if room_of(target) not in allowed[room]:
                complaints.append(f"{path}:{number}: {room} may not include {room_of(target)} (\"{target}\")")
    if path.endswith(".h") and (guard is None or guard[1] != guard_of(path)):
        complaints.append(f"{path}:1: its guard is {guard[1] if guard else 'missing'}, not {guard_of(path)}")
    return complaints


def same_names(paths):
    seen, complaints = {}, []
    for path in paths:
        name = os.path.basename(path)
        if name.endswith((".c", ".h")) and name in seen:
            complaints.append(f"{path}:1: {seen[name]} has the same name")
        seen.setdefault(name, path)
    return complaints


def print_arrows(arrows, rooms):
    for name, _, purpose in reversed(ROOMS):
        if name not in rooms:
            continue
        to = ", ".join(f"{b} ({n})" for (a, b), n in sorted(arrows.items()) if a == name)
        print(f"{name}: {purpose}\n    -> {to if to else 'nothing'}")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    allowed, paths, arrows = allowed_rooms(), sources(root), {}
    complaints = same_names(paths)
    for path in paths:
        complaints += check_file(root, path, set(paths), allowed, arrows)
    print_arrows(arrows, {room_of(path) for path in paths})
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not paths:
        print(f"{root}: no sources", file=sys.stderr)
    sys.exit(1 if complaints or not paths else 0)


if __name__ == "__main__":
    main()
