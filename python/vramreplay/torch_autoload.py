# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Called by `import torch` (2.5 and later), which loads the entry points of the group "torch.backends"."""
import os
import sys


def autoload() -> None:
    """Switch the hook on if VRAMREPLAY_TORCH is set and not 0. An error here never stops the program's import."""
    if os.environ.get("VRAMREPLAY_TORCH", "0") in ("", "0"):
        return
    try:
        import vramreplay.torch  # noqa: F401
    except Exception as error:
        print(f"vramreplay: the hook is off: {error}", file=sys.stderr)
