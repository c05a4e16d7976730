#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold `replay graphs` against real PyTorch on the simulated card.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/graphs.py [--build FOLDER] [--settings CONF] [--write FOLDER]

Each program captures several CUDA graphs. It is recorded once with all of them. Then it runs with every subset in every
order, with one pool for all and a pool for each, and with every subset without graphs. `replay graphs` must have said,
from the recording alone, how many bytes PyTorch holds. --write keeps the recordings, as traces, and what PyTorch held:
tests/data/graphs was made so. Exit status 0: each figure that was called exact is equal, and each program has some.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import plain_recording

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = 2048, 512, 128, 32                       # rows of the captures, in the order recorded


class Program:
    """One layer after another; subclasses change what becomes of the results."""

    def __init__(self, torch):
        self.torch = torch
        self.stream = torch.cuda.Stream()
        self.layers = [torch.nn.Linear(768, 768, device="cuda") for _ in range(3)]
        self.inputs = [torch.zeros(n, 768, device="cuda") for n in SIZES]
        self.kept = []

    def work(self, number):
        x = self.inputs[number]
        with self.torch.no_grad():
            for layer in self.layers:
                x = self.torch.relu(layer(x))
        return x

    def result(self, x):
        self.kept.append(x)

    def step(self, number):
        self.result(self.work(number))

    def after(self):
        pass

    def run(self, numbers, pools):
        torch, graphs = self.torch, []
        handle = torch.cuda.graph_pool_handle() if pools == "shared" else None
        for number in numbers:
            if pools == "none":
                with torch.cuda.stream(self.stream):
                    self.step(number)
            else:
                graphs.append(torch.cuda.CUDAGraph())
                with torch.cuda.graph(graphs[-1], pool=handle, stream=self.stream):
                    self.step(number)
            self.after()
        if pools == "none":
            return torch.cuda.max_memory_reserved()
        own = {tuple(g.pool()) for g in graphs}
        return sum(s["total_size"] for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) in own)


class Replaced(Program):
    """Each result replaces the one before it, in the capture."""

    def result(self, x):
        self.kept = x


class Dropped(Program):
    """The results are given up after each capture: only the graph uses their memory."""

    def after(self):
        self.kept.clear()


class Trained(Program):
    """Forward, backward and gradients that are new each time."""

    def work(self, number):
        x = self.inputs[number]
        for layer in self.layers:
            x = self.torch.relu(layer(x))
        return self.torch.autograd.grad(x.sum(), [p for layer in self.layers for p in layer.parameters()])


class Sided(Program):
    """A part of the work on a second stream, which joins the capture."""

    def __init__(self, torch):
        super().__init__(torch)
        self.side = torch.cuda.Stream()

    def work(self, number):
        torch, x = self.torch, super().work(number)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side), torch.no_grad():
            y = self.layers[0](x)
            y.record_stream(self.stream)
        torch.cuda.current_stream().wait_stream(self.side)
        return x + y


class Warmed(Program):
    """Warmed up on the stream of the captures, so that workspaces are there before."""

    def __init__(self, torch):
        super().__init__(torch)
        with torch.cuda.stream(self.stream):
            self.work(0)


class Mixed(Program):
    """Captures of different work: every second one has more layers, and none keeps what it makes."""

    def work(self, number):
        x = super().work(number)
        with self.torch.no_grad():
            return self.torch.softmax(self.layers[0](x), -1) if number % 2 else x


PROGRAMS = {p.__name__.lower(): p for p in (Program, Replaced, Dropped, Trained, Sided, Warmed, Mixed)}


def arrangements():
    """Numbers from 0 in every subset and order, and the pools."""
    for n in range(1, len(SIZES) + 1):
        for numbers in itertools.permutations(range(len(SIZES)), n):
            for pools in "shared", "own", "none":
                if pools != "none" or list(numbers) == sorted(numbers):
                    yield numbers, pools


def measure(name):
    """Under `run-sim`: one child for each arrangement, because memory of a process keeps traces of what was before."""
    import torch
    for numbers, pools in arrangements():
        sys.stdout.flush()
        if os.fork() == 0:
            held = PROGRAMS[name](torch).run(numbers, pools)
            print(json.dumps([numbers, pools, held]), flush=True)
            os._exit(0)
        if os.wait()[1] != 0:
            sys.exit("a child of %s failed" % name)


def say(replay, recording, numbers):
    done = subprocess.run([replay, "graphs", str(recording), "--json", "-", "--captures",
                           ",".join(str(n + 1) for n in numbers)], capture_output=True, check=True)
    return json.loads(done.stdout)


def compare(name, replay, folder, kept):
    script = [sys.executable, __file__, "--program", name]
    recording = pathlib.Path(folder, name + ".pickle")
    subprocess.run([replay, "run-sim", "-o", str(recording.with_suffix("")), "--", *script], check=True,
                   capture_output=True)
    done = subprocess.run([replay, "run-sim", "--device", "sim:80GiB", "--", *script, "--measure"], check=True,
                          capture_output=True, text=True)
    answers, lines, counts = {}, [], {"equal": 0, "not exact": 0, "WRONG": 0}
    for line in filter(lambda line: line.startswith("[["), done.stdout.splitlines()):
        numbers, pools, held = json.loads(line)
        if tuple(numbers) not in answers:
            answers[tuple(numbers)] = say(replay, recording, numbers)
        answer = answers[tuple(numbers)][pools]
        lines.append("%s %s %d\n" % (pools, ",".join(str(n + 1) for n in numbers), held))
        said = answer["program_peak_bytes" if pools == "none" else "private_bytes"]
        outcome = "not exact" if not answer["is_exact"] else "equal" if said == held else "WRONG"
        counts[outcome] += 1
        if outcome == "WRONG":
            print("  %s, %s: said %d, PyTorch holds %d" % (numbers, pools, said, held))
    print("%-9s %s" % (name, ", ".join("%d %s" % (n, what) for what, n in counts.items())))
    if kept:
        plain_recording.keep(replay, recording, kept / (name + ".trace.zst"))
        (kept / (name + ".held")).write_text("".join(lines))
    return counts["WRONG"] == 0 and counts["equal"] > 0 and sum(counts.values()) == len(list(arrangements()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--settings", help="value of PYTORCH_CUDA_ALLOC_CONF")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER", help="keep recordings and answers there")
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.measure:
        return measure(o.program)
    if o.program:
        import torch
        return print(PROGRAMS[o.program](torch).run(range(len(SIZES)), "own"))
    if o.settings:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = o.settings
    with tempfile.TemporaryDirectory() as folder:
        replay, kept = str((o.build / "replay").resolve()), o.write and o.write.resolve()
        sys.exit(not all([compare(name, replay, folder, kept) for name in PROGRAMS]))


if __name__ == "__main__":
    main()
