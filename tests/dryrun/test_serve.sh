#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay serve` with a program that prints a server's lines: what it adds to the words, when it stops it, what it says.
set -u
replay=$1
build=$2
. "$3/tests/programs.sh"
data=$3/tests/data/serve

# A server that prints the log named by LOG and goes on, as servers do, or ends with STATUS.
cat >vllm <<'SH'
#!/bin/sh
echo "$@" >words
echo "$VLLM_LOGGING_LEVEL $VLLM_NO_USAGE_STATS $VLLM_USE_FLASHINFER_SAMPLER" >settings
cat "$LOG"
[ -n "$STATUS" ] && exit "$STATUS"
sleep 60
SH
chmod +x vllm
mkdir model
echo '{}' >model/config.json
export STATUS='' LOG

serve() { "$replay" serve --no-overlay "$@"; }

# same NAME WANTED GOT: they are equal.
same() { expect "$1" 0 "" [ "$2" = "$3" ]; }

LOG=$data/ready.log
expect 'what is left' 0 'It starts on h100-80g, with at most 58.11 GiB of KV cache: 476,016 tokens, 58' \
    serve --device h100-80g --json out.json -- ./vllm serve model --max-model-len 8192
same 'words are added' \
    'serve model --max-model-len 8192 --load-format dummy --skip-tokenizer-init --port 0' "$(cat words)"
same 'settings' 'DEBUG 1 0' "$(cat settings)"
expect 'memory that the host shares' 4 'gb10-128g shares its memory with the host' \
    serve --device gb10 -- ./vllm serve model --max-model-len 8192
expect 'a token' 0 '128 KiB a token' serve --device h100-80g -- ./vllm serve model
expect 'another type' 0 'fp8 holds about 952,000' serve --device h100-80g -- ./vllm serve model
expect 'JSON' 0 '' python3 - <<'PY'
import json
a = json.load(open("out.json"))
card, = a["cards"]
assert a["schema"] == "replay-serve/1" and a["fits"] and a["has_dummy_weights"] and a["has_dummy_tokenizer"]
assert (card["tokens"], card["verdict"], card["end"], card["version"]) == (476016, "fits", "ready", "0.19.0")
assert card["context_bytes"] == 750 << 20
PY

# Somebody's own choices stay, and another program gets no words.
touch model/tokenizer.json
VLLM_USE_FLASHINFER_SAMPLER=1 expect 'own choices' 0 'It starts' \
    serve --device h100-80g -- ./vllm serve model --load-format=auto
same 'no words but the port' 'serve model --load-format=auto --port 0' "$(cat words)"
same 'own settings' 'DEBUG 1 1' "$(cat settings)"
expect 'another program' 0 'It starts' serve --device h100-80g -- ./vllm chat model
same 'no words' 'chat model' "$(cat words)"

# Choices are tried by starts: this server begins at a share of 0.24 and ends at 0.97, and a cache of 8 bits holds more.
mkdir choosy
cat >choosy/vllm <<'SH'
#!/bin/sh
log=$DATA/ready.log share=0.95 tokens=476,016
for word in "$@"; do
    [ "$before" = --gpu-memory-utilization ] && share=$word
    [ "$before" = --kv-cache-dtype ] && tokens=951,000
    [ "$before" = --max-num-seqs ] && [ "$word" -gt 512 ] && share=0.20
    before=$word
done
echo "$@" >>all-words
case " $* " in *' --max-num-seqs 9999 '*) echo 'ValueError: max_num_seqs is too large'; exit 1 ;; esac
case $share in
0.2[0-3]) cat "$DATA/too-long.log"; exit 1 ;;
0.98 | 0.99 | 1.00) echo "Free memory on device cuda:0 (78.55/79.19 GiB) on startup is less than desired"; exit 1 ;;
esac
sed "s/476,016/$tokens/" "$log"
sleep 60
SH
chmod +x choosy/vllm
export DATA=$data
serve --try --range max-model-len=4096..4096 --json tried.json --device h100-80g -- \
    choosy/vllm serve model --max-model-len 8192 >tried.txt
