#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# --device cuda at the command line, on the simulated CUDA: the same as sim, every refusal, signals, what is missing.
set -u
replay=$1
libraries=$2/cudasim
samples=$3/samples
script=$3/tests/gpu/run
. "$3/tests/shell.sh"
if [ ! -e "$libraries/libcuda.so.1" ]; then
    echo "SKIP: needs the simulated CUDA, which was not built"
    exit 77
fi

# on_card CARD ARGUMENT...: the program with a simulated card behind its driver; leaves `status`, the files out and err
on_card() {
    local card=$1
    shift
    LD_LIBRARY_PATH=$libraries REPLAY_CUDASIM_DEVICE=$card "$replay" "$@" >out 2>err </dev/null
    status=$?
    grep -q 'Sanitizer\|runtime error' err && fail "on $card, replay $*: $(cat err)"
}

# expect STATUS PATTERN FILE: of the run before
expect() {
    [ "$status" = "$1" ] && grep -q -e "$2" "$3" ||
        fail "exit $status, expected $1 and '$2' in $3: $(tail -n 20 out) $(cat err)"
}

# What cudaMemGetInfo said was free before anything was held is free again at the end: in every run of a JSON report.
expect_nothing_left() {
    awk -v name="$1" '
        /"(idle|peak|end)": \{/ { at = $1 }
        /"free_bytes": / {
            if (at == "\"idle\":") idle = $2
            if (at == "\"end\":" && $2 != idle) bad = 1
            if (at != "") n++
        }
        /^ *\},?$/              { at = "" }
        END { exit n == 0 || bad }' "$1" || fail "$2: memory was left on the card: $(grep -A8 '"idle"\|"end": {' "$1")"
}

# ---- nothing there ----
"$replay" "$samples/530-270.trace.zst" --device cuda >out 2>err; status=$?
if [ "$status" = 0 ] || [ "$status" = 1 ]; then
    echo "there is a real driver here: what is said without one was not looked at"
else
    expect 2 '^replay: no CUDA' err
    [ -s out ] && fail "without a driver: there is output: $(cat out)"
fi
mkdir broken
: >broken/libcuda.so.1
LD_LIBRARY_PATH=broken "$replay" "$samples/530-270.trace.zst" --device cuda >out 2>err; status=$?
expect 3 "the CUDA driver's library cannot be opened: .*libcuda.so.1: file too short" err
on_card sim:24GiB "$samples/530-270.trace.zst" --device cuda:7
expect 2 'cuda:7: this host has 1' err
on_card sim:24GiB "$samples/530-270.trace.zst" --touch
expect 2 'a real card' err
on_card sim:24GiB "$samples/530-270.trace.zst" --device cuda --start faithful
expect 2 'a real card does not give' err
for command in fit tune stats; do
    on_card sim:24GiB $command "$samples/530-270.trace.zst" --device cuda
    expect 2 "the simulated device 'sim' is needed" err
done

# ---- the same as sim ----
on_card sim:24GiB,context=400MiB,others=2GiB "$samples/gpt-varlen-default.trace.zst" --policy gc=0.8 --policy none \
    --policy pytorch:expandable --device sim --device cuda:0 --touch --json ab.json
expect 0 'gc=0.8 on sim and on cuda:0: same 37 calls' out
expect 0 'none on sim and on cuda:0: same 3,567 calls' out
expect 0 '400 MiB context + 2048 MiB others = .*(+0.00%)' <(tr -s '\n ' '  ' <out)
expect_nothing_left ab.json 'sim and cuda'
on_card sim:24GiB "$samples/530-270.trace.zst" --policy best-fit --device sim:2GiB --device cuda:0,limit=3GiB
expect 1 'first difference at call' out
on_card sim:24GiB "$samples/530-270.trace.zst" --policy best-fit --device cuda:0,limit=2GiB --device sim:2GiB
expect 1 'best-fit on cuda:0,limit=2GiB and on sim:2GiB: same 5 calls' out

# ---- whichever runtime library there is ----
for version in 11.0 12 13 none; do
    used=libcudart.so.$version
    mkdir "only-$version"
    cp "$libraries"/libcuda.so.1 "$libraries"/libnvidia-ml.so.1 "$libraries"/libreplay-cudasim.so "only-$version"
    cp "$libraries/$used" "only-$version" 2>/dev/null || used='no runtime library'
    LD_LIBRARY_PATH=only-$version "$replay" "$samples/mlp-sgd.trace.zst" --policy best-fit --policy pytorch:expandable \
        --device sim --device cuda >out 2>err; status=$?
    expect 0 'best-fit on sim and on cuda: same' out
    grep -q "$used)" out || fail "$used: something else was used: $(grep Measured out)"
done

# ---- the n-th growing call refused, for every n ----
n=1
while [ $n -le 40 ]; do
    REPLAY_CUDASIM_FAIL_FROM=$n on_card sim:24GiB "$samples/mlp-sgd.trace.zst" --policy best-fit --on-oom skip \
        --device cuda --json refused.json
    [ "$status" = 0 ] && break
    expect 1 'best-fit' out
    expect_nothing_left refused.json "refused from call $n on"
    n=$((n + 1))
done
[ "$status" = 0 ] && [ $n -gt 3 ] || fail "refusals: the last of them was at call $n, exit $status"

# ---- signals ----
# Some way into a run, as long as it takes on this machine: where that is before the card is opened, or behind the last
# event, nothing is held, and the next one tells more.
"$replay" generate mix:200 --events 400000 -o long.trace
policies="--policy none --policy pytorch:expandable"
for mib in 21 22 23 24 25 26 27 28 29 30; do
    policies="$policies --policy pytorch:max-split=${mib}MiB"
done
run_long() {
    LD_LIBRARY_PATH=$libraries "$@" "$replay" long.trace $policies --device cuda --json cut.json >out 2>err </dev/null
}
begin=$(date +%s%N)
run_long env || fail "the long run: $(cat err)"
whole=$(($(date +%s%N) - begin))
interrupted=0
for tenth in 5 3 7 4 6 8 9; do
    [ $interrupted -gt 1 ] && break
    delay=$(awk "BEGIN { print $whole * $tenth / 1e10 }")
    for signal in INT:130 TERM:143; do
        rm -f cut.json
        run_long timeout --preserve-status -s ${signal%:*} "$delay"
        status=$?
        [ "$status" = 0 ] && continue
        [ "$status" = "${signal#*:}" ] || fail "SIG${signal%:*} after $delay s: exit $status: $(cat err)"
        [ -e cut.json ] || continue
        [ "$(grep -c '"outcome": "ok"' cut.json)" = 12 ] && continue
        interrupted=$((interrupted + 1))
        expect "${signal#*:}" 'ended by signal' err
        grep -q 'the run was interrupted' cut.json || fail "SIG${signal%:*} after $delay s: the report does not say so"
        expect_nothing_left cut.json "SIG${signal%:*} after $delay s"
    done
done
[ $interrupted -gt 0 ] || fail "no run was interrupted while it held memory"

# ---- calibration ----
on_card sim:4GiB --device cuda --calibrate --json cal.json
expect 0 '--device sim:4096MiB,alloc_ns=[0-9]*,free_ns=[0-9]*,map_ns=[0-9]*,unmap_ns=[0-9]*' out
printed=$(sed -n 's/^  --device //p' out)
"$replay" "$samples/530-270.trace.zst" --policy best-fit --device "$printed" >out 2>err; status=$?
expect 0 'best-fit' out
on_card sim:4GiB --device sim --calibrate
expect 2 'measures a real card' err
on_card sim:4GiB --calibrate "$samples/530-270.trace.zst" --device cuda
expect 2 'takes no file' err

# ---- the script for a real card ----
if command -v python3 >/dev/null; then
    LD_LIBRARY_PATH=$libraries REPLAY_CUDASIM_DEVICE=sim:24GiB,context=400MiB PYTHONDONTWRITEBYTECODE=1 \
        python3 "$script" --replay "$replay" --report report.md --skip signals --skip full --skip thief \
        "$samples/mlp-sgd.trace.zst" "$samples/530-270.trace.zst" >out 2>err; status=$?
    expect 0 '^ok  *sim against cuda, the same calls: 12 runs' out
    expect 0 '^ok  *the memory that nvidia-smi shows is explained to 1 %' out
    grep -q '^| calibration | ok |' report.md || fail "the report has no calibration: $(cat report.md err)"
else
    echo "python3 is not installed: tests/gpu/run was not tried"
fi

[ $failures = 0 ] || { echo "$failures failures"; exit 1; }
echo "all as it should be"
