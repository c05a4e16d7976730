#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# What `bench/run --check` calls slower, and what it does not: noise, a slower machine, what was not measured again.
#
#     test_bench_check.sh REPLAY BUILD SOURCE
set -u
check=$(cd "$3" && pwd)/bench/check.py
source "$3/tests/shell.sh"

# table FILE ROW...: a table of results; a row is measure,case,metric,median,least,greatest
table() {
    local file=$1 row
    shift
    echo 'measure,case,metric,unit,median,min,max,n' >"$file"
    for row; do
        awk -F, -v OFS=, '{ print $1, $2, $3, "1/s", $4, $5, $6, 21 }' <<<"$row" >>"$file"
    done
}

# checked STATUS NUMBER-OF-SLOWER OF: of before.csv and after.csv
checked() {
    local status=0
    python3 "$check" before.csv after.csv >out 2>&1 || status=$?
    if [ "$status" != "$1" ] || ! grep -q "; $2 of $3 figures slower" out; then
        fail "line ${BASH_LINENO[0]}: exit $status, expected $1 and $2 of $3 in: $(cat out)"
    fi
}

before=(machine,engine,zstd_plain_events_per_s,200,150,250 engine,mix:2000,pytorch_events_per_s,20,15,25
        machine,torch,zstd_plain_events_per_s,200,150,250 torch,mix:2000,replay_ns,50,40,70)
table before.csv "${before[@]}"

cp before.csv after.csv
checked 0 0 0

table after.csv "${before[0]}" engine,mix:2000,pytorch_events_per_s,17,13,21.2 \
    "${before[2]}" torch,mix:2000,replay_ns,58,47,80
checked 1 2 2
grep -q '+18% time: engine, mix:2000, pytorch_events_per_s' out || fail "how much is not said: $(cat out)"

# A bad hour: half of the repetitions suffered, and some did not.
table after.csv "${before[0]}" engine,mix:2000,pytorch_events_per_s,16,13,24.5 \
    "${before[2]}" torch,mix:2000,replay_ns,60,41,80
checked 0 0 2
[ "$(grep -c 'but not the best repetition' out)" = 2 ] || fail "the medians are not named: $(cat out)"

# Another machine, half as fast; of one section only.
table after.csv machine,engine,zstd_plain_events_per_s,100,75,125 engine,mix:2000,pytorch_events_per_s,10,7.5,12.5 \
    "${before[2]}" "${before[3]}"
checked 0 0 2

# A faster machine hides nothing.
table after.csv machine,engine,zstd_plain_events_per_s,300,225,375 engine,mix:2000,pytorch_events_per_s,20,15,25.1 \
    "${before[2]}" "${before[3]}"
checked 1 1 2

# Kept from the run before, on that faster machine.
table after.csv machine,engine,zstd_plain_events_per_s,300,225,375 engine,mix:2000,pytorch_events_per_s,30,22,37 \
    machine,torch,zstd_plain_events_per_s,300,225,375 "${before[3]}"
checked 0 0 3

# Neighbours in the caches: what only reads memory suffered as much, and zstd did not. In torch it suffered less.
table before.csv "${before[@]}" engine,mix:2000,lines_per_s,10,8,11 torch,mix:2000,torch_ns,500,400,600
table after.csv "${before[0]}" engine,mix:2000,pytorch_events_per_s,15,12,18.5 \
    "${before[2]}" torch,mix:2000,replay_ns,66,52,90 engine,mix:2000,lines_per_s,7.2,6,8 \
    torch,mix:2000,torch_ns,580,465,690
checked 1 1 4
grep -q '+14% time: torch, mix:2000, replay_ns' out || fail "not measured by what stands beside it: $(cat out)"

# A neighbour who came for one case only: zstd suffered there as much, and nowhere else.
table before.csv "${before[@]}" engine,mix:2000,zstd_plain_events_per_s,40,30,50 engine,mix:2000,lines_per_s,10,8,11
table after.csv "${before[0]}" engine,mix:2000,pytorch_events_per_s,15,12,18.5 "${before[@]:2}" \
    engine,mix:2000,zstd_plain_events_per_s,30,24,37 engine,mix:2000,lines_per_s,10,8,11
checked 0 0 2

# What is not ours may get slower.
table before.csv torch,mix:2000,torch_ns,500,400,600
table after.csv torch,mix:2000,torch_ns,900,800,950
checked 0 0 1
[ "$failures" = 0 ]
