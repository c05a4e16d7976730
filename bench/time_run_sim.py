#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Times PyTorch under run-sim, by CPU time of the process: time_run_sim.py ROUNDS REPLAY, with torch in PYTHONPATH.

Prints lines as bench_engine does: the start-up (importing torch, one tensor on the card) less that of the program on
the host alone; a step of a transformer with 100 million parameters on the card, on it without values, and on torch's
meta device; and the host's memory before and after weights of 70 billion parameters are initialised on the card.
"""
import os
import resource
import subprocess
import sys

START = "import torch; torch.zeros(1, device='%s')"
STEP = """
import sys, time, torch
device = sys.argv[1]
with torch.device("meta"):
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    model = torch.nn.ModuleList([torch.nn.Embedding(20000, 768),
                                 torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)])
model = model.to_empty(device=device)
optimizer = torch.optim.AdamW(model.parameters())
times = []
for _ in range(8):
    begin = time.process_time()
    ids = torch.ones(8, 256, dtype=torch.long, device=device)
    model[1](model[0](ids), src_key_padding_mask=ids == 0).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    times.append(time.process_time() - begin)
print("ms", 1000 * sorted(times)[len(times) // 2])
"""
WEIGHTS = """
import resource, torch
torch.zeros(1, device="cuda")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with torch.device("cuda"):
    blocks = [torch.nn.Linear(8192, 28672, bias=False, dtype=torch.bfloat16) for _ in range(298)]
print("KiB", before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(*command):
    """CPU seconds, and what was printed last."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([sys.executable, "-W", "ignore", *command] if command[0] == "-c" else list(command),
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said


def sim(replay, *options):
    return (replay, "run-sim", "--device", "192GiB", *options, "--", sys.executable, "-W", "ignore", "-c")


def main():
    rounds, replay = int(sys.argv[1]), os.path.abspath(sys.argv[2])
    for _ in range(rounds):
        program, _ = run(*sim(replay, "--values", "0"), START % "cpu")
        card, _ = run(*sim(replay), START % "cuda")
        nothing, _ = run(replay, "run-sim", "--device", "192GiB", "--", sys.executable, "-c", "")
        print("run-sim,start,program_ms,%.4g\nrun-sim,start,card_ms,%.4g\nrun-sim,start,own_ms,%.4g" %
              (1e3 * program, 1e3 * card, 1e3 * nothing))
        steps = ("card", (), "cuda"), ("without-values", ("--values", "0"), "cuda"), ("meta", (), "meta")
        for name, options, device in steps:
            print("run-sim,step-%s,cpu_ms,%.4g" % (name, float(run(*sim(replay, *options), STEP, device)[1][-1])))
    before, after = run(*sim(replay), WEIGHTS)[1][-2:]
    print("run-sim,weights-70b,host_mib_before,%d\nrun-sim,weights-70b,host_mib_after,%d" %
          (int(before) >> 10, int(after) >> 10))


if __name__ == "__main__":
    main()
