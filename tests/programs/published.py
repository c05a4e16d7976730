#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Holds run-sim against figures that others published for real cards, table by table.

    published.py --torch FOLDER --packages FOLDER [--replay build/replay] [--said FILE] [xmem] [lightning] [qwen]

--torch holds PyTorch's unpacked wheels as VERSION, and in deps the packages that it needs beside it, as run.py has
them. Each table's packages are fetched by pip into --packages, once. The programs are those of published_programs.py,
the figures those of published_rows.py. --said keeps what the programs printed, and does not run again what is in it.
Exit status: 0 if every program ran and every verdict on memory is right.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys

import published_rows

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
LIBRARIES = ["regex", "tqdm", "pyyaml", "requests", "packaging", "certifi", "charset_normalizer", "idna", "urllib3",
             "safetensors", "pillow"]
# PyTorch's release and the packages of each table: those of the time, or the nearest to be had.
TABLES = {
    "xmem": ("2.6.0", ["transformers==4.51.3", "tokenizers==0.21.4", "huggingface-hub==0.36.2", *LIBRARIES]),
    "lightning": ("2.1.2", ["numpy==1.26.4", "torchvision==0.16.2", "lightning==2.1.4", "pytorch-lightning==2.1.4",
                            "lightning-utilities==0.10.1", "torchmetrics==1.2.1", "fsspec==2023.12.2", "setuptools<70",
                            *LIBRARIES]),
    "qwen": ("2.8.0", ["transformers==5.12.0", "tokenizers==0.22.2", "huggingface-hub==1.33.0", "peft==0.21.2",
                       "accelerate==1.15.0", "psutil", "httpx", "httpcore", "h11", "anyio", "sniffio", "typer",
                       *LIBRARIES]),
}
XMEM_CARDS = {"3060": "RTX 3060 12GB,context=250MiB", "4060": "RTX 4060,context=250MiB"}
ESTIMATORS = ["xMem", "DNNMem", "SchedTune", "LLMem"]


def fetch(folder, packages):
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", "%s.part" % folder,
                        *packages], check=True)
        os.rename("%s.part" % folder, folder)


