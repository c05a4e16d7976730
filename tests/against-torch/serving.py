#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Starts the real vLLM by `replay serve`, and holds what is computed against what another start says.

    tests/against-torch/serving.py --vllm VENV/bin/vllm [--replay build/replay] [--planner]

The models are configurations alone. Each start takes a minute on two free cores. A server that is ready answers a full
step of prompts; what was set aside adds up to the share; a token takes what the configuration says; the least
utilization starts; a cache of 8 bits holds twice the tokens. With --planner a Llama 3.1 8B is started as in llm-d's
report of vLLM 0.19.0 on an H100, and printed beside its figures. Exit status: 0 all hold, 1 not.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

GIB = 1 << 30
SMALL = dict(architectures=["LlamaForCausalLM"], model_type="llama", torch_dtype="bfloat16", hidden_size=2048,
             intermediate_size=8192, num_hidden_layers=4, num_attention_heads=32, num_key_value_heads=8, head_dim=64,
             vocab_size=128256, max_position_embeddings=131072, rope_theta=500000.0, rms_norm_eps=1e-5,
             tie_word_embeddings=True, hidden_act="silu", bos_token_id=128000, eos_token_id=128001)
LLAMA_8B = dict(SMALL, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, head_dim=128,
                tie_word_embeddings=False)
# vLLM 0.19.0 on an H100 of 79.19 GiB, utilization 0.95, length 8,192: GiB, tokens
PLANNER = dict(weights=14.99, activations=1.89, others=0.25, cache=58.11, tokens=476016, graphs=0.91)


class Server:
    def __init__(self, arguments):
        self.replay, self.vllm = (str(pathlib.Path(path).resolve()) for path in (arguments.replay, arguments.vllm))
        self.failed = 0

    def start(self, config, *words, options=()):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "model").mkdir()
            pathlib.Path(folder, "model", "config.json").write_text(json.dumps(config))
            command = [self.replay, "serve", "--device", "h100-80g", *options, "--json", "-", "--", self.vllm, "serve",
                       "model", *map(str, words)]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if not done.stdout:
                sys.exit(f"serving.py: {done.stderr}")
            return json.loads(done.stdout)["cards"][0]

    def hold(self, what, is_true, *figures):
        print("ok:" if is_true else "FAILED:", what, *figures, flush=True)
        self.failed |= not is_true


def try_small(server):
    length = ["--max-model-len", 2048]
    first = server.start(SMALL, *length, options=["--ask"])
    server.hold("a full step is answered", first["asked_status"] == 200, first["asked_prompts"])
    most = first["share_bytes"] + (first["graphs_captured_bytes"] or 0)
    server.hold("it stays within the share", first["peak_bytes"] <= most, first["peak_bytes"])
    taken = sum(first[key] or 0 for key in ("consumed_bytes", "activations_bytes", "cache_bytes"))
    taken += first["graphs_estimated_bytes"] if first["is_estimate_taken_off"] else 0
    server.hold("the share is what was taken of it", abs(first["share_bytes"] - taken) < 0.03 * GIB)
    server.hold("a token", abs(first["token_bytes"] - 4 * 2 * 8 * 64 * 2) < 1, first["token_bytes"])
    least = first["least_utilization"]
    server.hold("the least starts", server.start(SMALL, *length, "--gpu-memory-utilization", least)["end"] == "ready",
                least)
    eight = server.start(SMALL, *length, "--kv-cache-dtype", "fp8")
    ratio = eight["tokens"] / first["small_type_tokens"]
    server.hold("8 bits hold twice as much", abs(ratio - 1) < 0.01, eight["tokens"])
    eager = server.start(SMALL, *length, "--enforce-eager")
    server.hold("eager captures nothing", not eager["graphs_captured_bytes"])


def try_planner(server):
    start = server.start(LLAMA_8B, "--max-model-len", 8192, "--gpu-memory-utilization", 0.95)
    print(f"vLLM {start['version']}: {start['end']}")
    for key, mine in (("weights", "weights_bytes"), ("activations", "activations_bytes"), ("cache", "cache_bytes"),
                      ("graphs", "graphs_captured_bytes")):
        print(f"  {key}: {PLANNER[key]} GiB on the card, {(start[mine] or 0) / GIB:.2f} here")
    print(f"  others: {PLANNER['others']} GiB on the card")
    print(f"  tokens: {PLANNER['tokens']} on the card, {start['tokens_least']} to {start['tokens']} here")
    server.hold("the card's tokens are in the range", start["tokens_least"] <= PLANNER["tokens"] <= start["tokens"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", required=True)
    parser.add_argument("--replay", default="build/replay")
    parser.add_argument("--planner", action="store_true")
    server = Server(parser.parse_args())
    (try_planner if parser.parse_args().planner else try_small)(server)
    sys.exit(server.failed)


if __name__ == "__main__":
    main()
