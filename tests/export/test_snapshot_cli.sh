#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay snapshot` from the shell: statuses, refusals of nonsense, and the same bytes twice.
set -uo pipefail
replay=$1
samples=$3/samples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() { printf 'FAIL: %s\n' "$*"; failures=$((failures + 1)); }

# status STATUS TEXT ARGUMENTS...: the program ends so and says so on stderr.
status() {
    local want=$1 text=$2 got
    shift 2
    "$replay" "$@" >out 2>err
    got=$?
    (( got == want )) || fail "replay $*: status $got, not $want: $(cat err)"
    [[ $(cat err) == *"$text"* ]] || fail "replay $*: no '$text' in: $(cat err)"
}

trace=$samples/gpt-varlen-default.trace.zst
status 0 '' snapshot "$trace" -o a.pickle
status 0 '' snapshot "$trace" -o b.pickle
cmp a.pickle b.pickle || fail "two runs differ"
"$replay" snapshot "$trace" -o - | cmp - a.pickle || fail "standard output has something else"
[[ $("$replay" verify a.pickle | head -n 1) == 'all equal' ]] ||
    fail "what was written is not verified, or not said first"

# The first difference is shown once, with what is there.
"$replay" verify "$trace" --policy max_split_size_mb:32 >differs.txt
grep -q 'record 156: request of 3932160 bytes: expected new memory, recorded 0x7f0002400000; '\
'there: 0x[0-9a-f]* [0-9]* B free$' differs.txt || fail "what differs: $(cat differs.txt)"
grep -q '^of the recording:     not recorded: .*a memory fraction' differs.txt || fail "no notes: $(cat differs.txt)"
"$replay" verify "$trace" | grep '^of the recording' && fail "notes on what is equal"

# A final state that the records do not lead to is said, whatever else is equal.
for change in 'b["requested_size"] -= 4' 'b["state"] = "inactive"'; do
    python3 -c "
import pickle
snapshot = pickle.load(open('a.pickle', 'rb'))
b = next(b for s in snapshot['segments'] for b in s['blocks'] if b['state'] == 'active_allocated')
$change
pickle.dump(snapshot, open('changed.pickle', 'wb'))"
    "$replay" verify changed.pickle >changed.txt || fail "the decisions of the allocator are as they were"
    grep -q '^of the recording:     contradiction: 1 blocks of the final state are others than the' changed.txt ||
        fail "$change: $(cat changed.txt)"
done
"$replay" verify "$trace" --json - | grep -q '^    "not recorded: .*a memory fraction' || fail "no notes in the JSON"

status 1 'out of memory at record' snapshot "$trace" --device sim:200MiB -o oom.pickle
"$replay" info oom.pickle | grep -qE '^  oom +1$' ||
    fail "the refusal is not in the records: $("$replay" info oom.pickle)"
status 0 '' snapshot "$trace" --policy pytorch:expandable --at 500 -o part.pickle
"$replay" info part.pickle >part.txt || fail "the state at an event is not read back"

status 2 'needs a name for its output' snapshot "$trace"
status 2 '--policy is given twice' snapshot "$trace" --policy best-fit --policy pow2 -o x.pickle
status 2 "none keeps no memory_stats" snapshot "$trace" --policy none -o x.pickle
status 2 'the trace ends before' snapshot "$trace" --at 99999 -o x.pickle
[[ ! -e x.pickle ]] || fail "a refused command left a file"

(( failures == 0 )) && echo "snapshot: all as promised"
exit $(( failures > 0 ))
