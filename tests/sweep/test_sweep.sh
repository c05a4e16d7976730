#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay sweep and merge: nothing finished is lost when it is killed, and parts put together are the whole.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

# rows DATABASE FILE: its runs as CSV
rows() {
    rm -f probe.db*
    "$replay" merge "$1" -o probe.db --csv "$2" >/dev/null 2>&1
}

mkdir -p job/rank0 job/rank1 many
cp "$samples/gpt-fp32.trace.zst" job/rank0/a.trace
cp "$samples/gpt-varlen-default.trace.zst" job/rank1/a.trace
echo '{}' >job/notes.json
printf 'policy = none\ntrace = job\nout = ignored.db\n' >beside.ini
for i in $(seq 24); do cp "$samples/cnn.trace.zst" "many/$i.trace"; done
readonly sweep=(sweep many --policy 'pytorch:max-split={none,32,64}MiB,gc={off,0.6}' --policy none
                --device 'sim:{40,300}MiB')

# ---- a whole sweep, and a second start of it ----
expect 0 '^336 runs: 336 done now, 0 there already' "${sweep[@]}" -o whole.db
expect 0 '^336 runs: 0 done now, 336 there already' "${sweep[@]}" -o whole.db
expect 0 '^336 runs: 0 done now, 336 there already' "${sweep[@]}" -o whole.db --resume
expect 2 'nothing.db: is not there' "${sweep[@]}" -o nothing.db --resume
expect 2 'the database is a file' "${sweep[@]}" -o -
rows whole.db whole.csv
[ "$(wc -l <whole.csv)" = 337 ] || fail "the database holds $(wc -l <whole.csv) lines, not 337"

# ---- the numbers are those of a single replay ----
"$replay" many/7.trace --policy none --device sim:300MiB --csv one.csv >/dev/null 2>&1
grep '^[^,]*,[^,]*,.*many/7.trace,.*,none,none,sim:300MiB' whole.csv | grep -q -F -e "$(tail -1 one.csv)" ||
    fail "a sweep's row differs from the replay's: $(tail -1 one.csv)"

# ---- the summary names what a report names ----
expect 0 '^gpt-varlen-default  sim:rtx3070-8g  *2 of 2  best-fit  *242 MiB  *1  192.47 MiB' \
    sweep "$samples/gpt-varlen-default.trace.zst" --policy best-fit --policy none -o two.db
expect 0 'best-fit needs least memory: 242 MiB of the card' report two.db
expect 0 '^Next: replay report two.db' \
    sweep "$samples/gpt-varlen-default.trace.zst" --policy best-fit --policy none -o two.db
expect 0 '^1.trace .*  pytorch:max-split=none,gc=off  *60 MiB  *[1-9]' \
    sweep many/1.trace --policy 'pytorch:max-split={none,32}MiB,gc={0.6,off}' --policy none -o ties.db
expect 0 'pytorch:max-split=none,gc=off does as well as any: 60 MiB' report ties.db

# ---- without --policy it tries what everybody can set; the table fits a terminal; what ties is not told as a win ----
expect 0 '^4 runs: 4 done now' sweep "$samples/gpt-varlen-default.trace.zst" -o unasked.db
for setting in best-fit expandable_segments:True max_split_size_mb:128 roundup_power2_divisions:4; do
    "$replay" merge unasked.db -o probe2.db --csv - | grep -q ",$setting," || fail "sweep does not try $setting unasked"
done
COLUMNS=80 "$replay" sweep "$samples"/{gpt-varlen-default,530-270,oom-leak}.trace.zst --device '{240MiB,8GiB}' \
    -o narrow.db >out 2>&1 || fail "a sweep of three traces: $(cat out)"
