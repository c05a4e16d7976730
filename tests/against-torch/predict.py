#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""`replay predict` with real PyTorch: what it says is checked by `replay run-sim`, which runs each case by itself.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/predict.py [--build FOLDER]

Exit status 0: all true. Takes about three minutes.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
failures = 0

TRAIN = """
import argparse, torch
p = argparse.ArgumentParser()
p.add_argument("--batch", type=int, default=8)
p.add_argument("--steps", type=int, default=10 ** 6)
a = p.parse_args()
layers = [torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU()) for _ in range(8)]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(a.steps):
    loss = model(torch.randn(a.batch, 512, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item(), flush=True)
    if step % 10 == 0:
        torch.save(model.state_dict(), "checkpoint.pt")
print("reserved", torch.cuda.max_memory_reserved())
"""
DATA = """
import torch
x = torch.zeros(1 << 20, device="cuda")
data = torch.load("data/train.pt")
"""
HUB = """
import torch
x = torch.zeros(1 << 20, device="cuda")
raise OSError("We couldn't connect to 'https://huggingface.co' to load the files")
"""
OFFLOAD = """
import torch
from torch import nn
layers = [nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True) for _ in range(6)]
model = nn.Sequential(nn.Embedding(8000, 256), *layers, nn.Linear(256, 8000)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(100):
    x = torch.randint(0, 8000, (8, 256)).cuda()
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
EPOCHS = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
train = DataLoader(TensorDataset(torch.randn(32000, 64)), batch_size=16, num_workers=int(sys.argv[2]))
check = DataLoader(TensorDataset(torch.randn(4096, 64)), batch_size=4096)
model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
batches = iter(train)
for epoch in range(1 if sys.argv[1] == "iterator" else 2):
    n = 0
    for x, in (train if sys.argv[1] != "iterator" else (next(batches) for _ in range(2000))):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        n += 1
    assert n == 2000 or sys.argv[1] != "counts"
    with torch.no_grad():
        model(next(iter(check))[0].cuda())
"""
INFERS = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
def run(n):
    with torch.no_grad():
        for i in range(n):
            x = model(torch.randn(64, 512).cuda())
    return x
def main():
    x = run(10 ** 6)
    print(x.shape)
def more():
    x = run(10 ** 6)
    print(model(torch.cat([x] * 100)).shape)
if sys.argv[1] == "more":
    more()
else:
    main()
"""
WIDE = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
for i in range(30):
    loss = model(torch.randn(65536, 1024, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BY_HAND = """
