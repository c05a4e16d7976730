#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Programs that this machine's nvcc builds run on the simulated card, and are recorded as they say: three of those of
# against-cuda/ on one card, all of them on three cards in the long tier.
set -u
build=$2
source=$3
command -v nvcc >/dev/null || { echo "SKIP: needs the CUDA toolkit: there is no nvcc"; exit 77; }
. "$source/tests/programs.sh"
programs=(variables occupancy pools)
cards=(--card a100-80g)
[[ -z ${REPLAY_LONG_TESTS:-} ]] || { programs=(); cards=(); }
"$source/tests/against-cuda/run" --build "$build" "${cards[@]}" "${programs[@]}" || failed=1
exit "$failed"
