# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# What the tests of the command line share; sourced with $replay set. Goes into a folder that is removed at the end, and
# counts what fails: a test ends with  [ "$failures" = 0 ]
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    printf 'FAILED: %s\n' "$1"
    failures=$((failures + 1))
}

# find_asan BUILD: `asan` names the library that what is instrumented needs in programs that are not, or nothing
find_asan() {
    asan=
    if nm -D "$1/cudasim/libcuda.so.1" | grep -q __asan; then
        asan=$(cc -print-file-name=libasan.so)
        export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
    fi
}

# expect STATUS PATTERN ARGUMENT...: exit status, and a pattern in what is printed
expect() {
    local want=$1 pattern=$2 status
    shift 2
    "$replay" "$@" >out 2>&1 </dev/null
    status=$?
    if [ "$status" != "$want" ] || ! grep -q -e "$pattern" out; then
        fail "replay $*: exit $status, expected $want and '$pattern' in: $(cat out)"
    fi
}

# expect_status STATUS ARGUMENT...: leaves the files out and err
expect_status() {
    local want=$1 status
    shift
    "$replay" "$@" >out 2>err </dev/null
    status=$?
    [ "$status" = "$want" ] || fail "replay $*: exit $status, expected $want: $(cat err)"
    grep -q 'Sanitizer\|runtime error' err && fail "replay $*: $(cat err)"
}
