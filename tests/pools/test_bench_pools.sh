#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay bench-pools: reads public columns, tells the same in its table and as JSON, twice, and what the pools' papers
# claim of each other holds on a load where it must.
set -u
replay=$1
. "$3/tests/shell.sh"

expect 0 'jenga' bench-pools --json one.json
expect 0 'jenga' bench-pools --json two.json
cmp -s one.json two.json || fail "the same loads give other figures"
awk '!/^made/ && length > 97' out | grep -q . && fail "the table is wider than 100: $(cat out)"

printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n' >azure.csv
printf 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n' >burst.csv
for i in $(seq 0 59); do
    printf '2023-11-16 18:17:%02d.9799600,3000,100\n' "$i" >>azure.csv
    printf '%d,ChatGPT,3000,100,3100,Conversation log\n' "$i" >>burst.csv
    printf '{"timestamp": %d, "input_length": 3000, "output_length": 100, "hash_ids": [0, 1, 2, 3, 4, %d]}\n' \
        $((i * 1000)) $((i + 5)) >>mooncake.jsonl
done
{ head -3 azure.csv | tail -1; sed -n 2p azure.csv; } | cat <(head -1 azure.csv) - >unsorted.csv
expect 2 'line 3: comes before the first request' bench-pools unsorted.csv
expect 0 '60 requests, 4.0 a second' bench-pools azure.csv,rate=4
{ head -1 azure.csv; for _ in 1 2; do sed -n 2p azure.csv; done; } >together.csv
expect 2 'rate=4: the requests of together.csv all come at once' bench-pools together.csv,rate=4
{ head -2 burst.csv; echo '1,ChatGPT,3000,0,3000,API log'; echo '2,ChatGPT,9000,10,9010,API log'; } >left.csv
expect 0 'Rows without an answer, left out: 1' bench-pools left.csv
grep -q 'unshared: requests longer than .*longest= allows, left out: 1' out || fail "not told: $(cat out)"
expect 2 'weights=8GiB leave nothing' bench-pools made,weights=8GiB
expect 0 'needed' bench-pools {azure.csv,burst.csv,mooncake.jsonl},memory=2GiB \
    azure.csv,memory=2GiB,window_layers=24,window=512 --json loads.json
python3 - <<'EOF' || fail "the figures: $(cat out)"
import json
loads = json.load(open("loads.json"))["loads"]
azure, burst, mooncake, window = ({p["pool"]: p for p in l["pools"]} for l in loads)
for pools in azure, burst, mooncake, window:
    for p in pools.values():
        assert p["requests"] == 60 and p["too_long"] == 0, p
        shares = [p[k] for k in ("needed_share", "outdated_share", "internal_share", "external_share")]
        assert abs(sum(shares) - 1) < 1e-3 and min(shares) >= 0, p
assert azure == burst
# 3,000 tokens and 1 to 99 more are between 188 and 194 blocks of 16 tokens, and a slot has 8,192.
assert 0.97 < azure["unshared"]["needed_share"] < 1 and 0.36 < azure["contiguous"]["needed_share"] < 0.38
assert azure["paged"]["tokens_per_gib"] == azure["unshared"]["tokens_per_gib"] == azure["jenga"]["tokens_per_gib"]
assert azure["mapped"]["internal_share"] > azure["unshared"]["internal_share"]
assert azure["unshared"]["external_share"] == 0 < azure["kvcached"]["external_share"]
# Five ids of 512 tokens are alike: all but the first request find them. Four such requests need less than two that
# share nothing.
assert mooncake["paged"]["shared_tokens"] == 59 * 2560 and mooncake["unshared"]["shared_tokens"] == 0
assert mooncake["paged"]["rate_most"] > 1.5 * mooncake["unshared"]["rate_most"]
# Of 24 of 32 layers nothing is needed but 512 tokens: about 3/4 x (1 - 512 / 3,050).
assert 0.60 < window["unshared"]["outdated_share"] < 0.63 and window["jenga"]["outdated_share"] == 0
assert window["jenga"]["tokens_per_gib"] > 2 * window["unshared"]["tokens_per_gib"]
EOF
expect 0 'sleep changes the model on the card' bench-pools azure.csv,memory=12GiB,models=2,weights=5GiB,turn_s=20 \
    azure.csv,memory=12GiB,models=2,weights=7GiB,turn_s=20 --json models.json
python3 - <<'EOF' || fail "the figures of two models: $(cat out)"
import json
two, large = ({p["pool"]: p for p in l["pools"]} for l in json.load(open("models.json"))["loads"])
# 2 GiB are left beside both, 1 GiB for each; 7 GiB beside one. In turns of 20 s the card changes hands twice a minute.
assert two["kvcached"]["rate_most"] > 1.5 * two["unshared"]["rate_most"], two["kvcached"]
assert two["sleep"]["wakes"] == 2 and two["sleep"]["rate_most"] is None
# Weights of 14 GiB leave nothing: only one that sleeps serves.
assert large["sleep"]["too_long"] == 0 and large["kvcached"]["too_long"] == 60 and large["paged"]["steps"] == 0
EOF
expect 2 'stands for 512 tokens, which blocks of 48 do not divide' bench-pools mooncake.jsonl,block=48
expect 2 'no pool "pagd"' bench-pools azure.csv --policy pagd
expect 2 'window_layers=40 are more than layers=32' bench-pools made,window_layers=40
expect 2 'memory=3: it is a size' bench-pools made,memory=3
expect 0 'sliding window' --help pools
[ "$failures" = 0 ]
