#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay fit and replay tune at the command line: what they print, where it goes, and their exit statuses.
set -u
replay=$1
. "$3/tests/shell.sh"

# has FILE PATTERN: spaces and line ends count alike, since paragraphs are broken into lines
has() { tr -s ' \n' ' ' <"$1" | grep -q -e "$2" || fail "no '$2' in: $(cat "$1")"; }

expect_status 0 generate 530-270 -o rounds.trace

expect_status 0 fit rounds.trace --policy best-fit --policy pytorch:expandable --device sim:2GiB
has out 'best-fit 2120 MiB OOM - -72 MiB'
has out 'pytorch:expandable 1340 MiB 1340 MiB 135 +708 MiB'
has out 'live data alone peaks at 1340 MiB'
expect_status 0 fit rounds.trace --policy best-fit --policy none --device sim:2GiB --json fit.json
has fit.json '"smallest_card_bytes": 2222981120, .*"margin_bytes": -75497472,.*"smallest_card_bytes": 1405091840'
expect_status 0 fit rounds.trace --json -
has out '"margin_bytes": null'

# A named card holds its context too; a plain size is the program's alone; context= overrides.
expect_status 0 fit rounds.trace --device t4-16g
has out 'Of the 14.76 GiB of t4-16g about 128 MiB go to the CUDA context and libraries, at most 150 MiB seen '\
'(context=, doc/limits.md).'
expect_status 0 fit rounds.trace --device t4-16g --json fit.json
has fit.json \
    '"named_card": "rtx3070-8g", *"context_bytes": 167772160\|"context_bytes": 167772160, "context_source": "seen on'
expect_status 0 fit rounds.trace --policy best-fit --device t4-16g,context=0 --json fit.json
has fit.json '"smallest_card_bytes": 2222981120, .*"context_bytes": 0, "context_source": null'
expect_status 0 fit rounds.trace --policy best-fit --device t4-16g,context=2MiB --json fit.json
has fit.json '"context_bytes": 2097152, "context_source": "context= of --device"'

# A size that cards are sold with is bare, and what such a card leaves is said beside it.
expect_status 0 fit rounds.trace --policy best-fit --policy expandable_segments:True --device 2118MiB --json fit.json
has fit.json '"sold_card": null, "sold_card_left_bytes": null'
expect_status 0 fit rounds.trace --device 16GiB --json fit.json
has out '16GiB is taken as it stands.* quadro-rtx5000-16g shows 14.56 GiB, and leaves 14.44 GiB beside the CUDA'
has fit.json '"sold_card": "quadro-rtx5000-16g", "sold_card_left_bytes": 15[0-9]*,'
expect_status 0 tune rounds.trace --device 16GiB --json tune.json
has tune.json '"sold_card": "quadro-rtx5000-16g"'
printf 'op,ptr,size\nalloc,1,16106127360\nfree,1,0\n' >large.csv
expect_status 0 fit large.csv --device 16GiB
has out '+1024 MiB v100-16g.*best-fit needs 15 GiB, so it does not run there'
# All named cards are NVIDIA's: none is named for another platform, and a Jetson's is a Jetson.
for system in rocm rocm-windows xpu mps npu; do
    expect_status 0 fit rounds.trace --system $system --json fit.json
    has out 'best-fit runs on a card of 2120 MiB\. '
    has out 'No card of [A-Za-z ]* has a name here: go by the size'
    has fit.json '"named_card": null'
    expect_status 0 tune rounds.trace --system $system
    has out 'Device: sim:unlimited, simulated: no card of '
done
expect_status 0 fit rounds.trace --system jetson
has out 'the smallest named card for it is jetson-nano-4g'
has out 'jetson-nano-4g shares its memory with the host'
expect_status 0 tune rounds.trace --system jetson
has out 'Device: sim:jetson-nano-4g, simulated'
expect_status 0 rounds.trace --device gb10
has out '- gb10-128g shares its memory with the host'

