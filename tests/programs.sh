# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# What the tests of commands that run a program share; sourced with $replay and $build set. Goes into a folder that is
# removed at the end. What fails sets `failed`: a test ends with  exit "$failed"
if nm -D "$build/cudasim/libcuda.so.1" | grep -q __asan; then
    export LD_PRELOAD
    LD_PRELOAD=$(cc -print-file-name=libasan.so)     # the libraries are instrumented: it is to be loaded first
    export ASAN_OPTIONS=detect_leaks=0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache TMPDIR=$work/tmp
mkdir "$TMPDIR"
cd "$work" || exit 1
failed=0

# expect NAME STATUS TEXT COMMAND...: the command ends with the status, and its output contains the text.
expect() {
    local name=$1 status=$2 text=$3 got=0 said
    shift 3
    said=$("$@" 2>&1) || got=$?
    if [[ $got -ne $status || $said != *"$text"* ]]; then
        printf 'FAILED: %s: status %d instead of %d, or no "%s" in: %s\n' "$name" "$got" "$status" "$text" "$said"
        failed=1
    else
        printf 'ok: %s\n' "$name"
    fi
}
