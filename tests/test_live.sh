#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The live allocator (libreplay-alloc.so) on the simulated CUDA makes the same driver calls, one by one, as a replay of
# the same requests makes on the simulated device.
set -u
replay=$1
build=$2
source=$3
. "$(dirname "$0")/shell.sh"
find_asan "$build"
export XDG_CACHE_HOME=$work/cache

# live POLICY DEVICE [MIB]: runs the program and compares its driver calls with those of a replay of its requests.
live() {
    local policy=$1 device=$2
    rm -rf driver.trace log
    if ! REPLAY_POLICY=$policy LD_PRELOAD=$asan "$replay" record -o driver.trace --simulate "$device" -- \
            "$build/tests/record/live_program" "$build/libreplay-alloc.so" log "${3-40}" >out 2>&1; then
        fail "$policy on $device: $(cat out)"
        return
    fi
    if ! "$build/tests/compare_calls" driver.trace "$policy" "$device" log live >same 2>&1; then
        fail "$policy on $device: $(cat same)"
    fi
    printf '%s on %s: %s; %d refused\n' "$policy" "$device" "$(cat same)" "$(grep -c '^O' log)"
}

cc -std=c11 -fPIC -shared -O2 -D_GNU_SOURCE -I "$source" -o page_fit.so "$source/examples/policy/page_fit.c" || exit 1
live pytorch sim:24GiB
live pytorch:max-split=32MiB sim:24GiB
live none sim:24GiB
live ./page_fit.so:page=64KiB sim:24GiB
live pytorch sim:512MiB 120
grep -q '^O' log || fail 'nothing was refused on a small card'
grep -q 'out of memory: CUDA out of memory\. Tried to allocate' out || fail "a refusal is not told: $(cat out)"

live ./page_fit.so:page=64KiB sim:512MiB 120
grep -q '^O' log || fail 'nothing was refused on a small card by a plugin'
grep -q 'replay_alloc: page-fit: no memory on the card for a request of' out || fail "a refusal is not told: $(cat out)"

# Wrong settings are reported, and nothing is placed.
REPLAY_POLICY=nonsense LD_PRELOAD=$asan "$replay" run-sim --device sim:1GiB -- \
    "$build/tests/record/live_program" "$build/libreplay-alloc.so" log >out 2>&1
if grep -q '^[AF]' log || ! grep -q "replay_alloc: .*nonsense" out; then
    fail "a policy that does not exist: $(head -5 out)"
fi

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
