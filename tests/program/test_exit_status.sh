#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Exit statuses, the same for every command: 1 bad news about a run, 2 what the person can mend (usage, input), 3 what
# failed in the host or in the program (a full disk, standard output that cannot be written). A table of commands and
# failures; a line that a command cannot meet holds '-'.
set -uo pipefail
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

cp "$samples/mlp-adam.trace.zst" a.zst
cp "$samples/530-270.trace.zst" small.zst
"$replay" snapshot a.zst -o a.pickle || fail "no snapshot to work with"
"$replay" sweep a.zst --policy best-fit --device sim:1GiB -o a.db >/dev/null || fail "no database to work with"
"$replay" a.zst --policy best-fit --device sim:1GiB --json a.json >/dev/null || fail "no results to work with"
cp a.zst b.zst
cp "$3/tests/data/graphs/program.trace.zst" captures.zst
head -c 100 a.zst >cut.zst
printf 'not a trace, not results' >text
printf '{"schema": "other"}' >other.json
cp a.db other.db
sqlite3 other.db "UPDATE runs SET peak_reserved_bytes = peak_reserved_bytes + 1" || fail "no other results"

printf 'op,ptr,size\nalloc,1,8\nalloc,1,8\n' >twice.csv

# ends STATUS ARGUMENT...: one line on stderr if it is an error, and this status
ends() {
    local want=$1 status
    shift
    "$replay" "$@" >out 2>err </dev/null
    status=$?
    [ "$status" = "$want" ] || fail "replay $*: exit $status, expected $want: $(cat err)"
    [ "$want" -lt 2 ] || [ -s err ] || fail "replay $*: exit $want without a word on standard error"
}

