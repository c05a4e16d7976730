#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The page of replay report in headless Chromium, without a network: see page_browser.py.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 "$3/tests/page_browser.py" "$1" "$3/samples" "$work"
