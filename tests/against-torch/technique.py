#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold the estimates of `replay technique` against programs that ran that way, on real PyTorch without a GPU.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/technique.py [--build FOLDER] [NAME...]

Each program of examples/loops runs on the simulated card under each optimizer; its own is replaced before it starts.
From each recording every other course is estimated, and compared with what PyTorch itself counted in that course:
max_memory_reserved, and the peak of requested_bytes. The other changes are held against pairs of runs: with and without
checkpointing, accumulation, a batch in parts, and functions in place. The table has the largest error of each change.
Exit status 0: none is beyond what doc/advice.md says.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {
    "mlp": ["mlp.py"], "cnn": ["cnn.py"], "gpt": ["gpt.py"], "gpt-bf16": ["gpt.py", "--bf16"],
    "gpt-checkpoint": ["gpt.py", "--checkpoint"], "gpt-accumulate": ["gpt.py", "--accumulate", "2", "--clip"],
    "gpt-keep": ["gpt.py", "--keep-gradients"], "accumulation": ["accumulation.py"],
    "checkpointing": ["checkpointing.py"], "distillation": ["distillation.py"], "encoder": ["encoder.py"],
    "gan": ["gan.py"], "gnn": ["gnn.py"], "lora": ["lora.py"], "lstm": ["lstm.py"], "unet": ["unet.py"],
}
OPTIMIZERS = ["none", "sgd", "momentum", "adam"]
STATES = ["fp32", "bf16"]
CHANGES = {"in place": "IN_PLACE", "checkpoint": "CHECKPOINTING", "accumulate": "ACCUMULATION", "split": "SPLIT",
           "optimizer": "OPTIMIZER", "states": "STATES"}


def read_allowed():
    """Shares of the truth, reserved and live, that estimates may be off by: as the program tells people."""
    text = (ROOT / "replay/technique/seen_errors.def").read_text()
    rows = {r[0]: (float(r[1]) / 100, float(r[2]) / 100) for r in
            re.findall(r'^SEEN_ERROR\((\w+),.*?\n.*?\n\s*\d+, ([\d.]+), ([\d.]+)\)', text, re.MULTILINE)}
    return {change: rows[row] for change, row in CHANGES.items()}


ALLOWED = read_allowed()

# The change, its options, a program as recorded, and the same program changed:
# how PyTorch is changed for it, its command.
PAIRS = [
    ("checkpoint", ["--checkpoint", "repeated"], ["gpt.py"], "", ["gpt.py", "--checkpoint"]),
    ("checkpoint", ["--checkpoint", "repeated"], ["gpt.py", "--bf16"], "", ["gpt.py", "--bf16", "--checkpoint"]),
    ("checkpoint", ["--checkpoint", "repeated"], ["gpt.py", "--keep-gradients", "--clip"], "",
     ["gpt.py", "--keep-gradients", "--clip", "--checkpoint"]),
    ("checkpoint", ["--checkpoint", "repeated"], ["cnn.py"], "checkpoint:Residual", ["cnn.py"]),
    ("checkpoint", ["--checkpoint", "repeated"], ["encoder.py"], "checkpoint:TransformerEncoderLayer", ["encoder.py"]),
    ("checkpoint", ["--checkpoint", "repeated"], ["gpt2.py", "--steps", "2"], "",
     ["gpt2.py", "--steps", "2", "--checkpoint"]),
    ("accumulate", ["--accumulate", "2"], ["gpt.py"], "", ["gpt.py", "--accumulate", "2"]),
    ("accumulate", ["--accumulate", "4"], ["gpt.py", "--bf16"], "", ["gpt.py", "--bf16", "--accumulate", "4"]),
    ("accumulate", ["--accumulate", "2"], ["gpt.py", "--clip", "--keep-gradients"], "",
     ["gpt.py", "--clip", "--keep-gradients", "--accumulate", "2"]),
    ("accumulate", ["--accumulate", "2"], ["gpt.py", "--checkpoint"], "",
     ["gpt.py", "--checkpoint", "--accumulate", "2"]),
    ("accumulate", ["--accumulate", "2"], ["mlp.py", "--steps", "2"], "every second step", ["mlp.py", "--steps", "4"]),
    ("split", ["--accumulate", "4:split"], ["gpt.py"], "", ["gpt.py", "--batch", "4", "--accumulate", "4"]),
    ("split", ["--accumulate", "2:split"], ["gpt.py", "--bf16"], "",
     ["gpt.py", "--bf16", "--batch", "8", "--accumulate", "2"]),
    ("split", ["--accumulate", "4:split"], ["mlp.py", "--steps", "2"], "every fourth step",
     ["mlp.py", "--steps", "8", "--batch", "1024"]),
    ("in place", ["--in-place"], ["cnn.py"], "in place", ["cnn.py"]),
    ("in place", ["--in-place"], ["unet.py"], "in place", ["unet.py"]),
    ("in place", ["--in-place"], ["mlp.py"], "in place", ["mlp.py"]),
    ("in place", ["--in-place"], ["gan.py"], "in place", ["gan.py"]),
    ("in place", ["--in-place"], ["gnn.py"], "in place", ["gnn.py"]),
]


