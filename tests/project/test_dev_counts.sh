#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# How ./dev counts tests: by cases, each skip with its reason, and a skip without a known reason is a failure.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
mkdir -p "$work/run/Testing/Temporary"

# entry NAME OUTPUT STATUS: one test of a ctest run, as its log has it
entry() {
    printf '1/9 Testing: %s\n1/9 Test: %s\nOutput:\n%s\n<end of output>\nTest %s.\n"%s" end time: Nov 23 09:35 UTC\n' \
        "$1" "$1" "$2" "$3" "$1"
}

# count: the last lines that ./dev prints for the entries on standard input
count() {
    cat >"$work/run/Testing/Temporary/LastTest.log"
    # shellcheck source=../dev
    bash -c 'root=$1 run=$2; set -- help; source "$root/dev" >/dev/null; count_ctest "$run"; finish' \
        _ "$root" "$work/run" | sed '/^$/d' >"$work/said"
}

# says LINE...: exactly these lines
says() {
    printf '%s\n' "$@" >"$work/want"
    diff "$work/want" "$work/said" || failures=$((failures + 1))
}

root=$3
{
    entry criterion '[====] Synthesis: Tested: 5 | Passing: 5 | Failing: 0 | Crashing: 0 ' Passed
    entry script 'text' Passed
    entry page 'SKIP: needs a browser: chromium is not installed' Passed
    entry traces '[SKIP] real::one: needs recordings of others: no folder
[SKIP] real::two: needs recordings of others: no folder
[====] Synthesis: Tested: 3 | Passing: 3 | Failing: 0 | Crashing: 0 ' Passed
} | count
says '1 skipped: needs a browser' '2 skipped: needs recordings of others' '9 passed, 0 failed, 3 skipped'

{
    entry leak '[====] Synthesis: Tested: 5 | Passing: 5 | Failing: 0 | Crashing: 0 ' Failed
    entry case '[====] Synthesis: Tested: 5 | Passing: 4 | Failing: 1 | Crashing: 0 ' Failed
    entry script 'text' Failed
} | count
says '9 passed, 3 failed, 0 skipped'

entry lazy '[SKIP] lazy::one: no time
[====] Synthesis: Tested: 1 | Passing: 1 | Failing: 0 | Crashing: 0 ' Passed | count
says 'FAILED  skipped for a reason that is not in the list at the top of ./dev:' '[SKIP] lazy::one: no time' \
    '1 passed, 1 failed, 1 skipped'

[ "$failures" = 0 ]
