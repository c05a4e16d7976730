#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay conform` from the shell: our own policy equals the recorded allocator everywhere, another one does not.
set -u
replay=$1
. "$3/tests/shell.sh"

expect_status 2 conform cupy --as nobody
allocators=$(sed -n '/but of/,$p' err | tr '\n' ' ' | sed 's/.*but of//; s/,//g')
[ "$(wc -w <<<"$allocators")" = 11 ] || fail "not 11 allocators are named: $allocators"
for allocator in $allocators; do
    expect_status 0 conform $allocator --as $allocator --json $allocator.json
    python3 - $allocator.json <<'PY' || fail "$allocator: the JSON contradicts itself"
import json, sys
c = json.load(open(sys.argv[1]))
assert c["schema"] == "replay-conform/1" and c["cases"] == c["equal"] == len(c["results"]) > 0
assert all(r["is_equal"] and r["difference"] is None for r in c["results"])
PY
done
expect_status 1 conform first-fit --as rmm-fixed
grep -q '^10 of the cases have options that it does not take' out || fail "no word on options: $(cat out)"
grep -q '^first-fit does what rmm-fixed 26.10' out || fail "no answer first: $(cat out)"
awk 'length > 80 { exit 1 }' out || fail "wider than 80 columns: $(cat out)"
expect 2 'no-such-policy' conform no-such-policy --as cupy
expect 2 'without options' conform cupy:limit=1GiB --as cupy
expect 2 '--as' conform cupy
[ "$failures" = 0 ]
