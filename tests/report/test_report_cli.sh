#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay report: results from a database, a JSON and a trace give the same files; conditions decide the exit status.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

# expect STATUS PATTERN ARGUMENT...: exit status, and a pattern in what is printed
expect() {
    local want=$1 pattern=$2 status
    shift 2
    "$replay" report "$@" >out 2>&1 </dev/null
    status=$?
    if [ "$status" != "$want" ] || ! grep -q -e "$pattern" out; then
        fail "replay report $*: exit $status, expected $want and '$pattern' in: $(cat out)"
    fi
}

cp "$samples/gpt-varlen-default.trace.zst" a.trace
readonly policies=(--policy best-fit --policy pow2 --policy none)
"$replay" sweep a.trace "${policies[@]}" --device sim:300MiB -o results.db --csv sweep.csv >/dev/null || fail sweep
"$replay" a.trace "${policies[@]}" --device sim:300MiB --json run.json --csv run.csv >/dev/null
"$replay" merge results.db -o copy.db --json sweep.json >/dev/null || fail merge

# ---- a setting that the recorded release lacks: no fault if nobody named it ----
old=$3/tests/data/layouts/2.0.1.pickle
expect 0 'left out: .*expandable_segments' "$old"
expect 2 'the report is incomplete' "$old" --policy best-fit --policy expandable_segments:True

# ---- the same runs, from wherever they come ----
expect 0 'best-fit needs least memory' results.db --csv db.csv --md db.md --html db.html
expect 0 'best-fit needs least memory' sweep.json --csv json.csv --md json.md
expect 0 'best-fit needs least memory' a.trace "${policies[@]}" --device sim:300MiB --csv trace.csv --md trace.md
cmp -s db.csv sweep.csv || fail "the CSV of a database is not the sweep's"
cmp -s db.csv json.csv || fail "the CSV of a sweep's JSON is not the database's"
cmp -s db.csv trace.csv || fail "the CSV of a trace run on the fly is not the database's"
cmp -s db.md trace.md || fail "the Markdown of a trace run on the fly is not the database's"
expect 0 'best-fit needs least memory' run.json --csv replay.csv
while IFS= read -r row; do
    grep -q -F -e "$row" replay.csv || fail "a replay's row is not in the report of its JSON: $row"
done < <(tail -n +2 run.csv)

