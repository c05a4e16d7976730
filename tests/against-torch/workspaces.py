#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Convolutions with workspaces, in real PyTorch on the simulated card.

    PYTHONPATH=FOLDER_WITH_TORCH[:FOLDER_WITH_TORCHVISION] tests/against-torch/workspaces.py [--build FOLDER]

Each network trains for two steps on a card whose convolutions need no workspace, and on one where each needs 97 MiB.
Both must make the same requests and frees in the same order, but for the workspaces, of which one is there at a time.
cuDNN is asked in each way that PyTorch has: by its heuristics, by trying all (`benchmark`), and by its old interface.
Exit status 0: so it was, each time.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKSPACE = 97 << 20                             # no tensor here has this size
WAYS = {"heuristics": {}, "benchmark": {"BENCHMARK": "1"}, "old": {"TORCH_CUDNN_V8_API_DISABLED": "1"}}


def unet(torch):
    nn = torch.nn

    class UNet(nn.Module):
        def __init__(self, widths=(16, 32, 64)):
            super().__init__()
            self.down = nn.ModuleList(self.pair(i, o) for i, o in zip((3, *widths), widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(o, i, 2, 2) for i, o in zip(widths, widths[1:]))
            self.join = nn.ModuleList(self.pair(2 * w, w) for w in widths[:-1])
            self.out = nn.Conv2d(widths[0], 10, 1)

        @staticmethod
        def pair(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU())

        def forward(self, x):
            kept = []
            for down in self.down:
                x = down(x if not kept else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for i in reversed(range(len(self.up))):
                x = self.join[i](torch.cat([self.up[i](x), kept[i]], 1))
            return self.out(x).mean((2, 3))

    return UNet()


def resnet50(torch):
    import torchvision
    return torchvision.models.resnet50(num_classes=10)


def convnext(torch):
    import torchvision
    return torchvision.models.convnext_tiny(num_classes=10)


NETWORKS = {f.__name__: f for f in (unet, resnet50, convnext)}


def train(name):
    import torch
    torch.backends.cudnn.benchmark = "BENCHMARK" in os.environ
    model = NETWORKS[name](torch).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        images, classes = torch.randn(4, 3, 96, 96, device="cuda"), torch.zeros(4, dtype=torch.long, device="cuda")
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), classes).backward()
        optimizer.step()


def requests(replay, folder, name, way, device):
    """What PyTorch's allocator was asked for, as (action, bytes). run-sim says whether algorithms were searched."""
    out = pathlib.Path(folder, "%s-%s.zst" % (name, way))
    program = [sys.executable, __file__, "--train", name]
    said = out.with_suffix(".json")
    subprocess.run([replay, "run-sim", "--device", device, "-o", str(out), "--json", str(said), "--", *program],
                   env={**os.environ, **WAYS[way]}, check=True, capture_output=True)
    assert json.loads(said.read_text())["has_algorithm_search"] == (way == "benchmark"), (name, way)
    trace = pickle.loads(out.with_suffix(".pickle").read_bytes())["device_traces"][0]
    return [(e["action"], e["size"]) for e in trace if e["action"] in ("alloc", "free_requested")]


def most_at_once(rows):
    live = most = 0
    for action, _ in rows:
        live += 1 if action == "alloc" else -1
        most = max(most, live)
    return most


def compare(replay, name, way):
    with tempfile.TemporaryDirectory() as folder:
        without = requests(replay, folder, name, way, "24GiB,workspaces=none")
        given = requests(replay, folder, name, way, "24GiB,workspaces=%d" % WORKSPACE)
    workspaces = [row for row in given if row[1] == WORKSPACE]
    is_equal = [row for row in given if row[1] != WORKSPACE] == [row for row in without if row[1] > 0]
    print("%-9s %-10s %6d requests beside the workspaces: %s; %4d workspaces, at most %d at once" %
          (name, way, sum(a == "alloc" for a, _ in without), "equal" if is_equal else "NOT EQUAL",
           sum(a == "alloc" for a, _ in workspaces), most_at_once(workspaces)), flush=True)
    return is_equal and len(workspaces) > 0 and most_at_once(workspaces) == 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--train", choices=NETWORKS, help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.train:
        return train(o.train)
    names = list(NETWORKS) if importlib.util.find_spec("torchvision") else ["unet"]
    if names == ["unet"]:
        print("not run, because torchvision is not there: resnet50, convnext")
    results = [compare(str(o.build / "replay"), name, way) for name in names for way in WAYS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
