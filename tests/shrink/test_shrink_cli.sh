#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay shrink` from the shell: its text, its recording, its script, and its refusals.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

expect_status 0 shrink "$samples/oom-fragmented.trace.zst" --keep refused -o small.zst --script small.py --json s.json
awk 'length > 80 { exit 1 }' out || fail "wider than 80 columns: $(cat out)"
grep -q 'fit beside what is live' <(tr '\n' ' ' <out) || fail "fragmented is no longer fragmented: $(cat out)"
expect_status 0 shrink "$samples/530-270.trace.zst" --keep differs:expandable_segments:True --device sim:unlimited \
    --script d.py --json d.json
python3 - s.json small.py d.json d.py <<'PY' || fail "the script or the JSON is wrong"
import ast, json, sys
for answer, script in (sys.argv[1:3], sys.argv[3:5]):
    a, text = json.load(open(answer)), open(script).read()
    assert a["schema"] == "replay-shrink/1" and a["is_smallest"] and a["calls"] < 50 < a["calls_before"] + 50
    assert len(text.splitlines()) <= 30
    made, freed = 0, 0
    for node in ast.parse(text).body:                          # every call of the answer is in the script
        n = 1
        if isinstance(node, ast.For):
            span = ast.literal_eval(node.iter) if isinstance(node.iter, ast.Tuple) else None
            n = len(span) if span is not None else node.iter.args[1].value - node.iter.args[0].value
            node = node.body[0]
        made += n * (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
                     and node.targets[0].value.__dict__.get("id") == "t")
        freed += n * isinstance(node, ast.Delete)
    assert made + freed == a["calls"], (made, freed, a["calls"])
PY
expect_status 0 info small.zst
for private in "$(whoami)" train.py /home; do
    grep -q -- "$private" <(grep -v '^file' out) && fail "$private is in what is left: $(cat out)"
done
"$replay" who small.zst >out 2>&1 || fail "$(cat out)"
expect_status 0 shrink small.zst --keep refused -o again.zst --json again.json
python3 - <<'PY' || fail "the result shrinks again"
import json
a, b = (json.load(open(f)) for f in ("s.json", "again.json"))
assert a["calls"] == b["calls"] == b["calls_before"]
PY
"$replay" shrink "$samples/oom-fragmented.trace.zst" --keep refused -o second.zst >out || fail "$(cat out)"
cmp -s small.zst second.zst || fail "two results of one recording differ"

# A leak of equal pieces becomes few calls on a smaller card.
leak() { echo action,ptr,size; for i in $(seq 1 "$1"); do echo "alloc,$i,$2"; done; }
leak 400 8388608 >leak.csv
expect_status 0 shrink leak.csv --keep refused --device sim:3GiB -o l.zst --script l.py --json l.json
grep -q 'A card of 3072 MiB refuses the recording' out || fail "the smaller card is not told: $(cat out)"
# Many requests that fill a card are not made one that does.
leak 400 104857600 >full.csv
expect_status 0 shrink full.csv --keep refused --device sim:3GiB -o f.zst --json f.json
python3 - l.json f.json <<'PY' || fail "a leak is another story, or long"
import json, sys
for name in sys.argv[1:]:
    a = json.load(open(name))
    assert 4 <= a["calls"] <= 6 and a["verdict"] == a["verdict_before"] == "full", a
PY
"$replay" why f.zst >out && grep -q 'Really full' out || fail "why says otherwise: $(cat out)"
grep -q 'These calls are what replay shrink left' out || fail "why does not tell that it is shrunk: $(cat out)"
"$replay" shrink f.zst --keep refused -o ff.zst >out || fail "shrunk again: $(cat out)"
"$replay" info ff.zst | grep -q '^shrunk from  *400$' || fail "the first is forgotten: $("$replay" info ff.zst)"
grep -q 'memory_fraction' l.py || fail "the script is not for the smaller card: $(cat l.py)"
# What cannot be a script still is a recording.
python3 - <<'PY'
import pickle
MIB, A, B = 2**20, 2**40, 2**41
record = lambda action, addr: {"action": action, "addr": addr, "size": 100 * MIB, "stream": 0, "frames": []}
events = [record("segment_alloc", A), record("alloc", A), record("free_requested", A), record("segment_alloc", B),
          record("alloc", B), record("free_completed", A)]
block = lambda state: [{"size": 100 * MIB, "requested_size": 100 * MIB, "state": state, "frames": []}]
segments = [{"device": 0, "address": address, "total_size": 100 * MIB, "allocated_size": 0, "active_size": 0,
             "requested_size": 0, "stream": 0, "segment_type": "large", "blocks": block(state)}
            for address, state in ((A, "inactive"), (B, "active_allocated"))]
pickle.dump({"segments": segments, "device_traces": [events]}, open("late.pickle", "wb"))
PY
expect_status 2 shrink late.pickle --keep 'peak>=200MiB' --device sim:4GiB -o late.zst --script late.py --json late.json
grep -q 'frees that complete later' err || fail "the script's refusal is not told: $(cat err)"
[ -s late.zst ] && [ ! -e late.py ] || fail "the recording is missing, or there is a script"
grep -q '"no_script": "--script' late.json || fail "the JSON does not tell it"
# A card that nobody told is named.
expect 0 'does not tell its card' shrink leak.csv --keep 'peak>=30MiB'
expect 0 'does not tell its card' blame leak.csv
expect_status 0 shrink leak.csv --keep 'peak>=30MiB' --device sim:4GiB
! grep -q 'does not tell its card' out || fail "a named card is called unknown"

expect 2 'there is nothing to keep' shrink "$samples/cnn.trace.zst" --keep refused --device sim:unlimited
expect 2 'there is nothing to keep' shrink "$samples/cnn.trace.zst" --keep 'peak>=80GiB'
expect 2 'needs what to keep' shrink "$samples/cnn.trace.zst"
expect 2 "'nothing': expected refused" shrink "$samples/cnn.trace.zst" --keep nothing
expect 2 "did you mean 'refused'" shrink "$samples/cnn.trace.zst" --keep refuse
expect 2 'on a card of 200.00 GiB' shrink "$samples/cnn.trace.zst" --keep refused --device sim:200GiB
long=pytorch:max_split_size_mb:128,garbage_collection_threshold:0.8,roundup_power2_divisions:4
expect_status 0 shrink "$samples/530-270.trace.zst" --keep 'peak>=500MiB' --policy "$long" --device sim:4GiB
awk 'length > 80 { exit 1 }' out || fail "wider than 80 columns: $(cat out)"
# A script is PyTorch's; of another allocator the recording is written.
expect_status 2 shrink "$samples/530-270.trace.zst" --keep 'peak>=500MiB' --policy tlsf --device sim:unlimited \
    --script tlsf.py -o tlsf.zst
grep -q "tlsf is not PyTorch's allocator" err && [ -s tlsf.zst ] && [ ! -e tlsf.py ] || fail "tlsf's script: $(cat err)"
grep -q '^1 of 12 calls reserves' out || fail "one call: $(cat out)"
expect 2 "pow2 is not PyTorch's allocator" shrink "$samples/530-270.trace.zst" --keep 'peak>=500MiB' --policy pow2 \
    --device sim:4GiB --script pow2.py
# A memory fraction of the policy is the script's, too.
expect 0 'fraction(min(1.0, 1073741824 /' shrink "$samples/530-270.trace.zst" --keep 'peak>=500MiB' \
    --policy pytorch:fraction=0.25 --device sim:4GiB --script -
expect 2 'expected a size' shrink "$samples/cnn.trace.zst" --keep 'peak>=much'
[ "$failures" = 0 ]
