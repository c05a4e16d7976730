#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `why` and the honesty of `fit`, `tune` and `info`, on recordings of examples/oom under PyTorch 2.9.1.
set -u
replay=$1 data=$3/samples
. "$3/tests/shell.sh"

# has FILE PATTERN: the file has it, line breaks and runs of blanks taken as one blank
has() { tr -s ' \n' ' ' <"$1" | grep -q -e "$2" || fail "no '$2' in: $(cat "$1")"; }

# ---- really full: dies on a card of 4 GiB, needs 7,102 MiB ----
expect_status 0 why "$data/oom-too-large.trace.zst"
has out '^Really full: short by at least [0-9.]* MiB. The program died in its first forward pass, so how much '\
'more it needs is not known. No allocator setting can serve this.'
has out 'What it needs in all, without a GPU: replay predict --device 4096MiB -- python YOUR_PROGRAM'
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
expect_status 0 why "$data/oom-halves-batch.trace.zst"
has out 'What to do: Nothing needs to be done if the program may go on as it did. If not: Take a smaller batch'
has out '^Really full: .* The program survived it, and went on. '
! grep -q 'died' out || fail "a program that went on is called dead: $(cat out)"

# ---- more than half of the card is asked for, and would fit beside the pieces that two streams hold ----
expect_status 0 why "$3/tests/dying/recordings/two_streams_two_halves.zst"
has out '^Fragmented: 110 MiB would have fitted, .* export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
expect_status 0 why "$3/tests/dying/recordings/all_differences_at_once.zst"
has out '^One tensor is too large: '

# ---- gradients without modules, in the first step: what more it needs is not known, though a setting serves it ----
expect_status 0 why "$3/tests/dying/recordings/inner_steps_of_the_first_task.zst" --json why.json
has out '^Too small, or nearly: .* died before it repeated a step, so how much more it needs is not known.'
has out 'expandable_segments:True serves this request. Whether the program gets through a step with it is not known.'
has why.json '"reached": "step"'

# ---- layers that learn again hold what they freed at once; a document of many chunks may have more to come ----
expect_status 0 why "$3/tests/dying/recordings/transformer_learns_later.zst" --json why.json
has out '^Really full: '
has why.json '"larger_input": null'
expect_status 0 why "$3/tests/dying/recordings/document_of_many_chunks.zst"
has out '^A larger input than before: '
grep -q export out && fail "a setting is printed, and how many chunks follow is not known: $(cat out)"
expect_status 0 why "$3/tests/dying/recordings/head_for_each_box.zst"
has out '^A leak, or one long forward pass: '
expect_status 0 why "$3/tests/dying/recordings/validation_keeps_graphs.zst"
has out '^A leak: '
# An inner loop: no step came yet that would tell it from a leak; or earlier steps did so, too.
expect_status 0 why "$3/tests/dying/recordings/first_outer_step.zst"
has out '^A leak, or one long forward pass: '
expect_status 0 why "$3/tests/dying/recordings/more_tasks_in_the_third_step.zst"
has out '^A larger input than before: '

# ---- a half that does not last leaves behind a memory of ten that was not full yet: that tells nothing ----
expect_status 0 why "$3/tests/dying/recordings/shapes_and_a_short_memory.zst" --json why.json
has out '^Fragmented: .* export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
has out 'For how long it goes on then, this recording does not tell.'
has why.json '"played_on": null'
expect_status 0 tune "$3/tests/dying/recordings/shapes_and_a_short_memory.zst"
has out 'For how long it goes on then, this recording does not tell.'

# ---- a cache that had not filled looks like a leak: the setting that makes room is named, not given to paste ----
expect_status 0 why "$3/tests/dying/recordings/beams_for_reranking.zst"
has out '^A leak: '
has out 'If it is a cache with a limit .* the setting expandable_segments:True makes room for up to 119 more'
expect_status 0 why "$3/tests/dying/recordings/chats_come_and_go.zst"
has out '^A leak, or a cache that is meant to grow: '
has out 'If it is a cache with a limit .* the setting [a-z_:,A-Z0-9]* makes room for up to [0-9]* more forward passes'
grep -q export out && fail "a setting is given to paste against a leak: $(cat out)"
expect_status 0 why "$3/tests/dying/recordings/backward_hook_collects.zst"
grep -q 'a cache with a limit' out && fail "room for one more is worth a word: $(cat out)"

# ---- a checkpoint that is loaded onto the card in mid-run: its line, and the host's memory ----
expect_status 0 why "$3/tests/dying/recordings/rollback_to_the_best.zst" --json why.json
has out 'Of a file that was loaded 60.03 MiB lie on the card, beside weights and states of the same sizes'
has out 'map_location="cpu", mmap=True) at /home/ada/dying/programs_fifth.py:337 rollback_to_the_best'
has why.json '"loaded": { "bytes": [0-9]*, "twin_bytes": [1-9]'

# ---- a run that goes on from a checkpoint: its weights have twins, its states have none; a second model is none ----
expect_status 0 why "$3/tests/data/full/resume.zst" --json why.json
has out 'Of a file that was loaded 72.07 MiB lie on the card, beside the model, whose weights are in it once more'
has out 'map_location="cpu", mmap=True) at /home/ada/resume.py:[0-9]* as_loaded, .* gives back at least 24.02 MiB'
grep -q 'Keep fewer weights' out && fail "weights that lie twice are to be fewer: $(cat out)"
expect_status 0 why "$3/tests/data/full/draft.zst" --json why.json
has why.json '"loaded": null'

