#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay stats and replay summary at the command line: what they print, where it goes, and their exit statuses.
set -u
replay=$1
data=$3/tests/data
. "$3/tests/shell.sh"

# has FILE PATTERN
has() { grep -q -e "$2" "$1" || fail "no '$2' in: $(cat "$1")"; }

# The recorded program met an out-of-memory error and went on: so does the replay, and it is no failure.
recording=$data/layouts/2.15.0.pickle
expect_status 0 stats "$recording" --device sim:8GiB
has out '^num_ooms 1$'
has out '^allocated_bytes.all.peak 47583744$'
sentence='CUDA out of memory. Tried to allocate 8.38 GiB. GPU 0 has a total capacity of 8.00 GiB'
has err "^replay: out of memory at record [0-9]*: $sentence"
[ "$(wc -l <out)" = 123 ] || fail "memory_stats() of 2.15 has 123 keys, not $(wc -l <out)"
LC_ALL=C sort -c out || fail "keys are not in order"
expect_status 1 stats "$recording" --device sim:8GiB --on-oom stop
expect_status 1 stats "$recording" --device sim:8GiB --on-oom skip

# A request that the recorded program was served is one that it cannot do without.
expect_status 1 stats "$recording" --device sim:20MiB
has err '^replay: out of memory at record'

# The release is the recorded one: 2.0 counts less than 2.15.
expect_status 0 stats "$data/layouts/2.0.1.pickle" --device sim:8GiB
[ "$(wc -l <out)" = 119 ] || fail "memory_stats() of 2.0 has 119 keys, not $(wc -l <out)"

# JSON holds the same counters, and alone has stdout.
expect_status 0 stats "$recording" --device sim:8GiB --json -
has out '"schema": "replay-stats/1"'
has out '"outcome": "ok"'
has out '"allocated_bytes.all.peak": 47583744'
has out '"message": "CUDA out of memory. Tried to allocate 8.38 GiB.'
expect_status 0 stats "$recording" --device sim:8GiB --json there.json
has out '^num_ooms 1$'
has there.json '"num_ooms": 1'

# The summary, full and abbreviated.
expect_status 0 summary "$recording" --device sim:8GiB
has out '^|                  PyTorch CUDA memory summary, device ID 0                 |$'
has out '^|       from large pool |'
full=$(wc -l <out)
expect_status 0 summary "$recording" --device sim:8GiB --abbreviated
grep -q 'from large pool' out && fail "the abbreviated summary names the large pool"
[ "$(wc -l <out)" -lt "$full" ] || fail "the abbreviated summary is no shorter"

# Recorded where there was room, each with a block in the cache and then a request inside a pool region, or a capture;
# and what PyTorch itself counted on a card that has no room for both. In a capture, and up to 2.12 in a region, the
# cache is not given up for a request.
for private in "$data"/pools/*.pickle; do
    version=${private##*@}
    "$replay" stats "$private" --policy "pytorch:version=${version%.pickle}" --device sim:66MiB,packing=off \
        --on-oom skip >out 2>err
    diff out "${private%.pickle}.stats" >differences || fail "$private: $(cat differences)"
done

# What cannot be.
expect_status 2 stats "$recording" --policy none
has err '^replay: the policy none keeps no memory_stats; pytorch does$'
expect_status 2 stats "$recording" --policy best-fit --policy pow2
has err '^replay: --policy is given twice'
expect_status 2 stats "$recording" --abbreviated
expect_status 2 stats "$recording" --policy 'max_split_size_mb:1'
expect_status 2 stats absent.pickle

[ "$failures" = 0 ] && echo "all as expected"
exit $((failures > 0))
