# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""See __main__.py."""