# ---- a checkpoint that is loaded before the model is made ----
dying=$3/tests/dying/recordings
expect_status 0 why "$dying/checkpoint_before_its_model.zst" --json why.json
has out 'Of a file that was loaded 185.68 MiB lie on the card, beside weights and states of the same sizes'
has out 'map_location="cpu", mmap=True) at /home/ada/dying/programs_seventh.py:249 checkpoint_before_its_model'

# ---- what the first step would still have asked for; the optimizer is known by its step alone ----
expect_status 0 why "$dying/states_of_the_first_step.zst" --json why.json
has out 'Still to come, with what was refused: at least 134.61 MiB of states of Adam or AdamW'
has why.json '"to_come": { "gradients_bytes": 0, "states_bytes": 141146624, .* "optimizer": "Adam or AdamW" }'
expect_status 0 why "$dying/gradients_of_the_first_step.zst" --json why.json
has out 'Still to come, if it trains all weights: 446.94 MiB of gradients, and the states of the optimizer.'
has out 'of Adam or AdamW they take 893.87 MiB, of SGD without momentum nothing'
has why.json '"to_come": { .* "optimizer": null }'
expect_status 0 why "$dying/adam_state.zst" --json why.json
has why.json '"to_come": null'                                       # it made whole steps

# ---- states that load_state_dict puts on the card are no step of the optimizer ----
expect_status 0 why "$dying/resumed_and_dead_in_the_first_step.zst" --json why.json
has out 'The program died in its first forward pass'
has out '371.36 MiB (19%) optimizer state'
has why.json '"to_come": null'

# ---- a batch that is halved in vain repeats nothing, nor do steps before a stage: no promise ----
expect_status 0 why "$dying/batch_halved_in_vain.zst" --json why.json
has out 'The program died in its first optimizer step'
has why.json '"serves_refused": { "conf": '                          # as the text does
expect_status 0 why "$dying/features_prepared_on_a_side_stream.zst" --json why.json
has out 'For how long it goes on then, this recording does not tell.'
has why.json '"played_on": null'

# ---- three evaluations, the last one cut off; few large steps ----
expect_status 0 why "$dying/segmentation_metric_of_all_epochs.zst"
has out '^A leak: .* at /home/ada/dying/programs_sixth.py:63 update'
expect_status 0 why "$dying/three_large_steps_of_a_running_loss.zst" --json why.json
has out '^A leak: live memory grows by 1223.29 MiB a step'
has why.json '"of_two_turns": false'

# ---- what grows, and the turns in which it grew, multiply up; turns that do not are not told ----
expect_status 0 why "$dying/forward_hook_collects.zst"
has out '^A leak: live memory grows by 512.0 KiB a forward pass'
has out 'All that grows holds 158 MiB in 316 requests. It grew in 316 forward passes. .* more forward passes.'
expect_status 0 why "$dying/adapters_merged_per_tenant.zst"
grep -q 'It grew in' out && fail "turns that what is held is not of: $(cat out)"

# ---- a leak in a run that ended well: nothing was refused, and a card is large enough for so long ----
{
    echo op,ptr,size,time
    for i in $(seq 100); do
        echo "malloc,4096,8388608,$i"
        echo "malloc,$((i * 1048576)),524288,$i"
        echo "free,4096,0,$i"
    done
} >slow.csv
expect_status 0 import slow.csv -o slow.zst
expect_status 0 why slow.zst
has out '^Nothing was refused. A leak'
expect_status 0 fit slow.zst
has out 'no card cures it, .* runs on a card of [0-9]* MiB for [a-z0-9 ]*recorded'

# ---- a batch may be larger without being longer ----
expect_status 0 why "$dying/curriculum.zst"
has out 'Make this batch as small as the others (drop_last, a merged batch), or, if lengths vary, limit'

# ---- a pass without gradients holds a few activations and nothing to checkpoint; one of a graph may need none ----
expect_status 0 why "$3/tests/data/full/lengths.zst" --json why.json
has out '^Fragmented and nearly full: 40.38 MiB were refused with 55.50 MiB free in pieces'
has out 'What to do: Try the setting expandable_segments:True first, which `replay tune` gives to paste.* export'
grep -q 'makes live data smaller' out && fail "a setting is named, and is said not to help: $(cat out)"
grep -q -i 'checkpoint\|no_grad' out && fail "a lever is told that saves nothing: $(cat out)"
grep -q '"saves_bytes": 0' why.json && fail "a lever is tried that touches nothing: $(cat why.json)"
expect_status 0 why "$data/oom-too-large.trace.zst"
has out 'torch.no_grad() around this pass if it needs no gradients'

# ---- what a step of the optimizer holds for itself is no state of it; with foreach=False and fused=True it lives ----
expect_status 0 why "$3/tests/dying/recordings/first_optimizer_step.zst" --json why.json
has out 'What to do: Give the optimizer fused=True, or foreach=False.'
has out 'In its step the optimizer held 128.03 MiB that it frees when the step ends'
has out '512.12 MiB (44%) optimizer state'
has why.json '"optimizer_step": { "bytes": [0-9]*, "fits_by_weight": true, "has_fused": true }'
expect_status 0 why "$3/tests/data/full/nadam.zst"                   # which refuses fused=True with a TypeError
has out 'What to do: Give the optimizer foreach=False.'
grep -q fused=True out && fail "NAdam takes no fused=True: $(cat out)"
expect_status 0 why "$3/tests/dying/recordings/adam_state.zst"
grep -q 'foreach=False. If' out && fail "a step that does not fit by weights is said to: $(cat out)"