expect_status 0 tune rounds.trace --device sim:2GiB
has out 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True '
has out 'recorded 1590 MiB 1 5 1.0 ms 2120 MiB no: stops at event 9'
has out 'recommended 1340 MiB 0 135 2.7 ms 1340 MiB yes'
has out '3 holes of 260 MiB next to live blocks of 270 MiB'
has out 'live data alone peaks at 1340 MiB.*(an offline plan) needs 1340 MiB'
has out 'seeds 1 to 8'
expect_status 0 tune rounds.trace --device sim:2GiB --torch 2.0 --seed 20
has out 'Settings of PyTorch 2.0;'
has out 'export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32[ ,]'
has out 'seeds 21 to 28'
expect_status 0 tune "$3/samples/gpt-varlen-default.trace.zst" --device sim:218MiB --torch 2.0
has out "export PYTORCH_CUDA_ALLOC_CONF=[^ ]*garbage_collection_threshold:0.[0-9]* "
has out "torch.cuda.set_per_process_memory_fraction(0.9[0-9]) # at the program's start"
expect_status 0 tune rounds.trace --device sim:1200MiB
has out 'Live data alone peaks at 1340 MiB (event 9), 140 MiB more than the 1200 MiB that the card has for it'
has out 'no allocator setting can fix this'
expect_status 0 tune rounds.trace --device sim:2GiB --json tune.json
has tune.json '"conf": "expandable_segments:True"'
# fit and tune rank by one rule: asked about what tune recommends and what was recorded, fit names the same.
expect_status 0 fit rounds.trace --policy max_split_size_mb:32 --policy best-fit --policy expandable_segments:True \
    --device sim:2GiB
has out 'expandable_segments:True is best: it runs on a card of 1340 MiB. On this card it takes 1340 MiB at its peak'
expect_status 0 fit rounds.trace --policy best-fit --policy expandable_segments:True --device sim:2GiB --price 1GiB \
    --json fit.json
has fit.json '"price_bytes_per_ms": 1073741824, "best": 1, '
expect_status 0 fit rounds.trace --policy best-fit --policy expandable_segments:True --device sim:4GiB --price 1GiB \
    --json fit.json
has fit.json '"best": 0, '

# What the copies refute is not recommended for another run;
# where nothing else saves the recording, only with a caution.
samples=$3/samples
expect_status 0 tune "$samples/gpt-bf16.trace.zst"
has out 'no setting tried is better than the recorded one by 2% of the card'
grep -q 'export' out && fail "a setting is recommended whose gain does not matter: $(cat out)"
has out 'the best found (expandable_segments:True[^)]*) reserves .*'\
'the best found (expandable_segments:True[^)]*) runs in 8 and is better '
expect_status 0 tune "$samples/gpt-bf16.trace.zst" --device sim:160MiB
has out 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True .*is better than the recorded setting in 7,'
expect_status 0 tune "$samples/gpt-varlen-maxsplit.trace.zst" --device sim:230MiB
has out 'By its peak on this card alone, [^ ]* would come first, with [0-9]* MiB; '\
'.*of the copies it runs in [0-9] and is better than the'
expect_status 0 tune "$samples/gpt-varlen-expand.trace.zst" --json none.json
has none.json '"recommended": null, "serves_refused": null, "delays_leak": null, '\
'"best_here_only": null, "caution": null, "why": null'
expect_status 0 tune "$samples/gpt-varlen-default.trace.zst" --device sim:217MiB
has out 'Recommended, with caution: export .*Caution: it saves this recording, '\
'but runs out of memory in 8 of 8 changed copies'
expect_status 0 tune "$samples/gpt-varlen-default.trace.zst" --device sim:217MiB --json caution.json
has caution.json '"recommended": { .*"best_here_only": null, "caution": "it saves this recording'

# A reason is given only where the recommended setting improves: here more is pinned with it than before.
has_no() { tr -s ' \n' ' ' <"$1" | grep -q -e "$2" && fail "'$2' in: $(cat "$1")"; }
expect_status 0 tune "$samples/gpt-varlen-default.trace.zst" --device sim:250MiB
has out 'Why: it runs on a card of 226 MiB instead of 234 MiB. expandable_segments'
has_no out 'that cannot be given back'
expect_status 0 tune "$samples/gpt-bf16.trace.zst" --device sim:160MiB
has out 'has 32.01 MiB of free memory in segments that cannot be given back.*setting 8.01 MiB of 122 MiB reserved are '

