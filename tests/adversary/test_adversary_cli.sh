#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay adversary` from the shell: its text, its trace, its script, and its refusals.
set -u
replay=$1
. "$3/tests/shell.sh"

expect_status 0 adversary pytorch:version=2.11 pytorch:version=2.12 --effort 3 -o p.zst --script p.py --json p.json
awk 'length > 80 { exit 1 }' out || fail "wider than 80 columns: $(cat out)"
expect_status 0 p.zst --policy pytorch:version=2.11 --policy pytorch:version=2.12 --device sim:unlimited --json r.json
python3 - <<'PY' || fail "the trace does not do what the answer says"
import json
answer, runs = json.load(open("p.json")), json.load(open("r.json"))["runs"]
assert [o["peak_reserved_bytes"] for o in answer["outcomes"]] == [r["peak"]["reserved_bytes"] for r in runs]
assert answer["is_found"] and len(answer["program"]) == answer["calls"] <= 8 and answer["robson"] is None
calls = sum(line.startswith(("t[", "del ")) for line in open("p.py"))
assert calls == answer["calls"] or "for i in" in open("p.py").read()
PY
expect_status 0 adversary tlsf --calls 12 --effort 1 -o t.zst --json t.json
card=$(grep -o '"refusing_card_bytes": [0-9]*' t.json | grep -o '[0-9]*$')
expect_status 1 t.zst --policy tlsf --device "sim:$card" --json refused.json
grep -q '"outcome": "oom"' refused.json || fail "a card of $card bytes refuses nothing"
expect 2 'no program to write' adversary best-fit pytorch:version=2.15 --effort 1 -o none.zst
[ ! -e none.zst ] || fail "a trace of nothing"
expect_status 2 adversary tlsf buddy --effort 1 --script none.py -o tb.zst
grep -q "not PyTorch's" err && [ -s tb.zst ] && [ ! -e none.py ] || fail "the script of another allocator: $(cat err)"
# One policy of which nothing is found, and one that refuses on any card.
expect_status 0 adversary none --calls 1 --effort 1
grep -q '^Nothing was found that none refuses' out && ! grep -q '(null)' out || fail "nothing of one: $(cat out)"
expect_status 0 adversary rmm-fixed --effort 1
grep -q 'rmm-fixed refuses on any card' <(tr '\n' ' ' <out) || fail "what refuses always: $(cat out)"
expect 2 'no program to write' adversary rmm-fixed --effort 1 -o nothing.zst
# What is shown is what was found: here the refusal, which the table counts as a whole.
expect_status 0 adversary best-fit expandable_segments:True --device sim:256MiB --effort 4 --calls 6 --json r.json \
    -o r.zst
grep -q 'is refused a request under expandable' <(tr '\n' ' ' <out) || fail "the refusal is lost: $(cat out)"
expect_status 1 r.zst --policy best-fit --policy expandable_segments:True --device sim:256MiB --json runs.json
python3 - <<'PY' || fail "the program is not the one of the table"
import json
answer, runs = json.load(open("r.json")), json.load(open("runs.json"))["runs"]
best = {row["calls"]: row["score"] for row in answer["by_calls"]}
assert answer["score"] == best[answer["calls"]] == 1, answer
assert [o["is_refused"] for o in answer["outcomes"]] == [r["outcome"] == "oom" for r in runs] == [False, True]
PY
# Garbage is collected only below a fraction of 1, also on a card of just the size.
expect_status 0 adversary gc=0.5 best-fit --device sim:256MiB --effort 4 --script gc.py
grep -q 'min(1 - 1e-9, ' gc.py || fail "a fraction of 1: $(cat gc.py)"
# An interrupt gives the best so far, and its trace.
interrupted() {
    timeout --foreground --preserve-status -s INT 1 "$replay" adversary "$@" >out 2>err </dev/null
    [ $? = 130 ] || fail "adversary $*: interrupted, it does not exit with 130"
}
interrupted tlsf buddy --effort 100000 -o i.zst --json i.json
grep -q '^Interrupted after' out && grep -q 'request   1' out && [ -s i.zst ] || fail "no best so far: $(cat out err)"
grep -q '"is_interrupted": true' i.json ||
    fail "the best so far is not told: $(cat out err)"
interrupted best-fit pytorch:version=2.15 --effort 100000
grep -q '^Interrupted\. Nothing was found that separates' out && ! grep -q 'fewer than [01] ' out ||
    fail "nothing so far: $(cat out)"
long=pytorch:max_split_size_mb:128,garbage_collection_threshold:0.8,roundup_power2_divisions:4
expect_status 0 adversary "$long" best-fit --effort 1
awk 'length > 80 { exit 1 }' out || fail "wider than 80 columns: $(cat out)"
expect 2 'a policy is missing' adversary
expect 2 'no policy of that name' adversary no-such-policy
expect 2 'is for two policies' adversary tlsf --device 8GiB
expect 2 '' adversary pytorch:version=2.0 pytorch:version=2.0,expandable_segments:True --effort 1
[ "$failures" = 0 ]
