#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay predict` with programs of ours, without PyTorch: when they are stopped, what is answered, and that their files
# stay as they were. tests/against-torch/predict.py does the same with PyTorch.
set -u
replay=$1
build=$2
. "$3/tests/programs.sh"
mkdir here elsewhere
cd here || exit 1

# is JSON KEY VALUE: the first member of this name has this value.
is() {
    expect "$2 is $3" 0 "\"$2\": $3" grep -m 1 -e "\"$2\":" "$1"
}

# train HOW BATCH [FILE]: 100 MiB stay; every step takes 10 MiB for each of the batch and gives them back. Ends at the
# first refused request, with status 1.
#     HOW  forever  steps without an end       once     three steps
#          grows    nothing ever repeats       waits    one request, and then nothing more
#          branches the simulated card tells of five lines that branched on a value that it does not compute
#          leaks    steps without an end, and each leaves 1 MiB behind
#          leaks60  60 of these
#          hopper   three steps; 40 MiB more stay on a card of capability 9.x, 9 GiB more on others
#          fills    takes the batch in MiB until it is refused, and ends well
#          halves   three steps; halves its batch when it is refused
#          second   three steps on the second card
#          convolves three steps, with workspaces of convolutions: 10 MiB for each of the batch, 8 without, 14 at most
#          searches  the same, and a search of algorithms that takes 300 MiB more if it is said to, before the steps
#          eights   a batch of a multiple of 8 takes half
cat >train.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *l, *p;
static int take(size_t bytes)
{
    return ((int (*)(void **, size_t))dlsym(l, "cudaMalloc"))(&p, bytes);
}
int main(int argc, char **argv)
{
    const char *how = argv[1];
    int batch = atoi(argv[2]);
    const int is_cheap = strcmp(how, "eights") == 0 && batch % 8 == 0;
    if (argc > 3) {
        FILE *f = fopen(argv[3], "w");
        if (f == NULL) {
            perror(argv[3]);
            return 1;
        }
        fprintf(f, "spoilt\n");
        fclose(f);
    }
    l = dlopen("libcudart.so.12", RTLD_NOW);
    if (l == NULL)
        return 1;
    if (strcmp(how, "second") == 0 && ((int (*)(int))dlsym(l, "cudaSetDevice"))(1) != 0) {
        puts("CUDA error: invalid device ordinal");
        return 1;
    }
    if (take((size_t)100 << 20) != 0)
        return 1;
    int major = 0;
    ((int (*)(int *, int, int))dlsym(l, "cudaDeviceGetAttribute"))(&major, 75, 0);
    if (strcmp(how, "hopper") == 0 && take((size_t)(major == 9 ? 40 : 9 << 10) << 20) != 0)
        return 1;
    for (int i = 1; strcmp(how, "branches") == 0 && i <= 5; i++)
        fprintf(stderr, "replay cudasim: train.py:%d: branches on a value that is not computed; it is x\n", i);
    while (strcmp(how, "fills") == 0)
        if (take((size_t)batch << 20) != 0)
            return 0;
    const int is_endless = strcmp(how, "forever") == 0 || strcmp(how, "grows") == 0 || strcmp(how, "leaks") == 0 ||
                           strcmp(how, "branches") == 0 || strcmp(how, "eights") == 0 || strcmp(how, "waits") == 0;
    /* A convolution whose workspace nobody knows: a step takes 10 MiB for each of a batch, 8 without it, 14 at most. */
    const int mib[] = {10, 14, 8};
    uint64_t bytes = 0;
    void *core = dlopen("libreplay-cudasim.so", RTLD_NOW);
    const int searches = strcmp(how, "searches") == 0, convolves = searches || strcmp(how, "convolves") == 0;
    if (searches) {
        ((void (*)(void))dlsym(core, "cudasim_note_algorithm_search"))();
        if (getenv("REPLAY_CUDASIM_SEARCH") != NULL && take((size_t)300 << 20) == 0)
            ((int (*)(void *))dlsym(l, "cudaFree"))(p);
    }
    const int a_step = convolves ? mib[((int (*)(int, uint64_t *))dlsym(core, "cudasim_workspaces"))(0, &bytes)] : 10;
    const int n_steps = is_endless ? 1 << 30 : strcmp(how, "leaks60") == 0 ? 60 : 3;
    for (int i = 0; i < n_steps; i++) {
        while (strcmp(how, "waits") == 0)
            usleep(1000);
        const size_t grown = strcmp(how, "grows") == 0 ? (size_t)i << 12 : 0;
        if (take(((size_t)batch * (is_cheap ? 5 : a_step) << 20) + grown) != 0) {
            if (strcmp(how, "halves") == 0 && (batch /= 2) > 0)
                continue;
            puts("out of memory");
            return 1;
        }
        void *step = p;
        if (strncmp(how, "leaks", 5) == 0 && take(1 << 20) != 0)
            return 1;
        ((int (*)(void *))dlsym(l, "cudaFree"))(step);
        usleep(2000);
    }
    return 0;
}
C
cc -w -o train train.c -ldl || exit 1

expect 'a program without an end is stopped, and what follows is in no figure' 4 \
    'May fit on 1GiB: takes at least 200 MiB of 1 GiB; what follows 5 equal steps was' \
    "$replay" predict --device 1GiB --json a.json -- ./train forever 10
is a.json fits false
is a.json may_fit true
is a.json high_bytes null
is a.json source '"unseen"'
is a.json above_bytes null
expect 'nor on the card' 0 '"fits": false' sed -n '/"cards"/,/may_fit/p' a.json
is a.json ended '"steps repeat"'
is a.json peak_reserved_bytes 209715200
is a.json card_peak_bytes 209715200
is a.json smallest_card_bytes 209715200
is a.json categories null
for key in $(grep -o '^ *"[a-z_]*":' a.json | tr -d ' ":' | sort -u); do
    expect "report/SCHEMA.md names $key" 0 "$key" grep -e "[\`.]$key\`" "$3/report/SCHEMA.md"
done
expect 'the recording stays' 0 'requested at most      200 MiB' "$replay" info train.predict.zst
expect 'and the next one says that it takes its place' 0 \
    'train.predict.zst was there and is replaced; -o NAME keeps both' "$replay" predict --device 1GiB -- ./train once 1
# 100 MiB, 60 of what leaks, and the step's 10
expect 'a leak is no equal step: it runs to its end' 0 'Fits on 1GiB: takes 170 MiB of 1 GiB.' \
    "$replay" predict --device 1GiB -o o -- ./train leaks60 1
expect 'one on its smallest card likewise' 1 'Does not fit on 160MiB: would take 170 MiB of 160 MiB.' \
    "$replay" predict --device 160MiB -o o -- ./train leaks60 1
expect 'one without an end does not settle' 1 'live memory grows by 1 MiB a step, so 300MiB lasts' \
    "$replay" predict --device 300MiB --json a.json -o o -- ./train leaks 1