expect 'beside what is computed' 0 '--kv-cache-dtype fp8: 951,000 tokens' sh -c "tr -s '\n ' ' ' <tried.txt"
same 'each by a start' '--enforce-eager' "$(tail -1 all-words | sed 's/.* //')"
expect 'JSON of what was tried' 0 '' python3 - <<'PY'
import json
card, = json.load(open("tried.json"))["cards"]
assert (card["least_tried"], card["most_tried"]) == (0.24, 0.97), card
tries = {(one["option"], one["value"]): one for one in card["tries"]}
assert tries["--gpu-memory-utilization", "0.23"]["end"] == "request-too-long"
assert tries["--gpu-memory-utilization", "0.98"]["end"] == "share-not-free"
assert tries["--kv-cache-dtype", "fp8"]["tokens"] == 951000 and tries["--max-model-len", "4096"]["end"] == "ready"
assert tries["--enforce-eager", None]["end"] == "ready" and len(tries) == 7
PY
serve --range max-num-seqs=64..1024:64 --device h100-80g -- choosy/vllm serve model >range.txt
expect 'a range' 0 'is the largest tried with which it starts. With --max-num-seqs 576 it does not start.' \
    sh -c "tr -s '\n ' ' ' <range.txt"
same 'nothing above what was refused is tried' '64 1024 512 768 640 576' \
    "$(sed -n 's/^--max-num-seqs \([0-9]*\) .*/\1/p' range.txt | tr '\n' ' ' | sed 's/ $//')"
serve --range max-model-len=4096..8192:4096 --device h100-80g -- choosy/vllm serve model >same.txt
serve --range max-num-seqs=64..9999:9935 --device h100-80g -- choosy/vllm serve model >wrong.txt
expect 'a value that it has anyway' 0 '--max-model-len 8192 is the largest tried with which it starts.' cat same.txt
same 'is not tried again' '4096' "$(sed -n 's/^--max-model-len \([0-9]*\) .*/\1/p' same.txt)"
expect 'what it says of a value that it refuses' 0 'cannot be told. It says: ValueError: max_num_seqs is too large.' \
    sh -c "tr -s '\n ' ' ' <wrong.txt"
expect 'a range of no server' 2 'takes no options' serve --range n=1..2 --device h100-80g -- choosy/vllm chat model
expect 'no range' 2 'expected a range' serve --range n=2..1 --device h100-80g -- choosy/vllm serve model
cat >requests.csv <<'CSV'
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
CSV
expect 'a load' 0 'None waits for room in it, and none' \
    serve --trace requests.csv --device h100-80g -- choosy/vllm serve model
# said WORD...: what serve says of a load, on one line.
said() { serve "$@" --device h100-80g -- choosy/vllm serve model | tr -s '\n ' ' '; }
expect 'a file that is too short to tell a rate' 0 'too few to tell a largest rate: all of them can run at once' \
    said --trace requests.csv --json few.json
same 'in JSON, too' 'False file' "$(python3 -c 'import json
card, = json.load(open("few.json"))["cards"]
print(card["load_is_rate_unlimited"], card["load_limit"])')"
{ head -1 requests.csv; for _ in $(seq 100); do echo '2023-11-16 18:00:00,6000,2000'; done; } >burst.csv
said --trace burst.csv --step-us 2000000 >burst.txt
expect 'all at once' 0 '100 requests, all at once, of 6,000 tokens and 2,000 of' cat burst.txt
expect 'no exponents' 0 'takes 2,000 ms (--step-us), at most 78 run at once, in 100% of the cache' cat burst.txt
expect 'all who find the cache full wait' 0 '41 wait for room in it, at most 4,' cat burst.txt
sed 's/memory: 58.11/memory: 0.30/; s/476,016/2,457/' "$data/ready.log" >small.log
printf '%s\n' TIMESTAMP,ContextTokens,GeneratedTokens '2023-11-16 18:17:03,100,10' >one.csv
LOG=small.log expect 'tokens that libraries may take' 0 '2,457 tokens; a card may have fewer, how many is not known.' \
    sh -c "'$replay' serve --no-overlay --trace one.csv --device h100-80g -- ./vllm serve model | tr -s '\n ' ' '"
