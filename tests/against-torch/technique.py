#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold the estimates of `replay technique` against programs that ran that way, on real PyTorch without a GPU.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/technique.py [--build FOLDER] [NAME...]

Each program of examples/loops runs on the simulated card under each optimizer; its own is replaced before it starts. From
each recording every other course is estimated, and compared with what PyTorch itself counted in that course:
max_memory_reserved, and the peak of requested_bytes. The table has the largest error of each change. Exit status 0: none
is beyond what doc/advice.md says.
"""
import argparse
import collections
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {
    "mlp": ["mlp.py"], "cnn": ["cnn.py"], "gpt": ["gpt.py"], "gpt-bf16": ["gpt.py", "--bf16"],
    "gpt-checkpoint": ["gpt.py", "--checkpoint"], "gpt-accumulate": ["gpt.py", "--accumulate", "2", "--clip"],
    "gpt-keep": ["gpt.py", "--keep-gradients"], "accumulation": ["accumulation.py"], "checkpointing": ["checkpointing.py"],
    "distillation": ["distillation.py"], "encoder": ["encoder.py"], "gan": ["gan.py"], "gnn": ["gnn.py"],
    "lora": ["lora.py"], "lstm": ["lstm.py"], "unet": ["unet.py"],
}
OPTIMIZERS = ["none", "sgd", "momentum", "adam"]
STATES = ["fp32", "bf16"]
ALLOWED = {"optimizer": 0.0, "states": 0.0}          # share of the truth that an estimate may be off by


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


def run_child(which, out, program):
    """In the run: replace optimizers, run the program, and write what PyTorch counted."""
    import torch
    make = replaced_optimizers(torch, which)
    for name in ("Adam", "AdamW", "RMSprop", "SGD"):
        setattr(torch.optim, name, lambda parameters, *_, **__: make(parameters))
    sys.argv, sys.path[0] = program, str(pathlib.Path(program[0]).parent)
    runpy.run_path(program[0], run_name="__main__")
    stats = torch.cuda.memory_stats()
    pathlib.Path(out).write_text(json.dumps([stats["reserved_bytes.all.peak"], stats["requested_bytes.all.peak"]]))


def record(replay, program, which, folder):
    """The snapshot, and what PyTorch counted in the run."""
    base = folder / which
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    replay, worst, failures = str(args.build.resolve() / "replay"), collections.defaultdict(list), 0
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    for name in args.names or PROGRAMS:
        with tempfile.TemporaryDirectory() as work:
            for kind, courses in (("optimizer", OPTIMIZERS), ("states", STATES)):
                runs = {w: record(replay, PROGRAMS[name], w, pathlib.Path(work)) for w in courses}
                for change, way, *off in compare(replay, name, runs, kind):
                    worst[change].append(off)
                    failures += max(map(abs, off)) > ALLOWED[kind]
    print("%-20s %8s %7s %18s %18s" % ("change", "programs", "exact", "reserved, at most", "live, at most"))
    for change, offs in worst.items():
        print("%-20s %8d %7d %16.2f %% %16.2f %%" % (change, len(offs), sum(not any(o) for o in offs),
                                                   100 * max(abs(o[0]) for o in offs), 100 * max(abs(o[1]) for o in offs)))
    print("%d beyond what is allowed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(main())