expect 'its end is told' 0 '"lasts_steps": 1' cat a.json
is a.json is_whole false
is a.json growth_bytes_per_step 1048576
is a.json smallest_card_bytes null
expect 'one that ends runs to its end' 0 'ran to its end' "$replay" predict -o o -- ./train once 10
expect 'and tells the smallest card' 0 'Needs a card of 200 MiB' "$replay" predict -o o.zst -- ./train once 10
# A card that is a size alone is of capability 9.0, the smallest named ones are not.
expect 'the size is one of a card that is a size alone' 0 'Needs a card of 150 MiB; the smallest common card for' \
    "$replay" predict --json a.json -o o -- ./train hopper 1
card=$(sed -n 's/.*"smallest_card": "\(.*\)".*/\1/p' a.json)
expect "the program runs there" 0 '' "$replay" run-sim --device 150MiB -- ./train hopper 1
expect "and on $card, which is named" 0 'Fits on' "$replay" predict --device "$card" -o o -- ./train hopper 1
expect 'which a card has too that is named beside sizes' 0 "the smallest common card for it is $card" \
    "$replay" predict --device 1GiB -o o -- ./train hopper 1
expect 'with context' 0 'takes 250 MiB of 1 GiB' \
    "$replay" predict --device 1GiB,context=50MiB -o o -- ./train once 10
expect "branches on what is not computed are named" 4 'there: train.py:1, train.py:2, train.py:3 and 2 more.' \
    "$replay" predict --device 1GiB -o o -- ./train branches 10
expect "a card of the host's memory is said to be one" 0 'jetson-nano-4g shares its memory with the host, which is' \
    "$replay" predict --device jetson-nano-4g -o o -- ./train once 10
expect 'of which more than three quarters may not be there' 4 'May fit on jetson-nano-4g: may take 3' \
    "$replay" predict --device jetson-nano-4g -o o -- ./train once 310
expect 'nor does a value count that takes more' 0 'b=286 fits; 287 was tried and does not' \
    "$replay" predict --device jetson-nano-4g --range b=10..310 -o o -- ./train once {b}
expect 'too large: the answer is what it needs' 1 'Does not fit on 512MiB: would take at least 600 MiB of 512 MiB.' \
    "$replay" predict --device 512MiB -o o -- ./train forever 50
expect 'on both cards' 0 'Fits on both cards.' "$replay" predict --device 1GiB --device 512MiB -o o -- ./train once 1
expect 'a long name does not spoil the table' 0 'card has  fits' \
    "$replay" predict --device 1GiB,capability=8.6,multiprocessors=84 -o o -- ./train once 1
expect 'on one card of two' 1 'Does not fit on 1 of 2: 512MiB.' \
    "$replay" predict --device 1GiB --device 512MiB -o o -- ./train forever 50
expect 'the JSON alone' 0 '{' "$replay" predict --json - -o o -- ./train once 1
expect 'steps that are asked for' 4 'ended": "steps repeat"' \
    "$replay" predict --steps 20 --json - -o o -- ./train forever 1

# ---- a program with optimizers: its hook counts the steps (cudasim/python/replay_steps.py) ----
cat >layers.sh <<'SH'
#!/bin/sh
echo 0 >"$REPLAY_TORCH_RECORD/$$.steps"
exec ./train forever 10
SH
cat >trains.sh <<'SH'
#!/bin/sh
echo 0 >"$REPLAY_TORCH_RECORD/$$.steps"
(sleep 2; echo 5 >"$REPLAY_TORCH_RECORD/$$.steps") &
exec ./train forever 10
SH
chmod +x layers.sh trains.sh
expect 'what repeats without an optimizer step is no step' 1 'As far as was seen: may fit on 1GiB: takes at least 200' \
    "$replay" predict --device 1GiB --within 3 --json a.json -o o -- ./layers.sh
is a.json whole_steps null
expect 'its steps are those of the optimizer' 4 'what follows 5 equal steps was' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./trains.sh
is a.json whole_steps 5
is a.json is_seen_to_end false
cat >validates.sh <<'SH'
#!/bin/sh
echo "5 $SEEN" >"$REPLAY_TORCH_RECORD/$$.steps.part"
./train once 10
mv "$REPLAY_TORCH_RECORD/$$.steps.part" "$REPLAY_TORCH_RECORD/$$.steps"
exit 1
SH
chmod +x validates.sh
expect 'a program whose epoch was cut short has not run to its end' 4 'its epoch was cut short' \
    env SEEN=1 "$replay" predict --device 1GiB --json a.json -o o -- ./validates.sh
is a.json ended '"steps repeat"'
is a.json is_seen_to_end false
expect 'unless it came to its end with its loops cut short' 0 'of 1 GiB, loops cut short after 5 equal steps.' \
    env SEEN=2 "$replay" predict --device 1GiB --json a.json -o o -- ./validates.sh
is a.json is_seen_to_end true
expect 'nor if turns that were skipped are like none that was seen' 4 'The turns of a loop differ, and not all were' \
    env SEEN=4 "$replay" predict --device 1GiB --json a.json -o o -- ./validates.sh
is a.json is_seen_to_end false
is a.json high_bytes null
expect 'or nothing follows its loop' 0 'of 1 GiB, as 5 equal steps show, and nothing follows' \
    env SEEN=3 "$replay" predict --device 1GiB --json a.json -o o -- ./validates.sh
is a.json is_seen_to_end true
is a.json high_bytes 209715200
cat >infers.sh <<'SH'
#!/bin/sh
: >"$REPLAY_TORCH_RECORD/$$.last-loop"
exec ./train forever 10
SH
chmod +x infers.sh
expect 'nor of a program without optimizers, if its source says so' 0 'and nothing follows' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./infers.sh
is a.json is_seen_to_end true
expect 'at the end of the time nobody knows' 1 'As far as was seen: may fit on 1GiB: takes at least 200 MiB of 1 GiB' \
    "$replay" predict --device 1GiB --within 2 --steps 5000 --json a.json -o o -- ./layers.sh
is a.json fits false
expect 'what does not fit does not, whatever follows' 1 'would take at least 600 MiB of 512 MiB' \
    "$replay" predict --device 512MiB -o o -- ./train forever 50
expect 'the card is the least that it needs' 4 'Needs at least a card of 200 MiB' \
    "$replay" predict -o o -- ./train forever 10

# ---- what follows cut loops finds another cache than after all turns: no "no" where what is live fits ----
cat >follows.sh <<'SH'
#!/bin/sh
python3 - "$REPLAY_TORCH_RECORD/$$.pickle" <<'PY'
import pickle, sys
events = []
def put(action, addr, mib):
    events.append({"action": action, "addr": (1 << 40) + (addr << 20), "size": mib << 20, "stream": 0,
                   "frames": [{"filename": "t.py", "line": 1, "name": "main"}], "time_us": len(events)})
put("segment_alloc", 0, 200)                 # 200 MiB of the step; 150 MiB of them stay, and 200 MiB come
put("alloc", 0, 200)
put("free_requested", 0, 200)
put("free_completed", 0, 200)
put("alloc", 0, 150)
put("segment_alloc", 512, 200)
put("alloc", 512, 200)
with open(sys.argv[1], "wb") as f:
    pickle.dump({"segments": [], "device_traces": [events]}, f)
