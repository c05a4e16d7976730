#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay blame` from the shell: its text, its JSON, and its refusals.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

for name in cnn gpt-varlen-maxsplit oom-fragmented oom-too-large 530-270; do
    expect_status 0 blame "$samples/$name.trace.zst" --json "$name.json"
    awk 'length > 80 { exit 1 }' out || fail "$name is wider than 80 columns: $(cat out)"
    head -1 out | grep -q ' reserves ' || fail "$name: the answer is not first: $(cat out)"
    (( $(wc -l <out) <= 40 )) || fail "$name does not fit on a screen"
    python3 - "$name.json" <<'PY' || fail "$name: the JSON contradicts itself"
import json, sys
b = json.load(open(sys.argv[1]))
assert b["schema"] == "replay-blame/1" and len(b["parts"]) == 9
assert sum(p["bytes"] for p in b["parts"]) == b["peak_reserved_bytes"] - b["live_peak_bytes"]
assert all(p["can_matter"] or p["bytes"] == 0 for p in b["parts"])
assert b["expandable_helps"] == (b["expandable_reserved_bytes"] is not None and
                                 b["expandable_reserved_bytes"] < b["peak_reserved_bytes"])
PY
done

# A setting is named where it exists: not on Windows, and not if it is set already.
expect_status 0 blame "$samples/530-270.trace.zst"
grep -q 'With expandable_segments:True this' <(tr '\n' ' ' <out) || fail "the setting is missing: $(cat out)"
expect_status 0 blame "$samples/530-270.trace.zst" --system windows --json w.json
grep -q 'With expandable_segments' <(tr '\n' ' ' <out) && fail "a setting that Windows lacks: $(cat out)"
grep -q '"expandable_helps": *true' w.json && fail "JSON: a setting that Windows lacks"
expect_status 0 blame "$samples/530-270.trace.zst" --policy pytorch:version=2.0
grep -q expandable_segments:True out && fail "a setting that release 2.0 lacks: $(cat out)"
expect_status 0 blame "$samples/530-270.trace.zst" --policy expandable_segments:True
grep -q 'Nothing lies in between' <(tr '\n' ' ' <out) || fail "one stretch has no gaps: $(cat out)"

expect 2 'pytorch does' blame "$samples/cnn.trace.zst" --policy none
expect 2 'knows the rules of' blame "$samples/cnn.trace.zst" --policy pytorch:no-cache
expect 2 'given twice' blame "$samples/cnn.trace.zst" --policy best-fit --policy pow2
expect 2 'no-such-file' blame no-such-file
[ "$failures" = 0 ]
