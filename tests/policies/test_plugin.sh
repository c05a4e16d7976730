#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# A policy author's way: install into a prefix, build the example out of tree against it, run it; and what the loader
# and the audit make of plugins that are wrong.
set -u
build=$(cd "$2" && pwd) source=$(cd "$3" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trace=mlp-adam.trace.zst          # copied beside the plugins: what is said must not hang on where the tree lies
failed=0

fail() {
    printf 'FAILED: %s\n' "$*"
    failed=1
}

# expect NAME STATUS TEXT COMMAND...: the command ends with the status, and what it says contains the text.
expect() {
    local name=$1 status=$2 text=$3 got=0 said
    shift 3
    said=$("$@" 2>&1) || got=$?
    if [[ $got -ne $status || $said != *"$text"* ]]; then
        fail "$name: status $got instead of $status, or no '$text' in: $said"
    else
        printf 'ok: %s\n' "$name"
    fi
}

# variant NAME SED-SCRIPT...: builds a changed copy of the example as NAME.so.
variant() {
    local name=$1
    shift
    sed "$@" page_fit.c >"$name.c"
    if cmp -s page_fit.c "$name.c"; then
        fail "variant $name: the example has changed, nothing was replaced"
    fi
    # shellcheck disable=SC2046
    cc -std=c11 -fPIC -shared -w $(pkg-config --cflags replay) -o "$name.so" "$name.c" || fail "$name does not compile"
}

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
[ -s "$work/prefix/share/man/man1/replay.1" ] || fail "the manual page is not installed"
replay=$work/prefix/bin/replay
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name replay.pc)")
cp -r "$source/examples/policy" "$work/plugin"
cd "$work/plugin" || exit 1
cp "$source/samples/$trace" .

expect "the example builds with pkg-config" 0 "" \
    make PKG_CONFIG_PATH="$PKG_CONFIG_PATH" CFLAGS="-O2 -Wall -Wextra -Werror"
expect "it lists its options" 0 "64KiB" "$replay" --help ./page_fit.so
expect "it runs beside a built-in policy" 0 '"page-fit"' \
    "$replay" "$trace" --policy best-fit --policy ./page_fit.so --audit --json -
expect "it runs with options, and without a slash in its name" 0 "page_fit.so:page=4KiB" \
    "$replay" "$trace" --policy page_fit.so:page=4KiB,arena=8MiB --audit
expect "an unknown option is answered with the nearest" 2 "did you mean 'page'" \
    "$replay" "$trace" --policy ./page_fit.so:pgae=4
expect "a value out of range is answered with the range" 2 "from 512 B to 1 GiB" \
    "$replay" "$trace" --policy ./page_fit.so:page=1
expect "what the plugin refuses is said" 2 "no power of two" "$replay" "$trace" --policy ./page_fit.so:page=1000

expect "an account of its memory tells what was asked for" 1 "live requests, as asked for"$'\n' \
    "$replay" "$trace" --policy ./page_fit.so:arena=4MiB --device sim:16MiB
expect "a sweep replays one of its runs that cannot differ" 0 "2 done now, 0 there already; 1 could not differ" \
    "$replay" sweep "$trace" --policy ./page_fit.so --device 'sim:{40,80}GiB' -o page_fit.db

variant old_abi -e 's/POLICY_HEAD,/.abi = 41, .size = sizeof(struct policy_ops), .sizes = policy_sizes,/'
expect "another interface is refused with its number" 2 "interface 41" "$replay" "$trace" --policy ./old_abi.so
expect "and with ours" 2 "this program has 7" "$replay" "$trace" --policy ./old_abi.so

variant early \
    -e 's/POLICY_HEAD,/.abi = POLICY_ABI, .size = offsetof(struct policy_ops, retire), .sizes = policy_sizes,/'
expect "a plugin built before members were appended lacks them" 0 "early.so" \
    "$replay" "$trace" --policy ./early.so --audit
expect "and are replayed each time" 0 "2 done now, 0 there already"$'\n' \
    "$replay" sweep "$trace" --policy ./early.so --device 'sim:{40,80}GiB' -o early.db