# ---- two sets of weights are no growth where the card is full ----
expect_status 0 why "$3/tests/dying/recordings/cell_run_again.zst"
grep -q 'twice the size' out && fail "two models go on for ever: $(cat out)"
expect_status 0 why "$3/tests/dying/recordings/checkerboard_freed.zst"
has out 'For a request of that size PyTorch takes 20 MiB of the card at once.'

# ---- one result of each pass is kept: nothing of its graph, so to detach it frees nothing; others may be graphs ----
for name in logits_of_the_test_set module_remembers plots_drawn_later; do
    expect_status 0 why "$3/tests/dying/recordings/$name.zst"
    has out 'detach() would free nothing. Keep results on the host (.cpu())'
done
for name in losses_with_graph evaluation_every_tenth hooks_of_all_layers recurrent_state; do
    expect_status 0 why "$3/tests/dying/recordings/$name.zst"
    has out 'Keep loss.item() or out.detach(), .* If it is detached already, move it to the host'
done
expect_status 0 why "$3/tests/dying/recordings/queue_is_never_cut.zst"
has out 'one tensor that is replaced by a larger one again and again'

# ---- recorded from mid-run: what is served in our replay was refused ----
expect_status 0 why "$3/tests/dying/recordings/best_models_never_pruned.zst"
has out 'and is served when it is replayed: where everything lay when the recording began is not known'

# ---- a setting that serves the request and does not last: it is not said that none was found ----
expect_status 0 why "$3/tests/dying/recordings/sequences_served.zst"
has out '^Fragmented: '
grep -q 'no setting that was tried' out && tr -s ' \n' ' ' <out | grep -q 'serves this request' &&
    fail "a setting is found and is not: $(cat out)"

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

# ---- a flag of `replay technique` is named only where the command takes this recording ----
for name in states_of_the_first_step gradients_of_the_first_step adam_state perceptual_loss_after_a_warm_up; do
    for flag in '--optimizer sgd' '--checkpoint repeated'; do
        expect_status 0 why "$dying/$name.zst"
        tr -s ' \n' ' ' <out | grep -q -e "$flag" || continue
        expect_status 0 technique "$dying/$name.zst" $flag
    done
done
expect_status 0 why "$dying/perceptual_loss_after_a_warm_up.zst"
has out 'replay technique --checkpoint repeated'
expect_status 0 why "$dying/states_of_the_first_step.zst"
has out 'in 8 bits by about [0-9.]* MiB, or without any (SGD) by [0-9.]* MiB\.'
expect 2 'what another one would leave out' technique "$dying/states_of_the_first_step.zst" --optimizer sgd

# ---- full after whole steps: each lever is tried, and what saves nothing is not named ----
expect_status 0 why "$3/tests/dying/recordings/copy_made_once.zst" --json why.json
has out 'of the most that was live in it: an optimizer without states (SGD) by 192.09 MiB.'
has why.json '"lever": "half-batch", "saves_bytes": 0'
# 192.09 MiB of 32-bit states are 48.02 in 8 bits; weights, gradients and states are half of all in 16 bits
has out 'if it computes in 32 bits now, .* states of the optimizer in 8 bits by about 144.07 MiB'
has why.json '"lever": "8-bit-states", "saves_bytes": 151068672'

# ---- a leak without stacks: how much a step leaves is not known ----
expect_status 0 why "$3/tests/dying/recordings/rows_without_stacks.zst" --json why.json
has out '^A leak: live memory grew by 62.27 MiB, mostly by requests of 800 KiB.'
has out 'All that grows holds [0-9.]* MiB in [0-9]* requests\.'
has out 'For the line, record with'
has why.json '"turns": 0, "bytes_per_turn": 0'

# ---- a leak, and the cut step filled in from the ones before, beside the lower bound ----
expect_status 0 why "$data/oom-leak.trace.zst"
has out '^A leak: live memory grows by 16 MiB a step, at /home/ada/leak.py:22 <module>.'
# what it holds is counted where the program ended, as `who` counts it: one figure
has out 'grows most: 433 MiB (71%) in 27 requests, /home/ada/leak.py:22 <module> - All that grows holds 433 MiB'
expect_status 0 who "$data/oom-leak.trace.zst"
has out ' 433.00 MiB 71.1% 27 /home/ada/leak.py:22 <module>'
expect_status 0 why "$data/oom-leak.trace.zst"
goes_on='If the cut step goes on as the one before (filled in from it, not recorded), live data peaks at 629.10 MiB; '
has out "figures are lower bounds. - ${goes_on}the recorded setting needs a card of 650 MiB, until the next step."
expect_status 0 why "$data/oom-leak.trace.zst" --json why.json
has why.json '"verdict": "leak"'
has why.json \
    '"if_step_goes_on": { "live_peak_bytes": 659656744, "smallest_card_bytes": 681574400, "runs_with_setting": null }'
expect_status 0 fit "$data/oom-leak.trace.zst" --json fit.json
has fit.json '"is_lower_bound": true, "named_card": null.*"if_step_goes_on": {.* "smallest_card_bytes": 681574400'
expect_status 0 fit "$data/oom-leak.trace.zst"
has out '>=650 MiB .* not known'
has out "${goes_on}best-fit needs a card of 650 MiB, until the next step."
expect_status 0 tune "$data/oom-leak.trace.zst" --json tune.json
has tune.json \
    '"if_step_goes_on": { "live_peak_bytes": [0-9]*, "smallest_card_bytes": 681574400, "runs_with_setting": null }'
