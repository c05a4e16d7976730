#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The bounds of the frozen benchmark are proved: for each trace of edition 1 the independent checker accepts a
# certificate of exactly the bound in edition_1.def.
set -u
replay=$1
source=$3
. "$3/tests/shell.sh"

mapfile -t rows < <(tr '\n' ' ' <"$source/replay/sweep/edition_1.def" |
    grep -o 'SUITE_TRACE("[^"]*", *"[0-9a-f]*", *[0-9]*)' | sed 's/.*("\([^"]*\)".* \([0-9]*\))/\1 \2/')
[ "${#rows[@]}" = 22 ] || fail "${#rows[@]} traces in edition_1.def, not 22"

for row in "${rows[@]}"; do
    read -r trace bound <<<"$row"
    expect_status 0 plan "$source/samples/$trace" -o plan.csv --json proof.json --effort 1
    python3 "$source/examples/plan/check_plan.py" plan.csv proof.json >said 2>&1 || fail "$trace: $(tail -1 said)"
    grep -q "none fit below $bound\$" said || fail "$trace: edition 1 says $bound, and the proof: $(cat said)"
done
[ "$failures" = 0 ]
