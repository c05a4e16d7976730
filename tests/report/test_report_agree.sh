#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# No figure of a page contradicts another: see page_agree.py. Pages of all samples; in the long tier of all recordings
# here, and of those that other people published.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
recordings=("$3"/samples/*.trace.zst "$3"/tests/dying/recordings/{leak,frag}*.zst)
if [[ -n ${REPLAY_LONG_TESTS:-} ]]; then
    recordings=("$3"/samples/*.trace.zst "$3"/tests/dying/recordings/*.zst)
    [[ -d $3/../shared/traces ]] && recordings+=("$3"/../shared/traces/pytorch-snapshot/*.pickle)
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$3/tests/page_agree.py" "$1" "$work" "${recordings[@]}"
