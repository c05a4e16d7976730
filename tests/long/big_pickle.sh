#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Importing a snapshot of 1 GB, nine tenths of it stack frames, takes less than 300 MB of memory.
#
#     tests/long/big_pickle.sh FOLDER         # the folder holds the program replay
set -euo pipefail
replay=$(cd "$1" && pwd)/replay
tests=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for mode in distinct texts; do
    python3 "$tests/make_big_pickle.py" "$work/big.pickle" 1000 "$mode"
    python3 - "$replay" "$work/big.pickle" "$work/big.trace.zst" "$mode" <<'END'
import os, resource, subprocess, sys, time
replay, pickle, trace, mode = sys.argv[1:]
started = time.time()
subprocess.run([replay, "import", pickle, "-o", trace], check=True)
megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"{mode}: {os.path.getsize(pickle) / 1e6:.0f} MB imported in {time.time() - started:.1f} s, "
      f"{megabytes:.0f} MB resident, trace of {os.path.getsize(trace) / 1e6:.1f} MB")
sys.exit(megabytes > 300)
END
done
