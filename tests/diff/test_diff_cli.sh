#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay diff` from the shell: statuses, the three kinds, and that JSON and database of one run are the same run.
set -uo pipefail
replay=$1
samples=$3/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() { printf 'FAIL: %s\n' "$*"; failures=$((failures + 1)); }

# status STATUS TEXT ARGUMENTS...: the program ends so and says so.
status() {
    local want=$1 text=$2 got
    shift 2
    "$replay" "$@" >out 2>&1
    got=$?
    (( got == want )) || fail "replay $*: status $got, not $want: $(cat out)"
    [[ $(tr -s ' \n' ' ' <out) == *"$text"* ]] || fail "replay $*: no '$text' in: $(cat out)"
}

cp "$samples/gpt-fp32.trace.zst" a.zst
cp "$samples/gpt-fp32-ckpt.trace.zst" b.zst
status 0 'Both make the same requests, event by event.' diff a.zst a.zst
status 1 'At its peak B requests 27.20 MiB (21.0%) less than A: 102.19 MiB instead of 129.39 MiB' diff a.zst b.zst
status 1 'train.py:20 forward' diff a.zst b.zst --json both.json
"$replay" diff a.zst b.zst --json - >again.json
cmp both.json again.json || fail "the JSON differs from run to run"

status 0 'Every request is placed alike' diff a.zst --policy best-fit --policy pytorch
status 1 'The first call to the device that differs' diff a.zst --policy best-fit --policy pytorch:expandable

"$replay" a.zst --policy best-fit --device sim:1GiB --json one.json >/dev/null
"$replay" a.zst --policy pow2 --device sim:1GiB --json two.json >/dev/null
"$replay" sweep a.zst --policy best-fit --policy none --device sim:1GiB -o runs.db >/dev/null
status 0 '1 of 1 runs are the same in every figure' diff one.json one.json
status 1 'peak_reserved_bytes' diff one.json two.json
status 1 'The first request that is placed differently asks for ' diff one.json two.json
sed 's/"a.zst"/"gone.zst"/' one.json >one-gone.json
sed 's/"a.zst"/"gone.zst"/' two.json >two-gone.json
status 1 "To see where they differ: replay diff gone.zst --policy best-fit --policy pow2 --device sim:1GiB" \
    diff one-gone.json two-gone.json
status 1 '1 of 2 runs are the same in every figure' diff one.json runs.db        # whose other run is of none
status 0 '2 of 2 runs are the same in every figure' diff runs.db runs.db

status 2 'needs two files, or one trace' diff a.zst
status 2 'needs two files, or one trace' diff a.zst b.zst --policy best-fit
status 2 'cannot be compared' diff a.zst one.json
status 2 'no-such-file' diff a.zst no-such-file
printf '{"runs": [' >cut.json
status 2 'no JSON' diff cut.json one.json
printf '{"schema": "other"}' >other.json
status 2 "a JSON of schema 'other'" diff other.json one.json

(( failures == 0 )) && echo "diff: all as promised"
exit $(( failures > 0 ))
