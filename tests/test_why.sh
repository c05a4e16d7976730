#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `why` and the honesty of `fit`, `tune` and `info`, on recordings of examples/oom under PyTorch 2.9.1.
set -u
replay=$1 data=$3/samples
. "$(dirname "$0")/shell.sh"

# has FILE PATTERN: the file has it, line breaks and runs of blanks taken as one blank
has() { tr -s ' \n' ' ' <"$1" | grep -q -e "$2" || fail "no '$2' in: $(cat "$1")"; }

# ---- really full: dies on a card of 4 GiB, needs 7,102 MiB ----
expect_status 0 why "$data/oom-too-large.trace.zst"
has out '^Really full: short by at least [0-9.]* MiB. No allocator setting can serve this.'
has out 'holds most: .*/too_large.py:[0-9]* forward'
has out 'The recording ends with a refused request (64 MiB at record [0-9]*).*lower bounds'
grep -q export out && fail "a setting is printed that cannot help: $(cat out)"
expect_status 0 why "$data/oom-too-large.trace.zst" --json why.json
has why.json '"verdict": "full"' 
has why.json '"ends": "refused"'
has why.json '"recommended": null, "serves_refused": null'
expect_status 0 fit "$data/oom-too-large.trace.zst" --json fit.json
has fit.json '"is_lower_bound": true, "named_card": null'
expect_status 0 fit "$data/oom-too-large.trace.zst"
has out '>=4138 MiB .* not known'
expect_status 0 tune "$data/oom-too-large.trace.zst" --device 5GiB --json tune.json
has tune.json '"recommended": null'

# ---- a refusal that the program survived ----
expect_status 0 info "$data/oom-halves-batch.trace.zst" --json info.json
has info.json '"refusals": 1, "refusals_survived": 1'
expect_status 0 fit "$data/oom-halves-batch.trace.zst"
has out 'The program went on after 1 refused request'
has out '>=[0-9]* MiB .* not known'

# ---- a long run of which the beginning was dropped ----
expect_status 0 info "$data/oom-long-run.trace.zst" --json info.json
has info.json '"begins": "cut"'
expect_status 0 fit "$data/oom-long-run.trace.zst"
has out 'The beginning of the recording is missing'

# ---- fragmented, with whole steps on record ----
expect_status 0 why "$data/oom-fragmented.trace.zst"
has out '^Fragmented: 26.37 MiB would have fitted, but what is free lies in pieces. export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
expect_status 0 why "$data/oom-fragmented.trace.zst" --json why.json
has why.json '"verdict": "fragmented"'
has why.json '"whole_steps": 3'
has why.json '"recommended": { "conf": "expandable_segments:True"'

# ---- the card that it ran on had room, but others held it ----
expect_status 0 why "$data/oom-too-large.trace.zst" --device rtx3070-8g
has out '^Somebody else has the memory: when the request was refused, [0-9]* MiB of the card were not this program.s'
expect_status 0 why "$data/oom-too-large.trace.zst" --device rtx3070-8g --json why.json
has why.json '"verdict": "somebody-else"'
has why.json '"context_source": "seen on'

# ---- a final state alone: an answer as far as it goes ----
"$replay" snapshot "$data/oom-too-large.trace.zst" --device 5GiB -o all.pickle 2>err || fail "$(cat err)"
python3 - <<'END'
import pickle
snapshot = pickle.load(open("all.pickle", "rb"))
snapshot["device_traces"] = [[]]
pickle.dump(snapshot, open("state.pickle", "wb"))
END
expect_status 0 why state.pickle
has out '^The recording holds only what was there when it was taken: [0-9.]* [GM]iB live in [0-9.]* [GM]iB reserved.'
has out 'How it came to that was not recorded'
expect_status 0 who state.pickle
has out 'live requests at the end'
expect_status 2 tune state.pickle
has err 'holds only a final state'

# ---- another allocator's log with a refusal: the card is not known, and is asked for ----
cat >rmm.csv <<'END'
Thread,Time,Action,Pointer,Size,Stream
1,07:54:20.577769,allocate,0x7f0000000000,41943040,0
1,07:54:20.577943,allocate failure,(nil),31457280,0
1,07:54:20.578029,free,0x7f0000000000,41943040,0
END
expect_status 0 why rmm.csv
has out '^The recording does not tell: a request was refused when it was recorded, but [^ ]* has room for it, and how much'
has out 'At record 2 the program asked for 30 MiB, with 40 MiB live. With --device and the card it ran on'
expect_status 0 why rmm.csv --device 64MiB
has out '^Really full: short by at least 6 MiB'

# ---- every line fits a terminal ----
for f in "$data"/oom-*.zst; do
    { "$replay" why "$f"; "$replay" why "$f" --device rtx3070-8g; } | awk -v f="$f" 'length($0) > 80 { print "FAILED: wider than 80 columns: " f ": " $0; bad = 1 } END { exit bad }' ||
        failures=$((failures + 1))
done

# ---- the text of the error alone, as a log and from standard input ----
cat >log <<'END'
step 41
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.15 GiB. GPU 0 has a total capacity of 39.56 GiB of which
2.80 GiB is free. Including non-PyTorch memory, this process has 36.61 GiB memory in use. Of the allocated memory 31.66 GiB
is allocated by PyTorch, and 4.11 GiB is reserved by PyTorch but unallocated.
END
expect_status 0 why log
has out '^Fragmented: .* reserved but unallocated. export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
"$replay" why - <log >again && cmp -s out again || fail "standard input gets another answer"
expect_status 0 why log --json text.json
has text.json '"verdict": "fragmented"'
echo "nothing of the kind" >log
expect_status 2 why log
has err 'log: byte 0: neither a native trace'

[ "$failures" = 0 ]