def replaced_optimizers(torch, which):
    """What torch.optim.Adam and its like are in a run: a function of parameters."""
    class Nothing(torch.optim.SGD):
        def step(self, closure=None):
            return None

    class Kept(torch.optim.Optimizer):
        """Adam whose states have a precision of their own."""

        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 1e-3, "momentum": 0.9})     # which schedulers ask for

        @torch.no_grad()
        def step(self, closure=None):
            for p in (p for group in self.param_groups for p in group["params"] if p.grad is not None):
                state = self.state[p]
                if not state:
                    state["mean"], state["square"] = (torch.zeros_like(p, dtype=getattr(torch, KINDS[which]))
                                                      for _ in range(2))
                state["mean"].mul_(0.9).add_(p.grad, alpha=0.1)
                state["square"].mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(state["mean"], state["square"].sqrt().add_(1e-8), value=-1e-3)

    sgd, adam = torch.optim.SGD, torch.optim.Adam    # their names are taken over next
    makers = {"none": lambda p: Nothing(p, lr=0.1), "sgd": lambda p: sgd(p, lr=0.1),
              "momentum": lambda p: sgd(p, lr=0.1, momentum=0.9), "adam": adam}
    return makers.get(which, Kept)


KINDS = {"fp32": "float32", "bf16": "bfloat16"}


def replace_optimizers(torch, which):
    make = replaced_optimizers(torch, which)
    for name in ("Adam", "AdamW", "RMSprop", "SGD"):
        setattr(torch.optim, name, lambda parameters, *_, **__: make(parameters))


def step_seldom(torch, every):
    """Steps, and what sets gradients to zero, do something each so many times only: the rest accumulates."""
    for name in ("Adam", "AdamW", "SGD"):
        kind, calls = getattr(torch.optim, name), {"step": 0, "zero_grad": 0}
        for method in calls:
            def seldom(self, *args, _run=getattr(kind, method), _method=method, **options):
                calls[_method] += 1
                return _run(self, *args, **options) if calls[_method] % every == 0 else None
            setattr(kind, method, seldom)


def checkpoint_class(torch, name):
    from torch.utils.checkpoint import checkpoint
    call, inside = torch.nn.Module.__call__, []

    def checkpointed(self, *args, **options):
        if type(self).__name__ != name or self in inside:
            return call(self, *args, **options)

        def again(*again_args, **again_options):
            inside.append(self)
            try:
                return call(self, *again_args, **again_options)
            finally:
                inside.remove(self)
        return checkpoint(again, *args, use_reentrant=False, **options)
    torch.nn.Module.__call__ = checkpointed


def work_in_place(torch):
    functional = torch.nn.functional
    functional.relu = lambda x, inplace=False: torch.relu_(x)
    functional.leaky_relu = lambda x, slope=0.01, inplace=False: torch._C._nn.leaky_relu_(x, slope)


def change_torch(torch, how):
    """Changes PyTorch before the program starts. "": not at all."""
    if how.startswith("checkpoint:"):
        checkpoint_class(torch, how.split(":")[1])
    elif how == "in place":
        work_in_place(torch)
    elif how.startswith("every"):
        step_seldom(torch, {"second": 2, "fourth": 4}[how.split()[1]])
    elif how:
        replace_optimizers(torch, how)


