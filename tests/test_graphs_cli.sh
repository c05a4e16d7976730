#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay graphs` from the shell: its text, its JSON, and its refusals.
set -uo pipefail
replay=$1
graphs=$3/tests/data/graphs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() { printf 'FAIL: %s\n' "$*"; failures=$((failures + 1)); }

# status STATUS TEXT ARGUMENTS...: the program ends so and says so on stderr.
status() {
    local want=$1 text=$2 got
    shift 2
    "$replay" "$@" >out 2>err
    got=$?
    (( got == want )) || fail "replay $*: status $got, not $want: $(cat err)"
    [[ $(cat err) == *"$text"* ]] || fail "replay $*: no '$text' in: $(cat err)"
}

for name in program replaced dropped trained sided warmed mixed; do
    for list in 1-4 3,1 2; do
        status 0 '' graphs "$graphs/$name.trace.zst" --captures $list --json "$name.json"
        awk 'length > 80 { exit 1 }' out || fail "$name is wider than 80 columns: $(cat out)"
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
status 2 'capture 5 is not there' graphs "$graphs/program.trace.zst" --captures 1-5
status 2 'named twice' graphs "$graphs/program.trace.zst" --captures 1,2,1
for list in '' 1, -1 1- a 0 2-1 1,,2 99999999999; do
    status 2 '--captures' graphs "$graphs/program.trace.zst" --captures "$list"
done
status 2 'replay record --torch -o OUT' graphs "$3/samples/mlp-adam.trace.zst"
(( failures == 0 ))