expect_status 0 fit "$data/oom-fragmented.trace.zst" --json fit.json
has fit.json '"if_step_goes_on": null'

# ---- nothing was refused: the context is not spoken of, unless a card is named ----
expect_status 0 why "$data/gpt-fp32.trace.zst"
has out '^Nothing was refused: live data peaks at 129.39 MiB, and PyTorch reserves 146 MiB, '\
'which nvidia-smi shows beside what CUDA takes for itself. The other 16.61 MiB are cache. '\
'The recording does not show the program.s end: this is only what happened until then.'
has out 'What to do: As far as was recorded, nothing needs to be done.'
for one in rocm:rocm-smi xpu:xpu-smi; do
    expect_status 0 why "$data/gpt-fp32.trace.zst" --system "${one%:*}"
    has out "which ${one#*:} shows beside"
done
expect_status 0 why "$data/gpt-fp32.trace.zst"
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
has out 'What to do: Record how it came to that'
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
expect_status 0 why rmm.csv --device 24GiB
has out 'If that is the card it ran on, others had memory of it, or a limit such as set_per_process_memory_'
expect_status 0 why rmm.csv --device 64MiB
has out '^Really full: short by at least 6 MiB'

# ---- every line fits a terminal ----
for f in "$data"/oom-*.zst; do
    { "$replay" why "$f"; "$replay" why "$f" --device rtx3070-8g; } |
        awk -v f="$f" 'length($0) > 80 { print "FAILED: wider than 80 columns: " f ": " $0; bad = 1 }
                       END { exit bad }' ||
        failures=$((failures + 1))
done

# ---- a limit: refused with most of the card free (a memory fraction of 0.1 of an H100, under run-sim) ----
expect_status 0 why "$3/tests/data/limits/fraction.pickle"
has out '^A limit refused it: the card had room, 79.19 GiB .*The limit is at least 8100 MiB and below 8112 MiB'
has out 'set_per_process_memory_fraction .*MIG slice'
grep -q 'rtx' out && fail "another card is named: $(cat out)"
expect_status 0 why "$3/tests/data/limits/fraction.pickle" --json why.json
has why.json '"verdict": "limited"'
has why.json '"limit": { "least_bytes": 8493465600, "below_bytes": 8506048512, "card_bytes": 85028896768 }'

# ---- a platform: no setting is tried that does not exist there ----
expect_status 0 why "$data/oom-fragmented.trace.zst" --system windows
grep -q expandable_segments out && fail "Windows has no expandable segments: $(cat out)"
expect_status 0 tune "$data/530-270.trace.zst" --device sim:1640MiB,system=windows --json tune.json
has tune.json '"platform": "windows"'
grep -q 'expandable_segments:True' tune.json && fail "tried on Windows"
expect_status 0 fit "$data/530-270.trace.zst" --device gb10-128g --system windows --policy expandable_segments:True
has out 'gb10-128g shares its memory with the host, which is not modelled'
has out 'expandable_segments:True is no choice on Windows'

# ---- the text of the error alone, as a log and from standard input ----
cat >log <<'END'
step 41
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.15 GiB. GPU 0 has a total capacity of 39.56 GiB of which
2.80 GiB is free. Including non-PyTorch memory, this process has 36.61 GiB memory in use. Of the allocated memory 31.66
GiB is allocated by PyTorch, and 4.11 GiB is reserved by PyTorch but unallocated.
END
expect_status 0 why log
has out '^Fragmented: .* reserved but unallocated. export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True'
has out 'the setting is worth a try, not certain'
"$replay" why - <log >again && cmp -s out again || fail "standard input gets another answer"
cat >processes <<'END'
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total capacity of 39.49 GiB of
which 321.31 MiB is free. Process 11 has 414.00 MiB memory in use. Including non-PyTorch memory, this process has 37.46
GiB memory in use. Process 12 has 414.00 MiB memory in use. Process 13 has 414.00 MiB memory in use. Of the allocated
memory 36.04 GiB is allocated by PyTorch, and 321.37 MiB is reserved by PyTorch but unallocated.
END
expect_status 0 why processes
has out '^Really full, though this request would have fitted in one piece: what is free or cached, 642.[0-9]* MiB'
sed 's/414.00 MiB/8.00 GiB/; s/37.46/30.00/; s/36.04/29.00/' processes >others
expect_status 0 why others
has out '^Somebody else has the memory: other processes hold 16.40 GiB of the card.s 39.49 GiB, process 11 has 8 GiB'
has out 'End process 11 .* CUDA_VISIBLE_DEVICES=NUMBER'
# An error that comes later may be what ended the run; what only passes the first one on is none.
{ cat others; echo "step 41 done"; echo "json.decoder.JSONDecodeError: Expecting value: line 1"; } >went_on
expect_status 0 why went_on
has out '^The log ends with another error: json.decoder.JSONDecodeError'
has out 'Somebody else has the memory'
{ cat others; echo "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"; } >passed_on
expect_status 0 why passed_on
grep -q 'another error' out && fail 'a launcher that passes an error on has one of its own'
expect_status 0 why log --json text.json
has text.json '"verdict": "fragmented"'

