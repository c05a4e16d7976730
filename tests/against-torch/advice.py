#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Do what `why`, `fit` and `tune` advise, with real PyTorch on the simulated card, and see whether it is true.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/advice.py [--build FOLDER]

Each program of examples/oom is recorded on a card; then it runs again as advised. Exit status 0: all true.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = 1 << 20
failures = 0


def check(what, is_true):
    global failures
    failures += not is_true
    print("%s  %s" % ("ok    " if is_true else "FAILED", what))


def run(replay, program, mib, snapshot, conf=None):
    """Whether the program ends well on a card of that size, with that setting."""
    environment = dict(os.environ)
    environment.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    if conf is not None:
        environment["PYTORCH_CUDA_ALLOC_CONF"] = conf
    done = subprocess.run([replay, "run-sim", "--device", "sim:%dMiB" % mib, "--", sys.executable,
                           str(ROOT / "examples/oom" / program), str(snapshot)], env=environment, capture_output=True)
    return done.returncode == 0


def answer(replay, command, snapshot, *more):
    out = subprocess.run([replay, command, str(snapshot), "--json", "-", *more], capture_output=True, check=True)
    return json.loads(out.stdout)


def too_large(replay, snapshot):
    check("too_large.py dies on 4 GiB", not run(replay, "too_large.py", 4096, snapshot))
    why, fit = answer(replay, "why", snapshot), answer(replay, "fit", snapshot)["fits"][0]
    check("why: full, and no setting", why["verdict"] == "full" and why["recommended"] is None and
          why["serves_refused"] is None)
    check("fit: a lower bound, and no card", fit["is_lower_bound"] and fit["named_card"] is None)
    check("tune: nothing recommended on 8 GiB",
          answer(replay, "tune", snapshot, "--device", "8GiB")["recommended"] is None)
    check("the lower bound is one: it still dies there",
          not run(replay, "too_large.py", fit["smallest_card_bytes"] // MIB, snapshot))


def halves_batch(replay, snapshot):
    check("halves_batch.py survives a refusal on 4 GiB", run(replay, "halves_batch.py", 4096, snapshot))
    trace = answer(replay, "info", snapshot)["trace"]
    fit = answer(replay, "fit", snapshot)["fits"][0]
    check("info: refused and survived", trace["refusals"] >= 1 and trace["refusals_survived"] == trace["refusals"])
    check("fit: a lower bound, and no card", fit["is_lower_bound"] and fit["named_card"] is None)


def long_run(replay, snapshot):
    check("long_run.py runs on 8 GiB", run(replay, "long_run.py", 8192, snapshot))
    fit = answer(replay, "fit", snapshot)
    check("info: the beginning was dropped", fit["trace"]["begins"] == "cut")
    check("fit: a lower bound, and no card", fit["fits"][0]["is_lower_bound"] and fit["fits"][0]["named_card"] is None)


def fragmented(replay, snapshot):
    check("fragmented.py dies on 1640 MiB", not run(replay, "fragmented.py", 1640, snapshot))
    why = answer(replay, "why", snapshot)
    check("why: fragmented, with a setting that serves the request", why["verdict"] == "fragmented" and
          why["recommended"] is None and why["serves_refused"] is not None)
    conf = (why["serves_refused"] or {"conf": None})["conf"]
    check("it runs there with %s" % conf, run(replay, "fragmented.py", 1640, snapshot, conf))


def leak(replay, snapshot):
    check("leak.py dies on 640 MiB", not run(replay, "leak.py", 640, snapshot))
    why, fit = answer(replay, "why", snapshot), answer(replay, "fit", snapshot)["fits"][0]
    check("why: a leak, at its line", why["verdict"] == "leak" and "leak.py:22" in why["grows"][0]["line"])
    check("fit: a lower bound, no card, and what it takes if the step goes on", fit["is_lower_bound"] and
          fit["named_card"] is None and fit["if_step_goes_on"] is not None)
    survived = answer(replay, "info", snapshot)["trace"]["whole_steps"]
    filled = (fit["if_step_goes_on"]["smallest_card_bytes"] or 0) // MIB
    run(replay, "leak.py", filled, snapshot)
    check("on %d MiB it comes through that step" % filled,
          answer(replay, "info", snapshot)["trace"]["whole_steps"] > survived)


def smaller_card(replay, snapshot):
    """Recorded where it fits, asked about a card where it does not:
    the recording goes on after what would be refused."""
    check("too_large.py runs on 16 GiB", run(replay, "too_large.py", 16384, snapshot))
    why = answer(replay, "why", snapshot, "--device", "sim:5GiB,context=0")
    check("why: full on 5 GiB, by what is live later", why["verdict"] == "full" and not why["is_lower_bound"] and
          (why["later_live_bytes"] or 0) - 5 * 1024 * MIB == why["shortfall_bytes"])
    enough = 5 * 1024 + -(-why["shortfall_bytes"] // MIB)
    expandable = "expandable_segments:True"
    check("it dies on 64 MiB less than that", not run(replay, "too_large.py", enough - 64, snapshot, expandable))
    check("it runs on 256 MiB more", run(replay, "too_large.py", enough + 256, snapshot, expandable))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    replay = str(parser.parse_args().build.resolve() / "replay")
    with tempfile.TemporaryDirectory() as folder:
        for case in (too_large, halves_batch, long_run, fragmented, leak, smaller_card):
            case(replay, pathlib.Path(folder) / (case.__name__ + ".pickle"))
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
