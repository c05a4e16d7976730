#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# --explain, --insert and --warm at the command line: the numbers of text and JSON, and refusals of what is no switch.
set -u
replay=$1
. "$3/tests/shell.sh"

# expect STATUS PATTERN ARGUMENT...: exit status, and a pattern that standard output has
expect() {
    local want=$1 pattern=$2
    shift 2
    "$replay" "$@" >out 2>err </dev/null
    local status=$?
    if [ "$status" != "$want" ] || ! grep -q -e "$pattern" out; then
        fail "replay $*: exit $status, expected $want and '$pattern' in: $(cat out err)"
    fi
}

# refuse PATTERN ARGUMENT...: exit 2 and one line on stderr that has the pattern
refuse() {
    local pattern=$1
    shift
    "$replay" "$@" >out 2>err </dev/null
    local status=$?
    if [ "$status" != 2 ] || [ "$(wc -l <err)" != 1 ] || ! grep -q -e "$pattern" err || [ -s out ]; then
        fail "replay $*: exit $status, expected 2 and '$pattern' in: $(cat out err)"
    fi
}

"$replay" generate 530-270 -o loop.trace || fail 'generate'
full=(loop.trace --policy best-fit --device sim:2GiB)

# ---- the first refusal, unasked ----
expect 1 '3 holes of 260 MiB next to a live block of 270 MiB each' "${full[@]}"
expect 1 '^ *817,889,280 *780 MiB  free parts of segments that are in use$' "${full[@]}"
expect 1 '^- 270 MiB, asked for at event 8,' "${full[@]}"
expect 1 '72 MiB more on the card, 2120 MiB in all' "${full[@]}"
expect 0 'best-fit' loop.trace --policy best-fit --device sim:2120MiB
grep -q 'Why best-fit' out && fail 'an explanation of no refusal'
expect 1 '"split_free_bytes": 817889280,' "${full[@]}" --json -
expect 1 '"way": "merge",' "${full[@]}" --json -

# With expandable segments it is pages that a request lacks, and the whole free ones can be given back.
growing=(loop.trace --policy expandable_segments:True)
expect 0 '^expandable_segments:True  .* 0.0  *0.0  ' "${growing[@]}"
expect 0 'for rounding (internal) and 0 B that served no' "${growing[@]}" --device 2GiB
expect 1 'With this setting the request needs at least 76 MiB more on the card, 1080 MiB in all' \
    "${growing[@]}" --device sim:1004MiB
expect 1 'ran out of memory at event 6:' "${growing[@]}" --device sim:1078MiB
expect 1 'ran out of memory at event 9:' "${growing[@]}" --device sim:1080MiB
expect 0 '^ *272,629,760  *260 MiB  free in whole pages of expandable segments, which can be given back$' \
    "${growing[@]}" --explain 3
expect 0 '^ *10,485,760  *10 MiB  free parts of segments that are in use$' "${growing[@]}" --explain 3
"$replay" "${growing[@]}" --explain 3 --insert flush@every:1 >out
grep -q '^ *10,485,760  *10 MiB  free parts of segments that are in use$' out || fail "what a flush leaves: $(cat out)"
grep -q 'free in whole pages' out && fail "a flush leaves whole pages: $(cat out)"

# ---- before an event ----
expect 0 '^Where the memory of best-fit is before event 4:$' loop.trace --policy best-fit --explain 4
expect 0 '1 hole of 260 MiB next to a live block of 270 MiB' loop.trace --policy best-fit --explain 4
refuse '12: the trace ends before' loop.trace --policy best-fit --explain 12
refuse 'a whole number' loop.trace --explain x

# ---- at the end ----
expect 0 '^Where the memory of best-fit is at the end:$' loop.trace --policy best-fit --explain end
expect 0 '^  = *2,222,981,120 *2.07 GiB  reserved$' loop.trace --policy best-fit --explain end
expect 0 '"event": null,' loop.trace --policy best-fit --explain end --json -

# A snapshot shows its final state itself, with a history of events and without one; a trace of ours shows none.
mkdir shown
"$replay" snapshot loop.trace --policy best-fit -o shown/all.pickle || fail 'snapshot'
"$replay" loop.trace --policy best-fit --explain end | sed -n '/at the end:$/,/reserved$/p' | tail -n +2 >account
expect 0 '^Where the memory of the program is at the end:$' info shown/all.pickle
sed -n '/at the end:$/,/reserved$/p' out | tail -n +2 | cmp -s - account || fail "another account: $(cat out account)"
expect 0 '"final_state": {' info shown/all.pickle --json -
expect 0 '"final_state": null' info loop.trace --json -
grep -q 'at the end:' out && fail 'a trace of ours shows a final state'

# ---- what if ----
expect 0 'what if: cached memory is given back (empty_cache) after every 2 events' loop.trace --policy best-fit \
    --device sim:2GiB --insert flush@every:2
# A first request of the whole card leaves one segment, into which all rounds fit.
expect 0 'what if: the program first takes 2 GiB in one request' "${full[@]}" --warm 2GiB
expect 1 'best-fit ran out of memory before the first event: 900 GiB asked for' loop.trace --policy best-fit \
    --warm 900GiB
refuse 'no mark of that name' loop.trace --insert flush@mark:step
refuse 'expected flush@mark:NAME or flush@every:N' loop.trace --insert often
refuse 'a size such as 8GiB' loop.trace --warm much

printf '%s failures\n' "$failures"
[ "$failures" = 0 ]