# ---- in a container the program itself is "Process N" ----
cat >container <<'END'
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 600.00 MiB. GPU 0 has a total capacity of 24.00 GiB of
which 4.00 MiB is free. Process 77 has 23.99 GiB memory in use. Of the allocated memory 23.60 GiB is allocated by
PyTorch, and 1018.00 KiB is reserved by PyTorch but unallocated.
END
expect_status 0 why container
has out '^Really full: short by at least 59[0-9.]* MiB.*One of the processes that the text lists must be the prog'
sed -i 's/Process 77/Process 5 has 8.00 GiB memory in use. &/; s/23.99/15.99/; s/23.60/15.00/' container
expect_status 0 why container
has out '^Somebody else has the memory: other processes hold 8 GiB of the card.s 24 GiB, process 5 has 8 GiB of it.'

# ---- a setting that the release has, which wrote the text ----
early='RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 3; 79.15 GiB total capacity; 70.09 GiB '\
'already allocated; 301.62 MiB free; 77.45 GiB reserved in total by PyTorch)'
echo "$early If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation." >early
expect_status 0 why early
has out 'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 .* PyTorch 2.0 or older, which has no expandable_'
echo "$early" >early
expect_status 0 why early
grep -q export out && fail "a setting is printed that the release may lack: $(cat out)"
{ cat log; echo 'If it is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True'; } >general
expect_status 0 why general
has out 'export PYTORCH_ALLOC_CONF=expandable_segments:True'

# ---- what a text does not tell, and a limit ----
figures() {                          # ASKED FREE ALLOWED ALLOCATED CACHED: the text on a card of 24 GiB
    cat >figures <<END
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate $1. GPU 0 has a total capacity of 24.00 GiB of which $2 is
free. Including non-PyTorch memory, this process has 5.96 GiB memory in use. ${3}Of the allocated memory $4 is allocated
by PyTorch, and $5 is reserved by PyTorch but unallocated.
END
    expect_status 0 why figures
}
figures '20.00 MiB' '2.00 MiB' '' '23.98 GiB' '8.01 MiB'
has out '^Really full: what is free or cached, 10.0[0-9]* MiB, is a scrap'
figures '4.00 GiB' '1.00 GiB' '' '19.99 GiB' '3.00 GiB'
has out '^Full or fragmented, the text does not tell: PyTorch asked for a segment of 4 GiB for a request of 3.99 GiB'\
' to 4 GiB. 1 GiB were free on the card, and 3 GiB are reserved but unallocated. export PYT'
grep -q 'other processes' out && fail "something below the rounding: $(cat out)"
figures '1.00 GiB' '2.00 MiB' '' '23.00 GiB' '8.00 MiB'
has out '^Really full: short by at least 10[0-9.]* MiB. No allocator setting makes live data smaller. - What makes'
has out 'other processes had about 1014 MiB'
figures '100.00 MiB' '18.04 GiB' '6.00 GiB allowed; ' '5.96 GiB' '0 bytes'
has out '^A memory fraction refused it: 6 GiB are allowed, 5.96 GiB of them were reserved, and 100 MiB were asked for.'
grep -q export out && fail "a setting is printed that cannot help: $(cat out)"
expect_status 0 why figures --json text.json
has text.json '"verdict": "limited", .*"allowed_bytes": 6442450944, .*"setting": null'
figures '1.19 GiB' '14.71 GiB' '' '7.89 GiB' '12.54 MiB'
has out '^The card had room: 14.71 GiB were free, and 1.19 GiB were asked for. The text does not tell why that was'
grep -q export out && fail "a setting is printed that cannot help: $(cat out)"

# ---- several errors: the first rank to end, and in a long log the line is counted from its beginning ----
error() {                            # BEFORE GPU SIZE: a line of a log
    printf '%storch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s. GPU %s has a total capacity of '\
'79.10 GiB of which 512.38 MiB is free. Including non-PyTorch memory, this process has 78.58 GiB memory in use. Of th'\
'e allocated memory 75.91 GiB is allocated by PyTorch, and 1.21 GiB is reserved by PyTorch but unallocated.\n' \
        "$1" "$3" "$2"
}
{ error '' 0 '1.25 GiB'; echo "replay run-sim: out/a.zst: PyTorch's requests, process 41, device 0"; } >named
expect_status 0 why named
has out 'The log names a recording of this run, which tells more than the text: replay why out/a.zst'
sed -i 's#out/a#a$(b)#' named
expect_status 0 why named
grep -q 'names a recording' out && fail "a name is to be pasted that a shell expands: $(cat out)"
{ echo start; error '[rank3]: ' 3 '1.25 GiB'; error '[rank1]: ' 1 '640.00 MiB'; } >ranks
expect_status 0 why ranks
has out 'The log holds 2 such errors. This is about the one in line 2, of rank 3: the first rank to end, '\
'if the log keeps the order. - On GPU 3 PyT'
expect_status 0 why ranks --json text.json
has text.json '"errors": 2, "line": 2, "rank": 3, "gpu": 3'
{ yes 'step' | head -n 4000000; error '' 0 '640.00 MiB'; error '' 0 '700.00 MiB'; } >long
expect_status 0 why long
has out 'The log holds 2 such errors. This is about the last one, in line 4000002.'
{ error '' 1 '1.25 GiB'; error '' 0 '1.30 GiB'; } >gpus
expect_status 0 why gpus
has out 'about the one in line 1: the first process to end, if the log keeps the order. - On GPU 1'

