#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay technique` from the shell: its text, its JSON, the changed trace, and its refusals.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

for name in mlp-adam mlp-sgd oom-too-large oom-halves-batch; do
    for change in '--optimizer none' '--states bf16' '--optimizer adam --states bf16:fp32' '--in-place --accumulate 2' \
                  '--accumulate 4:split --optimizer momentum'; do
        expect_status 0 technique "$samples/$name.trace.zst" $change --json t.json -o t.trace.zst
        awk 'length > 80 { exit 1 }' out || fail "$name $change is wider than 80 columns: $(cat out)"
        (( $(wc -l <out) <= 32 )) || fail "$name $change does not fit on a screen"
        tr -s '\n ' ' ' <out | grep -qE '^(About|At least) [0-9.]* [MG]iB reserved at the peak'\
'( until the refused request)?( instead of |, as much as recorded: )' ||
            fail "$name $change: the answer is not first"
        grep -q '^An estimate' out || fail "$name $change does not say that it is an estimate"
        grep -q '^Error seen, ' out || fail "$name $change does not say how far such estimates were off"
        grep -q 'replay run-sim' out || fail "$name $change does not say what gives the exact figure"
        expect_status 0 info t.trace.zst --json info.json
        python3 - "$name" <<'PY' || fail "$name $change: the JSON contradicts itself or the trace"
import json, sys
t, info = json.load(open("t.json")), json.load(open("info.json"))
assert t["schema"] == "replay-technique/1" and t["is_estimate"] is True
assert t["is_lower_bound"] == sys.argv[1].startswith("oom")
for side in (t["recorded"], t["estimated"]):
    assert sum(side["by_category"].values()) == side["peak_requested_bytes"] <= side["peak_reserved_bytes"]
assert info["peak_requested_bytes"] == t["estimated"]["peak_requested_bytes"]
assert t["seen_errors"] and all(e["pairs"] + e["programs"] > 0 for e in t["seen_errors"])
PY
    done
done

# ---- of a recording that ends with a refused request no share is told: what follows is not known ----
for change in '--states bf16' '--accumulate 4:split' '--checkpoint repeated'; do
    expect_status 0 technique "$3/tests/dying/recordings/gradients_of_the_first_step.zst" $change
    tr -s '\n ' ' ' <out >line
    grep -qE '^At least .* at the peak until the refused request( instead of [^(]*|, as much as recorded): ' line ||
        fail "$change: not told until when: $(cat out)"
    head -3 out | grep -q '[0-9]%)' && fail "$change: a share of what is not known: $(cat out)"
done
for name in mlp-adam oom-halves-batch; do
    expect_status 0 technique "$samples/$name.trace.zst" --optimizer none
    grep -q 'until the refused request' out && fail "$name does not end with a refused request: $(cat out)"
done
expect_status 0 technique "$samples/mlp-adam.trace.zst" --optimizer none
head -2 out | grep -q '(-[0-9.]*%)' || fail "the share of a whole recording: $(cat out)"

# ---- the changed trace is the one that was measured ----
expect_status 0 technique "$samples/gpt-fp32.trace.zst" --checkpoint repeated --json t.json -o t.trace.zst
expect_status 0 stats t.trace.zst --device sim:unlimited
python3 - <<'PY' || fail "-o: the file is not the trace that was measured"
import json
peak = [line.split()[1] for line in open("out") if line.startswith("reserved_bytes.all.peak ")]
assert peak == [str(json.load(open("t.json"))["estimated"]["peak_reserved_bytes"])]
PY
expect_status 0 technique "$samples/gpt-fp32.trace.zst" --checkpoint train.py:26
tr '\n' ' ' <out | grep -q 'checkpointed (9 *calls of modules)' || fail "the line of the layers: $(cat out)"

expect 2 '--optimizer, --states, --accumulate, --checkpoint or --in-place' technique "$samples/mlp-adam.trace.zst"
# A labelled recording: what is repeated keeps labels, but a gradient that is added to another is none of its own.
expect_status 0 technique "$3/tests/data/categories/cnn.trace.zst" --accumulate 2 --optimizer momentum
cp "$samples/mlp-adam.trace.zst" same.trace.zst
expect 2 'is an input' technique same.trace.zst --optimizer sgd -o same.trace.zst
expect 2 'name a file' technique same.trace.zst --optimizer sgd -o -
for times in 1 0 65 x 2:halves ''; do
    expect 2 'expected a number from 2 to 64' technique same.trace.zst --accumulate "$times"
done
for which in layers train.py '' :3 train.py:x; do
    expect 2 'expected repeated, or a line' technique same.trace.zst --checkpoint "$which"
done
expect 2 'expected none, sgd, momentum or adam' technique "$samples/mlp-adam.trace.zst" --optimizer lion
for states in int3 bf16: :fp32 fp32:int3 ''; do
    expect 2 'expected fp32, bf16 or fp16' technique "$samples/mlp-adam.trace.zst" --states "$states"
done
expect 2 'begins in the middle of the run' technique "$samples/oom-long-run.trace.zst" --optimizer sgd
"$replay" generate 530-270 --events 1000 -o plain.trace || fail "nothing was generated"
expect 2 'no Python stacks' technique plain.trace --optimizer sgd
[ "$failures" = 0 ]