PY
echo 0 >"$REPLAY_TORCH_RECORD/$$.steps"
(sleep 1; echo "5 2 0 1 $RESERVED 0 " >"$REPLAY_TORCH_RECORD/$$.steps") &
exec ./train forever 10
SH
chmod +x follows.sh
expect 'a fragmented rest may be another one' 4 'may take 400 MiB (350 MiB to 400 MiB)' \
    env RESERVED=209715200 "$replay" predict --device sim:384MiB,context=0 --json a.json -o o -- ./follows.sh
expect 'and says why' 0 '"source": "cut"' cat a.json
expect 'what the steps reserve themselves is known' 1 'Does not fit' \
    env RESERVED=419430400 "$replay" predict --device sim:384MiB,context=0 -o o -- ./follows.sh
expect 'and what is live alone does not fit' 1 'Does not fit' \
    env RESERVED=209715200 "$replay" predict --device sim:340MiB,context=0 -o o -- ./follows.sh

# ---- what comes once in many steps ----
expect 'equal steps hide what is seldom, which is said' 4 'that shows only once in more steps than these is not seen' \
    "$replay" predict --device 1GiB -o o -- ./trains.sh
cat >seldom.sh <<'SH'
#!/bin/sh
echo 0 >"$REPLAY_TORCH_RECORD/$$.steps"
(sleep 1; echo "$TOLD" >"$REPLAY_TORCH_RECORD/$$.steps") &
exec ./train forever 10
SH
chmod +x seldom.sh
expect 'the line is named that the loop comes to seldom' 4 'is not seen either: train.py:31' \
    env TOLD='5 0 0 1 0 100 train.py:31' "$replay" predict --device 1GiB --json a.json -o o -- ./seldom.sh
is a.json unseen_branch '"train.py:31"'
is a.json unseen_branch_turns 100
expect 'a leak that comes in bursts does not fit' 1 'grows by 1 MiB a step on average (it comes every 25' \
    env TOLD='1000 0 1048576 25 0 0 ' "$replay" predict --device 1GiB --json a.json -o o -- ./seldom.sh
is a.json growth_every_steps 25
is a.json unseen_branch null
is a.json growth_line null

# ---- the line of a leak is named, and is the one that `why` names of the recording ----
cat >leaks.sh <<'SH'
#!/bin/sh
echo 0 >"$REPLAY_TORCH_RECORD/$$.steps"
python3 - "$REPLAY_TORCH_RECORD/$$.pickle" <<'PY'
import pickle, sys
events = []
def put(action, line, addr, size):
    frames = [{"filename": "keep.py", "line": line, "name": "main"}]
    events.append({"action": action, "addr": addr, "size": size, "stream": 0, "frames": frames, "time_us": len(events)})
put("segment_alloc", 8, 1 << 40, 1 << 29)
for i in range(200):
    put("alloc", 8, 1 << 40, 2 << 20)
    put("alloc", 9, (1 << 40) + (i + 2 << 20), 1 << 20)
    put("free_requested", 8, 1 << 40, 2 << 20)
    put("free_completed", 8, 1 << 40, 2 << 20)
with open(sys.argv[1], "wb") as f:
    pickle.dump({"segments": [], "device_traces": [events]}, f)
PY
(sleep 1; echo '1000 0 1048576 1 0 0 ' >"$REPLAY_TORCH_RECORD/$$.steps") &
exec ./train forever 10
SH
chmod +x leaks.sh
expect 'a leak has its line' 1 'grows by 1 MiB a step, at keep.py:9 main, so' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./leaks.sh
is a.json growth_line '"keep.py:9 main"'
"$replay" why o.zst --json b.json >/dev/null
expect 'which why names, too' 0 '"line": "keep.py:9 main"' sed -n '/"grows"/,/]/p' b.json

expect 'a number of steps is said once, however many there were' 4 'once it had made 5 equal steps' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./train forever 10
is a.json whole_steps 5

"$replay" info o.zst --json - | grep '"events"' >events
(while :; do :; done) &
busy=$!
"$replay" predict --device 1GiB -o o -- ./train forever 10 >/dev/null
kill $busy
expect 'the recording is as long on a busy machine' 0 "$(cat events)" "$replay" info o.zst --json -

# ---- sizes that depend on values that are not computed ----
cat >sizes.sh <<'SH'
#!/bin/sh
echo "replay cudasim: graph.py:7: a size depends on values that are not computed; the largest is taken: 50" >&2
[ "$REPLAY_CUDASIM_SIZES" = least ] && exec ./train once 1
exec ./train once 50
SH
cat >loss.sh <<'SH'
#!/bin/sh
echo "replay cudasim: fit.py:9: branches on a value that is not computed; it is taken for 1e-06" >&2
[ "$REPLAY_CUDASIM_NUMBERS" = falling ] && exec ./train once 50
exec ./train once 1
SH
cat >bins.sh <<'SH'
#!/bin/sh
echo "replay cudasim: graph.py:7: a size depends on values that are not computed; they are taken for zeros" >&2
exec ./train once 1
SH
cat >until.sh <<'SH'
#!/bin/sh
echo "replay cudasim: fit.py:9: asks again and again for a value that is not computed; it the other once" >&2
exec ./train once 50
SH
chmod +x sizes.sh bins.sh loss.sh until.sh
"$replay" predict --device 1GiB --json a.json -o o -- ./until.sh >said 2>&1
expect 'a loop that was ended limits the answer' 0 \
    'takes up to 600 MiB of 1 GiB, as far as a loop was followed that ends on a value which is not computed (fit.py' \
    sh -c "tr '\n' ' ' <said | tr -s ' '"
expect 'and the need' 0 'As far as that loop was followed, needs at most a card of 600 MiB' \
    sh -c "tr '\n' ' ' <said | tr -s ' '"
expect 'and it did not just run to its end' 1 '' grep 'ran to its end' said
expect 'in the JSON, too' 0 '"fit.py:9"' grep -A 1 ended_loops a.json
expect 'what is too small for so many turns may fit' 4 'May fit on 512MiB: may take 600 MiB of' \
    "$replay" predict --device 512MiB -o o -- ./until.sh
cat >settled.sh <<'SH'
#!/bin/sh
echo "replay cudasim: fit.py:9: asks again and again for a value; it gets another, when its memory no longer grew" >&2
[ "$REPLAY_CUDASIM_SIZES" = least ] && exec ./train once 1
exec ./train once 50
SH
chmod +x settled.sh
"$replay" predict --device 1GiB --json a.json -o o -- ./settled.sh >said 2>&1
expect 'one that took no more memory does not' 0 'Fits on 1GiB: takes 600 MiB (110 MiB to 600 MiB) of 1 GiB.' cat said
expect 'and names both ends' 0 'lies between 110 MiB and 600 MiB: how often loops turn (-490 MiB).' \
    sh -c "tr '\n' ' ' <said | tr -s ' '"
expect 'so what only the lower end fits may fit, by the range' 4 'May fit on 512MiB' \
    "$replay" predict --device 512MiB -o o -- ./settled.sh
