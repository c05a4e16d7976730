#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay generate` and `replay --share`: what they say, what they write, and what they refuse.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

# ---- generate ----
expect_status 0 generate transformer:layers=2,width=64,heads=2,vocabulary=512,batch=2,length=32 -o t.zst
[ ! -s out ] || fail "a load is written without a word: $(cat out)"
"$replay" generate transformer:layers=2,width=64,heads=2,vocabulary=512,batch=2,length=32 -o again.zst
cmp -s t.zst again.zst || fail "the same load is not the same file"
expect 0 '^  mark  *3$' info t.zst
expect 0 'layers: a whole number, 1 to 1000; default: 12' --help transformer
expect 0 '^  *serve:' --list
expect 2 'has as many events as its options make' generate cnn --events 5 -o x.zst
expect 2 'nearest is layers' generate transformer:layer=2 -o x.zst
[ ! -e x.zst ] || fail "a refused load left a file"

# A load that is fitted says how like the recording it is; it is that like when it is measured again.
expect_status 0 generate "like:$samples/gpt-varlen-default.trace.zst" -o like.zst
grep -q 'stretches of [0-9]* requests: no peak differs' out || fail "a fitted load says nothing: $(cat out)"
for f in like.zst "$samples/gpt-varlen-default.trace.zst"; do
    "$replay" "$f" --policy best-fit --policy none --device sim:unlimited --json - 2>/dev/null >"$(basename "$f").json"
done
python3 - <<'PY' || fail "a fitted load is not like its recording"
import json
a, b = (json.load(open(f))["runs"] for f in ("like.zst.json", "gpt-varlen-default.trace.zst.json"))
for x, y in zip(a, b, strict=True):
    for peak in ("requested_bytes", "reserved_bytes"):
        assert abs(x["peak"][peak] / y["peak"][peak] - 1) <= 0.021, (x["peak"], y["peak"])
PY

# ---- several processes on one card ----
expect_status 0 generate random:n=2000,least=1048576,most=8388608,life=100,lives=same -o a.zst
expect_status 0 --share a.zst --device 24GiB --json one.json
expect_status 0 --share a.zst,a.zst@+1ms --device 24GiB --json two.json
grep -q '^Both run to their end' out || fail "two processes fit: $(cat out)"
COLUMNS=80 "$replay" --share a.zst,a.zst@+1ms --device 24GiB | awk 'length > 80 { exit 1 }' ||
    fail "wider than 80 columns"
python3 - <<'PY' || fail "two processes take what each takes"
import json
one, two = json.load(open("one.json")), json.load(open("two.json"))
assert two["schema"] == "replay-share/1" and two["first_refused"] is None
alone = one["processes"][0]["peak_reserved_bytes"]
assert [p["peak_reserved_bytes"] for p in two["processes"]] == [alone, alone]
assert alone < two["card_peak_bytes"] <= 2 * alone
open("alone", "w").write(str(alone))
PY
alone=$(cat alone)

# One byte less than both need: the second is refused, and the first one never notices.
peak=$(python3 -c 'import json; print(json.load(open("two.json"))["card_peak_bytes"] // 2097152 * 2 - 2)')
expect_status 1 --share a.zst,a.zst@+1ms --device "${peak}MiB" --json refused.json
python3 - <<'PY' || fail "who is refused first: $(cat refused.json)"
import json
r = json.load(open("refused.json"))
refused = r["processes"][r["first_refused"]]["refused"]
assert refused["device_free_bytes"] < 20 << 20       # a segment
assert r["card_peak_bytes"] <= r["card_total_bytes"]
assert sum(p["refusals"] for p in r["processes"]) == 1
PY

# A limit and a curve of others refuse where the card alone would not; a process that has ended holds nothing.
expect_status 1 --share "a.zst@$((alone / 2097152 * 2 - 2))MiB" --device 24GiB
printf 'seconds,size\n0,1GiB\n0.00005,23.9GiB\n' >busy.csv
expect_status 1 --share a.zst,others=busy.csv --device 24GiB
expect_status 0 --share a.zst,a.zst@+10s --device "$((alone / 1048576 + 2))MiB"
expect 2 'behind the @' --share a.zst@soon --device 24GiB
expect 2 'needs one card' --share a.zst
expect 2 'not with --share' --share a.zst --device 24GiB --audit
expect 2 'line 2' --share a.zst,others=<(printf '1,1GiB\n0,1GiB\n') --device 24GiB

# ---- page-locked host memory ----
printf 'op,ptr,size,time\nalloc,1,135790592,0\nalloc,2,117440512,1\n' >host.csv
expect 0 '^export PYTORCH_CUDA_ALLOC_CONF=pinned_max_round_threshold_mb:' tune --host host.csv
expect_status 0 tune --host host.csv --json host.json
python3 -c 'import json; j = json.load(open("host.json")); assert j["recommended"] == j["settings"][2]["conf"], j' ||
    fail "the JSON recommends something else"

[ "$failures" = 0 ]
