#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The examples for clusters, examples/cluster/, give the runs of one sweep: every column of every run.
#
#     tests/long/clusters.sh FOLDER         # the folder holds the program replay
#
# Dask and Snakemake are installed from PyPI into a folder that is removed at the end. If they cannot be had, the script
# skips, with status 77.
set -euo pipefail
replay=$(cd "$1" && pwd)/replay
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv tools
tools/bin/pip -q install --disable-pip-version-check dask distributed snakemake >&2 ||
    { echo "SKIP: needs dask and snakemake: they cannot be had from PyPI" >&2; exit 77; }

mkdir recordings
cp "$root"/samples/{cnn,gpt-fp32,mlp-adam,oom-fragmented}.trace.zst recordings
"$replay" sweep recordings/*.trace.zst --policy best-fit --policy expandable_segments:True \
    --policy 'max_split_size_mb:{64,128}' --device '{16,24,40,80}GiB' --quiet -o whole.db

tools/bin/python "$root/examples/cluster/dask_sweep.py" "$replay" dask.db recordings/*.trace.zst
tools/bin/snakemake -q --cores 2 -s "$root/examples/cluster/Snakefile" -d . \
    --config replay="$replay" traces=recordings

python3 - <<'END'
import sqlite3

def runs(path):
    base = sqlite3.connect(path)
    tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = "runs" if "runs" in tables else tables[0]
    columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
    rows = [dict(zip(columns, row)) for row in base.execute(f"SELECT * FROM {table}")]
    return sorted((row["trace_path"], row["policy"], row["device"], sorted(row.items(), key=str)) for row in rows)

whole = runs("whole.db")
assert len(whole) == 4 * 4 * 4, len(whole)
for path in ("dask.db", "all.db"):
    found = runs(path)
    assert len(found) == len(whole), (path, len(found))
    for one, other in zip(found, whole):
        assert one == other, (path, one[:3], set(map(str, one[3])) ^ set(map(str, other[3])))
print("64 runs, every column, are those of one sweep: Dask and Snakemake")
END
