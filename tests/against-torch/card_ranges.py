#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Whether what a card recorded lies in the range that `predict` gives, program by program.

    tests/against-torch/card_ranges.py FOLDER [--build FOLDER] [--python PYTHON] [--only NAME...] [--out FILE]

FOLDER has programs.py, which runs one program by its name (`programs.py NAME OUT`), and rows.json with what the card's
own counters said of each (`name`, `card.reserved`). Prints a line for each program, and the shares of them that lie
within their range, whose range has no width, and whose width is below 2 % of what is expected. Exit status 0: all lie
within.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def predicted(o, name):
    """The range of reserved bytes, and the program's runs; None and the reason if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(o.build / "replay"), "predict", "--device", o.device, "--steps", "0", "--json", "answer.json",
                   "-o", "run.zst", "--", o.python, "-W", "ignore", str(o.folder / "programs.py"), name, "out.pickle"]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                               env=dict(os.environ, OMP_NUM_THREADS="1", TORCHINDUCTOR_CACHE_DIR=folder + "/compiled"))
        answer = pathlib.Path(folder) / "answer.json"
        if not answer.exists():
            return None, (ended.stderr.strip().splitlines() or ["no answer"])[-1]
        said = json.loads(answer.read_text())
    card = said["cards"][0]
    beside = card["card_peak_bytes"] - card["peak_reserved_bytes"]
    ends = {key: card["card_range"][key] - beside for key in ("low_bytes", "expected_bytes", "high_bytes")}
    return dict(ends, sources=[s["source"] for s in card["card_range"]["sources"]], runs=said["runs"],
                failure=said["failure"]), None


def judge(row, said):
    reserved = row["card"]["reserved"]
    width = (said["high_bytes"] - said["low_bytes"]) / said["expected_bytes"]
    is_within = said["low_bytes"] <= reserved <= said["high_bytes"]
    print("%-30s card %12d  expected %+7.2f %%  range %12d to %12d (%5.2f %%) %s %s%s" %
          (row["name"], reserved, 100 * (said["expected_bytes"] / reserved - 1), said["low_bytes"], said["high_bytes"],
           100 * width, "within" if is_within else "OUTSIDE", ",".join(said["sources"]),
           " FAILED: " + said["failure"][:80] if said["failure"] else ""), flush=True)
    return dict(said, name=row["name"], reserved=reserved, is_within=is_within, width=width)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--device", default="NVIDIA H200")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--out", type=pathlib.Path, help="keep the figures as JSON")
    o = parser.parse_args()
    o.build, o.folder = o.build.resolve(), o.folder.resolve()
    judged = []
    for row in json.loads((o.folder / "rows.json").read_text()):
        if o.only and row["name"] not in o.only:
            continue
        said, reason = predicted(o, row["name"])
        if said is None:
            print("%-30s no answer: %s" % (row["name"], reason), flush=True)
        else:
            judged.append(judge(row, said))
    n = len(judged)
    print("%d programs: %d within their range, %d without width, %d below 2 %%, %d expected to the byte" %
          (n, sum(j["is_within"] for j in judged), sum(j["width"] == 0 for j in judged),
           sum(j["width"] < 0.02 for j in judged), sum(j["expected_bytes"] == j["reserved"] for j in judged)))
    if o.out:
        o.out.write_text(json.dumps(judged, indent=1))
    return 0 if all(j["is_within"] for j in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