expect 'and what no end fits does not' 1 'Does not fit on 100MiB' "$replay" predict --device 100MiB -o o -- ./settled.sh
"$replay" predict --device 1GiB --json a.json -o o -- ./sizes.sh >said 2>&1
expect 'the largest size is planned for' 0 'Fits on 1GiB: takes 600 MiB (110 MiB to 600 MiB) of 1 GiB.' cat said
expect 'its line is named' 0 'are not computed (graph.py:7). The' sh -c "tr '\n' ' ' <said | tr -s ' '"
expect 'with the other end' 0 'lies between 110 MiB and 600 MiB: sizes that depend on values (-490 MiB).' \
    sh -c "tr '\n' ' ' <said | tr -s ' '"
is a.json least_card_peak_bytes 115343360
expect 'and in the JSON' 0 '"graph.py:7"' grep -A 1 unknown_sizes a.json
"$replay" run-sim --device 1GiB --ends --json e.json -- ./sizes.sh >said 2>&1
expect 'run-sim --ends says the same' 0 'lies between 110 MiB and 600 MiB: sizes that depend on values (-490 MiB).' \
    sh -c "tr '\n' ' ' <said | tr -s ' '"
is e.json low_bytes 115343360
is e.json high_bytes 629145600
"$replay" predict --device 1GiB --json a.json -o o -- ./loss.sh >said 2>&1
expect 'a branch on a number is tried with others' 0 'Fits on 1GiB: takes 110 MiB (110 MiB to 600 MiB) of' cat said
expect 'and its line is named' 0 'fit.py:9. Where it reads such numbers it was tried once more with falling ones.' \
    sh -c "tr '\n' ' ' <said | tr -s ' '"
expect 'which makes the range' 0 '"source": "branches"' cat a.json
expect 'what fits one way alone may fit' 4 'May fit on 512MiB: may take 110 MiB (110 MiB to 600 MiB) of' \
    "$replay" predict --device 512MiB -o o -- ./loss.sh
expect 'what fits with the least sizes alone may fit' 4 'May fit on 512MiB: may take 600 MiB (110 MiB to 600 MiB) of' \
    "$replay" predict --device 512MiB -o o -- ./sizes.sh
expect 'what fits with neither does not' 1 'Does not fit on 105MiB: would take 600 MiB (110 MiB to 600 MiB)' \
    "$replay" predict --device 105MiB -o o -- ./sizes.sh
expect 'a size that has no largest is doubt' 1 'As far as was seen: fits on 1GiB' \
    "$replay" predict --device 1GiB -o o -- ./bins.sh

# ---- a range: 10 steps of a program take 200 MiB, 180 without workspaces and 240 at most ----
expect 'what fits at the upper end fits' 0 'Fits on 240MiB: takes 200 MiB (180 MiB to 240 MiB) of 240 MiB' \
    "$replay" predict --device 240MiB --json a.json -o o -- ./train convolves 10
is a.json fits true
is a.json may_fit false
is a.json low_bytes 188743680
is a.json expected_bytes 209715200
is a.json high_bytes 251658240
is a.json below_bytes 20971520
is a.json above_bytes 41943040
is a.json source '"workspaces"'
"$replay" report o.zst --html o.html >said 2>&1
expect 'the page of the recording has the range beside the figure' 0 '>200 MiB (180 MiB to 240 MiB)</dd>' cat o.html
expect 'and why' 0 'this: workspaces of libraries (-20 MiB, +40 MiB).' cat o.html
expect 'no other figure of it is as if there were none' 1 '' grep '<dt>smallest card' o.html
expect 'its table has the upper end' 0 '  at most  ' "$replay" predict --device 240MiB -o o -- ./train convolves 10
expect 'what is expected to fit may fit' 4 'May fit on 238MiB: may take 200 MiB (180 MiB to 240 MiB) of 238 MiB' \
    "$replay" predict --device 238MiB --json a.json -o o -- ./train convolves 10
is a.json fits false
is a.json may_fit true
expect 'so may what fits at the lower end alone' 4 'May fit on 180MiB' \
    "$replay" predict --device 180MiB -o o -- ./train convolves 10
expect 'what fits nowhere in its range does not' 1 'Does not fit on 178MiB: would take 200 MiB (180 MiB to 240 MiB)' \
    "$replay" predict --device 178MiB -o o -- ./train convolves 10
expect 'one card of two may do' 4 'May fit, or not, on 1 of 2: 200MiB.' \
    "$replay" predict --device 1GiB --device 200MiB -o o -- ./train convolves 10
expect 'what was typed is no range' 0 'Fits on 180MiB,workspaces=none: takes 180 MiB of 180 MiB' \
    "$replay" predict --device 180MiB,workspaces=none -o o -- ./train convolves 10
"$replay" predict --device 240MiB --range batch=1..20 --json a.json -o o -- ./train convolves '{batch}' >said 2>&1
is a.json largest 10
expect 'the largest value is one that holds' 0 'batch=10 fits; 11 may fit' cat said
expect 'and so is the smallest card' 0 'Needs a card of 240 MiB' "$replay" predict -o o -- ./train convolves 10

# ---- a block that another stream still uses: 64 MiB more are taken where it is not done when the allocator asks ----
mkdir lib
cat >lib/allocator.c <<'C'
int cudaEventQuery(void *event);
int process_events(void *event)
{
    return cudaEventQuery(event);
}
C
cat >late.c <<'C'
int cudaMalloc(void **, unsigned long), cudaStreamCreate(void **), cudaEventCreate(void **);
int cudaEventRecord(void *, void *), cudaEventQuery(void *), process_events(void *);
int main(int argc, char **argv)
{
    void *p, *stream, *event;
    cudaMalloc(&p, 64 << 20);
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaEventRecord(event, stream);
    return (argc > 1 ? cudaEventQuery : process_events)(event) != 0 && cudaMalloc(&p, 64 << 20) != 0;
}
C
cc -w -shared -fPIC -o lib/libc10_cuda.so lib/allocator.c "$2/cudasim/libcudart.so.12" &&
    cc -w -o late late.c lib/libc10_cuda.so "$2/cudasim/libcudart.so.12" -Wl,-rpath,"$PWD/lib" || exit 1
expect 'late uses are in the range, though nothing of them was recorded' 0 \
    'Fits on 1GiB: takes 64 MiB (64 MiB to 128 MiB) of 1 GiB' "$replay" predict --device 1GiB -o o -- ./late
expect 'and told' 0 'lies between 64 MiB and 128 MiB: when other streams are done (+64 MiB).' \
    sh -c '"$0" predict --device 1GiB -o o -- ./late | tr -s " \n" " "' "$replay"
expect 'what does not fit then may fit' 4 'May fit on 100MiB' "$replay" predict --device 100MiB -o o -- ./late
expect 'so is what the program does where it asks itself' 0 \
    'Fits on 1GiB: takes 64 MiB (64 MiB to 128 MiB) of 1 GiB' "$replay" predict --device 1GiB -o o -- ./late itself
cp lib/libc10_cuda.so lib/libtorch_cuda.so
cc -w -o pinned late.c lib/libtorch_cuda.so "$2/cudasim/libcudart.so.12" -Wl,-rpath,"$PWD/lib" || exit 1
expect 'but not what pinned memory asks for' 1 '' \
    sh -c '"$0" predict --device 1GiB -o o -- ./pinned | grep done' "$replay"

