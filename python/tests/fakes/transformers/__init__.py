# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The part of Hugging Face that the callback uses."""


class TrainerCallback:
    """The base class of callbacks."""
