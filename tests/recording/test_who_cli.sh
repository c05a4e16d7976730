#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay who` from the shell: its text, its files, and its refusals.
set -uo pipefail
replay=$1
data=$3/tests/data
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

for trace in "$data/extrapolate/too_large-8.trace.zst" "$samples/gpt-varlen-default.trace.zst"; do
    for by in line file stack size stream pool category; do
        status 0 '' who "$trace" --by $by
        awk 'length > 80 { exit 1 }' out || fail "--by $by is wider than 80 columns: $(cat out)"
        status 0 '' who "$trace" --by $by --json who.json
        python3 - <<'PY' || fail "--by $by: the rows do not add up"
import json
who = json.load(open("who.json"))
assert who["schema"] == "replay-who/1" and who["rows"]
assert sum(row["bytes"] for row in who["rows"]) == who["bytes"]
assert [row["bytes"] for row in who["rows"]] == sorted((row["bytes"] for row in who["rows"]), reverse=True)
PY
    done
    status 0 '' who "$trace" --folded folded.txt --speedscope scope.json --json who.json
    python3 - <<'PY' || fail "the stacks' bytes do not add up"
import json
who, scope = json.load(open("who.json")), json.load(open("scope.json"))
profile = scope["profiles"][0]
stacks = [line.rsplit(" ", 1)[0] for line in open("folded.txt")]
assert len(profile["samples"]) == len(set(map(tuple, profile["samples"]))), "a stack is there twice"
assert len(stacks) == len(profile["samples"])
assert sum(int(line.rsplit(" ", 1)[1]) for line in open("folded.txt")) == who["bytes"] == sum(profile["weights"])
assert len(profile["samples"]) == len(profile["weights"]) and \
    profile["unit"] == "bytes" and profile["type"] == "sampled"
assert max(max(s) for s in profile["samples"]) < len(scope["shared"]["frames"])
PY
    status 0 '' who "$trace" --grew 0..100 --json -
    status 2 'expected two events' who "$trace" --grew 100..0
    status 2 'both name a moment' who "$trace" --grew 0..1 --at peak
    status 2 'expected peak, refusal, end' who "$trace" --at noon
    status 2 'expected line' who "$trace" --by colour
    status 2 'the trace ends before it' who "$trace" --at 999999999
    status 2 'no request was refused' who "$trace" --at refusal
done
"$replay" generate 530-270 --events 1000 -o plain.trace || fail "nothing was generated"
status 0 '' who plain.trace --at peak
grep -q '^No call stacks were recorded' out || fail "nothing is said of missing stacks: $(cat out)"
grep -q ', by size:' out || fail "not by size without stacks"
status 0 '' who plain.trace --by category --json none.json
python3 -c 'import json; who = json.load(open("none.json")); assert who["named_bytes"] == who["labelled_bytes"] == 0' ||
    fail "a category was told without stacks"
"$replay" who plain.trace --by category | grep -q '^No category can be told' ||
    fail "nothing is said of unknown categories"
# Tensors of a program without modules, backward pass or optimizer: nothing tells what they are for.
status 0 '' who "$3/tests/dying/recordings/weights_loaded.zst" --by category --json none.json
python3 -c 'import json; who = json.load(open("none.json")); assert who["bytes"] > who["named_bytes"] == 0' ||
    fail "a category was told of tensors alone: $(cat none.json)"
"$replay" why "$3/tests/dying/recordings/gathered_ahead.zst" | grep -q '^- for:' &&
    fail "why says what tensors alone are for"
status 2 'has no labels' who plain.trace --by module
status 2 'give -o OUT' run-sim --labels -- true
status 2 'give --torch too' record -o labels.trace --labels -- true

