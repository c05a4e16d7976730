#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold the loads of `replay generate` against programs of that shape, on real PyTorch without a GPU.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/loads.py [--build FOLDER] [--write] [TEXT...]

Each program of load_programs.py runs on the simulated card. An exact load must be the beginning of what was recorded,
request by request: sizes, order, and which request each free ends. What the recording has more are the frees of the
program's end. Under autocast the order of frees that follow each other directly is not compared. The others must have
the same peaks within 2 %. --write puts the sums of the exact ones into tests/data/loads.txt, for the suite. Exit status
0: all is so.
"""
import argparse
import hashlib
import math
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = "layers=2,width=256,heads=4,vocabulary=1000,batch=4,length=128"
EXACT = [
    "transformer:" + SMALL,
    "transformer:" + SMALL + ",precision=bf16",
    "transformer:" + SMALL + ",checkpointing=yes",
    "transformer:" + SMALL + ",accumulate=2,optimizer=sgd",
    "transformer:" + SMALL + ",optimizer=momentum,precision=bf16",
    "transformer:" + SMALL + ",lora=8",
    "transformer:" + SMALL + ",card=h100-80g",
    "transformer:layers=2,width=256,heads=2,vocabulary=1000,batch=4,length=200",
    "transformer:layers=2,width=256,heads=8,hidden=768,vocabulary=1000,batch=4,length=96",
    "transformer:layers=2,width=384,heads=6,vocabulary=50257,batch=16,length=512",
    "transformer:layers=2,width=384,heads=6,vocabulary=50257,batch=16,length=512,precision=bf16,card=h100-80g",
    "transformer:" + SMALL + ",precision=bf16,checkpointing=yes,lora=4",
    "transformer:" + SMALL + ",dropout=yes",
    "transformer:" + SMALL + ",dropout=yes,precision=bf16,checkpointing=yes",
    "transformer:" + SMALL + ",precision=autocast",
    "transformer:" + SMALL + ",precision=autocast,checkpointing=yes,dropout=yes,lora=8",
    "transformer:" + SMALL + ",precision=autocast,accumulate=2,optimizer=momentum",
    "transformer:layers=2,width=384,heads=6,vocabulary=50257,batch=16,length=512,precision=autocast,dropout=yes",
    "transformer:layers=3,width=320,heads=5,vocabulary=5003,batch=3,length=1000,precision=autocast,checkpointing=yes,"
    "card=h100-80g",
    "transformer:" + SMALL + ",data=2",
    "transformer:layers=6,width=512,heads=4,vocabulary=1000,batch=4,length=128,data=2,accumulate=2,checkpointing=yes",
    "transformer:" + SMALL + ",data=4,precision=autocast,lora=8",
    "transformer:" + SMALL + ",data=2,zero=states",
    "transformer:" + SMALL + ",data=3,zero=states,optimizer=momentum,precision=bf16",
    "transformer:" + SMALL + ",tensor=2",
    "transformer:" + SMALL + ",tensor=4,precision=bf16,checkpointing=yes,dropout=yes",
    "transformer:" + SMALL + ",tensor=2,precision=autocast,accumulate=2",
    "transformer:" + SMALL + ",stages=2,stage=0,accumulate=4",
    "transformer:" + SMALL + ",stages=2,stage=1,accumulate=3,optimizer=momentum",
    "transformer:layers=4,width=256,heads=4,vocabulary=1000,batch=2,length=200,stages=4,stage=2,accumulate=6,"
    "precision=bf16,checkpointing=yes,dropout=yes",
    "transformer:layers=3,width=256,heads=4,vocabulary=1000,batch=4,length=128,stages=3,stage=2,accumulate=5,"
    "precision=autocast",
    "transformer:layers=2,width=256,heads=2,vocabulary=1000,batch=1,length=1500,precision=bf16",
    "transformer:layers=2,width=256,heads=4,vocabulary=1000,batch=1,length=900,precision=autocast,card=h100-80g",
    "transformer:layers=1,width=256,vocabulary=1000,batch=1,length=300,heads=2,card=b200",
    "transformer:layers=1,width=256,vocabulary=1000,batch=1,length=300,heads=2,card=t4",
    "serve:layers=2,width=256,heads=4,vocabulary=1000,requests=900:5",
    "transformer:layers=2,width=320,heads=5,vocabulary=5003,batch=3,length=1000,checkpointing=yes,card=rtx4090-24g",
    "cnn:stages=3,width=32,image=64,classes=10,batch=16",
    "cnn:stages=2,width=24,image=50,classes=7,batch=9,optimizer=adamw,steps=2",
    "serve:layers=2,width=256,heads=4,vocabulary=1000,requests=16:5",
    "serve:layers=3,width=512,heads=8,vocabulary=2000,requests=70:3",
]
NEARLY = [
    "transformer:" + SMALL + ",data=2,zero=all",
    "transformer:layers=6,width=512,heads=8,vocabulary=8000,batch=4,length=256,data=4,zero=all,precision=bf16",
    "transformer:layers=4,width=256,heads=4,vocabulary=1000,batch=8,length=256,data=2,zero=all,dropout=yes,"
    "optimizer=momentum",
    "transformer:layers=2,width=256,heads=4,vocabulary=1000,batch=8,length=256,experts=4,dropout=yes",
    "transformer:layers=2,width=256,heads=4,vocabulary=1000,batch=8,length=256,experts=4,precision=autocast",
    "transformer:layers=2,width=256,heads=4,vocabulary=1000,batch=8,length=256,experts=4",
    "serve:layers=2,width=256,heads=4,vocabulary=1000,running=3,requests=70:30;200:9;16:40;500:3;31:31;90:12",
    "serve:layers=3,width=512,heads=8,vocabulary=2000,cache=paged,block=32,running=4,"
    "requests=70:30;200:9;16:40;500:3;31:31;90:12",
    "serve:layers=2,width=256,heads=4,vocabulary=1000,cache=paged,block=16,running=16,"
    "requests=300:60;200:19;160:40;500:3;310:31;90:120;17:200;1000:5",
    "transformer:layers=2,width=256,heads=4,vocabulary=1000,batch=8,length=256,experts=8,chosen=1,skew=9",
]


def steps_of(snapshot):
    """The requests and frees of a snapshot's history, as '+SIZE' and '-K' for the K-th request."""
    names, n = {}, 0
    for record in max(snapshot["device_traces"], key=len):
        if record["action"] == "alloc":
            n += 1
            names[record["addr"]] = n
            yield f"+{record['size']}"
        elif record["action"] == "free_completed":
            yield f"-{names.pop(record['addr'])}"


