#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay technique` from the shell: its text, its JSON, the changed trace, and its refusals.
set -u
replay=$1
samples=$3/samples
. "$(dirname "$0")/shell.sh"

for name in mlp-adam mlp-sgd oom-too-large oom-halves-batch; do
    for change in '--optimizer none' '--optimizer momentum' '--states bf16' '--optimizer adam --states bf16:fp32'; do
        expect_status 0 technique "$samples/$name.trace.zst" $change --json t.json -o t.trace.zst
        awk 'length > 80 { exit 1 }' out || fail "$name $change is wider than 80 columns: $(cat out)"
        (( $(wc -l <out) <= 24 )) || fail "$name $change does not fit on a screen"
        grep -q '^An estimate' out || fail "$name $change does not say that it is an estimate"
        grep -q 'replay predict' out || fail "$name $change does not say what gives the exact figure"
        expect_status 0 info t.trace.zst --json info.json
        python3 - "$name" <<'PY' || fail "$name $change: the JSON contradicts itself or the trace"
import json, sys
t, info = json.load(open("t.json")), json.load(open("info.json"))
assert t["schema"] == "replay-technique/1" and t["is_estimate"] is True
assert t["is_lower_bound"] == sys.argv[1].startswith("oom")
for side in (t["recorded"], t["estimated"]):
    assert sum(side["by_category"].values()) == side["peak_requested_bytes"] <= side["peak_reserved_bytes"]
assert info["peak_requested_bytes"] == t["estimated"]["peak_requested_bytes"]
PY
    done
done
expect 2 '--optimizer, --states or both' technique "$samples/mlp-adam.trace.zst"
expect 2 'expected none, sgd, momentum or adam' technique "$samples/mlp-adam.trace.zst" --optimizer lion
for states in int3 bf16: :fp32 fp32:int3 ''; do
    expect 2 'expected fp32, bf16 or fp16' technique "$samples/mlp-adam.trace.zst" --states "$states"
done
expect 2 'begins in the middle of the run' technique "$samples/oom-long-run.trace.zst" --optimizer sgd
"$replay" generate 530-270 --events 1000 -o plain.trace || fail "nothing was generated"
expect 2 'no Python stacks' technique plain.trace --optimizer sgd
[ "$failures" = 0 ]