def simulate(o, table, device, cases):
    """What each program printed, by its case; those that are in the file of --said do not run again."""
    version, packages = TABLES[table]
    fetch(o.packages / table, packages)
    said = {}
    if o.said and o.said.exists():
        said = {(each["device"], each["case"]): each for each in map(json.loads, o.said.read_text().splitlines())}
    missing = [case for case in cases if (device, case) not in said]
    if missing:
        paths = [o.packages / table, o.torch / version, o.torch / "deps"]
        environment = dict(os.environ, PYTHONPATH=":".join(map(str, paths)), HF_HUB_OFFLINE="1",
                           PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.Popen([str(o.replay), "run-sim", "--device", device, "--", sys.executable, "-W", "ignore",
                                 str(HERE / "published_programs.py"), *missing], env=environment, text=True,
                                stdout=subprocess.PIPE)
        for line in done.stdout:
            if line.startswith('{"case"'):
                each = dict(json.loads(line), device=device)
                said[device, each["case"]] = each
                if o.said:
                    with open(o.said, "a") as f:
                        f.write(json.dumps(each) + "\n")
        done.wait()
    return {case: said.get((device, case), {"failed": "it printed nothing"}) for case in cases}


# ---- xMem ----

Row = collections.namedtuple("Row", "program card model optimizer batch zero ground oom said n case")


def number(text):
    """A figure, and whether it stands for out of memory."""
    return (None if text == "-" else float(text.rstrip("!"))), text.endswith("!")


def xmem_rows():
    for line in published_rows.XMEM.strip().splitlines():
        program, card, model, optimizer, batch, zero, ground, *said, ids = line.split()
        bytes_, oom = number(ground)
        # Adam and AdamW request the same, and so do gradients dropped at the start of a step or at its end.
        case = "/".join(["xmem", model, optimizer.replace("AdamW", "Adam"), batch, "1" if zero == "1" else "0"])
        yield Row(program, card, model, optimizer, int(batch), zero, bytes_, oom, [number(s) for s in said],
                  ids.count(",") + 1, case)


def xmem_group(name, rows, ours):
    """A line of the table: the remainders of a group of rows, the constant taken, and everybody's median error."""
    fits = [(row, (row.ground - ours[row.card][row.case]["reserved"]) / MIB) for row in rows
            if not row.oom and not ours[row.card][row.case]["refused"]]
    constant = statistics.mode([rest for row, rest in fits for _ in range(row.n)])
    errors = [abs(rest - constant) * MIB / row.ground for row, rest in fits for _ in range(row.n)]
    theirs = []
    for i in range(len(ESTIMATORS)):
        known = [abs(row.said[i][0] - row.ground) / row.ground for row, _ in fits for _ in range(row.n)
                 if row.said[i][0] is not None and row.said[i][0] > 0]
        theirs.append("%.1f %%" % (100 * statistics.median(known)) if known else "-")
    n_equal = sum(row.n for row, rest in fits if rest == constant)
    print("| %s | %d | %g MiB | %d | %.2f %% | %.2f %% | %s |" % (
        name, len(errors), constant, n_equal, 100 * statistics.median(errors), 100 * max(errors), " | ".join(theirs)))
    return constant


def xmem_verdicts(rows, ours):
    """How many of the runs each called rightly: out of memory or not."""
    total = sum(row.n for row in rows)
    right = sum(row.n for row in rows if row.oom == ours[row.card][row.case]["refused"])
    print("\n| out of memory or not | right |\n|---|---|\n| run-sim | %d of %d |" % (right, total))
    for i, name in enumerate(ESTIMATORS):
        known = [row for row in rows if row.said[i][0] is not None]
        print("| %s | %d of %d |" % (name, sum(r.n for r in known if r.said[i][1] == r.oom), sum(r.n for r in known)))
    return right == total


def xmem(o):
    rows = list(xmem_rows())
    ours = {card: simulate(o, "xmem", device, sorted({row.case for row in rows if row.card == card}))
            for card, device in XMEM_CARDS.items()}
    failed = [each for card in ours.values() for each in card.values() if each["failed"]]
    if failed:
        print(*failed, sep="\n")
        return False
    print("| rows | runs | constant | equal | run-sim: median | worst |", " | ".join(ESTIMATORS),
          "|\n" + "|---" * 10 + "|")
    constants = {}
    for program, card in (("later", "3060"), ("later", "4060"), ("earlier", "3060")):
        group = [row for row in rows if (row.program, row.card) == (program, card)]
        constants[program, card] = xmem_group("RTX %s, %s program" % (card, program), group, ours)
    print("\n| not at the constant | runs | measured | run-sim | off |\n|---|---|---|---|---|")
    for row in rows:
        each = ours[row.card][row.case]
        off = row.ground - each["reserved"] - constants[row.program, row.card] * MIB
        if not row.oom and not each["refused"] and off:
            print("| RTX %s, %s, %s %s, batch %d | %d | %s | %s | %+g MiB, %+.2f %% |" % (
                row.card, row.program, row.model, row.optimizer, row.batch, row.n, format(int(row.ground), ","),
                format(each["reserved"], ","), off / MIB, 100 * off / row.ground))
    return xmem_verdicts(rows, ours)


# ---- the others ----

def difference(ours, printed, digits):
    if round(ours, digits) == printed:
        return "none in the digits printed"
    return "%+.1f %%" % (100 * (ours - printed) / printed)


def lightning(o):
    said = simulate(o, "lightning", "A100 40GB", [case for case, _, _ in published_rows.LIGHTNING])
    print("| row | what | printed | run-sim | difference |\n|---|---|---|---|---|")
    for case, what, printed in published_rows.LIGHTNING:
        each = said[case]
        if each["failed"] or each["refused"]:
            print("| %s | %s | %.2f | %s | |" % (case[10:], what, printed, each["failed"] or "out of memory"))
            continue
        gb = each["reserved"] / 1e9
        print("| %s | %s | %.2f | %.2f | %s |" % (case[10:], what, printed, gb, difference(gb, printed, 2)))
    return not any(each["failed"] for each in said.values())


def qwen(o):
    said = simulate(o, "qwen", "RTX PRO 6000", [case for case, _, _ in published_rows.QWEN])
    print("| program | measured, GiB | run-sim | difference | their estimate's |\n|---|---|---|---|---|")
    for case, measured, theirs in published_rows.QWEN:
        each = said[case]
        if each["failed"] or each["refused"]:
            print("| %s | %.3f | %s | | |" % (case[5:], measured, each["failed"] or "out of memory"))
            continue
        gib = each["allocated"] / 2**30
        print("| %s | %.3f | %.3f | %s | %.2f %% |" % (case[5:], measured, gib, difference(gib, measured, 3), theirs))
    return not any(each["failed"] for each in said.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--torch", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--replay", type=pathlib.Path, default=HERE.parents[1] / "build/replay")
    parser.add_argument("--said", type=pathlib.Path)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES])
    o = parser.parse_args()
    o.torch, o.packages, o.replay = (path.resolve() for path in (o.torch, o.packages, o.replay))
    right = [{"xmem": xmem, "lightning": lightning, "qwen": qwen}[table](o) for table in o.tables or TABLES]
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
