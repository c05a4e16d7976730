#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay serve` with a program that prints an SGLang server's lines: its own options are added and advised, none of
# vLLM's.
set -u
replay=$1
build=$2
. "$3/tests/programs.sh"
data=$3/tests/data/serve

# A server that prints the log of its choices and goes on, or ends.
cat >sglang <<'SH'
#!/bin/sh
echo "$@" >>all-words
share=0.84 tokens=416624
for word in "$@"; do
    [ "$before" = --mem-fraction-static ] && share=$word
    [ "$before" = --kv-cache-dtype ] && tokens=833248
    before=$word
done
chosen() { sed "s/=416624/=$tokens/; s/_static': 0.84/_static': $share/" "$DATA/sglang.log"; }
case $share in
0.0* | 0.1* | 0.20) chosen | sed -n 1,3p
    echo 'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.'; exit 1 ;;
0.9[6-9] | 1.00) chosen | sed -n 1,6p
    echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has'; exit 1 ;;
esac
[ "$ARGS_WRONG" ] && { echo 'launch_server.py: error: argument --tp-size: invalid int value'; exit 2; }
chosen
sleep 60
SH
chmod +x sglang
mkdir model decode
echo '{}' >model/config.json
export DATA=$data ARGS_WRONG=''

serve() { "$replay" serve --no-overlay "$@"; }

# same NAME WANTED GOT: they are equal.
same() { expect "$1" 0 "" [ "$2" = "$3" ]; }

serve --device h100-80g --json out.json -- ./sglang serve --model-path model >ready.txt
expect 'what is left' 0 'It may start on h100-80g, with at most 50.86 GiB of KV cache: 416,624 tokens' cat ready.txt
expect 'why it only may start' 0 'its prefill graphs may take far more than here' sh -c "tr -s '\n ' ' ' <ready.txt"
same 'words are added, and a port' 'serve --model-path model --load-format dummy --skip-tokenizer-init --port' \
    "$(sed -n '1s/ [1-9][0-9]*$//p' all-words)"
sed '/target prefill/d' "$DATA/sglang.log" >decode.log
cat >decode/sglang <<'SH'
#!/bin/sh
cat decode.log
sleep 60
SH
chmod +x decode/sglang
serve --device h100-80g -- decode/sglang serve --model-path model >decode.txt
expect 'without prefill graphs it starts' 0 'It starts on h100-80g, with' cat decode.txt
expect 'the largest fraction needs a full step' 0 'is not known without a full step' sh -c "tr -s '\n ' ' ' <decode.txt"
expect 'JSON' 0 '' python3 - <<'PY'
import json
card, = json.load(open("out.json"))["cards"]
assert (card["server"], card["tokens"], card["verdict"], card["end"]) == ("sglang", 416624, "may-fit", "ready"), card
assert card["utilization"] == 0.84 and card["least_utilization"] == 0.41 and card["most_utilization"] is None
assert card["left_bytes"] == int(10.39 * 2**30)
PY
serve --try --device h100-80g --json tried.json -- ./sglang serve --model-path model >tried.txt
expect 'choices are tried in its own options' 0 '' python3 - <<'PY'
import json
card, = json.load(open("tried.json"))["cards"]
options = {one["option"] for one in card["tries"]}
assert options == {"--mem-fraction-static", "--context-length", "--kv-cache-dtype", "--cuda-graph-max-bs-decode",
                   "--disable-cuda-graph"}, options
assert card["most_tried"] == 0.95, card
PY
expect 'a cache of 8 bits' 0 'Tried with --kv-cache-dtype fp8_e4m3: 833,248 tokens.' sh -c "tr -s '\n ' ' ' <tried.txt"
serve --device h100-80g -- ./sglang serve --model-path model --mem-fraction-static 0.15 >none.txt
same 'no cache is a no' 1 $?
expect 'the fraction that leaves one' 0 'With --mem-fraction-static 0.20 or more something is left' \
    sh -c "tr -s '\n ' ' ' <none.txt"
serve --device h100-80g -- ./sglang serve --model-path model --mem-fraction-static 0.97 >refused.txt
same 'a refusal is a no' 1 $?
expect 'where it is refused' 0 'while it captures its CUDA graphs. ' sh -c "tr -s '\n ' ' ' <refused.txt"
expect 'what leaves it room' 0 'Fewer CUDA graphs (--cuda-graph-max-bs-decode' sh -c "tr -s '\n ' ' ' <refused.txt"
serve --device h100-80g -- ./sglang serve --model-path model --tp 2 --pp-size=2 2>spread.txt
same 'more cards than are named: a mistake, before a start' 2 $?
expect 'what to type' 0 'say --device h100-80g,count=4' sh -c "tr -s '\n ' ' ' <spread.txt"
serve --device h100-80g -- ./sglang serve --model-path model --tp-size 2 --tp 8 --tp-size 32 2>spread.txt
same 'more than can be simulated: a mistake, too' 2 $?
expect 'the last one counts' 0 'more cards than the 16 that can be simulated' sh -c "tr -s '\n ' ' ' <spread.txt"
before=$(grep -c . all-words)
serve --trace no.csv --device h100-80g -- ./sglang serve --model-path model 2>played.txt
same 'a load is refused, before a start' "2 $before" "$? $(grep -c . all-words)"
expect 'because it is not scheduled so' 0 'not as SGLang does' sh -c "tr -s '\n ' ' ' <played.txt"
serve --device h100-80g -- ./sglang serve --model-path model --tp 8 --nnodes 8 >nodes.txt
expect 'cards of other machines are not asked for' 0 'It may start on h100-80g' cat nodes.txt
ARGS_WRONG=1 serve --device h100-80g -- ./sglang serve --model-path model >wrong.txt
same 'what cannot be told is open' 4 $?
expect 'it says why' 0 'invalid int value' sh -c "tr -s '\n ' ' ' <wrong.txt"
same 'none of these says an option of vLLM' '' \
    "$(grep -i -e gpu-memory-util -e max-model-len -e max-num -e enforce-eager -e cudagraph-capture -e vllm \
        ready.txt decode.txt tried.txt none.txt refused.txt wrong.txt)"
exit "$failed"
