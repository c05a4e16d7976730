# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Stands in for PyTorch's allocator: takes memory of the simulated card, and leaves the snapshot that its hook would.

    import torch_standin
    held = torch_standin.take(64)       # MiB; the line that calls is recorded
"""
import atexit
import ctypes
import os
import pickle
import sys

runtime = ctypes.CDLL("libcudart.so.12")
trace, segments = [], []


def frames_above():
    frame, frames = sys._getframe(2), []
    while frame is not None:
        code = frame.f_code
        frames.append({"filename": os.path.abspath(code.co_filename), "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return frames


def take(mib):
    pointer = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(mib << 20)) != 0:
        sys.exit("torch.OutOfMemoryError: CUDA out of memory.")
    event = {"addr": pointer.value, "size": mib << 20, "stream": 0, "frames": frames_above()}
    trace.extend([dict(event, action="segment_alloc"), dict(event, action="alloc")])
    block = {"address": pointer.value, "size": mib << 20, "requested_size": mib << 20, "state": "active_allocated",
             "frames": event["frames"]}
    segments.append({"device": 0, "address": pointer.value, "total_size": mib << 20, "stream": 0,
                     "segment_type": "large", "segment_pool_id": (0, 0), "allocated_size": mib << 20,
                     "active_size": mib << 20, "requested_size": mib << 20, "is_expandable": False, "frames": [],
                     "blocks": [block]})
    return pointer.value


@atexit.register
def leave():
    folder = os.environ.get("REPLAY_TORCH_RECORD")
    if folder and trace:
        with open(f"{folder}/{os.getpid()}.pickle", "wb") as f:
            pickle.dump({"segments": segments, "device_traces": [trace], "allocator_settings": {}}, f)