# Live data would fit, but no allocator places it so: nothing is found, and the smallest cards are named.
expect_status 0 generate mix:60 --events 1500 -o mix.trace
expect_status 0 fit mix.trace --json mix.json
live=$(grep -o '"live_peak_bytes": [0-9]*' mix.json | grep -o '[0-9]*$')
expect_status 0 tune mix.trace --device "sim:$live" --json nothing.json
has nothing.json '"recommended": null'
has nothing.json '"smallest_card_bytes": [0-9]'
expect_status 0 tune mix.trace --device "sim:$live"
has out 'Nothing found: all [0-9]* settings tried run out of memory.*Smallest cards: -'
grep -o '^- .*: [0-9]* MiB, ' out | grep -o '[0-9]* MiB' >cards
sort -n cards | cmp -s - cards || fail "smallest cards are not in order: $(cat cards)"

expect_status 0 tune rounds.trace --device sim:2GiB --threads 3 --json again.json
cmp -s tune.json again.json || fail "the same question got another answer"

# What was live at a start in mid-run is placed anew: then "recorded" is not what was recorded, and both say so.
expect_status 0 fit rounds.trace
grep -q 'mid-run' out && fail "a trace that starts empty is said to start in mid-run: $(cat out)"
midrun=$3/tests/data/mid-run/expandable@2.15.0.pickle
for command in fit tune; do
    expect_status 0 "$command" "$midrun"
    has out 'starts in mid-run, with 2 live requests of 30.00 MiB in 42 MiB reserved. These are placed anew'
    expect_status 0 "$command" "$midrun" --json midrun.json
    has midrun.json '"start": { "state": "mid-run", "is_placed_anew": true, "live_requests": 2, '
done

expect_status 0 tune rounds.trace --device 2GiB,exactly --torch 2.99 --seed 20
has out 'Settings of PyTorch 2[.][0-9]* .2[.][0-9]* and later are not known.; '
expect_status 0 fit rounds.trace --device 2GiB,exactly
expect_status 2 tune rounds.trace --torch 1.0
has err "^replay: --torch '1.0': a release from 2.0 to 2\.[0-9]* is needed"
expect_status 2 tune
expect_status 2 tune nowhere.trace
expect_status 2 fit rounds.trace --policy best-fti
expect_status 2 fit rounds.trace --json rounds.trace
expect_status 0 fit --help
has out 'replay fit FILE'
expect_status 0 tune --help
has out 'replay tune FILE.*--torch VERSION'

# ---- a program that died in its first step: what was still to come, and no setting that was tried on a part of it ----
dying=$3/tests/dying/recordings
expect_status 0 fit "$dying/gradients_of_the_first_step.zst" --device 4GiB --json fit.json
has out 'The program died in its first forward pass, so how much more it needs is not known. Still to come, if it '
has out '446.94 MiB of gradients, and the states of the optimizer.* are then 1787.75 MiB at once with Adam.'
has out 'best-fit >=1582 MiB .* <=+2514 MiB not known'
has fit.json '"first_step": { "reached": "forward", .*{ "gradients_bytes": 468647168, .*"optimizer": null } }'
expect_status 0 tune "$dying/gradients_of_the_first_step.zst" --json tune.json
has out 'No setting is recommended, because the first step was cut. expandable_segments.* serves the refused request.'
has out 'What it needs in all, without a GPU: replay predict --device 1572MiB -- python YOUR_PROGRAM'
grep -q 'export' out && fail "a setting to paste that was tried on a part of a step: $(cat out)"
has tune.json '"first_step": { "reached": "forward"'
expect_status 0 fit "$dying/forward_hook_collects.zst" --json fit.json
has fit.json '"first_step": null'                                      # it made whole steps

# ---- another class of card than the one it was recorded on ----
expect_status 0 fit "$samples/gpt-fp32.trace.zst" --device t4-16g
has out 'If that is of another class than t4-16g, PyTorch may take other kernels there'

# Of a leak both say what `why` says, and no setting is recommended.
leak="$3/tests/dying/recordings/outputs_of_validation_steps.zst"
expect_status 0 why "$leak"
has out 'A leak, results of an evaluation that are kept: live memory grows by .* outputs_of_validation_steps'
said=$(tr -s ' \n' ' ' <out | sed 's/ What to do:.*//; s/^.*\(A leak\)/\1/')
expect_status 0 fit "$leak"
has out "$said No setting cures it; a larger card does only if it holds all of them: .replay predict. tells"
expect_status 0 tune "$leak" --json tune.json
has tune.json '"leak": "A leak, results of an evaluation .*"recommended": null, .*"delays_leak": { *"conf"'
expect_status 0 tune "$leak"
has out "$said No setting cures it; .*No setting is recommended, because none cures a leak"

[ "$failures" = 0 ]
