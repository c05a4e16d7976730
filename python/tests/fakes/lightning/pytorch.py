# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The part of Lightning that the callback uses."""


class Callback:
    """The base class of callbacks."""