# The recordings of tests/data/categories are labelled: the rules must agree with the labels at the peak, or where
# memory ran out.
for trace in "$data"/categories/*.trace.zst; do
    status 0 '' who "$trace" --by category --json who.json
    python3 - <<'PY' || fail "$trace: the rules do not agree with the labels"
import json
who = json.load(open("who.json"))
assert who["labelled_bytes"] == who["named_bytes"] == who["bytes"] > 0
assert who["agreed_bytes"] >= 0.99 * who["bytes"], who["agreed_bytes"] / who["bytes"]
PY
    status 0 '' who "$trace" --by module --json who.json
    python3 -c 'import json; who = json.load(open("who.json")); assert sum(
        r["bytes"] for r in who["rows"]) == who["bytes"]' ||
        fail "$trace: --by module does not add up"
done
status 0 '' who "$data/categories/gpt-bf16-checkpoint.trace.zst" --by module
grep -q 'GPT.blocks.3.up' out || fail "no module is named: $(cat out)"
status 0 '' who "$data/categories/gpt-bf16-checkpoint.trace.zst" --by line
grep -q 'category' out && fail "a label is taken for a line: $(cat out)"

# What is a guess is said, and is none in a labelled recording: text and JSON agree, the page and `why` use the same
# word. In sharpness-unlabelled moves away from the weights are no inputs.
status 0 '' who "$data/sharpness-unlabelled.trace.zst" --by category --json who.json
cp out guessed.txt
python3 - <<'PY' || fail "the guess is not said: $(cat guessed.txt)"
import json
who, text = json.load(open("who.json")), open("guessed.txt").read()
guessed = {row["name"]: row["guessed_bytes"] for row in who["rows"]}
assert 0 < who["guessed_bytes"] == sum(guessed.values()) < who["named_bytes"]
assert guessed["gradients"] > 16 << 20 and guessed["inputs"] >> 20 == 8
assert guessed["parameters"] == guessed["optimizer state"] == guessed["workspaces"] == 0
assert "gradients (a guess)" in text and "inputs (a guess)" in text and "parameters (a guess)" not in text
assert "%.1f%% as a guess" % (100 * who["guessed_bytes"] / who["bytes"]) in " ".join(text.split())
PY
status 0 '' who "$data/categories/maml.trace.zst" --by category --json who.json
python3 -c 'import json; who = json.load(open("who.json")); assert who["guessed_bytes"] == 0 < who["bytes"]' ||
    fail "a label is called a guess"
status 0 '' report "$data/sharpness-unlabelled.trace.zst" --html page.html
grep -q 'inputs (a guess),' page.html || fail "the page does not say what is a guess"
status 0 '' why "$3/tests/dying/recordings/all_data_on_the_card.zst"
tr '\n' ' ' <out | tr -s ' ' | grep -q '^.*- for: [0-9.]* MiB ([0-9]*%) inputs (a guess)' ||
    fail "why does not say what is a guess: $(cat out)"
grep -q 'smaller batch' out && fail "why advises by a guess: $(cat out)"

# A stack without Python has no line of the program: never a bare name of C++.
python3 - <<'PY'
import pickle
def frame(text):
    name, place = text.rsplit(" ", 1)
    return {"name": name, "filename": place.split(":")[0], "line": int(place.split(":")[1])}
inner = ["torch::unwind::unwind() ??:0", "at::_ops::mm::call(at::Tensor const&) ??:0"]
outer = ["torch::autograd::Engine::thread_main() ??:0", "execute_native_thread_routine thread48.o:0", "__clone ??:0"]
stacks = [inner + ["forward train.py:7"], inner + outer,
          inner + ["torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&) ??:0"] + outer]
base = 0x7f0000000000
def event(action, i, size, stack):
    return {"action": action, "addr": base + (i << 20), "size": size, "stream": 0, "time_us": i + 1,
            "frames": [frame(text) for text in stack]}
trace = [event("segment_alloc", 0, 20 << 20, [])] + [event("alloc", i, 1 << 20, s) for i, s in enumerate(stacks)]
pickle.dump({"segments": [], "device_traces": [trace]}, open("native.pickle", "wb"))
PY
for by in line file; do
    status 0 '' who native.pickle --by $by
    grep -q '::' out && fail "--by $by names C++: $(cat out)"
    grep -q ' 1  train.py' out || fail "--by $by lacks the line of the program: $(cat out)"
    grep -q ' 1  (no line of the program)$' out || fail "--by $by lacks what has no line: $(cat out)"
    grep -q ' 1  (backward pass, MmBackward0)$' out || fail "--by $by lacks the backward pass: $(cat out)"
done

# What a file holds may be weights, states, or a copy that only lies there.
status 0 '' who "$data/full/resume.zst" --by category
grep -q ' parameters (75.0% of it a guess)$' out || fail "a file's contents are taken for weights: $(cat out)"

# What is too little for a MiB with two decimals is shown in its own unit, as `info` does, and not as nothing.
status 0 '' who "$data/../dying/recordings/gradients_of_the_first_step.zst" --by category
grep -q '^        16 KiB   0.0%       1  inputs (a guess)$' out || fail "16 KiB are shown otherwise: $(cat out)"

# Names are cut where the terminal ends, not before.
for width in 60 80 140; do
    COLUMNS=$width "$replay" who "$data/../../samples/gpt-fp32.trace.zst" --by stack >wide
    awk -v width=$width 'length > most { most = length } END { exit most > width || most < width - 4 }' wide ||
        fail "who --by stack does not use a terminal of $width columns: $(cat wide)"
done

(( failures == 0 )) && echo "who: all as promised"
exit $(( failures > 0 ))