expect 'a step of no trace' 2 'needs --trace FILE' serve --step-us 100 --device h100-80g -- choosy/vllm serve model
expect 'no words of a server' 2 'the program is missing' serve --device h100-80g --
# A file of requests is read before anything is started; rows with 0 tokens do not make it bad.
before=$(grep -c . all-words)
expect 'no load' 2 'no-requests.csv' serve --trace no-requests.csv --device h100-80g -- choosy/vllm serve model
{ cat requests.csv; echo '2023-11-16 18:17:05,many,8'; } >bad.csv
expect 'a bad line' 2 'bad.csv: line 4' serve --trace bad.csv --device h100-80g -- choosy/vllm serve model
same 'nothing is started for them' "$before" "$(grep -c . all-words)"
{ cat requests.csv; printf '2023-11-16 18:17:05,%s\n' 0,8 4000,0 0,0; } >empty.csv
# Prompts share blocks if the file has ids of them and the server says that it keeps prefixes.
row='{"timestamp": %d, "input_length": 1040, "output_length": 9, "hash_ids": [0, 1, %d]}\n'
for i in 0 1 2 3; do printf "$row" $((i * 1000)) $((i + 2)); done >mooncake.jsonl
expect 'a server that keeps no prefixes' 0 'Prompts share nothing: the server does not keep their beginnings.' \
    said --trace mooncake.jsonl
expect 'a file without ids' 0 'Prompts share nothing: the file does not tell how they begin.' said --trace requests.csv
sed 's/kv_cache_dtype=auto/&, enable_prefix_caching=True/' "$data/ready.log" >prefixes.log
LOG=prefixes.log serve --trace mooncake.jsonl --device h100-80g --json shared.json -- ./vllm serve model |
    tr -s '\n ' ' ' >shared.txt
expect 'prompts that begin alike' 0 "by the file's ids of 512 tokens each: 3,072 tokens of prompts were there" \
    cat shared.txt
same 'in JSON, too' 'True 3072 0' "$(python3 -c 'import json
card, = json.load(open("shared.json"))["cards"]
print(card["load_shares_prompts"], card["load_shared_tokens"], card["load_evicted"])')"
expect 'rows with 0 tokens' 0 'empty.csv: 3 rows have 0 tokens, of a prompt or of an answer, and are left out. 2 req' \
    said --trace empty.csv --json empty.json
same 'in JSON, too' '3 2' "$(python3 -c 'import json
card, = json.load(open("empty.json"))["cards"]
print(card["load_empty"], card["load_requests"])')"
before=$(grep -c . all-words)
"$replay" serve --no-overlay --try --trace requests.csv --device h100-80g -- choosy/vllm serve model >so-far.txt &
for _ in $(seq 100); do sleep 0.1; [ "$(grep -c . all-words)" -ge "$((before + 2))" ] && break; done
kill -TERM $!
wait $!
same 'an interrupt' 143 $?
expect 'gives the answer so far' 0 'Interrupted: what else' cat so-far.txt
expect 'with the load, which needs no other start' 0 '- requests.csv: 2 requests' cat so-far.txt
expect 'no choices for another program' 0 'It starts' serve --try --device h100-80g -- choosy/vllm chat model

# A server that is asked once it is ready: it answers as ANSWER says, and keeps what it was asked for.
mkdir listening
cat >listening/vllm <<'PY'
#!/usr/bin/env python3
import http.server, json, os, pathlib, sys
class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pathlib.Path("asked").write_text("%s of %d to %d" % (self.path, len(asked["prompt"]),
                                                             max(map(len, asked["prompt"]))))
        answer = os.environ["LOGPROBS" if "prompt_logprobs" in asked else "ANSWER"]
        print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB." * (answer == "500"), flush=True)
        self.send_response(int(answer))
        self.end_headers()