awk 'length($0) > 80' out | grep . && fail "a sweep's answer has lines of more than 80 columns"
grep -q '^gpt-varlen-default *8GiB *4 of 4 .* 242 MiB *4$' out || fail "ties are not counted: $(cat out)"
grep -q '^oom-leak *8GiB .*MiB+ ' out || fail "a cut recording has a figure that is not a lower bound: $(cat out)"
grep -q '^oom-leak *240MiB *0 of 4  - ' out || fail "no setting survives, and one is named: $(cat out)"
expect 0 'replay report results.db' sweep --help

# ---- parts put together ----
for i in 1 2 3; do expect 0 'done now' "${sweep[@]}" -o "part$i.db" --shard "$i/3"; done
expect 0 '^all.db: 336 runs' merge part1.db part2.db part3.db -o all.db --csv all.csv
cmp -s all.csv whole.csv || fail "three parts merged differ from the whole"
expect 0 'part1.db: 0 new runs' merge part1.db -o all.db

# ---- of inputs that cannot all be had nothing new is made, and what was there stays ----
expect 2 'nothere.db: cannot be opened' merge part1.db nothere.db -o half.db
[ -z "$(ls half.db* 2>/dev/null)" ] || fail "a merge that failed leaves $(ls half.db*)"
expect 2 'nothere.db: cannot be opened' merge part1.db nothere.db -o part2.db
expect 0 '^part2.db: 0 new runs' merge part2.db -o all.db

# ---- a run that cannot differ from another has the row that it has alone ----
mkdir few
cp "$samples"/{gpt-varlen-maxsplit,gpt-varlen-expand,gpt-eval-emptycache,mlp-ckpt}.trace.zst few
runs=0
for policy in \
    pytorch:version=2.{6,15},max-split={none,32MiB,64MiB},gc={off,0.6},fraction={off,0.4},expandable={off,on} none
do
    for device in sim:{300MiB,1GiB,40GiB}; do
        expect 0 '^4 runs: 4 done now, 0 there already$' sweep few --policy "$policy" --device "$device" \
            --on-oom skip -o alone.db
        runs=$((runs + 4))
    done
done
expect 0 "^$runs runs: $runs done now, 0 there already; [1-9][0-9]* could not differ" sweep few --policy none --policy \
    'pytorch:version=2.{6,15},max-split={none,32MiB,64MiB},gc={off,0.6},fraction={off,0.4},expandable={off,on}' \
    --device 'sim:{300MiB,1GiB}' --device sim:40GiB --on-oom skip -o together.db
expect 0 '^together.db: 0 new runs' merge together.db -o alone.db                   # refuses one with other figures
rows alone.db alone.csv
rows together.db together.csv
[ "$(wc -l <alone.csv)" = $((runs + 1)) ] || fail "$(wc -l <alone.csv) lines, not $((runs + 1))"
cmp -s alone.csv together.csv || fail "runs have other rows together than alone"
for db in alone together; do
    python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute("SELECT key, details FROM runs ORDER BY key"): print(row)' $db.db \
        >$db.details || fail "$db.db cannot be read"
done
cmp -s alone.details together.details || fail "runs have other options or remarks together than alone"

# ---- a job file does the same ----
"$replay" "${sweep[@]}" -o fromjob.db --show-job >job.ini || fail "--show-job"
expect 0 '^336 runs: 336 done now' sweep job.ini
expect 2 'is a job file already' sweep job.ini --show-job
rows fromjob.db job.csv
cmp -s job.csv whole.csv || fail "a job file's results differ"

expect 0 '^1 runs: 1 done now' sweep beside.ini -o beside.db --shard 1/3
expect 0 '^1 runs: 1 done now' sweep beside.ini -o beside.db --shard 2/3
[ ! -e ignored.db ] || fail "-o beside a job file does not go before the file's"

# ---- the Slurm script's parts, without Slurm ----
for i in 1 2 3; do
    REPLAY=$replay SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=3 bash "$3/examples/slurm/sweep.sbatch" job.ini \
        >/dev/null 2>&1 || fail "the Slurm script, task $i"
