#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Every command that gives figures of a recording which ends in a refusal says that they are lower bounds, and none says
# so of a recording without one. A figure beyond the recorded values of `extrapolate` has its condition before it.
set -uo pipefail
replay=$1
samples=$3/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() { printf 'FAIL: %s\n' "$*"; failures=$((failures + 1)); }

# says WANTED ARGUMENTS...: whether the answer speaks of lower bounds, on any screen.
says() {
    local want=$1 got=no
    shift
    "$replay" "$@" >out 2>&1 || (( $? == 1 )) || fail "replay $*: $(cat out)"
    [[ $(tr -s ' \n' ' ' <out) != *"figures are lower bounds"* ]] || got=yes
    [[ $got == "$want" ]] || fail "replay $*: speaks of lower bounds: $got, not $want: $(cat out)"
}

# each WANTED TRACE: asks all commands.
each() {
    local want=$1 trace=$2
    says "$want" "$trace"
    says "$want" "$trace" --policy none
    says "$want" why "$trace"
    says "$want" fit "$trace"
    says "$want" tune "$trace"
    says "$want" tune --host "$trace"
    says "$want" plan "$trace"
    says "$want" technique "$trace" --optimizer sgd
    says "$want" extrapolate "$trace:batch=1" "$trace:batch=2" --to batch=3
    says "$want" diff "$trace" "$trace"
    says "$want" diff "$trace" --policy best-fit --policy none
    says "$want" --share "$trace" --device 8GiB
    says "$want" sweep "$trace" --policy best-fit -o "$want.db"
    says "$want" report "$want.db" --md -
    mkdir -p "$want" && cp "$trace" "$want/job-rank0.trace.zst" && cp "$trace" "$want/job-rank1.trace.zst"
    says "$want" "$want"
}

each yes "$samples/oom-too-large.trace.zst"
each no "$samples/gpt-fp32.trace.zst"

# begins TEXT ARGUMENTS...: the answer of extrapolate, from recordings of batches 16, 24 and 32
data=$3/tests/data/extrapolate/too_large
begins() {
    local text=$1
    shift
    "$replay" extrapolate "$data-16.trace.zst:batch=16" "$data-24.trace.zst:batch=24" "$data-32.trace.zst:batch=32" \
        "$@" >out 2>&1
    [[ $(tr -s ' \n' ' ' <out) == "$text"* ]] || fail "extrapolate $* does not begin '$text': $(cat out)"
}
begins 'batch=28 reserves ' --to batch=28
begins 'If the program takes the same way there, batch=64 reserves ' --to batch=64
begins 'If the program takes the same way there, batch=' --device 24GiB
exit "$((failures > 0))"