given = [word for before, word in zip(sys.argv, sys.argv[1:]) if before == "--gpu-memory-utilization"]
share = float((["0.95"] + given)[-1])
if share > float(os.environ["SERVES"]):
    os.environ["LOGPROBS"] = "500"
port = [int(word) for before, word in zip(sys.argv, sys.argv[1:]) if before == "--port"][-1]
server = http.server.HTTPServer(("127.0.0.1", port), Server)
print("Chunked prefill is enabled with max_num_batched_tokens=16384.")
text = pathlib.Path(os.environ["DATA"], "ready.log").read_text()
print(text.replace("(0.95, 75.23 GiB)", "(%.2f, %.2f GiB)" % (share, share * 79.19)), flush=True)
server.serve_forever()
PY
chmod +x listening/vllm
export ANSWER=200 LOGPROBS=200 SERVES=1
expect 'it answers' 0 'Asked for a full step, 3 prompts of 8,190 tokens, it answered' \
    serve --ask --device h100-80g -- listening/vllm serve model
same 'what it was asked for' '/v1/completions of 3 to 8190' "$(cat asked)"
ANSWER=404 expect 'another answer' 0 'it answered with HTTP status' \
    serve --ask --device h100-80g -- listening/vllm serve model
ANSWER=500 expect 'it dies later' 1 'It starts on h100-80g and dies later' \
    serve --ask --device h100-80g -- listening/vllm serve model
# A row of the vocabulary for each token of a prompt is more than a step is profiled with.
ask() { serve --ask --json ask.json --device h100-80g -- listening/vllm serve model | tr -s '\n ' ' '; }
expect 'with logprobs, too' 0 'it answered; with that, and asked for the logprobs of the prompts as well, its' ask
LOGPROBS=400 expect 'a server that refuses them' 0 'it answered with HTTP status 400, and so refuses them.' ask
LOGPROBS=500 ask >logprobs.txt
expect 'it dies of them' 0 'serves a full step, and runs out of memory if the logprobs of the prompts' cat logprobs.txt
SERVES=0.83 serve --try --ask --device h100-80g -- listening/vllm serve model | tr -s '\n ' ' ' >serves.txt
expect 'the largest share that serves' 0 '0.83 is the most that starts and has room for what is asked' \
    cat serves.txt
expect 'and no word of a larger share' 1 '' grep -q 'large enough' logprobs.txt
expect 'no more digits than were told' 0 'the request that was refused (3.91 GiB) has room' cat logprobs.txt
expect 'what refuses them' 0 'With --max-logprobs 0 the server refuses such requests.' cat logprobs.txt
same 'in JSON, too' 'died-later 200 500' "$(python3 -c 'import json
card, = json.load(open("ask.json"))["cards"]
print(card["end"], card["asked_status"], card["asked_logprobs_status"])')"

# What a request that was refused tells depends on when: before there are weights, while it measures, beside the cache.
refused='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.'
weights='Model loading took 14.99 GiB memory and 14.4 seconds'
given='Initial free memory 23.5 GiB, reserved 5.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes config'
# refused_after LINE...: what serve says of it, on one line.
refused_after() {
    printf '%s\n' "$@" "$refused" >refused.log
    LOG=refused.log STATUS=1 serve --device 4090 --json refused.json -- ./vllm serve model | tr -s '\n ' ' '
}
expect 'weights that do not fit' 0 '--gpu-memory-utilization changes nothing in that. Weights of a smaller' \
    refused_after
expect 'a measure that does not' 0 'a smaller --max-num-batched-tokens or --max-num-seqs needs less there' \
    refused_after "$weights"
expect 'a cache of a given size' 0 'or less the request that was refused (512 MiB) has room' \
    refused_after "$weights" "$given"
same 'in JSON, too' 'True 536870912' "$(python3 -c 'import json
card, = json.load(open("refused.json"))["cards"]
print(card["is_cache_given"], card["refused_bytes"])')"