variant tiny -e 's/POLICY_HEAD,/.abi = POLICY_ABI, .size = 8, .sizes = policy_sizes,/'
expect "a table that is too short is refused" 2 "8 bytes" "$replay" "$trace" --policy ./tiny.so
stale='static const struct policy_size stale[] = {{"policy", sizeof(struct policy) + 8}};'
variant stale -e "/^static enum err page_fit_create/i $stale" \
    -e 's/POLICY_HEAD,/.abi = POLICY_ABI, .size = sizeof(struct policy_ops), .sizes = stale,/'
expect "a plugin built with a struct of another size is refused with its name" 2 "its struct policy has" \
    "$replay" "$trace" --policy ./stale.so
variant unsized -e 's/POLICY_HEAD,/.abi = POLICY_ABI, .size = sizeof(struct policy_ops),/'
expect "a plugin that does not tell its sizes is refused" 2 "struct policy" "$replay" "$trace" --policy ./unsized.so

if command -v c++ >/dev/null; then
    expect "the example in C++ builds" 0 "" make size_cache.so PKG_CONFIG_PATH="$PKG_CONFIG_PATH"
    expect "and runs" 0 '"size-cache"' "$replay" "$trace" --policy ./size_cache.so --audit --json -
    expect "its free blocks alone are enough for an account" 1 "live requests, as asked for"$'\n' \
        "$replay" "$trace" --policy ./size_cache.so --device sim:10MiB
    expect "the example in C++ that is made of parts builds" 0 "" make two_ends.so PKG_CONFIG_PATH="$PKG_CONFIG_PATH"
    expect "and runs" 0 '"two-ends"' "$replay" "$trace" --policy ./two_ends.so --audit --json -
    expect "also under a policy of ours" 0 "rmm-pool" \
        "$replay" "$trace" --policy 'rmm-pool:upstream=[./size_cache.so]' --audit --json -
else
    echo "skipped: no C++ compiler"
fi

if command -v rustc >/dev/null; then
    expect "the example in Rust builds" 0 "" \
        make tree_fit.so PKG_CONFIG_PATH="$PKG_CONFIG_PATH" CFLAGS="-O2 -Wall -Wextra -Werror"
    expect "and runs" 0 '"tree-fit"' "$replay" "$trace" --policy ./tree_fit.so --audit --json -
    expect "it shows its blocks, and gives back what is idle" 1 "live requests, as asked for"$'\n' \
        "$replay" "$trace" --policy ./tree_fit.so --device sim:16MiB
    expect "no name of Rust's library gets into the program" 1 "" \
        bash -c "nm -D --defined-only tree_fit.so | grep -v ' policy_plugin$'"
else
    echo "skipped: no rustc"
fi

# A policy that asks for its memory in create(): a refusal there is an outcome, not an error of the whole run.
cc -std=c11 -fPIC -shared -I "$source" -o pool.so "$source/tests/preallocating.c" || fail "the preallocating plugin"
expect "a policy that is refused its first memory is out of memory; the others run" 1 "best-fit" \
    "$replay" "$trace" --policy best-fit --policy ./pool.so:pool=1TiB,early --device sim:80GiB
expect "and that is before the first event" 1 '"event": -1' \
    "$replay" "$trace" --policy ./pool.so:pool=1TiB,early --device sim:80GiB --json -
expect "a card is found for it" 0 "GiB" "$replay" fit "$trace" --policy ./pool.so:pool=20GiB,early

variant headless -e 's/\.alloc = page_fit_alloc,//'
expect "a table without alloc is refused" 2 "alloc" "$replay" "$trace" --policy ./headless.so
variant nameless -e 's/policy_plugin/some_function/'
expect "a library that is no plugin is refused" 2 "policy_plugin" "$replay" "$trace" --policy ./nameless.so
expect "a file that is no library is refused" 2 "page_fit.c" "$replay" "$trace" --policy ./page_fit.c

variant overlap -e 's/a->pages\[at + k\] = PAGE_MORE;/;/' -e 's/a->pages\[at\] = requested;//' \
    -e '/a->n_taken [+-]= n;/d'
expect "blocks that overlap are caught by the audit, with the event" 1 "record 2: the block" \
    "$replay" "$trace" --policy ./overlap.so --audit
expect "and by the audit, which every plugin has" 1 "record 2: the block" \
    "$replay" "$trace" --policy ./overlap.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0              # what a crashed plugin held stays
variant crash -e 's/^static enum err page_fit_alloc.*/&/' \
    -e '/^static enum err page_fit_alloc/,/^{/s/^{/{ static int n; if (++n >= 40) *(volatile int *)0 = 1;/'
