# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How many tokens of a step vLLM's engine takes for each request.

The newer runner (vllm.v1.worker.gpu) counts them by a kernel, and the engine asks again until there is one. No kernel
runs here, so it would ask for ever. The host knows the count: none before a request's prompt is done, then one, because
what a draft proposed is taken for wrong.
"""
import functools
import sys

import torch

import replay_values


def _count(batch, sampled, rejected):
    """Says what both tensors on the card hold."""
    lengths, prompts = batch.seq_lens_cpu_upper_bound[:batch.num_reqs], torch.from_numpy(batch.prefill_len_np)
    is_sampled = lengths >= prompts[:batch.num_reqs]
    logits = torch.from_numpy(batch.cu_num_logits_np).diff()[:batch.num_reqs]
    replay_values.write(sampled, is_sampled.to(sampled.dtype))
    replay_values.write(rejected, ((logits - 1) * is_sampled).to(rejected.dtype))


@functools.cache
def _tell_once(text):
    print("replay: tokens of vLLM's steps are not counted: " + text, file=sys.stderr, flush=True)


def install(model_runner):
    """`model_runner`: vLLM's module, just imported."""
    runner = model_runner.GPUModelRunner
    sample = runner.sample

    @functools.wraps(sample)
    def sample_and_count(self, hidden_states, input_batch, *others, **named):
        made = sample(self, hidden_states, input_batch, *others, **named)
        try:
            _, sampled, rejected = made
            replay_values.aside(_count, input_batch, sampled, rejected)
        except Exception as error:                   # another release: the program goes on as it would without us
            _tell_once("%s: %s" % (type(error).__name__, error))
        return made
    runner.sample = sample_and_count
