#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay graphs` from the shell: its text, its JSON, and its refusals.
set -u
replay=$1
graphs=$3/tests/data/graphs
. "$3/tests/shell.sh"

for name in program replaced dropped trained sided warmed mixed; do
    for list in 1-4 3,1 2; do
        expect_status 0 graphs "$graphs/$name.trace.zst" --captures $list --json "$name.json"
        awk 'length > 80 { exit 1 }' out || fail "$name is wider than 80 columns: $(cat out)"
        head -1 out | grep -Eq '^(In one pool|This capture)' || fail "$name: the answer is not first: $(cat out)"
        (( $(wc -l <out) <= 24 )) || fail "$name does not fit on a screen"
        python3 - "$name.json" "$list" <<'PY' || fail "$name --captures $list: the JSON contradicts itself"
import json, sys
g = json.load(open(sys.argv[1]))
want = {"1-4": [1, 2, 3, 4], "3,1": [3, 1], "2": [2]}[sys.argv[2]]
assert g["schema"] == "replay-graphs/1" and g["captures_recorded"] == 4
assert [c["capture"] for c in g["captures"]] == want
assert g["shared"]["private_bytes"] == g["captures"][-1]["shared_bytes"] <= g["own"]["private_bytes"]
assert g["own"]["private_bytes"] == g["captures"][-1]["own_bytes"]
assert (g["none"]["program_peak_bytes"] is None) == (want == [3, 1])
PY
    done
done
expect 2 'capture 5 is not there' graphs "$graphs/program.trace.zst" --captures 1-5
expect 2 'named twice' graphs "$graphs/program.trace.zst" --captures 1,2,1
for list in '' 1, -1 1- a 0 2-1 1,,2 99999999999; do
    expect 2 '--captures' graphs "$graphs/program.trace.zst" --captures "$list"
done
expect 2 'replay record --torch -o OUT' graphs "$3/samples/mlp-adam.trace.zst"
[ "$failures" = 0 ]
