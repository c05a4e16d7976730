#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay adversary --pools`: what pools and captures show of two releases, which requests and frees alone do not.
set -u
replay=$1
. "$3/tests/shell.sh"

# The trace that is written does what the answer says, when it is replayed.
separates() {
    older=pytorch:version=$1 newer=pytorch:version=$2 card=$3
    expect_status 0 adversary "$older" "$newer" --device "$card" --effort 1
    grep -q '^Nothing was found' out || fail "$1 and $2 differ without pools: $(cat out)"
    expect_status 0 adversary "$older" "$newer" --device "$card" --effort 1 --pools -o p.zst --json p.json
    expect_status "$4" p.zst --policy "$older" --policy "$newer" --device "$card" --json r.json
    python3 - <<'PY' || fail "of $1 and $2 the trace does not do what the answer says: $(cat p.json)"
import json
answer, runs = json.load(open("p.json")), json.load(open("r.json"))["runs"]
assert answer["is_found"] and answer["has_pools"] and len(answer["program"]) == answer["calls"] <= 5
assert any(c["call"].startswith(("pool-", "capture-")) for c in answer["program"])
told = [(o["peak_reserved_bytes"], o["is_refused"]) for o in answer["outcomes"]]
assert told == [(r["peak"]["reserved_bytes"], r["outcome"] == "oom") for r in runs] and told[0] != told[1]
PY
}
separates 2.9 2.10 sim:unlimited 0
separates 2.12 2.13 sim:64MiB 1

expect 0 'the cache is given back' adversary pytorch:version=2.7 pytorch:version=2.8 --pools --calls 9 --effort 2

expect 2 'is neither' adversary best-fit tlsf --pools --effort 1
expect 2 'is for two policies' adversary best-fit --pools --effort 1
[ "$failures" = 0 ]
