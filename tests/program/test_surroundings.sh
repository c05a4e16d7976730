#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# What a command finds around it: streams that are closed, signals that are ignored, files with odd names, links, and
# outputs that are inputs by another name. An output is whole and nothing else is touched, or the command refuses.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

head -c -60 "$samples/oom-leak.trace.zst" >cut.zst      # it is told on standard error that this is unfinished
cp "$samples/mlp-adam.trace.zst" a.zst
cp "$samples/oom-leak.trace.zst" oom.zst

# ---- a closed stream gives its number to no output ----
# expect_same FILE ARGUMENT...: FILE is the same whatever streams are closed
expect_same() {
    local file=$1 closed
    shift
    "$replay" "$@" >/dev/null 2>&1
    mv "$file" whole
    for closed in 0 1 2 '1 2' '0 1 2'; do
        rm -f "$file"
        (for fd in $closed; do eval "exec $fd>&-"; done; exec "$replay" "$@") >/dev/null 2>/dev/null
        cmp -s whole "$file" || fail "replay $*, with $closed closed: $file is not as it is otherwise"
    done
}
expect_same s.pickle snapshot cut.zst -o s.pickle
expect_same j.json cut.zst --policy none --json j.json
expect_same c.csv cut.zst --policy none --csv c.csv
expect_same o.csv plan cut.zst --effort 1 -o o.csv
"$replay" info a.zst >&- 2>/dev/null && fail "standard output is closed, and nobody is told"
"$replay" info - <&- >/dev/null 2>&1 && fail "standard input is closed, and something was read"

# ---- what nohup and shells ignore stays ignored ----
"$replay" generate mix:500 --events 300000 -o big.zst >/dev/null || fail "no large trace"
for signal in HUP INT TERM; do
    env --default-signal --ignore-signal=$signal "$replay" fit big.zst --json $signal.json >/dev/null 2>err &
    command=$!
    sleep 0.2
    kill -s $signal $command
    wait $command
    status=$?
    [ "$status" = 0 ] && [ -s $signal.json ] || fail "SIG$signal, which was ignored: status $status, $(cat err)"
done

# ---- a file that may not grow is an error like others ----
(ulimit -f 4; "$replay" snapshot a.zst -o small.pickle) >out 2>&1
status=$?
[ "$status" = 3 ] && grep -q 'cannot be written' out || fail "a limit on files: status $status, $(cat out)"

# ---- the longest names, twice: the second time there is a file to replace ----
for n in 241 242 255; do
    name=$(printf 'n%.0s' $(seq $n))
    for time in first second; do
        expect_status 0 snapshot a.zst -o "$name"
        [ "$(find . -name 'nnn*' | wc -l)" = 1 ] || fail "$n letters, the $time time: $(find . -name 'nnn*')"
    done
    rm -f nnn*
done
expect 3 'File name too long' snapshot a.zst -o "$(printf 'n%.0s' $(seq 256))"

# ---- links: what they lead to is written, be it there or not ----
mkdir far
ln -s far/target link
ln -s "$PWD/link" other
expect_status 0 snapshot a.zst -o other
[ -L link ] && [ -L other ] && [ -s far/target ] || fail "a link to a file that is not there yet: $(ls -l . far)"
expect_status 0 snapshot a.zst -o other
[ -L link ] && [ -L other ] && [ "$(ls far)" = target ] || fail "a link to a file: $(ls -l . far)"

# ---- standard output by its name: what was printed before stays ----
echo precious >log
"$replay" a.zst --policy none --csv /dev/stdout >>log
head -1 log | grep -q precious || fail "what a log held is gone: $(head -2 log)"
grep -q '^policy\|,none,' log || fail "no CSV in the log: $(cat log)"
"$replay" a.zst --policy none --csv /dev/stdout >all
grep -q ',none,' all && grep -q '^none ' all || fail "the CSV or the table is missing: $(cat all)"
ln -s /proc/self/fd/1 mine
(exec 1>gone; rm gone; exec "$replay" snapshot a.zst -o mine)
[ -L mine ] || fail "a link to standard output was replaced"

# ---- an input by another name ----
mkdir folder
# refused ARGUMENT...: with a.zst and b.zst anew, which both stay as they are
refused() {
    cp a.zst b.zst
    cp a.zst folder/rank0.zst
    cp oom.zst folder/rank1.zst
    expect 2 'is an input; the output would overwrite it' "$@"
    cmp -s a.zst b.zst && cmp -s a.zst folder/rank0.zst || fail "replay $*: an input is gone"
}
refused trace merge b.zst@2s a.zst -o b.zst
refused --share b.zst,a.zst@+1s --device 24GiB --json b.zst
refused extrapolate b.zst:x=1 a.zst:x=2 --to x=3 -o b.zst
refused extrapolate b.zst:x=1 a.zst:x=2 --to x=3 --json b.zst
refused generate like:b.zst -o b.zst
refused folder --json folder/rank0.zst
refused report folder --policy none --html folder/rank0.zst
refused sweep folder --policy none -o sweep.db --csv folder/rank0.zst
"$replay" plan a.zst --effort 1 -o plan.csv >/dev/null
cp plan.csv kept.csv
expect 2 'is an input' a.zst --policy plan:plan.csv --csv plan.csv
cmp -s plan.csv kept.csv || fail "a plan that was read is gone"
"$replay" b.zst --policy none --json of-b.json >/dev/null
refused report of-b.json --html b.zst

# ---- an older output in the folder of the inputs may be replaced ----
rm -f sweep.db
for time in first second; do
    expect 0 'runs' sweep folder --policy none -o sweep.db --csv folder/r.csv --json folder/r.json
    expect 0 '' report folder --policy none --html folder/page.html --md folder/page.md
done

# ---- the outputs of a job file, too ----
printf 'trace = a.zst\npolicy = pow2\nout = job.db\ncsv = job.db\n' >two.ini
expect 2 'two outputs have this name' sweep two.ini
printf 'trace = a.zst\npolicy = pow2\nout = job.db\ncsv = itself.ini\n' >itself.ini
expect 2 'is an input' sweep itself.ini
grep -q '^trace' itself.ini || fail "a job file was overwritten"

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
