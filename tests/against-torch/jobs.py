#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Jobs of ranks under `torchrun` and `replay run-sim`, with real PyTorch:
each strategy of torch's own on 2, 4 or 8 ranks.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/jobs.py [--build FOLDER] [--within SECONDS] [NAME ...]

tests/programs/package_programs.py has the programs. Each rank must have a recording, `replay FOLDER` must name the
worst rank, and a lost rank must end the job. Exit status 0: all true.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/programs/package_programs.py"
JOBS = (("ranks_values", 2), ("ranks_values", 4), ("ranks_ddp", 2), ("ranks_ddp", 4), ("ranks_ddp", 8),
        ("ranks_zero1", 2), ("ranks_zero1", 4), ("ranks_fsdp1", 2), ("ranks_fsdp1", 4), ("ranks_fsdp2", 2),
        ("ranks_fsdp2", 4), ("ranks_fsdp2", 8), ("ranks_tensor_parallel", 2), ("ranks_tensor_parallel", 4),
        ("ranks_fsdp2_and_tensor_parallel", 4), ("ranks_pipeline", 2), ("ranks_pipeline", 4))
failures = 0


def check(what, is_true, seen=""):
    global failures
    failures += not is_true
    print("%s  %s%s" % ("ok    " if is_true else "FAILED", what, "" if is_true else ": %s" % (seen,)), flush=True)


def run(o, name, ranks, folder):
    """The job's exit status, and what it said; its recordings lie in folder/job."""
    job = pathlib.Path(folder, "job")
    job.mkdir()
    done = subprocess.run([str(o.build.resolve() / "replay"), "run-sim", "--device", "24GiB,count=%d" % ranks, "-o",
                           str(job / "t.zst"), "--", sys.executable, "-W", "ignore", "-m", "torch.distributed.run",
                           "--standalone", "--nproc-per-node", str(ranks), str(PROGRAM), name], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=o.within)
    return done.returncode, done.stdout


def check_job(o, name, ranks):
    with tempfile.TemporaryDirectory() as folder:
        status, said = run(o, name, ranks, folder)
        peaks = [int(line.split()[1]) for line in said.splitlines() if line.startswith("peak ")]
        ends = "%s on %d ranks ends, peaks %s" % (name, ranks, sorted(set(peaks)))
        check(ends, status == 0 and len(peaks) == ranks, said[-3000:])
        answer = subprocess.run([str(o.build.resolve() / "replay"), str(pathlib.Path(folder, "job")), "--json", "-"],
                                stdout=subprocess.PIPE).stdout
        spread = json.loads(answer or b"{}")
        said_peaks = {r["rank"]: r["peak_reserved_bytes"] for r in spread.get("ranks", [])}
        check("and %s is the worst" % spread.get("worst"), sorted(said_peaks.values()) == sorted(peaks) and
              said_peaks[int(spread["worst"].split(".rank")[1].split(".")[0])] == max(peaks), (said_peaks, peaks))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--within", type=int, default=600, help="seconds for a job")
    parser.add_argument("names", nargs="*")
    o = parser.parse_args()
    for name, ranks in JOBS:
        if not o.names or name in o.names:
            check_job(o, name, ranks)
    if not o.names or "ranks_one_is_lost" in o.names:
        with tempfile.TemporaryDirectory() as folder:
            status, said = run(o, "ranks_one_is_lost", 2, folder)
            check("a lost rank ends the job with a sentence", status != 0 and
                  "rank 1 has ended, and rank 0 waits for it in all_reduce" in said or "exitcode  : 3" in said,
                  said[-3000:])
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