def run_child(which, out, program):
    """In the run: change PyTorch, run the program, and write what PyTorch counted."""
    import torch
    change_torch(torch, which)
    sys.argv, sys.path[0] = program, str(pathlib.Path(program[0]).parent)
    runpy.run_path(program[0], run_name="__main__")
    stats = torch.cuda.memory_stats()
    pathlib.Path(out).write_text(json.dumps([stats["reserved_bytes.all.peak"], stats["requested_bytes.all.peak"]]))


def record(replay, program, which, folder, base=None):
    """The snapshot, and what PyTorch counted in the run."""
    base = folder / (base or which)
    done = subprocess.run([replay, "run-sim", "--device", "sim:24GiB", "-o", "%s.zst" % base, "--", sys.executable,
                           __file__, "--child", which, "%s.json" % base, str(ROOT / "examples/loops" / program[0]),
                           *program[1:]], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s with %s: %s" % (" ".join(program), which, done.stderr[-2000:]))
    return "%s.pickle" % base, json.loads(pathlib.Path("%s.json" % base).read_text())


def estimate(replay, snapshot, *change):
    out = subprocess.run([replay, "technique", snapshot, *change, "--json", "-"], capture_output=True, check=True)
    told = json.loads(out.stdout)
    return [told["estimated"]["peak_reserved_bytes"], told["estimated"]["peak_requested_bytes"]], told["way"]


def compare(replay, name, runs, kind):
    """Errors of all changes between the runs, as (change, way, share off reserved, share off requested)."""
    for have, (snapshot, _) in runs.items():
        for want, (_, truth) in runs.items():
            if want == have:
                continue
            change = ["--optimizer", want] if kind == "optimizer" else ["--states", "%s:%s" % (have, want)]
            told, way = estimate(replay, snapshot, *change)
            off = [a / b - 1 for a, b in zip(told, truth)]
            if any(off):
                print("  %-15s %9s to %-9s %-9s reserved %+6.2f %%  live %+6.2f %%"
                      % (name, have, want, way, 100 * off[0], 100 * off[1]), flush=True)
            yield "%s to %s" % (have, want), way, off[0], off[1]


def compare_pair(replay, change, options, program, how, changed):
    """The error of an estimate of a pair: the shares off reserved and requested."""
    with tempfile.TemporaryDirectory() as work:
        snapshot, _ = record(replay, program, "", pathlib.Path(work), "recorded")
        _, truth = record(replay, changed, how, pathlib.Path(work), "changed")
        told, way = estimate(replay, snapshot, *options)
    off = [a / b - 1 for a, b in zip(told, truth)]
    print("  %-11s %-32s %-24s %-9s reserved %+6.2f %%  live %+6.2f %%"
          % (change, " ".join(program), " ".join(options), way, 100 * off[0], 100 * off[1]), flush=True)
    return off


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    replay, worst, failures = str(args.build.resolve() / "replay"), collections.defaultdict(list), 0
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    for change, options, program, how, changed in PAIRS:
        if not args.names or change in args.names or program[0][:-3] in args.names:
            off = compare_pair(replay, change, options, program, how, changed)
            worst[change].append(off)
            failures += any(abs(o) > a for o, a in zip(off, ALLOWED[change]))
    for name in (n for n in args.names or PROGRAMS if n in PROGRAMS):
        with tempfile.TemporaryDirectory() as work:
            for kind, courses in (("optimizer", OPTIMIZERS), ("states", STATES)):
                runs = {w: record(replay, PROGRAMS[name], w, pathlib.Path(work)) for w in courses}
                for change, way, *off in compare(replay, name, runs, kind):
                    worst[change].append(off)
                    failures += any(abs(o) > a for o, a in zip(off, ALLOWED[kind]))
    print("%-20s %8s %7s %18s %18s" % ("change", "programs", "exact", "reserved, at most", "live, at most"))
    for change, offs in worst.items():
        print("%-20s %8d %7d %16.2f %% %16.2f %%" % (change, len(offs), sum(not any(o) for o in offs),
                                                   100 * max(abs(o[0]) for o in offs),
                                                   100 * max(abs(o[1]) for o in offs)))
    print("%d beyond what is allowed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(main())