done
expect 0 '^slurm.db: 336 runs' merge results-1.db results-2.db results-3.db -o slurm.db --csv slurm.csv
cmp -s slurm.csv whole.csv || fail "the Slurm script's parts differ from the whole"

# ---- ranks ----
expect 0 '^job, best-fit on sim:1GiB: worst of 2 ranks is rank 1, .* reserved; spread ' \
    sweep job --policy best-fit --device sim:1GiB -o ranks.db
expect 0 '1 file is not a trace' sweep job --policy none -o ranks.db

# ---- interrupted: it says how far it came, and goes on there ----
"$replay" generate mix:1000 --events 2000000 -o big.trace >/dev/null || fail "generate"
readonly long=(sweep many/1.trace big.trace --policy 'pytorch:max-split={none,32,64}MiB' --policy none
               --device 'sim:{64,300}GiB' -o interrupted.db --threads 1)
env --default-signal=INT "$replay" "${long[@]}" >out 2>&1 &        # a shell ignores it for what is in the background
pid=$!
for ((i = 0; i < 2000; i++)); do [ -s interrupted.db ] && break; sleep 0.05; done
sleep 0.1
kill -INT "$pid"
wait "$pid"
status=$?
[ "$status" = 130 ] || fail "interrupted, a sweep ends with $status: $(cat out)"
rows interrupted.db now.csv
stored=$(($(wc -l <now.csv) - 1))
grep -q "ended by signal 2: $stored of 16 runs stored; the same command goes on\$" out ||
    fail "interrupted with $stored runs stored, a sweep says: $(cat out)"
expect 0 "^16 runs: $((16 - stored)) done now, $stored there already" "${long[@]}"
"$replay" sweep "${long[@]:1:8}" -o straight.db --threads 1 >/dev/null 2>&1
rows interrupted.db now.csv
rows straight.db straight.csv
cmp -s now.csv straight.csv || fail "after an interruption the results differ"

# ---- killed twenty times ----
RANDOM=7
kills=0 seen=0 most=0 unseen=0
: >seen.csv
for ((turn = 0; kills < 20 && turn < 400; turn++)); do
    "$replay" "${sweep[@]}" -o killed.db >/dev/null 2>&1 &
    pid=$!
    delay=$((20 + RANDOM % 120 + 50 * unseen))              # a busy machine needs longer to finish a run
    sleep "$((delay / 1000)).$(printf '%03d' $((delay % 1000)))"
    if kill -9 "$pid" 2>/dev/null; then
        kills=$((kills + 1)) unseen=$((unseen + 1))
        wait "$pid" 2>/dev/null
        if rows killed.db now.csv; then
            grep -v -x -F -q -f whole.csv now.csv && fail "kill $kills: a run is not what it should be"
            grep -v -x -F -q -f now.csv seen.csv && fail "kill $kills: a finished run was lost"
            cp now.csv seen.csv
            seen=$(wc -l <now.csv)
            [ "$seen" -gt "$most" ] && most=$seen
            unseen=0
        elif [ "$seen" -gt 0 ]; then
            fail "kill $kills: the database cannot be read any more"
        fi
    else
        wait "$pid" 2>/dev/null
    fi
    if [ "$seen" -ge 337 ] || { [ -f killed.db ] && ! kill -0 "$pid" 2>/dev/null && rows killed.db now.csv &&
                                [ "$(wc -l <now.csv)" -ge 337 ]; }; then
        rm -f killed.db*                        # it had come to its end: from the start again
        : >seen.csv
        seen=0
    fi
done
[ "$kills" = 20 ] || fail "only $kills of 20 kills met a running sweep"
[ "$most" -gt 1 ] || fail "no kill came after a finished run"
expect 0 '^336 runs: ' "${sweep[@]}" -o killed.db
rows killed.db now.csv
cmp -s now.csv whole.csv || fail "after twenty kills the results differ from the whole"

