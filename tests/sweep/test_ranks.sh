#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay FOLDER`: which files are ranks, the worst and the spread, and what cannot be asked of a folder.
set -u
replay=$1
ranks=$3/tests/data/ranks
. "$3/tests/shell.sh"

expect_status 0 "$ranks" --json ranks.json
awk 'length > 80 { exit 1 }' out || fail "wider than 80 columns: $(cat out)"
head -1 out | grep -q '^The worst is rank 0: 168 MiB reserved' || fail "the answer is not first: $(cat out)"
grep -q '^Replayed under best-fit on sim:rtx3070-8g\.$' out || fail "policy and card are not said: $(cat out)"
grep -q '^rank 0 .* the worst$' out || fail "rank 0 has a layer more: $(cat out)"
for r in 0 1 2 3; do
    "$replay" stats "$ranks/run.rank$r.zst" --device sim:unlimited | grep '^reserved_bytes.all.peak ' |
        awk '{ print $2 }'
done >alone
python3 - <<'PY' || fail "the JSON contradicts the ranks alone, or itself"
import json
j = json.load(open("ranks.json"))
assert j["schema"] == "replay-ranks/1" and [r["rank"] for r in j["ranks"]] == [0, 1, 2, 3]
reserved = [r["peak_reserved_bytes"] for r in j["ranks"]]
assert reserved == [int(line) for line in open("alone")]
assert j["spread_reserved_bytes"] == max(reserved) - min(reserved)
assert j["worst"].endswith("rank0.zst") and j["least"].endswith("rank1.zst")
by = [abs(line["worst_bytes"] - line["least_bytes"]) for line in j["lines"]]
assert by and by == sorted(by, reverse=True) and min(by) > 0
PY

# ---- of one rank's files the one that tells most; ranks before others; other files are no ranks ----
mkdir job
for r in 0 1 3; do cp "$ranks/run.rank$r.zst" job/; done
cp "$ranks/run.rank2.zst" job/run.rank2.oom.zst
cp "$ranks/run.rank2.zst" job/other.zst
for r in 0 1 3; do cp "$ranks/run.rank$r.zst" "job/run.rank$r.driver.zst"; done
echo text >job/notes.txt
expect_status 0 job --json job.json
python3 - <<'PY' || fail "files of ranks: $(cat job.json)"
import json
paths = [r["path"] for r in json.load(open("job.json"))["ranks"]]
assert paths == ["job/run.rank0.zst", "job/run.rank1.zst", "job/run.rank2.oom.zst", "job/run.rank3.zst",
                 "job/other.zst"]
PY

# ---- a rank that is refused memory is the worst ----
mkdir refused
cp "$ranks/run.rank0.zst" refused/rank0.zst
cp "$3/samples/oom-too-large.trace.zst" refused/rank1.trace.zst
expect_status 1 refused
grep -q '^rank 1 .* the worst, refused memory$' out || fail "a refusal is the worst: $(cat out)"
expect_status 1 "$ranks" --device sim:100MiB
grep -q '^rank 3 .* refused memory$' out || fail "100 MiB are too few for rank 3: $(cat out)"

# ---- one file, none, and what is for one file only ----
mkdir one empty
cp "$ranks/run.rank1.zst" one/
expect_status 0 one
expect 2 'without recordings' empty
expect 2 '--csv' "$ranks" --csv out.csv
expect 2 'one policy' "$ranks" --policy none --policy best-fit
[ "$failures" = 0 ]
