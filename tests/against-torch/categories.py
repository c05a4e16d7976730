#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold the categories that `replay who` tells from call stacks against labels, on real PyTorch without a GPU.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/categories.py [--build FOLDER] [--keep FOLDER] [NAME...]

Each program of examples/loops runs twice on the simulated card: as it is, and labelled. Labels come from PyTorch's own
hooks (cudasim/python/replay_labels.py). Both runs must ask for the same bytes in the same order, with the same requests
live at each. At the peak, or where memory ran out, at least 99 % of the bytes must get the label's category: request by
request by the rules on the labelled run, and in sum on the other. --keep writes the labelled recordings as native
traces: tests/data/categories is made so. Exit status 0: all true.
"""
import argparse
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST = 0.99
RACES = {"two-ranks"}                                # gloo's threads free when they are done: two runs may differ
PROGRAMS = {
    "mlp-closure": ["loops/mlp.py", "--closure"],
    "mlp-adam": ["loops/mlp.py"], "mlp-sgd": ["loops/mlp.py", "--optimizer", "sgd"], "cnn": ["loops/cnn.py"],
    "gpt": ["loops/gpt.py"], "gpt-bf16": ["loops/gpt.py", "--bf16"], "gpt-checkpoint": ["loops/gpt.py", "--checkpoint"],
    "gpt-bf16-checkpoint": ["loops/gpt.py", "--bf16", "--checkpoint"],
    "gpt-accumulate": ["loops/gpt.py", "--accumulate", "2", "--clip"],
    "gpt-evaluate": ["loops/gpt.py", "--evaluate"], "gpt-grow": ["loops/gpt.py", "--grow"],
    "gpt-loop-adamw": ["loops/gpt.py", "--loop-adamw", "--keep-gradients"],
    "accumulation": ["loops/accumulation.py"], "checkpointing": ["loops/checkpointing.py"],
    "distillation": ["loops/distillation.py"], "encoder": ["loops/encoder.py"], "functional": ["loops/functional.py"],
    "gan": ["loops/gan.py"], "generate": ["loops/generate.py"], "gnn": ["loops/gnn.py"], "gpt2": ["loops/gpt2.py"],
    "gpt2-checkpoint": ["loops/gpt2.py", "--checkpoint"], "lora": ["loops/lora.py"], "lstm": ["loops/lstm.py"],
    "two-ranks": ["loops/two_ranks.py"], "unet": ["loops/unet.py"],
    "train": ["training/train.py", "--epochs", "1", "--workers", "0"],
    "oom-fragmented": ["oom/fragmented.py", "own.pickle"], "oom-halves-batch": ["oom/halves_batch.py", "own.pickle"],
}
CARDS = {"oom-fragmented": "sim:1640MiB", "oom-halves-batch": "sim:4GiB"}    # too small for them; others: 24 GiB


def record(replay, name, folder, *flags):
    """The snapshots that the program's processes leave."""
    program = PROGRAMS[name]
    folder.mkdir()
    done = subprocess.run([replay, "run-sim", "--device", CARDS.get(name, "sim:24GiB"), "-o", str(folder / "t.zst"),
                           *flags, "--", sys.executable, str(ROOT / "examples" / program[0]), *program[1:]],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode != 0 and name not in CARDS:
        sys.exit("%s: %s" % (" ".join(program), done.stderr[-2000:]))
    return sorted(folder.glob("t*.pickle"))


def requests(snapshot):
    """What was asked for, in order: the bytes, and which requests were freed since the one before."""
    order, freed, live = [], [], {}
    for entry in pickle.loads(snapshot.read_bytes())["device_traces"][0]:
        if entry["action"] == "alloc":
            live[entry["addr"]] = len(order)
            order.append((entry["size"], sorted(freed)))
            freed = []
        elif entry["action"] == "free_requested":
            freed.append(live.pop(entry["addr"]))
    return order


def who(replay, recording):
    out = subprocess.run([replay, "who", str(recording), "--by", "category", "--json", "-"],
                         capture_output=True, check=True)
    return json.loads(out.stdout)


def keep(replay, snapshot, out):
    """A native trace of a labelled snapshot, without the folders of this machine."""
    taken = pickle.loads(snapshot.read_bytes())
    homes = (str(ROOT / "examples") + "/", "/home/ada/"), (r"^.*/lib/python3\.\d+/", "/home/ada/venv/lib/python3.11/")
    for entry in (e for trace in taken["device_traces"] for e in trace):
        for frame in entry.get("frames", ()):
            for home, instead in homes:
                frame["filename"] = re.sub(home, instead, frame["filename"])
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "labelled.pickle").write_bytes(pickle.dumps(taken))
        subprocess.run([replay, "import", "labelled.pickle", "-o", str(out.resolve())], cwd=work, check=True)


def judge(replay, name, plain, labelled):
    """One line of the table; true if the categories are right."""
    told, true = who(replay, plain), who(replay, labelled)
    rows = {row["name"]: row["bytes"] for row in told["rows"]}
    alike = sum(min(row["bytes"], rows.get(row["name"], 0)) for row in true["rows"]) / true["bytes"]
    agreed = true["agreed_bytes"] / max(1, true["labelled_bytes"])
    same = requests(plain) == requests(labelled)
    is_right = min(alike, agreed) >= LEAST and (same or name in RACES) and true["labelled_bytes"] == true["bytes"]
    print("%-20s %9.2f MiB  %6.2f %%  %6.2f %%  %-5s %s" % (name, true["bytes"] / 2 ** 20, 100 * agreed, 100 * alike,
                                                           "same" if same else "OTHER", "ok" if is_right else "FAILED"))
    return is_right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    replay, failures = str(args.build.resolve() / "replay"), 0
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    print("%-20s %13s  %8s  %8s  %s" % ("program", "peak", "requests", "totals", "course"))
    for name in args.names or PROGRAMS:
        with tempfile.TemporaryDirectory() as work:
            plain = record(replay, name, pathlib.Path(work) / "plain")
            labelled = record(replay, name, pathlib.Path(work) / "labelled", "--labels")
            for pair in zip(plain, labelled):
                failures += not judge(replay, name, *pair)
            if args.keep is not None:
                args.keep.mkdir(parents=True, exist_ok=True)
                keep(replay, labelled[0], args.keep / (name + ".trace.zst"))
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
