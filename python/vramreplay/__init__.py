# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What another allocator, setting or card would have made of a program's GPU memory requests.

    import vramreplay
    print(vramreplay.why("snapshot.pickle").verdict)

Every function runs the program `replay` of this package and returns its JSON as a dataclass (vramreplay.results).
Nothing is sent anywhere. doc/python.md of the source has the whole tour.
"""
from importlib import metadata

from vramreplay.commands import diff, fit, info, replay, samples, text, tune, verify, who, why
from vramreplay.errors import HostError, InputError, ReplayError
from vramreplay.recording import Recording, load
from vramreplay.sampled import Samples

__version__ = metadata.version("vramreplay")
__all__ = ["HostError", "InputError", "Recording", "ReplayError", "Samples", "diff", "fit", "info", "load", "replay",
           "samples", "text", "tune", "verify", "who", "why"]