# ---- several files, or a folder: one answer, of the worst ----
mkdir -p job/restart
error '' 1 '1.25 GiB' | sed 's/512.38 MiB/1.75 GiB/' >job/rank1.log
error '' 0 '1.25 GiB' >job/restart/rank0.log
echo 'exit code 137' >job/rank2.log
echo 'step 1' >job/rank3.log
expect_status 0 why job
has out 'Of 4 files this is about the worst, job/restart/rank0.log. .*job/rank1.log: [a-z-]*, job/rank2.log: host-'
has out 'Neither a recording nor an error of memory is in: job/rank3.log.'
{ echo 'step 1'; error 'oom: ' 2 '900.00 MiB'; printf 'skipping batch\nstep 2\nstep 3\nstep 4\n'; } >job/rank4.log
expect_status 0 why job
has out 'about the worst, job/restart/rank0.log. .*job/rank4.log: survived'
rm job/rank4.log
ln -s nowhere job/rank5.log
expect_status 0 why job
has out 'Of 5 files this is about the worst, job/restart/rank0.log. .*a link may lead nowhere: job/rank5.log'
rm job/rank5.log
echo | "$replay" why - 2>err && fail "an empty line is answered"
has err 'standard input: holds no error of memory'
expect_status 0 why job/rank3.log job/rank2.log --json job.json
has job.json '"path": "job/rank2.log"'
expect_status 2 why job/rank3.log job/rank3.log
has err 'none of the 2 files holds a recording, or an error of memory that is known'
expect_status 0 why job/rank2.log "$data/oom-too-large.trace.zst"
has out 'Really full: .*this is about the worst, .*oom-too-large.trace.zst. The others: job/rank2.log: host-full.'
grep -q 'one card at once' out && fail "a text shares a card with a recording"
expect_status 0 why "$data/oom-too-large.trace.zst" "$data/oom-fragmented.trace.zst"
has out 'If they were on one card at once: .* together, .*replay --share [^ ]*oom-too-large.trace.zst,[^ ]*oom-frag'

# ---- errors that say it in other words ----
refused() {                          # the error's words, who was refused, and the line to use
    printf 'Traceback\nRuntimeError: %s when calling f\nbye\n' "$1" >library
    expect_status 0 why library
    has out "$2"
    has out "$3"
}
for words in 'cuDNN error: CUDNN_STATUS_ALLOC_FAILED=cuDNN' \
             'cuFFT error: CUFFT_ALLOC_FAILED=cuFFT' \
             "ncclUnhandledCudaError: Cuda failure 2 'out of memory'=NCCL"; do
    refused "${words%=*}" "^The card was full outside PyTorch: ${words#*=} was refused" \
            'torch.cuda.set_per_process_memory_fraction(0.9)'
done
refused 'CUDA error: CUBLAS_STATUS_ALLOC_FAILED' '^Often the card was full outside PyTorch: cuBLAS was refused' \
        'torch.cuda.set_per_process_memory_fraction(0.9).*an index out of range in a kernel before it'
refused 'CUDA error: out of memory' '^The driver was refused memory: another process has the card' \
        'torch.cuda.set_per_process_memory_fraction(0.9)'
expect_status 0 why library --json text.json
has text.json '"verdict": "library-refused"'
refused 'GET was unable to find an engine to execute this computation' \
        '^Probably really full: PyTorch was refused the workspace' 'export CUDNN_CONV_WSCAP_DBG=256'
cat others >>library
expect_status 0 why library
has out '^Somebody else has the memory'          # figures say more than words

# ---- what is no error of memory, and what must not be advised ----
lacks() { ! grep -qE "$1" out || fail "'$1' in: $(cat out)"; }

# ---- a server trains nothing: its own options are what helps ----
{ echo '  File "/sgl/python/sglang/srt/managers/scheduler.py", line 2400, in run_scheduler_process'
    error '' 0 '1.25 GiB'; } >served
expect_status 0 why served
has out '^Really full'
has out 'In SGLang: lower --mem-fraction-static'
lacks 'accumulation|optimizer'
echo 'arboretum.NativeError: [GPU] out of memory /src/histogram_builder.cu 112' >served
expect_status 0 why served
has out 'This is a text, in line 1'
shared() {                           # RANK GPU: one of several that share a card
    printf '[rank%s]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU %s has a total '\
'capacity of 79.15 GiB of which 5.06 MiB is free. Process 71 has 40.00 GiB memory in use. Including non-PyTorch memory'\
', this process has 39.10 GiB memory in use. Of the allocated memory 37.20 GiB is allocated by PyTorch, and 110.00 MiB'\
' is reserved by PyTorch but unallocated.\n' "$1" "$2"
}
shared 5 0 >log
expect_status 0 why log
has out 'probably other ranks of this run.*Rank 5 asked on GPU 0, beside others.*torch.cuda.set_device(local_rank)'
lacks 'End process'
{ shared 0 0; shared 1 0; } >log
expect_status 0 why log
has out 'Rank 0 asked on GPU 0, beside others'
for rank_gpu in '5 5' '8 0'; do
    shared $rank_gpu >log
    expect_status 0 why log
    has out 'End process 71 if it is yours'