# ---- an interrupted report of a database leaves none of SQLite's files beside it ----
cp whole.db large.db
python3 - <<'PY'
import sqlite3
db = sqlite3.connect("large.db")
columns = [c[1] for c in db.execute("PRAGMA table_info(runs)")]
rest = ",".join(c for c in columns if c != "key")
for _ in range(6):
    db.execute(f"INSERT INTO runs(key,{rest}) SELECT lower(hex(randomblob(32))),{rest} FROM runs")
db.commit()
PY
env --default-signal=INT "$replay" report large.db >out 2>&1 &
pid=$!
for ((i = 0; i < 2000; i++)); do [ -e large.db-shm ] && break; sleep 0.001; done
kill -INT "$pid"
wait "$pid"
status=$?
[ "$status" = 130 ] || fail "an interrupted report ends with $status: $(cat out)"
[ "$(echo large.db*)" = large.db ] || fail "an interrupted report leaves $(echo large.db*)"

# ---- wrong usage ----
expect 2 'is missing: it names the database' sweep many --policy none
expect 2 'a brace is not closed' sweep many --policy 'gc={0.5' -o x.db
expect 2 'job.ini: is not a database\|job.ini: file is not a database' merge job.ini -o x.db
expect 2 'a part such as 2/8' sweep many --policy none -o x.db --shard 3/2
expect 2 'beside a job file only' sweep job.ini many/1.trace --policy none -o x.db
printf 'policy\n' >wrong.ini
expect 2 "line 1: expected 'key = value'" sweep wrong.ini
printf 'trace = many/1.trace\nout = x.db\n\npolicy = none\n# the mistake\npolicy = nonesuch\ndevice = sim\n' >wrong.ini
expect 2 'wrong.ini: line 6: .*nonesuch' sweep wrong.ini
printf 'trace = many/1.trace\nout = x.db\npolicy = none\ndevice = {sim\n' >wrong.ini
expect 2 'wrong.ini: line 4: .*brace' sweep wrong.ini
printf 'policy = none\nout = x.db\ntrace = many/1.trace\ntrace = many/nothere\n' >wrong.ini
expect 2 'wrong.ini: line 4: .*nothere' sweep wrong.ini
printf 'trace = many/1.trace\nout = x.db\n\nthreads = 1\nthread = 2\npolicy = none\n' >wrong.ini
expect 2 'wrong.ini: line 5: .*--thread' sweep wrong.ini
printf 'trace = many/1.trace\nout = x.db\nthreads = many\n' >wrong.ini
expect 2 'wrong.ini: line 3: .*many' sweep wrong.ini
head -c 2000 "$samples/gpt-bf16.trace.zst" >cut.trace        # it ends before its first request
expect 2 'left out: cut.trace: holds no request that can be read' sweep cut.trace --policy none -o x.db
expect 5 '1 done now, 0 there already; 1 left out' sweep many/1.trace cut.trace --policy none -o cut.db --quiet
expect 2 'left out: .*notes.json' sweep job/notes.json --policy none -o x.db
expect 5 '1 done now, 0 there already; 1 left out' sweep many/1.trace job/notes.json --policy none -o x.db --quiet
mkdir no-traces
cp job/notes.json no-traces
expect 2 '^0 runs: .*; 1 file is not a trace' sweep no-traces --policy none -o x.db
expect 2 '^0 runs: .*; 1 file is not a trace' sweep no-traces --policy none --copies sizes=2%,seeds=1..3 -o x.db
expect 5 '1 done now, 0 there already; 1 left out' sweep many/1.trace job/notes.json --policy none -o quiet.db --quiet
grep -q 'best setting' out && fail 'a quiet sweep prints its summary'
cp "$replay" alone                              # no part for MPI is beside it, as in a build without
OMPI_COMM_WORLD_SIZE=2 ./alone sweep many --policy none -o x.db >out 2>&1 && fail "a rank of a program without MPI"
grep -q 'was built without MPI: .* --shard' out || fail "a rank of a program without MPI: $(cat out)"

printf '%d kills, %d failures\n' "$kills" "$failures"
[ "$failures" = 0 ]
