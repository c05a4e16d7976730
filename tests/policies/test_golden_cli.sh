#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The program golden: what it prints last and what its exit status says.
set -u
golden=$2/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=$work/cases                        # a few, because every call below runs them all
mkdir "$data"
cp "$2"/tests/data/pytorch/rule-{async,conf-both,pack,retry,seg-10m,twodev}.json "$data"
failures=0

# expect STATUS PATTERN ARGUMENT...: the exit status, and a line of the output
expect() {
    local want=$1 pattern=$2 out status
    shift 2
    out=$("$golden" "$@" 2>&1)
    status=$?
    if [ "$status" != "$want" ] || ! grep -q -e "$pattern" <<<"$out"; then
        printf 'golden %s: exit %s, expected %s and "%s" in:\n%s\n' "$*" "$status" "$want" "$pattern" "$out"
        failures=$((failures + 1))
    fi
}

all=$(ls "$data" | wc -l)
expect 0 "^$((all - 1)) of $all cases equal$" "$data"
expect 0 "^rule-async (2.15): known to differ: " "$data"
expect 0 "^1 of 1 cases equal$" "$data" -k rule-retry
expect 0 "^rule-retry (2.15): equal$" "$data" -k rule-retry --verbose
gzip -nc "$data/rule-seg-10m.json" >"$work/case.json.gz"
expect 0 "^1 of 1 cases equal$" "$data/rule-seg-10m.json"
expect 0 "^1 of 1 cases equal$" "$work/case.json.gz"

# A changed record: the case is named with the first difference.
mkdir "$work/changed" "$work/empty" "$work/broken"
sed 's/"num_ooms": *0/"num_ooms": 1/' "$data/rule-seg-10m.json" >"$work/changed/case.json"
expect 1 "^rule-seg-10m (2.15): memory_stats\[0\].num_ooms: expected 1, got 0$" "$work/changed"
expect 1 "^0 of 1 cases equal$" "$work/changed"

# A case that is listed as known to differ, and does not: the list must shrink.
sed 's/"case": *"rule-seg-10m"/"case": "rule-async"/' "$data/rule-seg-10m.json" >"$work/changed/case.json"
expect 1 "^rule-async (2.15): equal, but listed as known to differ: " "$work/changed"

printf '{"case"' >"$work/broken/case.json"
expect 2 "broken/case.json: " "$work/broken"
expect 2 "no such cases" "$work/empty"
expect 2 "no such cases" "$data" -k no-such-name
expect 2 "No such file" "$work/absent"
expect 77 "skipped" "$work/absent" --skip-absent
expect 2 "usage" --no-such-option "$data"
expect 2 "usage"

[ "$failures" = 0 ]
