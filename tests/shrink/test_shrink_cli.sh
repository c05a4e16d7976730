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

expect 2 'there is nothing to keep' shrink "$samples/cnn.trace.zst" --keep refused --device sim:unlimited
expect 2 'there is nothing to keep' shrink "$samples/cnn.trace.zst" --keep 'peak>=80GiB'
expect 2 'needs what to keep' shrink "$samples/cnn.trace.zst"
expect 2 'needs what to keep' shrink "$samples/cnn.trace.zst" --keep nothing
expect 2 'expected a size' shrink "$samples/cnn.trace.zst" --keep 'peak>=much'
[ "$failures" = 0 ]
