# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""cuDNN's attention on a simulated card: the requests that it makes, and no kernel.

PyTorch decides for itself whether it takes cuDNN's attention (on Hopper and later, from 2.11 on; sdp_utils.cpp). The
stand-in for cuDNN builds no graph, so both passes are answered here. What they ask for was seen on an H100 with PyTorch
2.11 and cuDNN 9.19, in 43 shapes (tests/gpu/attention):

    forward     seed 8, offset 8, output, statistics 4 b h s if a backward pass may follow, workspace 256 if s > 1
    backward    dq, dk, dv, workspace 4 b h s d + 4 b h s + 256; for fewer heads of keys also dk and dv for all heads

with b batches, h heads and s rows of queries, and d their width.
"""
import warnings

import torch

WORKSPACE = 256


def _bytes(n, like):
    """A workspace of n bytes, which goes at once."""
    torch.empty(n, dtype=torch.uint8, device=like.device)


def _in_order_of(like, shape):
    """An output of that shape, its dimensions in memory in the order of another tensor's."""
    order = sorted(range(len(shape)), key=lambda i: (like.stride(i), -i))
    strides, step = [0] * len(shape), 1
    for i in order:
        strides[i] = step
        step *= shape[i]
    return torch.empty_strided(shape, strides, dtype=like.dtype, device=like.device)


def forward(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False,
            *, scale=None):
    with torch._C.DisableTorchFunction():
        b, h, s, _ = query.shape
        seed, offset = (torch.empty((), dtype=torch.int64, device=query.device) for _ in range(2))
        output = _in_order_of(query, (b, h, s, value.shape[3]))
        statistics = torch.empty((b, h, s, 1) if compute_log_sumexp else 0, dtype=torch.float32, device=query.device)
        if s > 1:
            _bytes(WORKSPACE, query)
        none = torch.empty(0, dtype=torch.int32, device=query.device)
        return output, statistics, none, none, s, key.shape[2], seed, offset, none


def backward(grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k,
             max_q, max_k, dropout_p, is_causal, *, scale=None):
    with torch._C.DisableTorchFunction():
        b, h, s, d = query.shape
        gradients = tuple(torch.empty_like(x) for x in (query, key, value))
        for_all_heads = 0
        if key.shape[1] < h:
            for_all_heads = b * h * key.shape[2] * (key.shape[3] + value.shape[3]) * query.element_size()
        _bytes(4 * b * h * s * (d + 1) + WORKSPACE + for_all_heads, query)
        return gradients


def install():
    """Puts both in the place of cuDNN's. RuntimeError or AttributeError: this PyTorch has no such functions."""
    global _library
    torch.ops.aten._scaled_dot_product_cudnn_attention.default
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")              # that a kernel is replaced
        _library = torch.library.Library("aten", "IMPL")
        _library.impl("_scaled_dot_product_cudnn_attention", forward, "CUDA")
        _library.impl("_scaled_dot_product_cudnn_attention_backward", backward, "CUDA")
