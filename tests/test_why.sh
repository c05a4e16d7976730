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

# ---- fragmented; the step that was cut is larger than the whole ones before it, so none of them tells the rest ----
expect_status 0 why "$data/oom-fragmented.trace.zst"
has out '^Fragmented: 26.37 MiB would have fitted, but what is free lies in pieces. '\
'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
has out 'With this setting the refused request is served; what follows was not recorded. To find out: replay run-sim'
expect_status 0 why "$data/oom-fragmented.trace.zst" --json why.json
has why.json '"verdict": "fragmented"'
has why.json '"whole_steps": 3'
has why.json '"recommended": null, "serves_refused": { "conf": "expandable_segments:True"'
expect_status 0 tune "$data/oom-fragmented.trace.zst"
has out 'With this setting the refused request is served; what follows was not recorded: export'
has out 'best found [0-9]* MiB .* >=[0-9]* MiB yes'
expect_status 0 tune "$data/oom-fragmented.trace.zst" --device 4GiB
has out 'No setting is recommended, because the step that was cut is unlike the whole ones before it.'

# ---- a smaller card than the recorded one: what was recorded after the refused request counts ----
expect_status 0 why "$data/530-270.trace.zst" --device sim:1000MiB
has out '^Really full: short by 340 MiB. No allocator setting can serve this.'
has out 'At event 3 the program asked for 530 MiB.* Later, at event 9, 1340 MiB are live at once; '\
'the lines below are of that moment. - holds most: 810 MiB (60%)'
expect_status 0 why "$data/530-270.trace.zst" --device sim:1000MiB --json why.json
has why.json '"event": 3, .*"shortfall_bytes": 356515840, "later_live_bytes": 1405091840, "later_event": 9'
expect_status 0 why "$data/530-270.trace.zst" --device sim:700MiB
has out '^Really full: short by 640 MiB'
expect_status 0 why "$data/530-270.trace.zst" --device sim:1600MiB
has out '^Fragmented: 530 MiB would have fitted'
has out 'With this setting all that was recorded runs on this card; no step was recorded whole.'
expect_status 0 why "$data/gpt-varlen-default.trace.zst" --device sim:196MiB
has out '^Fragmented, and no setting cures it: live data never exceeds the card, '\
'but all [0-9]* settings tried run out of memory on it.'
grep -q export out && fail "a setting is printed that cannot help: $(cat out)"
expect_status 0 why "$data/530-270.trace.zst" --device sim:1600MiB --json why.json
has why.json '"later_live_bytes": null, "later_event": null'

# ---- a leak, and the cut step filled in from the ones before, beside the lower bound ----
expect_status 0 why "$data/oom-leak.trace.zst"
has out '^A leak: live memory grows by 16 MiB a step, at /home/ada/leak.py:22 <module>.'
has out 'figures are lower bounds. - If the cut step goes on as the one before (filled in, not recorded), '\
'live data peaks at 629.10 MiB, and a card of 650 MiB holds it until the next step.'
expect_status 0 why "$data/oom-leak.trace.zst" --json why.json
has why.json '"verdict": "leak"'
has why.json \
    '"if_step_goes_on": { "live_peak_bytes": 659656744, "smallest_card_bytes": 681574400, "runs_with_setting": null }'
expect_status 0 fit "$data/oom-leak.trace.zst" --json fit.json
has fit.json '"is_lower_bound": true, "named_card": null.*"if_step_goes_on_bytes": 681574400'
expect_status 0 fit "$data/oom-leak.trace.zst"
has out '>=650 MiB .* not known'
has out 'If the cut step goes on as the one before (filled in from it, not recorded): '\
'best-fit needs a card of 650 MiB, until the next step.'
expect_status 0 tune "$data/oom-leak.trace.zst" --json tune.json
has tune.json \
    '"if_step_goes_on": { "live_peak_bytes": [0-9]*, "smallest_card_bytes": 681574400, "runs_with_setting": null }'
expect_status 0 fit "$data/oom-fragmented.trace.zst" --json fit.json
has fit.json '"if_step_goes_on_bytes": null'

# ---- nothing was refused: the context is not spoken of, unless a card is named ----
expect_status 0 why "$data/gpt-fp32.trace.zst"
has out '^Nothing was refused: live data peaks at 129.39 MiB, and PyTorch reserves 146 MiB, '\
'which nvidia-smi shows beside what CUDA takes for itself. The other 16.61 MiB are cache.'
grep -q 'CUDA context' out && fail "a context of a card that nobody named: $(cat out)"
expect_status 0 why "$data/gpt-fp32.trace.zst" --device a100-40g
has out 'Of the 39.39 GiB of a100-40g about 532 MiB go to the CUDA context and libraries, at most 1.11 GiB seen'

# ---- the card that it ran on had room, but others held it ----
expect_status 0 why "$data/oom-too-large.trace.zst" --device rtx3070-8g
has out '^Somebody else has the memory: when the request was refused, [0-9]* MiB of the card were not this program.s'
expect_status 0 why "$data/oom-too-large.trace.zst" --device rtx3070-8g --json why.json
has why.json '"verdict": "somebody-else"'
has why.json '"context_source": "seen on'

