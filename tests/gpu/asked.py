# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What a piece of work asks of PyTorch's allocator."""
import gc

import torch


def requests_of(work):
    """What the work returns, and [[+bytes or -bytes], ...]: requests and frees in order."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
    n = len(torch.cuda.memory._snapshot()["device_traces"][0])
    result = work()
    torch.cuda.synchronize()
    trace = torch.cuda.memory._snapshot()["device_traces"][0][n:]
    torch.cuda.memory._record_memory_history(enabled=None)
    sign = {"alloc": 1, "free_requested": -1}
    return result, [sign[e["action"]] * e["size"] for e in trace if e["action"] in sign]
