#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The pages for people are true: paths, commands and options that they name exist, and the output that they show is what
# the program prints. tests/check_docs.py says how.
set -u
exec python3 "$3/tests/check_docs.py" "$1"
