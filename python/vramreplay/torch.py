# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Importing this switches the hook on, and explains every OutOfMemoryError of PyTorch from then on.

    import vramreplay.torch               # or VRAMREPLAY_TORCH=1 in the environment; =0 makes the import do nothing

vramreplay.oom_hook says what is done. `vramreplay.torch.disable()` takes everything back.
"""
import os
import warnings

from vramreplay.oom_hook import attach_oom_observer, disable, enable, is_enabled, notes

__all__ = ["attach_oom_observer", "disable", "enable", "is_enabled", "notes"]

if os.environ.get("VRAMREPLAY_TORCH", "1") != "0":
    try:
        enable()
    except Exception as reason:                     # a program must not die of its recorder
        warnings.warn(f"vramreplay: the hook is off: {reason}", stacklevel=2)
