#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay sweep --copies: each copy is a run of its own with its seed; the quantiles over them are the same everywhere.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

readonly sweep=(sweep "$samples/530-270.trace.zst" "$samples/mlp-sgd.trace.zst" --policy
                'pytorch:max-split={none,64}MiB' --policy none --device sim:2GiB --copies 'sizes=2%,seeds=1..9')

# ---- 2 traces, 3 policies, each as recorded and on 9 copies ----
expect 0 '^60 runs: 60 done now' "${sweep[@]}" -o copies.db --csv copies.csv --json copies.json
expect 0 '^60 runs: 0 done now, 60 there already' "${sweep[@]}" -o copies.db
expect 0 '^530-270  sim:2GiB  *[0-9] of 3 ' "${sweep[@]}" -o copies.db
expect 0 'max-split=none, 9 copies with sizes up to 2 % off: [0-9]' \
    "${sweep[@]}" -o copies.db

# ---- the same again, and in parts, is the same ----
expect 0 '^60 runs: 60 done now' "${sweep[@]}" -o again.db --csv again.csv
cmp -s copies.csv again.csv || fail "the same copies have other results"
for i in 1 2 3; do expect 0 'done now' "${sweep[@]}" -o "part$i.db" --shard "$i/3"; done
expect 0 '^all.db: 60 runs' merge part1.db part2.db part3.db -o all.db --csv all.csv
cmp -s copies.csv all.csv || fail "three parts merged differ from the whole"

# ---- the runs without --copies are among them, unchanged ----
expect 0 '^6 runs: 6 done now' "${sweep[@]:0:9}" -o plain.db
expect 0 '^60 runs: 54 done now, 6 there already' "${sweep[@]}" -o plain.db --csv plain.csv
cmp -s copies.csv plain.csv || fail "runs without --copies differ from those with"

# ---- quantiles: in the view, on the page, and as worked out here ----
expect 0 'runs' report copies.db --html copies.html
expect 0 'on changed copies' report copies.db --md -
python3 - <<'EOF' || fail "quantiles differ"
import csv, json, math, os, re, sqlite3
runs = json.load(open("copies.json"))["runs"]
copies = [r for r in runs if r["copy_seed"] is not None]
assert sorted({r["copy_seed"] for r in copies}) == list(range(1, 10)), "seeds"
assert {r["copy_sizes_percent"] for r in copies} == {2} and len(runs) - len(copies) == 6
assert len({r["peak_requested_bytes"] for r in copies}) > 9, "copies are alike"
rows = list(csv.DictReader(open("copies.csv")))
assert [r["copy_seed"] or None for r in rows] == [None if r["copy_seed"] is None else str(r["copy_seed"]) for r in runs]
page = json.loads(re.search(r'id="data">(.*?)</script>', open("copies.html").read(), re.S)[1])
assert len(page["rows"]) == 6 and len(page["copies"]) == 6, "the page counts copies as runs"
db = sqlite3.connect("copies.db")
db.row_factory = sqlite3.Row
view = {(os.path.basename(v["trace_path"]), v["policy"]): v for v in db.execute("SELECT * FROM copies")}
assert len(view) == 6
for group in page["copies"]:
    key = group["trace_path"], group["policy"]
    ok = [r for r in copies if (os.path.basename(r["trace_path"]), r["policy"]) == key and r["outcome"] == "ok"]
    assert (group["runs"], group["ok"]) == (9, len(ok)) == (view[key]["copies"], view[key]["survived"]), key
    for column in ("peak_reserved_bytes", "card_peak_bytes", "device_time_ns"):
        values = sorted(r[column] for r in ok)
        want = [values[max(math.ceil(len(values) * q / 4), 1) - 1] for q in range(5)]
        assert group[column] == want, (key, column, group[column], want)
        names = ("least", "lower", "median", "upper", "most")
        assert [view[key][column + "_" + n] for n in names] == want, (key, column)
assert sum(g["ok"] for g in page["copies"]) < 54, "the case with few survivors is not covered"
EOF

# ---- what cannot be ----
for how in '' sizes=2% seeds=1..3 'sizes=0%,seeds=1' 'sizes=2,seeds=1' 'sizes=2%,seeds=5..1' 'sizes=60%,seeds=1' \
           'sizes=2%,seeds=1..20,' 'sizes=2%,seeds=1..99999'; do
    expect 2 'expected sizes=1% to 50%, and seeds' sweep "$samples/cnn.trace.zst" --policy none -o no.db --copies "$how"
done
expect 2 'a changed copy starts empty' "${sweep[@]}" -o no.db --start faithful
[ ! -e no.db ] || fail "a refused sweep leaves a database"
[ "$failures" = 0 ]
