#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The program replay at its command line: exit statuses, one-line errors, outputs that appear whole or not at all.
set -u
replay=$1
. "$3/tests/shell.sh"
checks=0

# run ARGUMENT...: leaves `status`, and the files out and err
run() {
    "$replay" "$@" >out 2>err </dev/null
    status=$?
    checks=$((checks + 1))
    grep -q 'Sanitizer\|runtime error' err && fail "replay $*: $(cat err)"
}

# expect STATUS PATTERN ARGUMENT...: exit status, and a pattern that standard output has
expect() {
    local want=$1 pattern=$2
    shift 2
    run "$@"
    if [ "$status" != "$want" ] || ! grep -q -e "$pattern" out; then
        fail "replay $*: exit $status, expected $want and '$pattern' in: $(cat out err)"
    fi
}

# refuse STATUS PATTERN ARGUMENT...: exactly one line on stderr, that begins with the program's name and has the
# pattern; nothing on stdout
refuse() {
    local want=$1 pattern=$2
    shift 2
    run "$@"
    if [ "$status" != "$want" ] || [ "$(wc -l <err)" != 1 ] || ! grep -q -e "^replay: .*$pattern" err ||
        [ -s out ]; then
        fail "replay $*: exit $status, expected $want and one line with '$pattern', got: $(cat err out)"
    fi
}

# expect_only FOLDER NAMES: the folder holds these files and no temporary ones
expect_only() {
    local names
    names=$(ls -A "$1" | tr '\n' ' ')
    [ "$names" = "$2" ] || fail "in $1 there is '$names', expected '$2'"
}

# ---- help ----
expect 0 'replay import' --help all
expect 0 'replay why' help
expect 2 'replay why'
expect 0 '^replay [0-9]' --version
expect 0 '^Built: .*gcc\|^Built: .*clang' --version
expect 0 '^Libraries: zstd [0-9.]*, zlib [0-9.]*, ' --version
expect 0 '^PyTorch releases known: 2.0 to 2.[0-9]*.$' --version
expect 0 'best-fit' --list
expect 0 'h100-80g' --list
expect 0 '^replay import FILE -o OUT' --help import
expect 0 '^replay info FILE' info --help
expect 0 'max-split: a size' --help pytorch
expect 0 "is short for 'pytorch:gc=0.8" --help gc=0.8
refuse 2 "not a command; did you mean 'best-fit'" --help best-fti
refuse 2 "not a command; did you mean 'why'" help wyh
refuse 2 "'nosuch' is not a command" help nosuch