# An estimate whose first graph alone is more than all took is not one of graphs.
{
    echo 'CUDA graph memory profiling is enabled. Estimated FULL CUDA graph memory: 4096.00 MiB first-capture + (5-1)'
    sed 's/0.84 GiB (estimated)/4.11 GiB (estimated)/' "$data/ready.log"
} >first.log
LOG=first.log expect 'the term that is wrong' 0 'Of the estimate 4.00 GiB are' \
    serve --device h100-80g -- ./vllm serve model

# A server that its Python does not have is a mistake; another package that is missing is told.
cat >python <<'SH'
#!/bin/sh
echo "ModuleNotFoundError: No module named '$MISSING'"
exit 1
SH
chmod +x python
MISSING=vllm expect 'a server that is not installed' 2 "that './python' starts has no module vllm: install it there" \
    serve --device h100-80g -- ./python -m vllm.entrypoints.openai.api_server --model model
MISSING=cuda expect 'a package that it imports' 4 'A package that the server imports is missing' \
    serve --device h100-80g -- ./python -m vllm.entrypoints.openai.api_server --model model

# Layers that keep a state take as much for a short request as for a long one.
{
    echo 'Padding mamba page size by 0.57% to ensure that mamba page size and attention page size are exactly equal.'
    cat "$data/ready.log"
} >mixed.log
LOG=mixed.log expect 'tokens of requests of that length' 0 'another --max-model-len changes both' \
    serve --device h100-80g -- ./vllm serve model
LOG=mixed.log expect 'no play of blocks' 0 'requests.csv is not played' \
    serve --trace requests.csv --device h100-80g -- ./vllm serve model

LOG=$data/too-long.log STATUS=1
expect 'no play without a server' 1 'requests.csv is not played: the server does not serve as it is' \
    serve --trace requests.csv --device 4090 -- ./vllm serve model
expect 'too long' 1 'one request of 131,072 tokens needs 16.00 GiB of KV' serve --device 4090 -- ./vllm serve model
expect 'the longest' 1 '--max-model-len 44880 is the longest' serve --device 4090 -- ./vllm serve model

# A share above the most that the answer computes is no promise.
sed 's/(0.95, 75.23 GiB)/(0.99, 78.40 GiB)/' "$data/ready.log" >full.log
LOG=full.log STATUS='' expect 'a share above the most' 4 'It may start on h100-80g' \
    serve --device h100-80g -- ./vllm serve model
full() { LOG=full.log STATUS='' serve --device h100-80g -- ./vllm serve model | tr -s '\n ' ' '; }
expect 'the two figures' 0 'Its --gpu-memory-utilization 0.99 is above 0.95, the most with which all' full

# A cache whose size was given: the room beside it is told, and nothing of a share.
printf '%s\n' "non-default args: {'kv_cache_memory_bytes': 524288000}" "$weights" \
    'Initial free memory 23.5 GiB, reserved 0.49 GiB memory for KV Cache as specified by kv_cache_memory_bytes config' \
    'GPU KV cache size: 73,136 tokens' 'CUDA graph pool memory: 0.37 GiB (actual), 0.35 GiB (estimated)' \
    'init engine (profile, create kv cache, warmup model) took 30.0 seconds' >given.log
given() { LOG=given.log STATUS='' serve --device 4090 --json given.json -- ./vllm serve model | tr -s '\n ' ' '; }
given >given.txt
expect 'the room beside a given cache' 0 'takes 15.85 GiB: weights, the cache, graphs. Beside that 7.65 GiB are left' \
    cat given.txt
expect 'a row of it' 0 'free beside all that it takes 7.65 at its peak' cat given.txt
expect 'bytes of a token' 0 ' 7 KiB a token' cat given.txt
expect 'no share' 1 '' grep -e 'the share' -e 'gpu-memory-utilization' given.txt
same 'in JSON, too' '524288000 True' "$(python3 -c 'import json
card, = json.load(open("given.json"))["cards"]
print(card["cache_bytes"], 7.64 < card["free_beside_bytes"] / 2**30 < 7.66)')"

