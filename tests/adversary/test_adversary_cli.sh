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
expect 2 'no policy of that name' adversary no-such-policy
expect 2 'is for two policies' adversary tlsf --device 8GiB
expect 2 '' adversary pytorch:version=2.0 pytorch:version=2.0,expandable_segments:True --effort 1
[ "$failures" = 0 ]
