#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How many of the bytes at the peak `replay who --by category` names rightly, program by program.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/peak_categories.py [--build FOLDER] [--programs FILE]
        [--recordings FOLDER] [--keep FOLDER] [NAME...]

Each program runs once on the simulated card, labelled (cudasim/python/replay_labels.py): the labels are the truth.
`who` is then asked without them. --programs: a file that runs a program by name, and lists its programs by --list;
without it label_programs.py beside this file. --recordings: a folder with NAME.*.pickle.xz, made of the same programs
on a card. Their requests are paired with the labelled ones in order, by size; what a card alone asked for and gave back
at once is a workspace. --keep: labelled snapshots are left there, and taken from there if they are there already.

wrong: of the bytes with a label. guess: of all bytes, what `who` says is a guess. no label: of all bytes.
"""
import argparse
import json
import lzma
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LABELS = ("nn.Module", "category")
CARD = "NVIDIA H200"
NEXT = 6                                             # requests in a row that must be alike after a difference
FAR = 400                                            # requests that are looked through for the place where both go on


def record(replay, program, name, out):
    """Leaves a labelled snapshot of the program at `out`."""
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([replay, "run-sim", "--device", CARD, "-o", "t.zst", "--labels", "--", sys.executable,
                               "-W", "ignore", str(program), name, "own.pickle"],
                              cwd=work, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-300:])
        out.write_bytes((pathlib.Path(work) / "t.pickle").read_bytes())


def entries(snapshot):
    """The history of the device that has most."""
    return max(snapshot["device_traces"], key=len)


def without_labels(snapshot):
    for entry in entries(snapshot):
        entry["frames"] = [f for f in entry.get("frames") or [] if f["filename"] not in LABELS]
    return snapshot


def who(replay, snapshot):
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "s.pickle"
        path.write_bytes(pickle.dumps(snapshot))
        out = subprocess.run([replay, "who", str(path), "--by", "category", "--at", "peak", "--json", "-"],
                             capture_output=True, check=True)
    return json.loads(out.stdout)


def meet(a, b, i, j):
    """Where two lists of sizes go on alike after (i, j): the nearest such places."""
    for far in range(1, FAR):
        for x in range(far + 1):
            p, q = i + x, j + far - x
            if a[p:p + NEXT] == b[q:q + NEXT] and p < len(a):
                return p, q
    return len(a), len(b)


def pair(labelled, card):
    """Puts labels on the card's requests; what has no partner and is given back at once is a workspace."""
    ours, theirs = ([e for e in entries(s) if e["action"] == "alloc"] for s in (labelled, card))
    sizes = [[e["size"] for e in one] for one in (ours, theirs)]
    counted = [e for e in entries(card) if e["action"] in ("alloc", "free_requested")]
    brief = {id(e) for e, after in zip(counted, counted[1:]) if e["action"] == "alloc" and
             after["action"] == "free_requested" and after["addr"] == e["addr"]}
    labels, i, j = {}, 0, 0
    while i < len(ours) and j < len(theirs):
        if sizes[0][i] == sizes[1][j]:
            labels[id(theirs[j])] = [f for f in ours[i]["frames"] if f["filename"] in LABELS]
            i, j = i + 1, j + 1
        else:
            i, j = meet(*sizes, i, j)
    workspace = [{"name": "workspaces", "filename": "category", "line": 0}]
    none = [{"name": "unknown", "filename": "category", "line": 0}]
    for entry in theirs:
        entry["frames"] = (entry.get("frames") or []) + labels.get(id(entry),
                                                                   workspace if id(entry) in brief else none)
    return card


def judge(replay, what, labelled):
    """One line of the table."""
    truth = who(replay, labelled)
    told = who(replay, without_labels(labelled))
    wrong = 1 - truth["agreed_bytes"] / max(1, truth["labelled_bytes"])
    print("%-32s %10.1f MiB  %7.2f %%  %7.2f %%  %7.2f %%" % (
        what, truth["bytes"] / 2 ** 20, 100 * wrong, 100 * told["guessed_bytes"] / told["bytes"],
        100 * (1 - truth["labelled_bytes"] / truth["bytes"])), flush=True)
    return wrong <= 0.01


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=HERE.parents[1] / "build", type=pathlib.Path)
    parser.add_argument("--programs", default=HERE / "label_programs.py", type=pathlib.Path)
    parser.add_argument("--recordings", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    replay, program = str(args.build.resolve() / "replay"), args.programs.resolve()
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    names = args.names or subprocess.run([replay, "run-sim", "--", sys.executable, str(program), "--list"],
                                         capture_output=True, text=True, check=True).stdout.split()
    keep = args.keep or pathlib.Path(tempfile.mkdtemp())
    keep.mkdir(parents=True, exist_ok=True)
    print("%-32s %14s  %9s  %9s  %9s" % ("program", "peak", "wrong", "guess", "no label"))
    right = n = 0
    for name in names:
        kept = keep / (name + ".pickle")
        try:
            if not kept.exists():
                record(replay, program, name, kept)
        except RuntimeError as error:
            print("%-32s did not run: %s" % (name, error))
            continue
        right, n = right + judge(replay, name, pickle.loads(kept.read_bytes())), n + 1
        for file in sorted(args.recordings.glob(name + ".*.pickle.xz")) if args.recordings else ():
            card = pair(pickle.loads(kept.read_bytes()), pickle.loads(lzma.decompress(file.read_bytes())))
            right, n = right + judge(replay, name + ", card", card), n + 1
    print("at least 99 %% right: %d of %d" % (right, n))
    return 0 if right == n else 1


if __name__ == "__main__":
    sys.exit(main())
