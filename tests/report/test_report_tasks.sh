#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# What a person comes to a page for takes three actions at most: see page_tasks.py.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 "$3/tests/page_tasks.py" "$1" "$3/samples" "$work"
