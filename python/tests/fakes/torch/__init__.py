# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""As much of PyTorch as the hook uses. What is larger than CARD_BYTES is refused; the history is a bundled sample."""
import os
import shutil
import types

CARD_BYTES = 8 << 30
state = {"ooms": 0, "history": None, "initialized": False, "queued": [], "dumps": []}
OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
_C = types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: state["history"] is not None)


def record(**arguments):
    state["history"] = arguments if arguments["enabled"] else None


def dump(path):
    state["dumps"].append(path)
    shutil.copyfile(os.environ["FAKE_SNAPSHOT"], path)


def start():
    state["initialized"] = True
    while state["queued"]:
        state["queued"].pop()()


def lazy_call(function):
    function() if state["initialized"] else state["queued"].append(function)


def empty(n_bytes):
    start()
    if n_bytes > CARD_BYTES:
        state["ooms"] += 1
        raise OutOfMemoryError(os.environ.get("FAKE_MESSAGE", "CUDA out of memory. Tried to allocate too much."))


cuda = types.SimpleNamespace(
    memory=types.SimpleNamespace(_record_memory_history=record, _dump_snapshot=dump),
    memory_stats=lambda device: {"num_ooms": state["ooms"]}, device_count=lambda: 1, current_device=lambda: 0,
    is_initialized=lambda: state["initialized"], _lazy_call=lazy_call)