done
{
    echo 'I.cu:9: f: block: [0,0,0], thread: [4,0,0] Assertion `srcIndex < srcSelectDimSize` failed.'
    echo 'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`'
} >log
expect_status 0 why log --json text.json
has text.json '"verdict": "index-out-of-range"'
expect_status 0 why log
has out '^No error of memory: an index, a label or a value is out of range'
lacks 'memory_fraction|ALLOC_CONF|nvidia-smi'
echo 'W tensorflow/core/common_runtime/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of memory trying to '\
'allocate 2.29GiB with freed_by_count=0'\
'. The caller indicates that this is not a failure, but more memory may gain speed.' >log
expect_status 0 why log
has out '^No error: TensorFlow had no room for a faster way'
printf 'CUDA error: out of memory\n  current device: 0, in function alloc at ggml-cuda/ggml-cuda.cu:4\n' >log
expect_status 0 why log
has out '^The card was full: llama.cpp was refused'
lacks 'torch'

# ---- what Python chains to the error is its consequence, in the words and in the JSON ----
{
    error '' 3 '1.25 GiB'
    printf '\nDuring handling of the above exception, another exception occurred:\n\n'
    printf 'Traceback (most recent call last):\n'
    printf '  File "train.py", line 12, in <module>\nRuntimeError: cannot save\n'
} >log
expect_status 0 why log --json why.json
expect_status 0 why log
has out 'came of it, of its handling, or of a process that lost it: RuntimeError: cannot save'
has why.json '"later_error": null, "consequence": "RuntimeError: cannot save"'
error '' 3 '1.25 GiB' >log
expect_status 0 why log --json why.json
has why.json '"consequence": null'

echo "nothing of the kind" >log
expect_status 2 why log
has err 'log: holds no error of memory that is known (doc/advice.md lists them). Give the whole log'
echo "nothing of the kind" | iconv -t UTF-16 >wide
expect_status 2 why wide
has err 'wide: holds no error of memory that is known (doc/advice.md lists them). Give the whole log'

# ---- two ranks, two causes ----
# rank_error RANK FREE OTHERS USED LIVE CACHED
rank_error() {
    printf '[rank%s]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. ' "$1"
    printf 'GPU %s has a total capacity of 47.40 GiB of which %s GiB is free. %s' "$1" "$2" "$3"
    printf 'Including non-PyTorch memory, this process has %s GiB memory in use. ' "$4"
    printf 'Of the allocated memory %s GiB is allocated by PyTorch, ' "$5"
    printf 'and %s GiB is reserved by PyTorch but unallocated.\n' "$6"
}
{
    rank_error 0 0.30 '' 47.10 46.10 0.40
    rank_error 1 0.20 'Process 4242 has 36.10 GiB memory in use. ' 11.10 10.00 0.50
} >ranks.log
expect_status 0 why ranks.log
has out '^Really full.*Another error has another cause: in line 2, of rank 1, GPU 1: somebody-else'
sed 2d ranks.log >rank.log
expect_status 0 why rank.log
grep -q 'Another error' out && fail "a rank that is alone has another cause: $(cat out)"
error '' 3 '1.25 GiB' | cut -c 1-170 >cut
expect_status 0 why cut
has out '^Out of memory on the card, if this is an error.s own text.*Error in line 1 lacks what is alloc'
printf 'step\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU ' >cut
expect_status 0 why cut
has out "in line 2 lacks the card's capacity (as it does on GPU 0 in PyTorch 2.3)"
echo '[1] 12345 killed     python train.py' | iconv -t UTF-16LE >powershell
expect_status 0 why powershell
has out "^The host's memory, probably: the process was killed"
expect_status 0 why figures --system windows --json text.json
has text.json '"platform": "windows"'
expect_status 2 why figures --system solaris
has err "system 'solaris': expected unknown, linux, windows"
echo '{"schema": "replay-report/1"}' >results.json
expect_status 2 why results.json
has err 'results are read by'                    # the sentence of who reads recordings
head -c 1200 "$3/samples/mlp-adam.trace.zst" >cut.zst
expect_status 2 why cut.zst
has err 'cut.zst: holds no request that can be read: it ends after 1200 bytes'

# ---- how far a vLLM came decides which of its options change something ----
oom='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacity of 4.00 GiB '
oom+='of which 100.00 MiB is free. Process 7 has 3.90 GiB memory in use. Of the allocated memory 3.80 GiB is allocated '
oom+='by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.'
# vllm_died LINE...: what is said of a vLLM's log with these lines before its end.
vllm_died() {
    { printf '%s\n' "(EngineCore pid=7) INFO $loads" "$@"
      echo "(EngineCore pid=7) ERROR [vllm/v1/engine/core.py:1584] $oom"; } >vllm.log
    expect_status 0 why vllm.log
    tr -s '\n ' ' ' <out >line
}
for loads in 'Loading model from scratch...' 'Starting to load model m...'; do       # by its newer runner, and others
    vllm_died
    has line 'was loading its weights: --gpu-memory-utilization changes nothing'
done
vllm_died '(EngineCore pid=7) INFO Model loading took 3.06 GiB memory and 3.1 seconds'
has line 'measured the rest: lower --max-num-batched-tokens'
vllm_died '(EngineCore pid=7) INFO Model loading took 3.06 GiB memory and 3.1 seconds' \
    '(EngineCore pid=7) INFO GPU KV cache size: 1,839,760 tokens'
has line 'had its cache: lower --gpu-memory-utilization'
vllm_died '(EngineCore pid=7) INFO GPU KV cache size: 1,839,760 tokens' \
    'ERROR   File "vllm/v1/worker/gpu_worker.py", line 560, in compile_or_warm_up_model'