import torch
x = torch.randn(4000, 512)
model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for epoch in range(1000):
    for i in range(0, 4000, 100):
        model(x[i:i + 100].cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        model(x.cuda())
"""
ENDLESS = """
import torch
done = torch.zeros(1, device="cuda")
while done.item() == 0:
    pass
"""
GROWS = """
import pathlib, torch
n = 0
while True:
    n += 1
    if n == 1000:
        pathlib.Path("has-grown").touch()
    x = torch.empty(n << 12, device="cuda")
"""
LOOKS = """
import torch
free, _ = torch.cuda.mem_get_info()
for step in range(20):
    x = torch.empty(free // 2, dtype=torch.uint8, device="cuda")
    del x
print("reserved", torch.cuda.max_memory_reserved())
"""
STARTS = """
import pathlib, subprocess, sys, torch
torch.zeros(8, device="cuda")
words = (word for word in (sys.executable, "-c", "print('generated')"))
assert subprocess.run(words, capture_output=True, text=True).stdout == "generated\\n"
assert subprocess.run(pathlib.Path("/bin/true")).returncode == 0
exec(compile("subprocess.run(['nvidia-smi'], capture_output=True)", "<string>", "exec"))
"""
SKIPS = """
import sys, torch
for step in range(20):
    try:
        x = torch.empty(int(sys.argv[1]) << 20, dtype=torch.uint8, device="cuda")
        del x
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
"""
ENDS = """
import os, signal, sys, torch
record = torch.cuda.memory._record_memory_history
record(max_entries=3)
x = [torch.empty(1 << 20, device="cuda") for _ in range(10)]
record(enabled=None)
y = [torch.empty(1 << 20, device="cuda") for _ in range(10)]
if sys.argv[1] == "exit":
    os._exit(5)
if sys.argv[1] == "term":
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
if sys.argv[1] == "fork":
    if os.fork() == 0:
        os._exit(1)
    os.wait()
"""


VALUES = """
import os, torch, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533", RANK="0", WORLD_SIZE="1")
t = torch.tensor([3, 1, 4, 1, 5]).cuda()
u = t.clone()
assert t.tolist() == u.tolist() == [3, 1, 4, 1, 5] and bool(torch.tensor(True).cuda())
t + 1
assert t.tolist() == [3, 1, 4, 1, 5] and (t + 1).sum().item() == 19
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(*[torch.nn.Linear(2000, 2000) for _ in range(10)]).cuda())
for _ in range(4):
    model(torch.randn(4, 2000, device="cuda")).sum().backward()
assert model._get_ddp_logging_data()["has_rebuilt_buckets"] == 1
dist.destroy_process_group()
"""


def check(what, is_true, seen=""):
    global failures
    failures += not is_true
    print("%s  %s%s" % ("ok    " if is_true else "FAILED", what, "" if is_true else ": %s" % (seen,)), flush=True)


class Case:
    """Programs in a folder of their own, with `replay` started there."""

    def __init__(self, replay, folder):
        self.replay, self.folder = replay, pathlib.Path(folder)
        self.environment = {k: v for k, v in os.environ.items() if k != "PYTORCH_CUDA_ALLOC_CONF"}
        for name, text in (("train", TRAIN), ("data", DATA), ("hub", HUB), ("endless", ENDLESS), ("grows", GROWS),
                           ("offload", OFFLOAD), ("epochs", EPOCHS), ("by_hand", BY_HAND), ("infers", INFERS),
                           ("ends", ENDS), ("looks", LOOKS), ("starts", STARTS), ("skips", SKIPS), ("values", VALUES),
                           ("wide", WIDE)):
            (self.folder / (name + ".py")).write_text(text)

    def start(self, *words):
        """An interrupt reaches it, also if none reaches us (nohup)."""
        return subprocess.Popen([self.replay, *words], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def run(self, *words):
        program = self.start(*words)
        out, err = program.communicate()
        return program.returncode, out, err

    def predict(self, *words):
        status, out, err = self.run("predict", "--json", "answer.json", *words)
        answer = json.loads((self.folder / "answer.json").read_text()) if status in (0, 1, 4) else None
        return status, answer, out, err

    def reserved(self, card, batch):
        """What the program itself says that it reserved, run to an end on this card; None: out of memory."""
        status, out, _ = self.run("run-sim", "--device", card, "--", sys.executable, "train.py", "--steps", "8",
                                  "--batch", str(batch))
        return int(out.split()[-1]) if status == 0 else None


def batches(case):
    checkpoint = case.folder / "checkpoint.pt"
    checkpoint.write_text("good")
    status, answer, out, err = case.predict("--device", "4GiB", "--device", "3GiB", "--range", "batch=1..128", "--",
                                            sys.executable, "train.py", "--batch", "{batch}")
    check("a range of batches on two cards", status == 0 and answer["fits"], (status, err))
    for card in answer["cards"]:
        largest, name = card["largest"], "%s,context=%d" % (card["taken_for"] or card["card"], card["context_bytes"])
        seen = case.reserved(name, largest)
        check("%s: batch %d runs, and reserves what was said" % (name, largest), seen == card["peak_reserved_bytes"],
              (seen, card["peak_reserved_bytes"]))
        check("%s: batch %d does not" % (name, largest + 1), case.reserved(name, largest + 1) is None)
    categories = {c["category"]: c["bytes"] for c in answer["categories"]}
    check("the peak is named by category", categories["parameters"] == 8 * (1024 * 1024 + 1024) * 4 and
          "At its peak the program has requested" in out, categories)
    check("the answer fits a screen's width", max(map(len, out.splitlines())) <= 80, out)
    check("the steps were found", answer["ended"] == "steps repeat" and answer["whole_steps"] >= 5, answer)


def cards(case):
    status, answer, *_ = case.predict("--device", "1GiB", "--device", "t4-16g", "--", sys.executable, "train.py",
                                      "--batch", "64")
    small, t4 = answer["cards"]
    check("it does not fit on one of two cards", status == 1 and not small["fits"] and t4["fits"], answer["cards"])
    check("what it needs there is what it reserves on a large one",
          small["peak_reserved_bytes"] == case.reserved("16GiB", 64), small)
    mib = answer["smallest_card_bytes"] >> 20
    check("it runs on the smallest card, %d MiB" % mib, case.reserved("sim:%dMiB" % mib, 64) is not None)
    check("the table's context is set aside", t4["context_bytes"] > 0 and
          t4["card_peak_bytes"] == t4["peak_reserved_bytes"] + t4["context_bytes"], t4)
    _, out, err = case.run("verify", answer["recording"].replace(".zst", ".pickle"))
    check("the recording that stays passes verify", "all equal" in out, out + err)


def adapting(case):
    status, answer, out, err = case.predict("--device", "1GiB", "--device", "3GiB", "--", sys.executable, "looks.py")
    check("a program that looks at the free memory fits on two cards", status == 0, out + err)
    for card in answer["cards"]:
        _, said, _ = case.run("run-sim", "--device", card["card"], "--", sys.executable, "looks.py")
        check("on %s it reserves what was said" % card["card"],
              int(said.split()[-1]) == card["peak_reserved_bytes"], (said, card["peak_reserved_bytes"]))
        check("its line is named", (card["looks_at_memory"] or "").endswith("looks.py:3"), card)
    check("and no smallest card", answer["smallest_card_bytes"] is None, answer)
    status, _, out, err = case.predict("--device", "1GiB", "--", sys.executable, "starts.py")
    check("a program starts others as it likes", status == 0, out + err)
    _, answer, out, _ = case.predict("--device", "1GiB", "--range", "n=1..2000", "--", sys.executable, "skips.py",
                                     "{n}")
    check("a refused batch that is skipped does not fit", answer["cards"][0]["largest"] == 1024, out)


def smallest(case):
    _, answer, out, err = case.predict("--", sys.executable, "train.py", "--batch", "64")
    mib = answer["smallest_card_bytes"] >> 20
    check("without a card named: it runs on %d MiB" % mib, case.reserved("sim:%dMiB" % mib, 64) is not None, out)
    check("and reserves on the named card what was said",
          case.reserved(answer["smallest_card"], 64) == answer["cards"][1]["peak_reserved_bytes"], out)


def cure(case):
    """A setting that is said to let the program run on the card named does."""
    _, answer, out, err = case.predict("--device", "4GiB,exactly", "--", sys.executable, "wide.py")
    line = next((s for s in out.splitlines() if "export PYTORCH" in s), "")
    check("it does not fit, and a setting is said to cure it", not answer["fits"] and line != "" and
          "With it" in out and "runs on 4GiB,exactly" in out, out + err)
    runs = [case.run("run-sim", "--device", "sim:4GiB", "--", "env", *setting, sys.executable, "wide.py")[0]
            for setting in ((), (line.split()[-1],))]
    check("it does", runs[0] != 0 and runs[1] == 0, (runs, line))


def steps(case):
    """Equal layers of a forward pass are no steps, and the answer does not depend on the clock."""
    answers = [case.predict("--device", "4GiB", "--steps", n, "--", sys.executable, "offload.py")[1]
               for n in ("5", "5", "0")]
    peaks = [a["cards"][0]["peak_reserved_bytes"] for a in answers]
    check("stopped early and run to its end, the peak is one", len(set(peaks)) == 1, peaks)
    check("five steps are said, and the same twice", answers[0]["whole_steps"] == 5 and
          answers[0]["categories"] == answers[1]["categories"], answers[:2])


def validation(case):
    """What follows the epochs is seen; a program that fails because a loop ended is answered without."""
    def peak(*words):
        status, answer, _, err = case.predict("--device", "4GiB", *words)
        if answer is None:
            return status, err, None, None
        return answer["cards"][0]["peak_reserved_bytes"], answer["ended"], answer["fits"], not answer["is_seen_to_end"]
    program = "--", sys.executable, "epochs.py"
    whole = peak("--steps", "0", *program, "epochs", "0")
    for n in "0", "2":
        found = peak(*program, "epochs", n)
        check("the validation after an epoch is seen, with %s workers" % n,
              found == (whole[0], "steps repeat", True, False), (found, whole))
    evaluated = peak("--", sys.executable, "by_hand.py")
    check("an evaluation by hand is seen",
          evaluated[1:] == ("steps repeat", True, False) and evaluated[0] > 100 << 20, evaluated)
    found = peak(*program, "iterator", "0")
    check("what follows a loop through a generator is seen", found == (whole[0], "steps repeat", True, False),
          (found, whole))
    found = peak(*program, "counts", "0")
    check("an epoch that cannot be cut short is left out, and this is said",
          found[0] < whole[0] and found[1:] == ("steps repeat", False, True), (found, whole))


def inference(case):
    """Without an optimizer the source alone tells what follows."""
    program = "--", sys.executable, "infers.py"
    status, answer, out, _ = case.predict("--device", "4GiB", *program, "prints")
    check("nothing but prints follows", status == 0 and "nothing follows them" in " ".join(out.split()), out)
    status, answer, out, _ = case.predict("--device", "4GiB", *program, "more")
    check("a larger batch that follows is in no figure", status == 4 and answer["may_fit"] and
          answer["cards"][0]["card_range"]["high_bytes"] is None, out)


def files(case):
    checkpoint = case.folder / "checkpoint.pt"
    checkpoint.write_text("good")
    _, answer, _, err = case.predict("--", sys.executable, "train.py")
    if answer["files_are_kept_apart"]:
        check("a checkpoint stays as it was", checkpoint.read_text() == "good")
    else:
        check("a warning comes first", "may be overwritten" in err, err)
    check("what was written is named", "checkpoint.pt" in answer["written"], answer["written"])
    for name, words in (("data", "Its contents do not matter here"), ("hub", "from_config")):
        status, _, _, err = case.predict("--", sys.executable, name + ".py")
        check("missing %s ends in a sentence" % name, status == 2 and words in " ".join(err.split()), err)


def loops(case):
    status, answer, out, _ = case.predict("--within", "20", "--", sys.executable, "endless.py")
    check("a loop that waits is named", status == 1 and "it may wait for a value" in " ".join(out.split()), out)
    for seconds in (8, 16, 32, 64):              # a busy machine takes long to import torch
        status, answer, out, _ = case.predict("--within", str(seconds), "--", sys.executable, "grows.py")
        if answer is not None and answer["recording"] is not None:
            break
    check("a loop that never repeats is named", status == 1 and "nothing repeats" in " ".join(out.split()), out)
    program = case.start("predict", "--no-overlay", "--device", "24GiB", "--", sys.executable, "grows.py")
    while not (case.folder / "has-grown").exists() and program.poll() is None:
        time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate()
    check("an interrupt gives the answer so far", program.returncode == 130 and "As far as was seen" in out, (out, err))


def streams(case):
    """The figures that PyTorch's DevLog of 29 September 2026 has of an H100: 1, 4, 1, 2 weights of 64 MiB at once."""
    program = [sys.executable, str(ROOT / "examples" / "devlog" / "cross_stream.py")]
    for way, at_once, late in (("bare", 1, 1), ("record_stream", 1, 4), ("wait", 1, 1), ("keep", 2, 2)):
        for options, wanted in (((), at_once), (("--late-uses",), late)):
            _, out, err = case.run("run-sim", *options, "--device", "h100-80g", "--", *program, way)
            check("%s %s" % (way, options), "%d MiB for weights" % (64 * wanted) in out, out + err)
        _, answer, out, _ = case.predict("--device", "h100-80g", "--", *program, way)
        said = answer["cards"][0]["card_range"]
        check("%s has its range" % way, said["high_bytes"] - said["low_bytes"] == (late - at_once) * 64 << 20, said)


def recordings(case):
    for how, wanted in (("end", 0), ("exit", 5), ("term", 128 + signal.SIGTERM), ("fork", 0)):
        status, _, err = case.run("run-sim", "--device", "1GiB", "-o", "e.zst", "--", sys.executable, "ends.py", how)
        info = json.loads(case.run("info", "e.zst", "--json", "-")[1])
        n = info["events_by_kind"]["alloc"]
        check("%s: the status is the program's, and all 20 requests are there" % how, status == wanted and n == 20,
              (status, n, err))


def values(case):
    status, _, err = case.run("run-sim", "--", sys.executable, "values.py")
    check("values come back until a kernel may have written, and DDP rebuilds its buckets", status == 0, err)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    replay = parser.parse_args().build.resolve() / "replay"
    with tempfile.TemporaryDirectory() as folder:
        for part in (values, recordings, batches, cards, adapting, smallest, cure, steps, validation, inference, files,
                     loops, streams):
            part(Case(replay, folder))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