# ---- cudnn.benchmark: its search takes 400 MiB where they are free, and never refuses ----
expect 'a search is in the range' 0 'Fits on 1GiB: takes 200 MiB (180 MiB to 400 MiB) of 1 GiB' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./train searches 10
is a.json high_bytes 419430400
expect 'as a source of its own' 0 '"source": "search"' cat a.json
expect 'it takes what is free' 0 'Fits on 300MiB: takes 200 MiB (180 MiB to ' \
    "$replay" predict --device 300MiB --json a.json -o o -- ./train searches 10
expect 'and no smallest card is larger for it' 0 'Needs a card of 240 MiB' "$replay" predict -o o -- ./train searches 10
expect 'what was typed leaves it out' 0 'Fits on 1GiB,workspaces=most: takes 240 MiB of 1 GiB' \
    "$replay" predict --device 1GiB,workspaces=most -o o -- ./train searches 10

# ---- what a size means ----
expect 'a size that cards are sold with is the one of them that shows least' 0 'Fits on 24GiB (a10-24g)' \
    "$replay" predict --device 24GiB --json a.json -o o -- ./train once 10
is a.json taken_for '"a10-24g"'
is a.json total_bytes 23609475072
is a.json context_bytes 262144000
expect 'in all spellings, with its options' 0 'Fits on 24GB,count=2 (a10-24g)' \
    "$replay" predict --device 24GB,count=2 -o o -- ./train once 10
expect 'the answer says how to name the bare size' 0 '24GB,exactly is the bare size' \
    "$replay" predict --device 24GB -o o -- ./train once 10
for size in 24GiB,exactly sim:24GiB 24576MiB 24GiB,capability=9.0 24.0GiB; do
    "$replay" predict --device "$size" --json a.json -o o -- ./train once 10 >said 2>&1
    expect "$size stays bare" 0 '' grep -e '"total_bytes": 25769803776' a.json
    is a.json taken_for null
done
expect 'and so does one that no card is sold with' 0 'Fits on 7GiB: takes 200 MiB of 7 GiB.' \
    "$replay" predict --device 7GiB -o o -- ./train once 10

# ---- the largest value ----
# (1024 - 100) / 10 = 92.4, (512 - 100) / 10 = 41.2
expect 'the largest batch of each card' 4 '92 fits as far as was seen; 93 was tried and does not' \
    "$replay" predict --device 1GiB --device 512MiB --range batch=30..99 --json r.json -o r -- ./train forever {batch}
is r.json largest 92
is r.json fails 93
is r.json is_monotone true
expect 'is that of the second card, too' 0 '"largest": 41' grep -A 30 512MiB r.json
expect 'not even the least' 1 'not even batch=30 fits' \
    "$replay" predict --device 300MiB --range batch=30..60:2 -o r -- ./train forever {batch}
expect 'all fit' 4 'batch=40 fits as far as was seen, the largest tried' \
    "$replay" predict --device 1GiB --range batch=38..40 -o r -- ./train forever {batch}
# 12 fits and 13 does not, but 16 does: the next multiple of 8 is tried.
expect 'larger is not always worse' 4 'batch=16 fits as far as was seen although 13 does not' \
    "$replay" predict --device 225MiB --range batch=1..25 -o r -- ./train eights {batch}
expect 'a range without end' 2 'expected a range such as' "$replay" predict --range batch=3..1 -- ./train once {batch}
expect 'a range that nothing uses' 2 'stands nowhere' "$replay" predict --range batch=1..3 -- ./train once 1
expect 'no card' 2 'h199' "$replay" predict --device h199 -- ./train once 1
expect 'no setting' 2 'best-fat' "$replay" predict --policy best-fat -- ./train once 1

# ---- a program that shows no whole step ----
expect 'nothing repeats' 1 'nothing repeats: it may loop' \
    "$replay" predict --device 8GiB --within 1 -o o -- ./train grows 1
expect 'it waits' 1 'it may wait for a value' "$replay" predict --device 1GiB --within 4 -o o -- ./train waits 1
# interrupted SECONDS WORDS COMMAND...: interrupts COMMAND after so many seconds; on a slow host, where it did not get
# so far as to say WORDS, after 30.
interrupted() {
    local first=$1 words=$2
    shift 2
    for seconds in "$first" 30; do
        answered=0
        timeout --foreground --preserve-status -s INT "$seconds" "$@" >soon 2>&1 || answered=$?
        ! grep -q "$words" soon || break
    done
    cat soon
    return "$answered"
}
expect 'an interrupt gives the answer so far' 130 'As far as was seen: may fit on 8GiB' \
    interrupted 4 'As far as was seen' "$replay" predict --device 8GiB -o o -- ./train grows 1
mkdir early
expect 'an interrupt before the first call' 130 'Interrupted: nothing is known yet' \
    interrupted 1 'Interrupted: nothing is known yet' env TMPDIR="$PWD/early" "$replay" predict -o o -- sleep 60
expect 'leaves nothing' 0 'nothing' sh -c '[ -z "$(ls early)" ] && echo nothing'
expect 'standard output is no name' 2 "does not name a file" "$replay" predict -o - -- ./train once 1
expect 'a missing file' 2 'What stands in for it must' "$replay" predict -o o -- ./train once 1 nowhere/x
# missing NAME WORDS: what is said of a missing file of this name.
missing() {
    "$replay" predict --no-overlay -o o -- sh -c "./train once 1
        echo \"FileNotFoundError: [Errno 2] No such file or directory: '$1'\"; exit 1" >said 2>&1
    expect "a missing $1: what stands in for it must load" 0 "$2" sh -c "tr '\n' ' ' <said | tr -s ' '"
}
missing data/train.pt 'torch.save(model.state_dict(), FILE)'
missing model.safetensors 'save_file('
missing a.parquet 'to_parquet(FILE)'
missing a.pkl 'pickle.dump()'
missing a.npy 'numpy.zeros(shape'
missing a.csv 'lines of the same form'
missing a.ptx 'random tensors in its place'
"$replay" predict --no-overlay -o o -- sh -c './train once 1; echo UnpicklingError: invalid; exit 1' >said 2>&1
expect 'one that does not load is no missing one' 0 'does not load. Zeros' sh -c "tr '\n' ' ' <said | tr -s ' '"
echo '{"cells": []}' >a.ipynb
expect 'a notebook that Python reads is named' 2 'a notebook is no script' "$replay" predict -o o -- python3 a.ipynb
expect 'one that is stopped before it asked for memory' 2 'no device memory in 1 s' \
    "$replay" predict --within 1 -o o -- sleep 20
expect 'a program that is not there' 2 'cannot be started' "$replay" predict -o o -- ./nowhere
expect 'a script that is not there' 2 'The script is not there' \
    "$replay" predict --no-overlay -o gone -- sh -c "echo \"python3: can't open file 'x.py': No such file\"; exit 2"
expect 'leaves no log of that line alone' 1 '' test -e gone.log
touch script.py
expect 'a script that is no program' 2 'it is a script: python3 script.py' "$replay" predict -o o -- script.py
touch book.ipynb run.sh
expect 'a notebook' 2 'started: it is a notebook: jupyter nbconvert ' "$replay" predict -o o -- book.ipynb
expect 'a script that is not executable' 2 'it is not executable: bash ./run.sh' "$replay" predict -o o -- ./run.sh
expect 'a slip' 2 "did you mean 'python'?" "$replay" predict -o o -- pyhton train.py
expect 'no --' 2 'come after --: replay predict ' "$replay" predict -o o python train.py --batch 8
rm book.ipynb run.sh
expect 'no program' 2 'the program is missing' "$replay" predict --device 1GiB
expect 'one without device memory' 2 'asked for no device memory' "$replay" predict -o o -- true


