#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay bench-suite --edition 2: the same figures twice, what it says of a run can be checked by a program that is not
# ours, and that one finds a decision that was changed.
set -u
replay=$1
source=$3
. "$3/tests/shell.sh"

readonly part=(bench-suite "$source/samples" --edition 2 --stratum diffusion --threads 1)
verify() { python3 "$source/examples/contest/verify.py" "$1" "$source/replay/contest/edition_2_traces.def" >said 2>&1; }

expect 0 'Edition 2, seed 2 (published): 28 traces, 3 policies' "${part[@]}" --policy '{best-fit,none}' \
    --policy gmlake:frag-limit=2MiB --json one.json --csv one.csv --markdown one.md
awk '/^The cost in each/ { exit } length > 80' out | grep -q . && fail "the tables are wider than 80: $(cat out)"
expect 0 'Edition 2' "${part[@]}" --policy '{best-fit,none}' --policy gmlake:frag-limit=2MiB --json two.json
cmp -s one.json two.json || fail "the same benchmark gives other figures"
python3 - <<'EOF' || fail "the JSON and the runs disagree"
import csv, json, math
found = json.load(open("one.json"))
runs = list(csv.DictReader(open("one.csv")))
assert found["edition"] == 2 and len(runs) == 28 * 3 and len(found["inputs"]) == 28
for row in found["standings"]:
    mine = [r for r in runs if r["policy"] == row["policy"]]
    costs = [(int(r["card_bytes"]) + int(r["device_time_ns"]) / 1e6 * 2**20) / int(r["bound_bytes"]) for r in mine]
    assert abs(row["cost"] - math.exp(sum(map(math.log, costs)) / 28)) < 1e-4, row
    assert row["survived"][1] == sum(int(r["1.02"]) for r in mine) and row["traces"] == 28
    assert 1 <= row["place_from"] <= row["place_to"] <= 3 and min(costs) >= 1
EOF
grep -q '^| 1 | `gmlake:frag-limit=2MiB` |' one.md || fail "the Markdown: $(head -3 one.md)"

# ---- every decision, replayed by another program ----
for policy in best-fit gmlake:frag-limit=2MiB; do
    expect 0 'Edition 2' "${part[@]}" --policy "$policy" --decisions all.gz
    gzip -dc all.gz | awk '/^trace/ { n++ } n <= 2' >few
    gzip -c few >few.gz
    verify few.gz || fail "$policy: $(cat said)"
    grep -q '^[1-9][0-9]* runs are as they say' said || fail "$policy: $(cat said)"
done
changed() {
    awk "$1" few | gzip -c >changed.gz
    verify changed.gz && fail "a file in which $2 is accepted"
    grep -q "$3" said || fail "a file in which $2: $(tail -1 said)"
}
changed '/^a/ && ++n == 200 { $6 = last } { print } /^a/ { last = $6 }' "two requests lie at one address" overlap
changed '/^a/ && ++n == 200 { $6 = 4096 } { print }' "a request lies nowhere" "without memory"
changed '/^a/ && ++n == 200 { $3 -= 512 } { print }' "a request is smaller" "other requests"
changed '/^run/ && ++n == 2 { $2 = 104857600 } { print }' "the card is smaller" "more than the card has"
changed '/^trace/ { $4 -= 512 } { print }' "a bound is lower" "not a published trace"

# ---- what it refuses ----
expect 0 'Edition 2, seed 9: ' "${part[@]}" --policy none --seed 9
expect 2 'it is training, experts' bench-suite "$source/samples" --edition 2 --stratum none
expect 2 'has no page and no database' "${part[@]}" --html x.html
expect 2 'need --edition 2' bench-suite "$source/samples" --seed 1
expect 2 'between 1 and 2\|from 1 to 2' bench-suite "$source/samples" --edition 3
expect 2 "in the folder 'samples' of replay's source" bench-suite . --edition 2 --stratum recorded --policy none
[ "$failures" = 0 ]