# Neither an error of another kind nor silence is a verdict.
LOG=$data/other.log
echo mine >serve.log
expect 'another error' 4 'cannot be told: it ended before its' serve --device 4090 -- ./vllm serve model
expect 'its words' 4 'ModuleNotFoundError' serve --device 4090 -- ./vllm serve model
expect 'its log stays' 0 '' cmp serve-2.log "$data/other.log"
expect 'and mine' 0 'mine' cat serve.log
printf 'a value error: no such model\n    For further information visit https://example.org\n' >pointer.log
LOG=$PWD/pointer.log
expect 'a line that points elsewhere is not the error' 4 'It says: a value error: no such model.' \
    serve --device 4090 -- ./vllm serve model
expect 'no server at all' 4 "No engine of vLLM's began" serve --device 4090 -- ./vllm serve model
LOG=$data/other.log
STATUS=''
expect 'silence' 4 'was not ready after' serve --within 1 --device 4090 -- ./vllm serve model

LOG=$data/ready.log
expect 'several cards' 0 'It starts on sim:100GiB' serve --device h100-80g --device sim:100GiB -- ./vllm serve model

expect 'no card' 2 'name the card' serve -- ./vllm serve model
expect 'a wrong card' 2 'nothing' serve --device nothing -- ./vllm serve model
expect 'no program' 2 'cannot be started' serve --device 4090 -- ./no-such-program
expect 'a program is quoted' 2 "replay: 'serve' cannot be started" serve --device 4090 -- serve model
exit "$failed"

# Signals that come together are one interrupt, as timeout and a terminal send them: the answer follows, and no folder
# stays.
mkdir folders
before=$(grep -c . all-words)
TMPDIR=$PWD/folders "$replay" serve --no-overlay --try --device h100-80g -- choosy/vllm serve model >so-far.txt &
for _ in $(seq 100); do sleep 0.1; [ "$(grep -c . all-words)" -ge "$((before + 2))" ] && break; done
kill -TERM $!
sleep 0.05
kill -TERM $!
wait $!
same 'two signals at once' 143 $?
expect 'give the answer so far' 0 'Interrupted: what else' cat so-far.txt
same 'and leave no folder' '' "$(ls folders)"

# Where no terminal shows how it goes, each start has a line; an interrupt before any answer tells where the log is.
rm -f serve*.log
serve --range max-num-seqs=64..64 --device h100-80g -- choosy/vllm serve model >seqs.txt 2>starts.txt
expect 'a line for the first start' 0 'replay serve: start 1: h100-80g: ready after ' cat starts.txt
expect 'and for another' 0 'replay serve: start 2: h100-80g, trying --max-num-seqs 64: ready after ' cat starts.txt
expect 'one that prints nothing keeps no file' 4 'start 1: h100-80g: not ready after ' serve --device h100-80g -- false
same 'no log' 'no log' "$(ls serve*.log 2>/dev/null || echo no log)"
# cut_short WORD...: serve, interrupted after a second.
cut_short() { timeout --preserve-status -s INT 1 "$replay" serve --no-overlay "$@"; }
expect 'nor does an interrupt' 130 'the first start was not ready, and no log of it is kept' \
    cut_short --device h100-80g -- sleep 60
same 'no log of it' 'no log' "$(ls serve*.log 2>/dev/null || echo no log)"
expect 'an interrupt of the first start' 130 'the first start was not ready; its log is serve.log' \
    cut_short --device h100-80g -- sh -c 'echo loading; sleep 60'
same 'which is kept' loading "$(cat serve.log)"
"$replay" serve --no-overlay --device h100-80g --device 4090 --json cards.json -- \
    sh -c '[ -e once ] && touch twice && sleep 60; touch once; cat "$LOG"' >cards.txt &
for _ in $(seq 100); do sleep 0.1; [ -e twice ] && break; done
kill -TERM $!
wait $!
same 'an interrupt of the second card' 143 $?
expect 'the first one is answered' 0 'Interrupted before it was known whether the server starts on 4090.' cat cards.txt
same 'the others are not taken to fit' False "$(python3 -c 'import json; print(json.load(open("cards.json"))["fits"])')"