# ---- a program that adapts to its card ----
expect 'one that fills the card runs there' 0 'Runs on 1GiB and takes 996 MiB of 1 GiB. It adapts to the card' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./train fills 64
is a.json refused_bytes 67108864
is a.json smallest_card_bytes null
expect 'one that halves its batch likewise' 0 'Runs on 512MiB' \
    "$replay" predict --device 512MiB -o o -- ./train halves 64
expect 'it is run on each card by itself' 0 'Fits on both cards' \
    "$replay" predict --device 1GiB --device 512MiB -o o -- ./train halves 100
expect 'as it is on a small one after it fits on a large one' 0 'was refused on 512MiB' \
    "$replay" predict --device 1GiB --device 512MiB -o o -- ./train halves 80

"$replay" predict --device 512MiB --range n=1..100 --json a.json -o o -- ./train halves '{n}' >said 2>&1
expect 'of a range the largest is one of which nothing is refused' 0 'On 512MiB n=' cat said
most=$(python3 -c "import json; print(json.load(open('a.json'))['cards'][0]['largest'])")
expect 'which runs' 0 'Fits on 512MiB' "$replay" predict --device 512MiB -o o -- ./train halves "$most"
expect 'and one more is refused' 0 'was refused on 512MiB' \
    "$replay" predict --device 512MiB -o o -- ./train halves $((most + 1))

# ---- a program that looks at the free memory ----
cat >looks.sh <<'SH'
#!/bin/sh
echo "replay cudasim: train.py:9: looks at the card's free memory" >&2
exec ./train once "$1"
SH
chmod +x looks.sh
expect 'it is said' 0 '(train.py:9): on another card it may take more or less' \
    "$replay" predict --device 1GiB --json a.json -o o -- ./looks.sh 1
is a.json smallest_card_bytes null
is a.json looks_at_memory '"train.py:9"'
expect 'it runs on each card by itself' 0 'Fits on both cards' \
    "$replay" predict --device 1GiB --device 512MiB -o o -- ./looks.sh 1
expect 'and on no larger one to see what it would take' 1 'Does not fit on 64MiB' \
    "$replay" predict --device 64MiB -o o -- ./looks.sh 1

cat >late.sh <<'SH'
#!/bin/sh
./train once 1 || exit 1
echo "replay cudasim: train.py:9: looks at the card's free memory" >&2
SH
chmod +x late.sh
expect 'one that is refused before it looks does not fit' 1 'Does not fit on 2 of 2' \
    "$replay" predict --device 96MiB --device 64MiB -o o -- ./late.sh

# ---- a program that fails on its way ----
expect 'one that fails after its steps is not known to fit' 1 'The program failed. As far as was seen: fits on 1GiB' \
    "$replay" predict --device 1GiB --json a.json -o o -- sh -c './train once 1; echo no room for it; exit 3'
is a.json failure '"no room for it"'
"$replay" predict --device 1GiB -o o -- sh -c './train once 1 >/dev/null; exit 3' >said 2>&1
expect 'one that says nothing has its status' 0 'ended by itself with status 3' cat said
expect 'and no empty reason' 1 '' grep 'The program failed: *$' said
expect 'a JAX program that is out of memory does not fit' 1 'allocator ran out of memory, with at most 2 GiB in use' \
    "$replay" predict --device 4GiB -o o -- sh -c 'echo 2147483648 3060164198 3060164198 1 \
        >"$REPLAY_CUDASIM_JOURNAL/jax-held"
        echo "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.00GiB."; exit 1'

# ---- JAX: an allocator of the program's own, which takes three quarters of the card at its start ----
# jaxlike MIB [LEAST]: so many MiB are asked of it; on a card of fewer than LEAST MiB four times as many, as if XLA had
# compiled otherwise there.
cat >jaxlike.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    void *l = dlopen("libcudart.so.12", RTLD_NOW), *p;
    size_t free_bytes, total, asked = strtoull(argv[1], NULL, 10) << 20;
    char text[9000];
    ((int (*)(size_t *, size_t *))dlsym(l, "cudaMemGetInfo"))(&free_bytes, &total);
    const size_t limit = total / 4 * 3;
    if (argc > 2 && total >> 20 < strtoull(argv[2], NULL, 10))
        asked *= 4;
    ((int (*)(void **, size_t))dlsym(l, "cudaMalloc"))(&p, limit);
    snprintf(text, sizeof text, "%s/jax-held", getenv("REPLAY_CUDASIM_JOURNAL"));
    FILE *f = fopen(text, "w");
    fprintf(f, "%zu %zu %zu 1\n", asked <= limit ? asked : 1000, limit, limit);
    fclose(f);
    snprintf(text, sizeof text, "\"$WRITE_PROFILE\" '%s/%d.xplane.pb' %zu", getenv("REPLAY_TORCH_RECORD"),
             (int)getpid(), asked <= limit ? asked : 1000);
    if (system(text) != 0)
        return 3;
    if (asked <= limit)
        return 0;
    puts("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.00GiB.");
    puts("--------------------");
    puts("For simplicity, JAX has removed its internal frames from the traceback of the following exception.");
    return 1;
}
C
cc -w -o jaxlike jaxlike.c -ldl || exit 1
export WRITE_PROFILE=$3/tests/dryrun/write_profile.py
one_line() { "$@" 2>&1 | tr -s ' \n' ' '; }
one_line "$replay" predict --device 4GiB,exactly --json said.json -o o -- ./jaxlike 900 >said
expect 'what JAX needs is that of its requests' 0 \
    'Needs a card of 1.18 GiB; the smallest common card for it is rtx3070' cat said
expect 'and not what it takes at its start' 0 \
    'a region of 900 MiB is enough for them (XLA_CLIENT_MEM_FRACTION=0.22 on' cat said
expect 'the ways to take memory are told apart' 0 \
    'the driver would see 1 GiB with XLA_PYTHON_CLIENT_PREALLOCATE=false, 928 MiB with '\
'XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async besides' cat said
expect 'live, blocks, reserved and the card stand in one sentence' 0 \
    'At the peak 900 MiB are requested (live), in blocks of 900 MiB (JAX'\''s peak_bytes_in_use); JAX'\''s allocator '\
'has 3 GiB from the driver for them (reserved), because it takes its share at its start, and 3 GiB of the card' cat said
# of_jax EXPRESSION: what it is for `jax`, that member of the answer
of_jax() { python3 -c 'import json, sys; jax = json.load(open("said.json"))["jax"]; print(*eval(sys.argv[1]))' "$1"; }
expect 'its figures are in the JSON' 0 '943718400 943718400 943718400 3221225472 0.22' \
    of_jax '[jax[k] for k in ("live_bytes", "peak_bytes_in_use", "region_bytes", "limit_bytes", "least_mem_fraction")]'
