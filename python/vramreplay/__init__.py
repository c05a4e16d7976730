# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What another allocator, setting or card would have made of a program's GPU memory requests.

    import vramreplay
    print(vramreplay.why("snapshot.pickle").verdict)

Every function runs the program `replay` of this package and returns its JSON as a dataclass (vramreplay.results).
Nothing is sent anywhere. doc/python.md of the source has the whole tour.

The functions are imported when they are first used: `import torch` imports this package where it is installed, and must
not become slower by it.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from vramreplay.commands import (adversary, bisect, blame, diff, fit, info, predict, replay, requests, samples,
                                     serve, shrink, text, tune, verify, who, why)
    from vramreplay.errors import HostError, InputError, ReplayError
    from vramreplay.recording import Recording, load
    from vramreplay.pages import Report, report
    from vramreplay.sampled import Samples

    __version__: str

__all__ = ["HostError", "InputError", "Recording", "ReplayError", "Report", "Samples", "adversary", "bisect", "blame",
           "diff", "fit", "info", "load", "predict", "replay", "report", "requests", "samples", "serve", "shrink",
           "text", "tune", "verify", "who", "why"]

MODULES = {"HostError": "errors", "InputError": "errors", "ReplayError": "errors", "Recording": "recording",
           "load": "recording", "Report": "pages", "report": "pages", "Samples": "sampled"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata
        try:
            return metadata.version("vramreplay")
        except metadata.PackageNotFoundError:       # the source tree, which nobody installed
            return "unknown"
    if name not in __all__:
        raise AttributeError(f"module 'vramreplay' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"vramreplay.{MODULES.get(name, 'commands')}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext vramreplay`: the magics of vramreplay.magic."""
    from vramreplay import magic
    magic.register(shell)


def __dir__() -> List[str]:
    return [*__all__, "__version__"]