def peak_of(steps):
    sizes, live, peak = [], 0, 0
    for step in steps:
        if step[0] == "+":
            sizes.append(int(step[1:]))
            live += sizes[-1]
        else:
            live -= sizes[int(step[1:]) - 1]
        peak = max(peak, live)
    return peak


class Pair:
    """A load, and the recording of the program of its shape."""

    def __init__(self, replay, folder, text):
        self.replay, self.folder, self.text = replay, folder, text

    def run(self, *command):
        done = subprocess.run([self.replay, *command], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.text}: {' '.join(map(str, command))}: {done.stdout[-300:]}{done.stderr[-900:]}")

    def load(self):
        text = self.text
        if text.startswith("serve:"):                      # from a file of requests, which come at once
            before, _, requests = text.rpartition("requests=")
            lines = ("0," + r.replace(":", ",") for r in requests.split(";"))
            (self.folder / "requests.csv").write_text(
                "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *lines, ""]))
            text = before + "requests=requests.csv"
        self.run("generate", text, "-o", "load.zst")
        self.run("snapshot", "load.zst", "-o", "load.pickle", "--policy", "best-fit", "--device", "sim:unlimited")
        return list(steps_of(pickle.loads((self.folder / "load.pickle").read_bytes())))

    def recorded(self):
        """What the program requests; of a job with ranks, what the first or the named one does."""
        kind, _, options = self.text.partition(":")
        given = dict(o.split("=", 1) for o in options.split(","))
        card = given.pop("card", "a100-40g")
        kept = ",".join(f"{k}={v}" for k, v in given.items())
        ranks = math.prod(int(given.get(k, 1)) for k in ("data", "tensor", "stages"))
        several = ["-W", "ignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        self.run("run-sim", "--device", f"sim:{card},count={ranks}", "--record", "run.zst", "--", sys.executable,
                 *(several if ranks > 1 else []), str(ROOT / "tests/against-torch/load_programs.py"), kind, kept)
        record = f"run.rank{given.get('stage', 0)}.pickle" if ranks > 1 else "run.pickle"
        return list(steps_of(pickle.loads((self.folder / record).read_bytes())))


def without_order(steps):
    """With the frees sorted that follow each other directly."""
    out, frees = [], []
    for step in steps:
        if step[0] == "+":
            out += sorted(frees) + [step]
            frees = []
        else:
            frees.append(step)
    return out + frees


def compare(pair, is_exact):
    load, recorded = pair.load(), pair.recorded()
    checksum = hashlib.sha256("\n".join(load).encode() + b"\0").hexdigest()
    if not is_exact:
        off = abs(peak_of(load) / peak_of(recorded) - 1)
        print(f"{pair.text}: peak {100 * off:.2f}% off")
        return off <= 0.02, None
    if pair.text.startswith("serve:"):                     # the server forgets the last token, the program does not
        while load and load[-1][0] == "-":
            load.pop()
    if "precision=autocast" in pair.text:                  # its casts are freed in the order of a hash of addresses
        load, recorded = without_order(load), without_order(recorded)
    same = next((i for i, (a, b) in enumerate(zip(load, recorded)) if a != b), min(len(load), len(recorded)))
    more = [step for step in recorded[len(load):] if step[0] == "+"]
    if same < len(load) or more:
        print(f"{pair.text}: differs at {same} of {len(load)}: {load[same:same + 1]} against "
              f"{recorded[same:same + 1]}; {len(more)} requests more are recorded")
        return False, None
    print(f"{pair.text}: all {len(load)} equal")
    return True, checksum


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", metavar="TEXT")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    sums, is_good = [], True
    for text in given.texts or EXACT + NEARLY:
        with tempfile.TemporaryDirectory() as folder:
            pair = Pair(given.build.resolve() / "replay", pathlib.Path(folder), text)
            good, checksum = compare(pair, text not in NEARLY)
        is_good &= good
        if checksum and not text.startswith("serve:"):
            sums.append(f"{checksum} {text}\n")
    if given.write and is_good:
        (ROOT / "tests/data/loads.txt").write_text("".join(sums))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