expect 'and what was tried, in JAX'\''s words' 0 'XLA_PYTHON_CLIENT_PREALLOCATE=false 1073741824' \
    of_jax '[v for l in jax["levers"] if l["tried"] for v in (l["lever"], l["card_bytes"])]'
expect 'donation has nothing to give' 0 'Donation has nothing to save' cat said
expect 'what was not tried says so' 0 'donate_argnums=) None jax.checkpoint None' \
    of_jax '[v for l in jax["levers"] if not l["tried"] for v in (l["lever"], l["card_bytes"])]'
"$replay" predict --device 1GiB,exactly -o o -- ./jaxlike 900 >said
expect 'a card that has as much, but not for JAX, is too small' 0 \
    "Does not fit on 1GiB,exactly: JAX takes 768 MiB of its 1 GiB, and the program's requests need 900 MiB." \
    one_line cat said
expect 'a size on which it is refused is not named' 0 \
    'Needs a card like rtx3070-8g, the smallest common one on which it' \
    one_line "$replay" predict -o o -- ./jaxlike 900 2000
expect 'the largest value is found by running it' 0 'On 4GiB,exactly batch=3072 fits; 3073 was tried and does not' \
    one_line "$replay" predict --device 4GiB,exactly --range batch=3071..3074 --json said.json -o o -- ./jaxlike {batch}
expect 'which the first line says' 0 'Runs on 4GiB,exactly up to batch=3072 and takes' cat said.json
expect 'beside what the least needs' 0 '3220176896' of_jax '[jax["region_bytes"]]'
expect 'a rank that dies is told' 1 'simulate as many' \
    "$replay" predict --device 1GiB -o o -- sh -c './train once 1 & ./train second 1; wait'
expect 'two cards are simulated' 0 'Fits on 1GiB,count=2: takes 110 MiB of 1 GiB.' \
    "$replay" predict --device 1GiB,count=2 -o o -- sh -c './train once 1 & ./train second 1; wait'
expect 'not any number' 2 'count= is a number' "$replay" predict --device 1GiB,count=0 -- ./train once 1

# ---- a program that is only named like an interpreter is not asked where torch lies ----
cat >python-launch.sh <<'SH'
#!/bin/sh
echo "$# $1" >>"$work/elsewhere/asked"
exec ./train once 1
SH
cp python-launch.sh python3
chmod +x python-launch.sh python3
for launcher in ./python-launch.sh ./python3; do
    rm -f "$work/elsewhere/asked"
    # On the smallest named card, so that it need not run on another one.
    expect "$launcher is run" 0 'Fits on' \
        env work="$work" "$replay" predict --device rtx3070-8g --no-overlay -o o -- "$launcher" word
    expect "$launcher is run once" 0 1 sh -c 'wc -l <"$0"' "$work/elsewhere/asked"
    expect "with its own arguments" 0 '1 word' cat "$work/elsewhere/asked"
done
rm python3

# ---- what it leaves behind, and what it prints ----
"$replay" predict --no-overlay -o o -- sh -c "setsid sleep 61.$$ & sleep 0.2; ./train once 1" >/dev/null
expect 'a child in a session of its own ends with it' 0 0 sh -c "ps -eo args | grep -c '^sleep 61[.]$$' || true"
# A log of 400 MB: only its beginning and its end are kept.
"$replay" predict --no-overlay --steps 0 -o long -- sh -c \
    "echo first; yes | head -c 400000000; echo last; ./train once 1; touch ready; sleep 62.$$" >/dev/null 2>said &
until [[ -e ready ]]; do sleep 0.1; done
started=$(date +%s%N)
kill -TERM $!
wait $!
took_ms=$((($(date +%s%N) - started) / 1000000))
expect 'an interrupt does not wait for the program' 0 '' test "$took_ms" -lt 30000
expect 'what was cut is said' 0 'printed is not kept' cat said
expect 'the beginning stays' 0 first head -n 1 long.log
expect 'the end stays' 0 last tail -n 1 long.log
expect 'the log is short' 0 '' test "$(stat -c %s long.log)" -lt 17000000
rm -f long.log

# ---- places that cannot be written to: the program does not run ----
for place in "$work/nowhere/x" "$work/elsewhere"; do
    expect "a JSON at $place" 3 'cannot be written' "$replay" predict --json "$place" -o o -- touch has-run
done
expect 'a recording there' 3 'cannot be written' "$replay" predict -o "$work/nowhere/o.zst" -- touch has-run
expect 'nothing has run' 1 '' test -e has-run

# ---- its files ----
echo good >checkpoint
echo good >"$work/elsewhere/checkpoint"
"$replay" predict --json a.json -o o -- ./train once 1 checkpoint >/dev/null 2>said
if grep -q '"files_are_kept_apart": true' a.json; then
    expect 'a checkpoint stays as it was' 0 good cat checkpoint
    expect 'and is named' 0 '"checkpoint"' grep -A 2 '"written"' a.json
    expect 'so does one in a folder that an argument names' 0 good \
        sh -c '"$0" predict -o o -- ./train once 1 "$1" >/dev/null; cat "$1"' "$replay" "$work/elsewhere/checkpoint"
else
    expect 'without an overlay a warning comes first' 0 'may be overwritten' cat said
