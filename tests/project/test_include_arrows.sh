#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Includes point down only, and the script that says so finds each thing that it promises to find.
set -u
source_dir=$3
arrows=$source_dir/tests/include_arrows.py
command -v python3 > /dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# A tree of two headers that the script accepts.
small_tree() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/base" "$work/tree/traces" "$work/tree/policies"
    printf '#ifndef REPLAY_BASE_LOW_H\n#define REPLAY_BASE_LOW_H\n#endif\n' > "$work/tree/base/low.h"
    printf '#ifndef REPLAY_TRACES_HIGH_H\n#define REPLAY_TRACES_HIGH_H\n#include "base/low.h"\n#endif\n' \
        > "$work/tree/traces/high.h"
}

# The script refuses the small tree and says: $2.
refuses() {
    python3 "$arrows" "$work/tree" > "$work/out" 2> "$work/err" && fail "$1: was accepted"
    grep -qF -- "$2" "$work/err" || fail "$1: '$2' is not in: $(cat "$work/err")"
}

python3 "$arrows" "$source_dir" > "$work/out" || fail "the tree is not as its map says"
python3 "$arrows" --map | grep -q '^replay/engine  *[A-Z]' || fail "the engine's room is not on the map"

small_tree
python3 "$arrows" "$work/tree" > /dev/null || fail "a tree without a mistake is refused"

small_tree
printf '#include "traces/high.h"\n' > "$work/tree/base/wrong.c"
refuses "an include that points up" 'base/wrong.c:1: base may not include traces ("traces/high.h")'

small_tree
printf '\n#include "traces/high.h"\n' > "$work/tree/policies/curious.c"
refuses "a policy that reads traces" 'policies/curious.c:2: policies may not include traces'

small_tree
mkdir "$work/tree/cellar"
printf 'int i;\n' > "$work/tree/cellar/new.c"
refuses "a room that nobody listed" 'cellar/new.c:1: its folder is not in ROOMS'

small_tree
printf 'int i;\n' | tee "$work/tree/base/twice.c" > "$work/tree/traces/twice.c"
refuses "two files of one name" 'traces/twice.c:1: base/twice.c has the same name'

small_tree
sed 's/_LOW_H/_BELOW_H/' "$work/tree/base/low.h" > "$work/tree/base/guard.h"
refuses "a guard of another name" 'base/guard.h:1: its guard is REPLAY_BASE_BELOW_H, not REPLAY_BASE_GUARD_H'

small_tree
printf '#include "low.h"\n' > "$work/tree/base/beside.c"
refuses "an include that is not written from the root" 'base/beside.c:1: "low.h" is not a file of the tree'

small_tree
sed -i '/include/d' "$work/tree/traces/high.h"
refuses "an arrow that no file uses" 'ROOMS says that traces uses base, and no file there does'

small_tree
printf '| file |\n|---|\n| `high.h` |\n' > "$work/tree/traces/README.md"
printf '| file |\n|---|\n| `lower` |\n' > "$work/tree/base/README.md"
refuses "a file that its room's README does not name" 'base/README.md:1: does not name low.h'
grep -q 'traces/README' "$work/err" && fail "a README that names its file is refused"

small_tree
printf '`low`, and `gone.c`\n' > "$work/tree/base/README.md"
refuses "a README that names a file that is gone" 'base/README.md:1: names gone.c, which is not in the tree'

small_tree
printf '/* As in base/lower.h. */\n' > "$work/tree/base/comment.c"
refuses "a comment that names a file that is gone" 'base/comment.c:1: names base/lower.h, which is not in the tree'

exit $((failures > 0))