# ---- a final state alone: an answer as far as it goes ----
# Recorded beside 6 GiB of other processes on a card of 12 GB, on which the program would have had room.
expect_status 0 why "$data/oom-others.trace.zst" --device rtx3060-12g
has out '^Somebody else has the memory: when the request was refused, 6144 MiB of the card'
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

# ---- a setting that was asked for is not in force, ----
# ---- as where PyTorch's build for the system has no expandable segments ----
python3 - <<'END'
import pickle
snapshot = pickle.load(open("all.pickle", "rb"))
snapshot["allocator_settings"].update({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
                                       "expandable_segments": False})
pickle.dump(snapshot, open("asked.pickle", "wb"))
END
expect_status 0 why asked.pickle
has out "^The setting is not in force: 'expandable_segments:True' was asked for; expandable_segments is not as asked"
expect_status 0 why asked.pickle --json why.json
has why.json '"verdict": "not-in-force"'

# ---- two devices: the one with more, and how to see the other ----
python3 - <<'END'
import copy, pickle
snapshot = pickle.load(open("state.pickle", "rb"))
other = copy.deepcopy(snapshot["segments"][0])
other["device"] = 1
snapshot["segments"].append(other)
snapshot["device_traces"] = [[], []]
pickle.dump(snapshot, open("two.pickle", "wb"))
END
expect_status 0 why two.pickle
has out '^The recording holds only what was there when it was taken'
has err 'several devices hold memory: 0 (.*), 1 (.*); choose one with --gpu; this is device 0, which has most'
expect_status 0 who two.pickle --gpu 1
grep -q 'several devices' err && fail "a device was named: $(cat err)"

# ---- another allocator's log with a refusal: the card is not known, and is asked for ----
cat >rmm.csv <<'END'
Thread,Time,Action,Pointer,Size,Stream
1,07:54:20.577769,allocate,0x7f0000000000,41943040,0
1,07:54:20.577943,allocate failure,(nil),31457280,0
1,07:54:20.578029,free,0x7f0000000000,41943040,0
END
expect_status 0 why rmm.csv
has out \
    '^The recording does not tell: a request was refused when it was recorded, but [^ ]* has room for it, and how much'
has out 'At record 2 the program asked for 30 MiB, with 40 MiB live. With --device and the card it ran on'
expect_status 0 why rmm.csv --device 64MiB
has out '^Really full: short by at least 6 MiB'

# ---- every line fits a terminal ----
for f in "$data"/oom-*.zst; do
    { "$replay" why "$f"; "$replay" why "$f" --device rtx3070-8g; } |
        awk -v f="$f" 'length($0) > 80 { print "FAILED: wider than 80 columns: " f ": " $0; bad = 1 }
                       END { exit bad }' ||
        failures=$((failures + 1))
done

# ---- the text of the error alone, as a log and from standard input ----
cat >log <<'END'
step 41
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.15 GiB. GPU 0 has a total capacity of 39.56 GiB of which
2.80 GiB is free. Including non-PyTorch memory, this process has 36.61 GiB memory in use. Of the allocated memory 31.66
GiB is allocated by PyTorch, and 4.11 GiB is reserved by PyTorch but unallocated.
END
expect_status 0 why log
has out '^Fragmented: .* reserved but unallocated. export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
"$replay" why - <log >again && cmp -s out again || fail "standard input gets another answer"
cat >processes <<'END'
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total capacity of 39.49 GiB of
which 321.31 MiB is free. Process 11 has 414.00 MiB memory in use. Including non-PyTorch memory, this process has 37.46
GiB memory in use. Process 12 has 414.00 MiB memory in use. Process 13 has 414.00 MiB memory in use. Of the allocated
memory 36.04 GiB is allocated by PyTorch, and 321.37 MiB is reserved by PyTorch but unallocated.
END
expect_status 0 why processes
has out '^Somebody else has the memory: other processes hold 1242 MiB of the card.'
expect_status 0 why log --json text.json
has text.json '"verdict": "fragmented"'

# ---- errors that say it in other words ----
refused() {                          # the error's words, who was refused, and the line to use
    printf 'Traceback\nRuntimeError: %s when calling f\nbye\n' "$1" >library
    expect_status 0 why library
    has out "$2"
    has out "$3"
}
for words in 'CUDA error: CUBLAS_STATUS_ALLOC_FAILED=cuBLAS' 'cuDNN error: CUDNN_STATUS_ALLOC_FAILED=cuDNN' \
             'cuFFT error: CUFFT_ALLOC_FAILED=cuFFT' 'CUDA error: out of memory=the driver' \
             "ncclUnhandledCudaError: Cuda failure 2 'out of memory'=NCCL"; do
    refused "${words%=*}" "^The card was full outside PyTorch: ${words#*=} was refused" \
            'torch.cuda.set_per_process_memory_fraction(0.9)'
done
expect_status 0 why library --json text.json
has text.json '"verdict": "library-refused"'
refused 'GET was unable to find an engine to execute this computation' \
        '^Probably really full: PyTorch was refused the workspace' 'export CUDNN_CONV_WSCAP_DBG=256'
cat processes >>library
expect_status 0 why library
has out '^Somebody else has the memory'          # figures say more than words

echo "nothing of the kind" >log
expect_status 2 why log
has err 'log: byte 0: neither a native trace'

[ "$failures" = 0 ]