fi
# writes.sh WORD...: writes to the file that each word names, as "FILE", "NAME=FILE" or "-oFILE", and trains.
out=$work/elsewhere/way
cat >writes.sh <<'SH'
#!/bin/sh
[ ! -e vol ] || cat vol/held >&2
for word; do
    file=${word#-o}
    file=${file#*=}
    mkdir -p "$(dirname "$file")" && echo spoilt >"$file" && echo "wrote $word" >&2
done
./train once 1
SH
chmod +x writes.sh
if grep -q '"files_are_kept_apart": true' a.json; then
    ln -s "$work/elsewhere" link
    mkdir "$work"/elsewhere/{1..12}
    words=("out=$out" "-o${out}2" "$work/elsewhere/new/e/m.pt" link/way3)
    for i in {1..12}; do
        words+=("$work/elsewhere/$i/m.pt")
    done
    words+=("$HOME/replay-test-$$" "/var/tmp/replay-test-$$")
    "$replay" predict --json b.json -o w -- ./writes.sh "${words[@]}" >/dev/null 2>&1
    is b.json files_are_kept_apart true
    for word in "${words[@]}"; do
        file=${word#-o}
        file=${file#*=}
        expect 'the program could write there' 0 "wrote $word" cat w.log
        expect 'and nothing is there afterwards' 1 '' test -e "$file"
        expect 'it is listed' 0 "${file##*/}" cat b.json
    done
    expect 'the root folder is read-only' 0 '' \
        sh -c '"$0" predict -o w -- ./writes.sh "/replay-test-$$" >/dev/null; test ! -e "/replay-test-$$"' "$replay"
    mkdir vol volume
    echo 'a volume' >volume/held
    # shellcheck disable=SC2016
    if unshare -m true 2>/dev/null; then
        expect 'a volume below the working folder shows what it holds' 0 'a volume' unshare -m sh -c \
            'mount --bind volume vol && "$0" predict -o w --json b.json -- ./writes.sh vol/held >/dev/null
             cat volume/held; grep -q "a volume" w.log' "$replay"
        is b.json files_are_kept_apart true
        expect 'and what the program writes there is listed' 0 '"vol/held"' cat b.json
        # Linux stacks overlays two deep, so a third one is refused.
        expect 'what is not kept apart is said first' 0 'the program can write there: /dev/shm' unshare -m sh -c \
            'mount -t tmpfs none vol && mkdir vol/1 vol/2 vol/3 vol/4 &&
             mount -t overlay -o lowerdir=/dev/shm,upperdir=vol/1,workdir=vol/2 none /dev/shm &&
             mount -t overlay -o lowerdir=/dev/shm,upperdir=vol/3,workdir=vol/4 none /dev/shm &&
             "$0" predict -o w --json b.json -- ./writes.sh here 2>&1' "$replay"
        is b.json files_are_kept_apart false
        expect 'the rest is kept apart' 1 '' test -e here
        expect 'a mount that cannot be covered is read-only' 1 'a volume' unshare -m sh -c \
            'mount -t tmpfs none volume && mkdir volume/1 volume/2 volume/3 volume/4 &&
             mkdir elsewhere && echo "a volume" >elsewhere/held &&
             mount -t overlay -o lowerdir=elsewhere,upperdir=volume/1,workdir=volume/2 none vol &&
             mount -t overlay -o lowerdir=vol,upperdir=volume/3,workdir=volume/4 none vol &&
             "$0" predict -o w --json b.json -- ./writes.sh vol/held >/dev/null; cat vol/held; ! grep -q wrote w.log ||
             exit 7; exit 1' "$replay"
        is b.json files_are_kept_apart true
    fi
    rm -rf link vol volume elsewhere
fi
expect 'without an overlay what was written is named, and not what predict itself keeps' 0 \
    'Files that were written meanwhile, on values that are not real (1): checkpoint.' \
    "$replay" predict --no-overlay -o o -- ./train once 1 checkpoint
expect 'and is written' 0 spoilt cat checkpoint
touch -d 2001-01-01 years-old
expect 'so is a copy that keeps the time of its original' 0 \
    'Files that were written meanwhile, on values that are not real (1): kept.' \
    "$replay" predict --no-overlay -o o -- sh -c './train once 1; cp -p years-old kept'

printf '#!/bin/sh\n./train waits 1 & ./train waits 1 & wait\n' >together.sh
printf '#!/bin/sh\n./train once 1; ./train once 1\n' >in-turn.sh
printf '#!/bin/sh\n./train once 1; trap "" TERM; setsid sleep 27000.%s & exec sleep 27000.%s\n' "$$" "$$" >stays.sh
chmod +x together.sh in-turn.sh stays.sh
expect 'processes that are on a card together must fit there together' 1 'at least 200 MiB of 180' \
    "$replay" predict --within 6 --device 180MiB -o o --json b.json -- ./together.sh
is b.json siblings_bytes 104857600
expect 'processes one after the other have the card to themselves' 0 'Fits on 180MiB: takes 110 MiB' \
    "$replay" predict --device 180MiB -o o -- ./in-turn.sh

echo precious >kept.pickle
echo precious >kept.log
expect 'no file of the recording is one that the arguments name' 2 'kept.pickle: is a file of the recording' \
    "$replay" predict -o kept.zst -- ./train once 1 kept.pickle
expect 'nor the log' 2 'kept.log: is a file of the recording' \
    "$replay" predict -o kept.zst -- ./train once 1 --log=kept.log
expect 'nor under run-sim' 2 'kept.pickle: is a file of the recording' \
    "$replay" run-sim -o kept.zst -- ./train once 1 --out=kept.pickle
expect 'run-sim keeps no log' 0 '' "$replay" run-sim -o kept.zst -- ./train once 1 kept.log
expect 'what is there stays' 0 precious cat kept.pickle
expect 'nor is it the answer' 2 'train.predict.zst: two outputs have this name' \
    "$replay" predict --json train.predict.zst -- ./train once 1
expect 'a name that is none is refused' 2 'does not name a file' "$replay" predict -o '' -- ./train once 1

cat >escapes.py <<'PY'
import ctypes, os, sys, time
ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), 1 << 20)
if sys.argv[1] == "group":
    os.setpgid(0, os.getpgid(os.getppid()))
else:
    os.mkfifo(os.environ["REPLAY_TORCH_RECORD"] + "/99999.so-far.pickle")
time.sleep(1000)
PY
expect 'a program that leaves its group is stopped too' 1 'needs at least a card of' \
    timeout 60 "$replay" predict --within 4 -o o -- python3 escapes.py group
expect 'a pipe among the recordings is not waited for' 1 'needs at least a card of' \
    timeout 60 "$replay" predict --within 4 -o o -- python3 escapes.py pipe
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    expect 'without room for the recording there is an answer all the same' 3 'Needs a card of' unshare -m sh -c \
        'mkdir -p full && mount -t tmpfs -o size=64k none full && head -c 65536 /dev/zero >full/fill && cd full &&
         "$0" predict -- ../train once 1' "$replay"
    # shellcheck disable=SC2016
    expect 'a recording that lacks calls is no answer' 3 'the recording is not whole' unshare -m sh -c \
        'mkdir -p full && mount -t tmpfs -o size=64k none full && TMPDIR=$PWD/full "$0" predict -o o -- \
             sh -c "head -c 999999 /dev/zero >$PWD/full/fill; ./train once 1" 2>&1' "$replay"
fi

for left in "$TMPDIR"/* /dev/shm/replay-written-*; do
    if [[ -e $left && $(stat -c %u "$left") == $(id -u) && $left == "$TMPDIR"* ]]; then
        printf 'FAILED: %s is left there\n' "$left"
        failed=1
    fi
done

# ---- what a killed one leaves ----
# folders: how many there are of all that predict needs only while it runs.
folders() {
    find "$TMPDIR" -maxdepth 1 -name 'replay-*' | wc -l
}

# started COMMAND...: predicts a program that stays, until it does.
started() {
    "$replay" predict -o o -- "$@" >/dev/null 2>&1 &
    predict=$!
    for _ in {1..600}; do
        LD_PRELOAD='' pgrep -f "^sleep 27000[.]$$\$" >/dev/null && break
        sleep 0.1
    done
}

started ./stays.sh
one=$(folders)
kill -KILL "$predict"
for _ in {1..300}; do LD_PRELOAD='' pgrep -f "^sleep 27000[.]$$\$" >/dev/null && sleep 0.1; done
expect 'if predict is killed, so is the program, with its children' 1 '' pgrep -f "^sleep 27000[.]$$\$"
expect 'and its folders are left' 0 '' test "$one" -ge 1 -a "$(folders)" = "$one"
started sh -c './train once 1; exec sleep 27000.$0' "$$"
expect 'the next one removes them, and has its own' 0 '' test "$(folders)" = "$one"
expect 'one beside it leaves them to it' 0 'Recording' "$replay" predict -o p -- ./train once 1
expect 'which are still there' 0 '' test "$(folders)" = "$one"
kill -TERM "$predict"
wait "$predict"
expect 'nothing is left in the end' 0 '' test "$(folders)" = 0
exit "$failed"
