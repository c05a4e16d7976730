#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Every command that gives figures of a recording which ends in a refusal says that they are lower bounds, and none says
# so of a recording without one.
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
exit "$((failures > 0))"