expect "a plugin that crashes ends its own run, with the record" 1 \
    "the plugin crashed: it used memory that is not there" \
    "$replay" "$trace" --policy best-fit --policy ./crash.so
expect "the others' figures stand" 1 "best-fit needs least memory" \
    "$replay" "$trace" --policy best-fit --policy ./crash.so
crash_sweep=("$replay" sweep "$trace" --policy best-fit --policy ./crash.so --device 'sim:{40,80}GiB' -o crash.db)
expect "a sweep keeps all its rows" 1 "4 done now, 0 there already; 2 FAILED" "${crash_sweep[@]}"
expect "and names what crashed, on which trace, how often and where" 1 \
    "FAILED: ./crash.so in 2 of 2 runs of $trace; on sim:40GiB the run failed at " "${crash_sweep[@]}" --wide
expect "the same command fails again, as its runs did" 1 "0 done now, 4 there already; 2 FAILED" "${crash_sweep[@]}"
expect "also without a summary" 1 "FAILED: ./crash.so in 2 of 2" "${crash_sweep[@]}" --quiet
expect "its JSON names it, with the reason" 0 "./crash.so 2 2 sim:40GiB the plugin crashed" bash -c '
    "$@" --json - | python3 -c "
import json, sys
for f in json.load(sys.stdin)[\"failed\"]:
    print(f[\"policy\"], f[\"failed_runs\"], f[\"runs\"], f[\"device\"], f[\"reason\"].split(\": \")[1])"' \
    - "${crash_sweep[@]}"
expect "a report of the database names it" 0 "2 of 4 runs failed: ./crash.so 2" "$replay" report crash.db
expect "a merge names it" 0 "FAILED: ./crash.so in 2 of 2" "$replay" merge crash.db -o merged.db
if command -v mpirun >/dev/null && [ -e "$build/mpi/libreplay-mpi.so" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    expect "ranks name it" 1 "FAILED: ./crash.so in 2 of 2" timeout -s KILL 300 mpirun --oversubscribe -n 2 \
        "$build/replay" sweep "$trace" --policy best-fit --policy ./crash.so --device 'sim:{40,80}GiB' -o ranks.db
fi
variant abort -e 's/#include "policies\/policy.h"/&\n#include <stdlib.h>/' \
    -e '/^static void page_fit_free/,/^{/s/^{/{ static int n; if (++n == 30) abort();/'
expect "one that aborts, too" 1 "it aborted (SIGABRT)" "$replay" "$trace" --policy best-fit --policy ./abort.so
variant misplaced -e 's/ERR_USAGE, 0, "page-fit: a page/ERR_USAGE, POLICY_PLACE(77, 1), "page-fit: a page/'
expect "a mistake in an option that it does not have is said without a place" 2 "no power of two" \
    "$replay" "$trace" --policy ./misplaced.so:page=1000
variant twice -e 's/{"arena"/{"page"/'
expect "two options of one name are refused" 2 "of one name" "$replay" "$trace" --policy ./twice.so
variant endless -e 's/\.bytes = bytes, \.segment/.bytes = UINT64_MAX, .segment/'
expect "a block of all memory there is is caught without the audit" 1 "with a block of" \
    "$replay" "$trace" --policy ./endless.so
variant empty -e 's/    \*out = &f->base;/    free(f);/'
expect "a create() that gives nothing is caught" 2 "without a policy" "$replay" "$trace" --policy ./empty.so
variant small -e 's/\.bytes = bytes, \.segment/.bytes = 1, .segment/'
expect "a block smaller than its request is caught too" 1 "record 1: the policy" \
    "$replay" "$trace" --policy ./small.so --audit

# Every installed header stands alone, and the library links.
sanitize=$(sed -n 's/^REPLAY_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
for header in $(cd "$work/prefix/include/replay" && find . -name '*.h' | sort); do
    printf '#include "%s"\nint main(void) { return policy_at(0) == NULL; }\n' "${header#./}" |
        sed '1a #include "policies/policy.h"' >one.c
    # shellcheck disable=SC2046
    expect "installed: ${header#./}" 0 "" \
        cc -std=c11 -Wall -Wextra -Werror ${sanitize:+-fsanitize=$sanitize} one.c -o one \
        $(pkg-config --cflags --libs --static replay)
done
expect "a program linked with libreplay.a runs" 0 "" ./one

exit $failed