has line 'the room that it left for CUDA graphs and for trying its kernels was too small'
vllm_died '(EngineCore pid=7) INFO GPU KV cache size: 1,839,760 tokens' \
    'ERROR   File "vllm/v1/worker/gpu_model_runner.py", line 5081, in _get_prompt_logprobs_dict'
has line 'logprobs of a prompt and sets nothing aside for them'

# ---- a log that names the recording that the run wrote: what lies beside it is answered, else it is asked for ----
cp "$data/oom-too-large.trace.zst" named.zst
{ cat "$3/samples/oom-fragmented.log"; echo 'Saved memory snapshot to /data/run 7/named.zst.'; } >named.log
expect_status 0 why named.log
has out 'This is about the recording that the log names, which lies beside it: named.zst'
has out 'At record'
# run-sim names three files at its end; that of the driver's calls is not the one to ask.
cp named.zst named.driver.zst
{ cat "$3/samples/oom-fragmented.log"; echo 'recorded: named.zst and named.driver.zst'; } >both.log
expect_status 0 why both.log
has out 'named.zst'
lacks 'named.driver'
{ cat "$3/samples/oom-fragmented.log"; echo 'Saved memory snapshot to /data/gone.pickle'; } >gone.log
expect_status 0 why gone.log
has out 'The log names a recording, gone.pickle: it tells more'
{ cat "$3/samples/oom-fragmented.log"; echo 'Loading labels.pkl'; } >data.log
expect_status 0 why data.log
lacks 'names a recording'

# ---- the driver's calls beside PyTorch's own requests of the same run: these are answered, and named ----
cp "$data/oom-leak.trace.zst" run.zst && cp "$data/oom-too-large.trace.zst" run.driver.zst
expect_status 0 why run.zst
cp out requests
expect_status 0 why run.driver.zst --json why.json
expect_status 0 why run.driver.zst
[ "$(head -1 out)" = "$(head -1 requests)" ] || fail "the two recordings of one run disagree: $(head -1 out)"
has out "lie beside the driver's calls of the same run: run.zst"
has why.json '"path": "run.zst"'
mkdir both && cp run.zst run.driver.zst both
expect_status 0 why both
grep -q 'run\.driver' out && fail "one run is listed as two recordings: $(cat out)"

# ---- what a server's own options can do stands before all that only tells more ----
expect_status 0 why "$3/tests/texts/771-sglang-phases.txt"
sed -n 4p out | grep -q 'In SGLang: lower --mem-fraction-static, --cuda-graph-max-bs-decode' ||
    fail "the server's own options do not come first: $(cat out)"

# ---- backend:cudaMallocAsync keeps no record; its text's first line, said again, does not hide the figures ----
cat >async.log <<'TEXT'
!!! Exception during processing !!! Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 9.31 GiB
Requested               : 410.00 MiB
Device limit            : 11.60 GiB
Free (according to CUDA): 20.00 MiB
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB
Traceback (most recent call last):
  File "C:\ComfyUI\execution.py", line 323, in execute
torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)
TEXT
expect_status 0 why async.log --json async.json
has async.json '"verdict": "untold"'
expect_status 0 why async.log
has out 'The card was full: 410 MiB were asked for, and 20 MiB were free'
has out '9.31 GiB allocated'
has out "Start first with PyTorch's own allocator (ComfyUI: --disable-cuda-malloc), then record"
lacks 'does not tell how much PyTorch held'

# ---- a native text of ComfyUI: its own options, and none of a training loop's ----
error='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.20 GiB. GPU 0 has a total capacity of 11.60 GiB'
error="$error of which 3.10 GiB is free. Including non-PyTorch memory, this process has 8.20 GiB memory in use. Of the"
error="$error allocated memory 6.90 GiB is allocated by PyTorch, and 150.00 MiB is reserved by PyTorch but unallocated."
printf '  File "/srv/ComfyUI/comfy/sd.py", line 7, in decode\n%s\n' "$error" >native.log
expect_status 0 why native.log
has out '^One tensor: .* No allocator setting serves that'
has out 'VAE Decode (Tiled)'
lacks 'loss in pieces'
lacks 'disable-cuda-malloc'

# ---- a notebook is recorded from its own lines; its setting takes a kernel that starts anew ----
error="${error/7.20 GiB/1.90 GiB}" && error="${error/3.10 GiB is free/1.10 GiB is free}"
error="${error/6.90 GiB/6.10 GiB}" && error="${error/8.20 GiB/10.50 GiB}" && error="${error/150.00 MiB/4.00 GiB}"
printf '/tmp/ipykernel_9/51.py in <cell line: 2>()\n%s\n' "$error" >notebook.log
expect_status 0 why notebook.log
has out 'os.environ\[.*before import torch: restart the kernel'
has out '_record_memory_history(stacks="python")'
lacks 'YOUR_PROGRAM'

# ---- fragmented only if it is for every amount that may have been free ----
xpu='torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.10 GiB. GPU 0 has a total capacity of 15.56 GiB.'
xpu="$xpu Of the allocated memory 12.40 GiB is allocated by PyTorch, and CACHED is reserved by PyTorch but unallocated."
printf '%s\n' "${xpu/CACHED/1.60 GiB}" >xpu.log
expect_status 0 why xpu.log
has out '^Full or fragmented, the text does not tell: it lacks how much was free'
printf '%s\n' "${xpu/CACHED/2.90 GiB}" >xpu.log
expect_status 0 why xpu.log
has out '^Fragmented'

[ "$failures" = 0 ]
