#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A sweep over a cluster by Dask: one task a trace, since reading a trace is what costs.

    dask_sweep.py REPLAY OUT.DB TRACE...

The scheduler is the address in DASK_SCHEDULER; without one, processes of this machine. REPLAY, and the traces, have the
same paths everywhere. Each task writes a database of its own; `replay merge` puts them together.
"""
import os
import subprocess
import sys

from dask.distributed import Client

POLICIES = ("best-fit", "expandable_segments:True", "max_split_size_mb:{64,128}")
CARDS = ("{16,24,40,80}GiB",)


def sweep(replay, trace, database):
    words = [f"--policy={one}" for one in POLICIES] + [f"--device={one}" for one in CARDS]
    subprocess.run([replay, "sweep", trace, *words, "--threads", "1", "--quiet", "-o", database], check=True)
    return database


def main():
    replay, out, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    with Client(os.environ.get("DASK_SCHEDULER"), dashboard_address=None) as cluster:
        tasks = [cluster.submit(sweep, replay, trace, f"{out}.{i}") for i, trace in enumerate(traces)]
        parts = cluster.gather(tasks)
    subprocess.run([replay, "merge", *parts, "-o", out], check=True)


if __name__ == "__main__":
    main()