# Every command is in the help, every line of every help fits a terminal, and each says what its statuses mean.
commands=$(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$3/replay/program/commands.def" | tr _ -)
[ "$(wc -w <<<"$commands")" -gt 10 ] || fail "no commands found: $commands"
run --help
[ "$(wc -l <out)" -le 25 ] || fail "--help has more than 25 lines: $(wc -l <out)"
for job in why predict fit tune; do
    sed -n 1,11p out | grep -q "^      replay $job " || fail "--help does not open with what people come for: $job"
done
grep -q 'a log with the error' out || fail "--help does not say that a log will do"
run --help all
cp out all.help
for command in $commands; do
    [ "$command" = replay ] && command='FILE'
    grep -q "^  replay $command " all.help || fail "replay $command is missing in --help"
    [ "$command" = FILE ] && command=loop.trace
    expect 0 '^Exit status:' "$command" --help
    expect 0 '^  2  ' "$command" -h
    twice=$(sed -n '/^Exit status/q; s/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' out | sort | uniq -d)
    [ -z "$twice" ] || fail "replay $command takes two options of one name: $twice"
    awk 'length($0) > 80' out | grep . && fail "replay $command --help has lines of more than 80 columns"
done
for words in --help '--help all' --list '--help pytorch' '--help none' '--help gc=0.8'; do
    # shellcheck disable=SC2086
    run $words
    awk 'length($0) > 80' out | grep . && fail "replay $words has lines of more than 80 columns"
done

# ---- the loop of four rounds: reserved at the end by default and with large blocks left whole ----
run generate 530-270 -o loop.trace
[ "$status" = 0 ] && [ ! -s out ] && [ ! -s err ] || fail "generate: $(cat out err)"
expect 0 '^best-fit .* 2120.0 ' loop.trace --policy best-fit
expect 0 '^max_split_size_mb:20 .* 1610.0 ' loop.trace --policy max_split_size_mb:20
expect 0 '^Device: .*--device' loop.trace --policy best-fit
expect 0 '"reserved_bytes": 2222981120' loop.trace --policy best-fit --json -
run loop.trace
for policy in best-fit expandable_segments:True max_split_size_mb:128 roundup_power2_divisions:4; do
    grep -q "^$policy " out || fail "without --policy there is no row for $policy"
done
grep -q 'needs least memory' out || fail "the table is not put into words"

# ---- outcomes ----
expect 1 '^best-fit ran out of memory at event 9: 530 MiB asked for' loop.trace --policy best-fit --device sim:1600MiB
expect 1 '"outcome": "oom"' loop.trace --policy best-fit --device sim:1600MiB --json -
expect 1 'requests refused in all: 2' loop.trace --policy best-fit --device sim:1600MiB --on-oom skip
expect 1 'with --on-oom skip a policy does, too' "$3/samples/oom-halves-batch.trace.zst" --policy best-fit
expect 1 'No policy got through' "$3/tests/dying/recordings/batch_halved_in_vain.zst" --policy best-fit
grep -q 'The program went on' out && fail "a program that its last refusal ended is said to have gone on"
expect 0 'sim:2500MiB' loop.trace --policy best-fit --device sim:2500MiB --audit

# ---- the same by any number of threads, from a file, standard input and options in any form ----
run loop.trace --threads 1 --json -
cp out one.json
for n in 2 3 16; do
    run loop.trace --threads="$n" --json=-
    cmp -s out one.json || fail "with $n threads the result differs"
done
"$replay" --json - -- - <loop.trace >out 2>err || fail "a trace on standard input: $(cat err)"
sed 's/"path": "-"/"path": "loop.trace"/' out | cmp -s - one.json || fail "from standard input the result differs"

# ---- outputs ----
mkdir results
run loop.trace --json results/a.json --csv results/a.csv --samples results/s.csv --sample-every 3
[ "$status" = 0 ] || fail "three outputs: $(cat err)"
expect_only results 'a.csv a.json s.csv '
grep -q '^best-fit  *[0-9]' out || fail "with files as outputs the table is still printed"
[ "$(wc -l <results/a.csv)" = 5 ] || fail "the CSV has no row for each policy"
[ "$(grep -c '^best-fit,sample,' results/s.csv)" = 3 ] || fail "of 12 events every third: $(cat results/s.csv)"
[ "$(grep -c '^best-fit,peak,' results/s.csv)" = 1 ] || fail "the series has no peak"
run loop.trace --csv -
head -n 1 out | grep -q '^policy,name,device' || fail "CSV on standard output begins with something else"
[ "$(wc -l <out)" = 5 ] || fail "beside the CSV something else goes to standard output"
echo old >results/a.json
run loop.trace --json results/a.json
cmp -s results/a.json one.json || fail "an output replaces what was there"
ln -s a.json results/link
run loop.trace --json results/link
[ -L results/link ] && cmp -s results/a.json one.json ||
    fail "an output through a link goes to the file that the link names"
run loop.trace --json /dev/null
[ "$status" = 0 ] && [ -c /dev/null ] || fail "a device as output is written to, not replaced"
refuse 2 'only one output' loop.trace --json - --csv -
refuse 2 'a.out: two outputs have this name' loop.trace --json a.out --samples a.out
refuse 2 './a.out: two outputs have this name' loop.trace --json a.out --csv ./a.out
refuse 2 'a.out: two outputs have this name' report loop.trace --html a.out --md a.out
refuse 2 'a.out: two outputs have this name' plan loop.trace -o a.out --json a.out
refuse 2 'results/link: two outputs have this name' loop.trace --json results/a.json --csv results/link
refuse 3 'no/such/a.json: cannot be written: No such file' loop.trace --json no/such/a.json
refuse 3 'results: cannot be written: Is a directory' loop.trace --json results
refuse 2 'loop.trace: is an input' loop.trace --json loop.trace
refuse 2 'loop.trace: is an input' import loop.trace -o ./loop.trace
refuse 3 'no/such/t: cannot be written' generate 530-270 -o no/such/t
# What people type or paste at the first try.
expect 0 '^max_split_size_mb:32  *' loop.trace --policy 'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32' \
    --device 24GiB
expect 0 '^Device: h100-80g,context=1GiB, 79.19 GiB' loop.trace --policy none --device h100-80g,context=1GiB
expect 0 '^Device: h100, 79.19 GiB' loop.trace --policy none --device h100
refuse 2 "a card of that size is '8GiB'" loop.trace --policy none --device 8
# No number is taken for a card's name, and what is nearly right is named.
refuse 2 "a card of that size is '4GiB'" loop.trace --policy none --device 4
refuse 2 'neither a size such as 24GiB nor a card that is known' loop.trace --policy none --device -4GiB
refuse 2 'neither a size such as 24GiB nor a card that is known' loop.trace --policy none --device 4.5
refuse 2 "did you mean 'rtx4090'?" loop.trace --policy none --device rtx4909
refuse 2 "did you mean '4090'?" loop.trace --policy none --device 4o90
refuse 2 "policy 'nosuch': no policy of that name; replay --list shows them" loop.trace --policy nosuch
refuse 2 "'expandable_segments=True': write expandable_segments:True, with a colon" loop.trace \
    --policy expandable_segments=True
refuse 2 "did you mean 'expandable_segments'?" loop.trace --policy expandable_segment:True
refuse 2 'write expandable_segments:VALUE' loop.trace --policy expandable_segments
refuse 2 'write expandable_segments:True' loop.trace --policy expandable_segments:true
expect 0 'Warning: max_split_size_mb:-5: PyTorch takes the minus sign without a word' loop.trace \
    --policy max_split_size_mb:-5
printf '\211PNG\r\n\032\n' >picture.png
printf '{\n "cells": []}\n' >book.ipynb
echo 'step 1' >log
refuse 2 'picture.png: not a recording: it is a picture' info picture.png
refuse 2 'book.ipynb: not a recording: it is a notebook' info book.ipynb
refuse 2 "if it is a program's log, replay why reads it" info log
echo '[rank0]: torch.OutOfMemoryError: CUDA out of memory.' >rank.log
refuse 2 'rank.log: not a recording: it is a program.s log, which `replay why` reads' tune rank.log
refuse 2 'it could be a100-40g, a100-80g' loop.trace --policy none --device sim:A100
refuse 2 "did you mean 'h100-80g'" loop.trace --policy none --device h10-80g,context=1GiB
refuse 2 'pytorch:expandable$' loop.trace --policy expandable
refuse 2 'pytorch:max-split=...$' loop.trace --policy max-split
expect 0 '^Device: 24GB, 24 GiB' loop.trace --policy none --device 24GB
expect 0 'GB and G mean GiB' --list
refuse 2 'loop.trace: is of device 0 alone; --gpu 4095 is not in it' loop.trace --gpu 4095     # the last there may be
refuse 2 'expected a whole number from 0 to 4095' loop.trace --gpu 4096
refuse 2 'loop.trace: is of device 0 alone; --gpu 5 is not in it' loop.trace --gpu 5
expect 0 '^none' loop.trace --gpu 0 --policy none
refuse 2 "did you mean 'none'" loop.trace --policy NONE
refuse 2 "a policy's name is missing" loop.trace --policy ''
refuse 2 "expected a capacity such as 24GiB" loop.trace --policy none --device sim:24
expect 0 'replay fit FILE' help fit
expect 0 'replay info FILE' help all

# Of equal results the one is named that changes least.
expect 0 '^pytorch:gc=off does as well as any' \
    loop.trace --policy pytorch:gc=0.6 --policy pytorch:gc=off --policy gc=0.8

# A file that is written anew keeps its permissions; a new one gets those that the shell would give it.
touch kept.json
chmod 604 kept.json
run loop.trace --policy none --json kept.json
(umask 027; "$replay" loop.trace --policy none --json new.json >/dev/null 2>&1)
[ "$(stat -c %a kept.json new.json | tr '\n' ' ')" = '604 640 ' ] || fail "permissions: $(ls -l kept.json new.json)"

if [ -c /dev/full ]; then
    "$replay" loop.trace >/dev/full 2>err
    [ $? = 3 ] && [ "$(wc -l <err)" = 1 ] || fail "a full standard output: $(cat err)"
    refuse 3 '/dev/full: cannot be written: No space' loop.trace --json /dev/full
fi

# ---- what a broken input leaves: nothing ----
mkdir left
head -c 60 loop.trace | cat - <(tail -c +62 loop.trace) >bent.trace         # a byte of the facts is missing
refuse 2 'bent.trace' bent.trace --json left/a.json --csv left/b.csv
refuse 2 'bent.trace' import bent.trace -o left/t.trace
expect_only left ''

# ---- interrupted ----
"$replay" generate mix:1000 --events 2000000000 -o left/t.trace 2>err &
pid=$!
# A file that is being written may have no name yet.
is_written() { [ -n "$(ls -A left)" ] || readlink /proc/$pid/fd/* | grep -q "^$work/left/"; }
for _ in $(seq 100); do
    is_written && break
    sleep 0.1
done
is_written || fail "nothing is written while a trace is generated"
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "SIGTERM ends with another status than 143"
expect_only left ''

# ---- wrong usage ----
refuse 2 "did you mean '--policy'" loop.trace --polcy best-fit
refuse 2 "best-fit" loop.trace --policy best-ft
refuse 2 "max-split" loop.trace --policy pytorch:max-spilt=1MiB
refuse 2 'character' loop.trace --policy gc=1.5
refuse 2 "policy 'garbage_collection_threshold:2'" loop.trace --policy garbage_collection_threshold:2
refuse 2 'needs a value' loop.trace --policy
refuse 2 'takes no value' loop.trace --audit=yes
refuse 2 'given twice' loop.trace --json a --json b
refuse 2 'stop or skip' loop.trace --on-oom go
refuse 2 'whole number from 1 to 1024' loop.trace --threads 0
refuse 2 'whole number' generate mix:10 -o a --seed -1
refuse 2 'whole number' generate mix:10 -o a --seed 18446744073709551616
refuse 2 'whole number' loop.trace --seed -1                          # of a plugin
refuse 2 'number of events or a time' loop.trace --sample-every 10m
refuse 2 'number of events or a time' loop.trace --sample-every 18446744073709551615s
refuse 2 "device 'sim:24Gb0'" loop.trace --device sim:24Gb0
refuse 2 'context and others take more' loop.trace --device sim:1GiB,context=2GiB
refuse 2 "neither a size such as 24GiB nor a card that is known" loop.trace --device simulated
refuse 2 "unknown option '-x'" loop.trace -x
refuse 2 "unknown option '--out'" loop.trace --out a
refuse 2 "unknown option '-o' for this command: --html FILE writes a page" report loop.trace -o a.html
refuse 2 "did you mean 'info'" inof loop.trace
refuse 2 "did you mean 'info'" inof
refuse 2 "unknown option '--no-such-option' for this command; --help lists its options" loop.trace --no-such-option
refuse 2 'a file is missing' import
refuse 2 'a policy is missing' conform --as cupy
refuse 2 'a load is missing' generate
refuse 2 'a file is missing' --audit
refuse 2 'one name too many' info loop.trace loop.trace
refuse 2 'needs a name for the trace' import loop.trace
refuse 2 'cannot be generated' generate nothing -o a
refuse 2 'format' loop.trace --from nothing
refuse 2 'such.so' loop.trace --policy ./no-such.so

# ---- bad input ----
: >empty
printf x >byte
mkdir folder
refuse 2 'missing.trace: No such file' missing.trace
refuse 2 'folder: is a directory' folder
refuse 2 'empty' empty
refuse 2 'byte' byte
refuse 2 'missing.trace' info missing.trace
run loop.trace --policy none --json -
cp out none.json
size=$(stat -c %s loop.trace)
section() { LC_ALL=C grep -abo ']\*M' loop.trace | sed -n "$1p" | cut -d: -f1; }
facts=$(section 2) events=$(section 3)           # up to where the second section begins, and the third
for n in $(seq 1 "$((size - 1))"); do
    head -c "$n" loop.trace >cut.trace
    if [ "$n" -lt "$facts" ]; then
        refuse 2 'cut.trace' cut.trace --policy none
    elif [ "$n" -lt "$events" ]; then
        refuse 2 "cut.trace: holds no request that can be read: it ends after $n bytes" cut.trace --policy none
    else
        expect 0 'the trace is unfinished: ' cut.trace --policy none
    fi
done
for n in $(seq 0 5 "$((size - 1))"); do
    cp loop.trace bent.trace
    byte=$(od -An -tu1 -j "$n" -N 1 loop.trace | tr -d ' ')
    printf "$(printf '\\%03o' $((byte ^ 64)))" | dd of=bent.trace bs=1 seek="$n" conv=notrunc status=none
    run bent.trace --policy none --json -
    if [ "$status" = 0 ]; then              # a bit that decoding does not depend on
        sed 's/bent.trace/loop.trace/' out | cmp -s - none.json || fail "byte $n changed: other results"
    else
        refuse 2 'bent.trace' bent.trace --policy none
    fi
done

# ---- info ----
expect 0 '^requested at most *1.31 GiB (1405091840 bytes)$' info loop.trace
expect 0 '"schema": "replay-info/1"' info loop.trace --json -
# An unfinished trace is read as far as it goes, and says so; from a pipe as well.
head -c $(($(wc -c <loop.trace) - 30)) loop.trace >part.trace
expect 0 '^unfinished  *[0-9]* bytes at the end are cut off$' info part.trace
expect 0 '"is_unfinished": true' info part.trace --json -
expect 0 'the trace is unfinished: ' part.trace --policy none
expect 0 'the trace is unfinished: ' part.trace --policy none --json -
for command in fit tune stats summary; do
    run "$command" part.trace --device sim:8GiB
    grep -q 'part.trace: is unfinished: ' err || fail "replay $command of an unfinished trace: $(cat err)"
done
cat part.trace | "$replay" - --policy none >out 2>err
grep -q 'the trace is unfinished: ' out || fail "an unfinished trace from a pipe: $(cat out err)"
head -c 160 loop.trace >part.trace
expect 0 '^unfinished  *42 bytes at the end are cut off$' info part.trace
for command in '' fit tune why summary; do
    # shellcheck disable=SC2086
    refuse 2 'part.trace: holds no request that can be read: it ends after 160 bytes' $command part.trace
done
head -c 40 loop.trace >part.trace
refuse 2 'cut off here, before its facts' part.trace --policy none
# The order of new segments: asked for, shown by the recording, or Linux's.
expect 0 '"address_order": "rising"' "$3/samples/gpt-varlen-default.trace.zst" --policy none --json -
expect 0 '"address_order": "linux"' "$3/samples/gpt-varlen-default.trace.zst" --policy none --json - \
    --device sim:24GiB,addresses=linux
expect 0 '"address_order": "linux"' loop.trace --policy none --json -
expect 0 '"address_order": "rising"' loop.trace --policy none --json - --device sim:24GiB,system=wsl

# Where call stacks were recorded, the lines of the program that hold the peak; nowhere else.
run info "$3/samples/gpt-varlen-default.trace.zst" --json -
grep -q '^ *"line": "train.py:20 forward",$' out || fail "lines of the program: $(cat out)"
expect 0 '^Requested memory peaks at record 2057: 192.47 MiB in 188 live requests' \
    info "$3/samples/gpt-varlen-default.trace.zst"
grep -q '^ *71.20 MiB  37.0%  *27  train.py:20 forward$' out || fail "lines of the program: $(cat out)"
expect 0 '"peak": null' info loop.trace --json -

refuse 2 'is a native trace already' import loop.trace -o again.trace

printf '%s checks, %s failures\n' "$checks" "$failures"
[ "$failures" = 0 ]
