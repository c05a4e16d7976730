#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay bench-suite: the figures of all policies are those in doc/zoo.md, and only the edition's own traces count.
set -u
replay=$1
source=$3
. "$3/tests/shell.sh"

python3 "$source/tests/suite_table.py" "$replay" || fail "doc/zoo.md"

# ---- a part of it: the same counts, again, from a database, and on the page ----
readonly part=(bench-suite "$source/samples" --policy '{best-fit,none}' --policy tlsf)
expect 0 'Edition 1: 22 traces, 3 policies' "${part[@]}" --json one.json --csv one.csv --html one.html
expect 0 'Edition 1: 22 traces, 3 policies' "${part[@]}" --json two.json -o runs.db
expect 0 'Edition 1: 22 traces, 3 policies' "${part[@]}" --json three.json -o runs.db
cmp -s one.json two.json && cmp -s one.json three.json || fail "the same benchmark gives other counts"
[ "$(wc -l <one.csv)" = 331 ] || fail "$(wc -l <one.csv) lines, not 22 x 5 x 3 and a heading"
python3 - <<'EOF' || fail "the JSON, the page and the runs disagree"
import csv, json, re
found = json.load(open("one.json"))
page = json.loads(re.search(r'id="data">(.*?)</script>', open("one.html").read(), re.S)[1])
assert page["survival"] == found["survival"] and found["survival_percents"] == [102, 105, 110, 125, 400]
runs = list(csv.DictReader(open("one.csv")))
for row in found["survival"]:
    assert row["traces"] == 22
    counts = [k for k, low, high in row["survived"]]
    assert counts == sorted(counts), "fewer survive with more memory"
    for percent, (k, low, high) in zip(found["survival_percents"], row["survived"]):
        mine = [r for r in runs if r["policy"] == row["policy"] and r["device"] == "%.2f x bound" % (percent / 100)]
        assert len(mine) == 22 and sum(r["outcome"] == "ok" for r in mine) == k
        assert 0 <= low <= k / 22 <= high <= 1 and high - low > 0.1
EOF

# ---- a policy of one's own beside all of the edition ----
expect 0 'Edition 1: 22 traces, 24 policies' bench-suite "$source/samples" --policy edition --policy pow2=4 \
    --json own.json
python3 - <<'EOF' || fail "the edition's counts beside a policy of one's own are others"
import json
own = {r["policy"]: r for r in json.load(open("own.json"))["survival"]}
assert "pow2=4" in own and all(own[r["policy"]] == r for r in json.load(open("one.json"))["survival"])
EOF

# ---- other traces are not edition 1, and a policy that cannot run is no result ----
cp -r "$source/samples" other
cp other/mlp-sgd.trace.zst other/mlp-adam.trace.zst
expect 2 'mlp-adam.trace.zst: is not the trace of edition 1' bench-suite other --policy none
rm other/mlp-adam.trace.zst
expect 2 "in the folder 'samples' of replay's source: .*mlp-adam.trace.zst" bench-suite other --policy none
expect 2 'nosuch' bench-suite "$source/samples" --policy nosuch
[ "$failures" = 0 ]