# ---- what every command that reads a file does with a wrong one, and with wrong words ----
# A command (its words joined by a slash), and what it needs beside the input.
while read -r command rest; do
    command=${command//\// }
    [ "$command" = replay ] && command=
    # shellcheck disable=SC2086
    for input in no-such-file . text cut.zst other.json; do
        [[ $input == . && ($command == sweep || $command == report || $command == why) ]] && continue    # take folders
        rm -f o.*
        ends 2 $command $input $rest
    done
    # shellcheck disable=SC2086
    ends 2 $command a.zst $rest --no-such-option
done <<'TABLE'
replay
verify
stats
summary
fit
tune
import -o o.zst
snapshot -o o.pickle
sweep --policy none -o o.db
report --html o.html
diff a.zst
merge -o o.db
who
why
graphs
technique --optimizer sgd
technique --states bf16 -o o.zst
plan
plan -o o.csv
blame
shrink --keep differs:none
export --to csv -o o.csv
export --to chrome -o o.json
trace/cut --events 0..9 -o o.zst
trace/resize --scale 2 -o o.zst
trace/repeat --times 2 -o o.zst
trace/shift --by 1s -o o.zst
trace/anonymise -o o.zst
trace/merge a.zst -o o.zst
TABLE
ends 2 info no-such-file
ends 2 info cut.zst
ends 2 info twice.csv
for input in no-such-file . text cut.zst other.json; do
    ends 2 extrapolate $input:batch=1 a.zst:batch=2 --to batch=4
done
ends 2 extrapolate a.zst --to batch=2                    # one recording, without its value
ends 2 extrapolate a.zst:batch=1 a.zst:batch=2           # nothing to foretell
ends 2 graphs a.zst                                      # a recording without captures
ends 2 trace nothing a.zst -o o.zst
ends 2 trace cut a.zst -o o.zst                          # cut where?
ends 2 trace cut a.zst --events 9..3 -o o.zst
ends 2 export a.zst --to nothing -o o.csv
ends 2 export a.zst --to csv                             # where to?
ends 2 plan a.zst --align 3
ends 2 blame a.zst --policy none
ends 2 shrink a.zst
ends 2 shrink a.zst --keep nothing
ends 2 adversary no-such-policy
ends 2 adversary tlsf --device 8GiB
ends 2 generate 530-270
ends 2 generate no-such-load -o o.zst
ends 2 generate like:no-such-file -o o.zst
ends 2 generate serve:requests=no-such-file -o o.zst
ends 2 conform best-fit
ends 2 conform best-fit --as nothing
ends 2 conform ./no-such.so --as cupy
ends 0 conform cupy --as cupy
ends 1 conform none --as cupy                            # it decides otherwise
ends 2 bench-suite .                                    # no sample is here
ends 2 bench-suite . --policy nosuch
ends 0 bench-pools made,n=3 --policy paged
ends 2 bench-pools no-such-file
ends 2 bench-pools made --policy nosuch
ends 2 bench-pools made,block=4096                      # no block fits a page of kvcached
ends 2 conf max_split_size_mb:64 --version 99
ends 2 conf
ends 0 conf max_split_size_mb:64
ends 2 predict
ends 2 predict --device nothing -- true
ends 2 bisect -- true
ends 2 bisect --good nosuch -- true
ends 2 serve -- true
ends 2 serve --device nothing -- true
ends 2 record -o o.zst -- ./no-such-program
ends 3 record -o no/such/folder/o.zst -- true
for command in predict run-sim 'record -o o.zst'; do
    # shellcheck disable=SC2086
    ends 3 $command --json no/such/folder/o.json -- true
done
mkdir ranks other-ranks
for rank in 0 1 2 3; do cp "$3/tests/data/ranks/run.rank$rank.zst" ranks/; done
cp text other-ranks/run.rank0.zst
ends 0 ranks
ends 2 other-ranks

# ---- a disk that is full, and a name that nothing can be written under ----
# A command that works, and the option that names its output.
while read -r option line; do
    for name in /dev/full no/such/folder/o; do
        [ -e "$name" ] || [ "$name" != /dev/full ] || continue
        # shellcheck disable=SC2086
        ends 3 $line "$option" "$name"
    done
done <<'TABLE'
--json a.zst
--csv a.zst
--samples a.zst
--perfetto a.zst
--json info a.zst
--json verify a.pickle
--json stats a.zst
--json fit small.zst
--json tune small.zst
--json diff a.zst a.zst
--json merge a.db -o merged.db
--csv merge a.db -o merged.db
--json why a.zst
--json who a.zst
--folded who a.zst
--speedscope who a.zst
--json conf max_split_size_mb:64
--json graphs captures.zst
--json technique a.zst --optimizer sgd
--json extrapolate a.zst:batch=1 b.zst:batch=2 --to batch=4
--json ranks
--html report a.json
--md report a.json
--csv report a.json
-o import a.pickle
-o snapshot a.zst
--json plan a.zst
--json blame a.zst
--json shrink a.zst --keep differs:none
-o shrink a.zst --keep differs:none
--json adversary none best-fit --effort 1
-o adversary none best-fit --effort 1
-o plan a.zst
-o export a.zst --to csv
-o export a.zst --to minimalloc
-o export a.zst --to rmm
-o export a.zst --to chrome
-o trace cut a.zst --events 0..9
-o trace resize a.zst --scale 2
-o trace repeat a.zst --times 2
-o trace shift a.zst --by 1s
-o trace merge a.zst b.zst
--json conform cupy --as cupy
-o generate 530-270
-o technique a.zst --optimizer sgd
-o extrapolate a.zst:batch=1 b.zst:batch=2 --to batch=4
TABLE
ends 3 sweep a.zst --policy none -o no/such/folder/o.db
ends 3 trace anonymise a.zst -o no/such/folder/o
ends 2 trace anonymise a.zst -o /dev/null                       # cannot be read back
if [ -c /dev/full ]; then
    while read -r line; do
        # shellcheck disable=SC2086
        "$replay" $line >/dev/full 2>err </dev/null
        status=$?
        [ "$status" = 3 ] && [ "$(wc -l <err)" = 1 ] || fail "replay $line >/dev/full: exit $status: $(cat err)"
    done <<'TABLE'
a.zst
info a.zst
verify a.pickle
stats a.zst
summary a.zst
fit small.zst
tune small.zst
diff a.zst a.zst
merge a.db -o merged.db
report a.json --md -
why a.zst
who a.zst
conf max_split_size_mb:64
graphs captures.zst
technique a.zst --optimizer sgd
ranks
plan a.zst
blame a.zst
shrink a.zst --keep differs:none
adversary none best-fit --effort 1
export a.zst --to csv -o -
conform cupy --as cupy
extrapolate a.zst:batch=1 b.zst:batch=2 --to batch=4
--help
--list
--help pytorch
fit --help
TABLE
fi

# ---- what a person can mend otherwise ----
ends 2 merge a.db other.db -o both.db                    # other results of the same runs
ends 2 a.zst --device cuda:999                           # a card that is not there, or no driver
ends 2 a.zst --device nothing
ends 2 a.zst --policy ./no-such.so
ends 2 a.zst --json a.zst
ends 2 sweep no-such.ini
: >empty.ini
ends 2 sweep empty.ini
ends 2 generate nothing -o o.zst
ends 2 no-such-command a.zst
ends 2 run-sim -- ./no-such-program

# ---- bad news ----
ends 1 a.zst --policy none --device sim:20MiB
ends 1 stats a.zst --device sim:20MiB
ends 1 diff a.zst small.zst
ends 1 report a.json --md o.md --fail-if 'outcome == ok'
ends 0 sweep a.zst --policy none --device sim:20MiB -o oom.db       # a refused request is a result of a sweep

# ---- every command has a row ----
for command in $(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$3/replay/program/commands.def"); do
    grep -qE "^((--[a-z]+|-o) |ends [0-9] )?${command//_/-}([ /]|$)" "$0" ||
        fail "this test has no row for ${command//_/-}"
done

# ---- no memory of the host: with room for little address space the program cannot even read ----
if ! [ "$(nm "$replay" 2>/dev/null | grep -c __asan)" -gt 0 ]; then
    (ulimit -v 40000; exec "$replay" sweep a.zst --policy 'pytorch:gc=0.{10..99}' -o many.db) >out 2>err
    status=$?
    [ $status = 3 ] || [ $status = 0 ] || [ $status = 127 ] || fail "little memory: exit $status: $(cat err)"
fi

# ---- no descriptor left: that is nobody's input ----
for command in 'a.zst --policy none' 'report oom.db --md o.md' 'report a.zst --policy none --md o.md' 'info a.zst' \
    'merge oom.db -o few.db' 'sweep a.zst --policy none -o few.db' 'diff oom.db oom.db' 'diff a.zst a.zst'; do
    for ((most = 4; most <= 12; most++)); do
        rm -f few.db
        # shellcheck disable=SC2086
        (ulimit -n $most; exec "$replay" $command) >out 2>err
        status=$?
        [ $status = 3 ] || [ $status = 0 ] || [ $status = 127 ] ||           # 127: the loader's, before the program
            fail "$command with $most descriptors: exit $status: $(cat err)"
    done
done

[ "$failures" = 0 ]
