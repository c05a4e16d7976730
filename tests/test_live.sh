#!/usr/bin/env bash
# The live allocator (libreplay-alloc.so) on the simulated CUDA: what it asks of the driver is what a replay of the same
# requests asks of the simulated device, call by call.
set -u
replay=$1
build=$2
source=$3
if nm -D "$build/cudasim/libcuda.so.1" | grep -q __asan; then
    asan=$(cc -print-file-name=libasan.so)           # what is instrumented needs it in programs that are not
    export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
cd "$work" || exit 1
failures=0

# live POLICY DEVICE [MIB]: runs the program, and holds its driver calls against a replay of its requests.
live() {
    local policy=$1 device=$2
    rm -rf driver.trace log
    if ! REPLAY_POLICY=$policy LD_PRELOAD=${asan-} "$replay" record -o driver.trace --simulate "$device" -- \
            "$build/tests/record/live_program" "$build/libreplay-alloc.so" log "${3-40}" >out 2>&1; then
        printf 'FAILED: %s on %s: %s\n' "$policy" "$device" "$(cat out)"
        failures=$((failures + 1))
        return
    fi
    if ! "$build/tests/compare_calls" driver.trace "$policy" "$device" log live >same 2>&1; then
        printf 'FAILED: %s on %s: %s\n' "$policy" "$device" "$(cat same)"
        failures=$((failures + 1))
    fi
    printf '%s on %s: %s; %d refused\n' "$policy" "$device" "$(cat same)" "$(grep -c '^O' log)"
}

cc -std=c11 -fPIC -shared -O2 -D_GNU_SOURCE -I "$source" -o page_fit.so "$source/examples/policy/page_fit.c" || exit 1
live pytorch sim:24GiB
live pytorch:max-split=32MiB sim:24GiB
live none sim:24GiB
live ./page_fit.so:page=64KiB sim:24GiB
live pytorch sim:512MiB 120
grep -q '^O' log || { printf 'FAILED: nothing was refused on a small card\n'; failures=$((failures + 1)); }
grep -q 'out of memory: CUDA out of memory\. Tried to allocate' out ||
    { printf 'FAILED: a refusal is not told: %s\n' "$(cat out)"; failures=$((failures + 1)); }

# Wrong settings are told, and nothing is placed.
REPLAY_POLICY=nonsense LD_PRELOAD=${asan-} "$replay" run-sim --device sim:1GiB -- \
    "$build/tests/record/live_program" "$build/libreplay-alloc.so" log >out 2>&1
if grep -q '^[AF]' log || ! grep -q "replay_alloc: .*nonsense" out; then
    printf 'FAILED: a policy that does not exist: %s\n' "$(head -5 out)"
    failures=$((failures + 1))
fi

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