# ---- what lies in segments in use: words, table and Markdown say one figure, also of expandable segments ----
cp "$samples/oom-fragmented.trace.zst" b.trace
"$replay" b.trace --policy pytorch:expandable --json split.json >/dev/null
"$replay" b.trace --policy pytorch:expandable >split.txt
expect 0 . split.json --md split.md
read -r split cell < <(python3 -c 'import json
split = json.load(open("split.json"))["runs"][0]["fragmentation"]["inactive_split_bytes"] / 2**20
print("%.2f %.1f" % (split, split))')
tr '\n' ' ' <split.txt | tr -s ' ' | grep -q "$split MiB of that lay beside live blocks" ||
    fail "the words do not say $split MiB"
for file in split.txt split.md; do
    # reserved, not allocated, and of it in segments in use: two columns beside each other, which are equal here
    grep 'pytorch:expandable' "$file" | tr -s '| ' ' ' | grep -q " $cell $cell " ||
        fail "$file does not say $cell: $(grep 'pytorch:expandable' "$file")"
done

# ---- the same bytes each time, and nothing that loads anything ----
expect 0 . results.db --html again.html
cmp -s db.html again.html || fail "two pages of one database differ"
grep -v 'github.com/danvk' db.html | grep -n -i -E '(src|href)="?[a-z]*:?//|url\([^#]|@import|sourceMappingURL' &&
    fail "the page points elsewhere"
[ "$(wc -c <db.html)" -lt 2000000 ] || fail "the page has $(wc -c <db.html) bytes"
grep -q "default-src 'none'" db.html || fail "the page may load things"

# ---- a database is only read ----
sum=$(sha256sum results.db)
chmod 444 results.db
expect 0 . results.db
[ "$sum" = "$(sha256sum results.db)" ] || fail "a report changed its database"

# ---- conditions ----
expect 1 'failed because reserved_peak > 250MiB: pow2 (a.trace)' results.db --fail-if 'reserved_peak > 250MiB'
expect 0 . results.db --fail-if 'reserved_peak > 400MiB' --fail-if 'device_calls > 1000000'
expect 1 'outcome == oom: pow2' run.json --fail-if 'reserved_peak > 400MiB' --fail-if 'outcome == oom'
expect 1 'device_time > 7ms: best-fit (a.trace)' a.trace --fail-if 'device_time > 7ms' --md out.md
[ -s out.md ] || fail "a condition that is met must not keep the report away"
expect 2 "did you mean 'peak_reserved_bytes'" results.db --fail-if 'peak_reservd_bytes > 3'
sed 's/"reserved_bytes": [0-9]*$/"reserved_bytes": null/' run.json >nopeak.json
expect 2 'reserved_peak > 1MiB: [0-9]* of [0-9]* runs have no such figure' nopeak.json --fail-if 'reserved_peak > 1MiB'
expect 2 'is not a size' results.db --fail-if 'reserved_peak > lots'

# ---- what could not be looked at is named in all that is written, and no gate is green for it ----
echo nothing that could be read >cut.trace
expect 2 'left out: cut.trace' a.trace cut.trace --policy best-fit --fail-if 'retries > 5' --md left.md --html left.html
grep -q '^- left out: cut.trace' left.md || fail "the Markdown does not name what was left out: $(cat left.md)"
grep -q '"notes":\["left out: cut.trace' left.html || fail "the page does not name what was left out"
expect 2 '^replay: 1 trace or run was left out' a.trace cut.trace --policy pow2 --fail-if 'reserved_peak > 250MiB'
expect 0 . a.trace --policy best-fit --fail-if 'retries > 5' --md whole.md
grep -q 'left out' whole.md && fail "the Markdown names what was not left out: $(cat whole.md)"

# ---- what is no result ----
echo '{"schema": "replay-fit/1"}' >fit.json
echo 'SQLite format 3' >broken.db
: >empty
expect 2 "schema 'replay-fit/1'" fit.json
expect 2 'broken.db' broken.db
expect 2 'empty' empty
expect 2 'missing.db' missing.db
expect 2 'are for traces' results.db --policy none
expect 2 'is an input' results.db --csv results.db

# ---- a trace that is gone, or another now: its runs are told, not shown ----
mv a.trace b.trace
expect 0 . results.db --html gone.html
grep -q 'the trace a.trace is not there' gone.html || fail "a missing trace is not told"
cp "$samples/cnn.trace.zst" a.trace
expect 0 . results.db --html changed.html
grep -q 'is not what it was' changed.html || fail "a changed trace is not told"
expect 0 . run.json --html differs.html
grep -q 'is not what the results say' differs.html || fail "a replay that differs from its JSON is shown"

# ---- how a replay was run stands in its JSON, so that it can be had again ----
cp "$samples/gpt-varlen-default.trace.zst" a.trace
"$replay" a.trace --policy best-fit --device sim:100MiB --on-oom skip --json skip.json >/dev/null
expect 0 . skip.json --html skip.html
grep -q -e 'gives another' -e 'is not there' skip.html && fail "a replay with --on-oom skip is not had again"
grep -q '"refusals":\[\[' skip.html || fail "its first refusal is not shown"

# ---- figures of a recording with a refused request are lower bounds, in every form ----
"$replay" "$samples/oom-halves-batch.trace.zst" --json halves.json >/dev/null
expect 0 'its figures are lower bounds' halves.json --md halves.md --html halves.html
grep -q 'its figures are lower bounds' halves.md || fail "Markdown does not say so"
grep -q 'its figures are lower bounds' halves.html || fail "the page does not say so"
expect 0 'In 1 of 2 cases' halves.json skip.json
expect 0 . skip.json --md whole.md
grep -q 'lower bounds' whole.md && fail "a recording without a refusal is said to be a lower bound"

# ---- a memory limit that only garbage collection shows is found, as `verify` finds it ----
"$replay" snapshot "$samples/gpt-varlen-default.trace.zst" --device sim:500MiB -o limited.pickle \
    --policy 'pytorch:garbage_collection_threshold:0.5,fraction=0.5' >out 2>&1 || fail "no snapshot: $(cat out)"
"$replay" verify limited.pickle | grep -q 'a memory limit of about 248.62 MiB' || fail "verify finds no limit"
expect 0 . limited.pickle --html limited.html
grep -q '234 MiB reserved at most.*because of a memory limit of about 248.62 MiB' limited.html ||
    fail "the page does not say which limit makes the replay differ"

# ---- results of others load no code ----
sed 's/"best-fit"/".\/evil.so"/' run.json >plugin.json
expect 0 . plugin.json --html plugin.html
grep -q 'code is loaded only if the command line names it' plugin.html || fail "a plugin that results name"

exit $((failures > 0))
