#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay conf`: exit statuses, the line to paste, JSON; and what `info` and `why` say of the settings of a recording.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

"$replay" conf expandable_segments:True --version 2.9 >out || fail "2.9 takes it: $(cat out)"
grep -q 'PyTorch 2.9 takes this text' out || fail "$(cat out)"
"$replay" conf expandable_segments:True >out && fail 'exit status 0, though 2.0 refuses it'
grep -q '2.1 to 2.15: honoured' out || fail "$(cat out)"
awk 'length > 80 && !/export/' out | grep . && fail 'wider than 80 columns'
"$replay" conf x:1 --version 3.7 2>err; [ $? = 2 ] && grep -q "'3.7'" err || fail "3.7: $(cat err)"

# ---- releases that do not read the same number of options: ----
# ---- 2.10 drops every kind of white space, earlier ones blanks ----
"$replay" conf $'a]\f' >out; [ $? = 1 ] || fail "exit status of an option that some releases do not see: $(cat out)"
grep -q '2.10 to 2.15: reads no option here' out || fail "$(cat out)"

# ---- pasted into a shell, the line sets what was asked about ----
for text in max_split_size_mb:64 'roundup_power2_divisions:[256:8,>:2]' "expandable_segments_reserve:x'y\$HOME"; do
    "$replay" conf "$text" --version 2.15 >out
    line=$(grep '^  export' out) || fail "'$text': $(cat out)"
    (eval "$line" && [ "$PYTORCH_CUDA_ALLOC_CONF" = "$text" ]) || fail "'$text' becomes '$line'"
done
"$replay" conf "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64" --json - >out || fail "$(cat out)"
grep -q '"conf": "max_split_size_mb:64"' out || fail "the variable was not cut off: $(head -3 out)"
[ "$(grep -c '"release"' out)" = 16 ] || fail 'JSON does not hold sixteen releases'

# ---- of a recording ----
"$replay" info "$samples/gpt-varlen-maxsplit.trace.zst" >out
grep -q '^settings asked for  *max_split_size_mb:32$' out && grep -q '^settings in force  *max_split_size_mb:32$' out ||
    fail "$(head -12 out)"
grep -q '^not in force' out && fail "$(grep '^not in force' out)"
"$replay" info "$samples/oom-fragmented.trace.zst" >out
grep -q '^settings in force  *the defaults$' out || fail "$(head -12 out)"

# ---- the platform: the variable that is meant, and what does not exist there ----
expect_status 0 conf PYTORCH_HIP_ALLOC_CONF=expandable_segments:True --version 2.9
tr -s ' \n' ' ' <out >flat
grep -q 'Not on ROCm: it takes ROCm 7.0 or newer' flat || fail "ROCm is not told: $(cat out)"
grep -q 'export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True' flat || fail "the variable is thrown away: $(cat out)"
expect_status 0 conf max_split_size_mb:128 --system windows --version 2.9
grep -q '^  set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128$' out || fail "not the line of that shell: $(cat out)"
grep -q 'Not on' out && fail "it exists there: $(cat out)"
expect_status 0 conf expandable_segments:True --system windows --version 2.9 --json conf.json
grep -q '"exists_there": false' conf.json || fail "no exists_there: $(cat conf.json)"
expect_status 0 conf expandable_segments:True --system windows --version 2.9
grep -q 'honoured\|ALLOC_CONF=' out && fail "no build for Windows honours it: $(cat out)"
expect_status 0 conf max_split_size_mb:64 --version 2.99
grep -q '^PyTorch 2.15 (2.16 and later are not known) takes this text.$' out || fail "another release: $(cat out)"

[ "$failures" = 0 ]
