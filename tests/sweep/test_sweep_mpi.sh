#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay sweep under mpirun: the ranks' database is that of a single process.
set -u
replay=$1
samples=$3/samples
command -v mpirun >/dev/null || { echo "SKIP: needs MPI: mpirun is not installed"; exit 77; }
[ -e "$(dirname "$replay")/mpi/libreplay-mpi.so" ] || { echo "SKIP: needs MPI: built without it"; exit 77; }
. "$3/tests/shell.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS=detect_leaks=0              # MPI's own start leaks

ranks() {
    timeout -s KILL 300 mpirun --oversubscribe -n "$@"
}

# rows DATABASE FILE: its runs as CSV
rows() {
    rm -f probe.db*
    "$replay" merge "$1" -o probe.db --csv "$2" >/dev/null 2>&1
}

mkdir many
for i in $(seq 8); do cp "$samples/gpt-bf16.trace.zst" "many/$i.trace"; done
echo '{}' >many/notes.json
readonly sweep=("$replay" sweep many --policy 'pytorch:max-split={none,32,64}MiB,gc={off,0.6}' --policy none
                --device 'sim:{40,300}MiB')

"${sweep[@]}" -o one.db >out 2>&1 || fail "a single process: $(cat out)"
rows one.db one.csv
[ "$(wc -l <one.csv)" = 113 ] || fail "the database holds $(wc -l <one.csv) lines, not 113"

# ---- two and four ranks ----
for n in 2 4; do
    ranks "$n" "${sweep[@]}" -o "ranks$n.db" >out 2>err || fail "$n ranks: $(cat out err)"
    grep -q '^112 runs: 112 done now, 0 there already; 1 file is not a trace' out || fail "$n ranks say: $(head -1 out)"
    [ "$(grep -c 'left out: many/notes.json' err)" = 1 ] || fail "$n ranks complain: $(cat err)"
    rows "ranks$n.db" "ranks$n.csv"
    cmp -s one.csv "ranks$n.csv" || fail "$n ranks' results differ from a single process's"
done
ranks 2 "${sweep[@]}" -o ranks2.db >out 2>err || fail "a second start: $(cat out err)"
grep -q '^112 runs: 0 done now, 112 there already' out || fail "a second start says: $(cat out err)"

# ---- a part each, and a job file ----
for i in 1 2; do ranks 2 "${sweep[@]}" -o "part$i.db" --shard "$i/2" >/dev/null 2>&1 || fail "ranks of shard $i"; done
"$replay" merge part1.db part2.db -o parts.db >/dev/null 2>&1
rows parts.db parts.csv
cmp -s one.csv parts.csv || fail "the ranks' shards merged differ from a single process's"
"${sweep[@]}" -o job.db --show-job >job.ini
ranks 2 "$replay" sweep job.ini >out 2>&1 || fail "a job file: $(cat out)"
rows job.db job.csv
cmp -s one.csv job.csv || fail "a job file's results differ"

# ---- killed, and gone on with ----
killed=killed-$$.db                            # a name that no other process has: all ranks are found by it
for delay in 0.3 0.5 0.7; do
    ranks 3 "${sweep[@]}" -o "$killed" >/dev/null 2>&1 &
    sleep "$delay"
    pkill -9 -f "$killed"
    wait
done
"${sweep[@]}" -o "$killed" >out 2>&1 || fail "after kills: $(cat out)"
rows "$killed" killed.csv
cmp -s one.csv killed.csv || fail "after three kills the results differ"

# ---- interrupted: rank 0 closes the database, and the same command goes on. mpirun kills it after a second, on a busy
# machine before it has, unless it is told to wait ----
"$replay" generate mix:1000 --events 1000000 -o big.trace >/dev/null || fail "generate"
readonly long=("$replay" sweep many big.trace --policy none --policy best-fit --device 'sim:{40,300}MiB' -o cut.db)
setsid env --default-signal=INT timeout -s KILL 300 mpirun --oversubscribe \
    --mca odls_base_sigkill_timeout 15 -n 3 "${long[@]}" >out 2>&1 &
pid=$!
for ((i = 0; i < 3000; i++)); do [ -e cut.db-shm ] && break; sleep 0.01; done
kill -TERM "$(pgrep -P "$pid" -x mpirun || echo "$pid")"
wait "$pid" && fail "an interrupted sweep of ranks ends with 0: $(cat out)"
for ((i = 0; i < 6000; i++)); do [ -e cut.db-shm ] || break; sleep 0.01; done
[ "$(echo cut.db*)" = cut.db ] || fail "an interrupted sweep of ranks leaves $(echo cut.db*)"
"${long[@]}" >out 2>&1 || fail "after an interrupt: $(cat out)"
grep -q '^36 runs: ' out || fail "after an interrupt: $(cat out)"

# ---- what cannot begin ends everywhere ----
ranks 3 "$replay" sweep nowhere --policy none -o x.db >out 2>&1 && fail "a missing folder is no error"
[ "$(grep -c '^replay: nowhere: No such file' out)" = 1 ] || fail "a missing folder: $(cat out)"
ranks 3 "$replay" sweep many --policy none -o nowhere/x.db >out 2>&1 &&
    fail "a database in a missing folder is no error"
grep -q '^replay: nowhere/x.db: cannot be written: No such file' out ||
    fail "a database in a missing folder: $(cat out)"

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
