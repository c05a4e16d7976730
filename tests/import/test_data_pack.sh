#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# tests/data/pack: the unpacked data gives the archives of the tree again, file by file, and the same bytes each time.
set -u
data=$2/tests/data packed=$3/tests/data/packed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    printf 'FAILED: %s\n' "$1"
    failures=$((failures + 1))
}

pack() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$3/tests/data/pack" --to "$1" "$2" conf-keys snapshots >"$work/log" ||
        fail "pack $2: $(cat "$work/log")"
}

pack "$work/first" "$data" "$3"
for family in conf-keys snapshots; do
    (cd "$work" && cmake -E tar tf "$packed/$family.tar.xz") >"$work/want"
    (cd "$work" && cmake -E tar tf "$work/first/$family.tar.xz") >"$work/got"
    cmp -s "$work/want" "$work/got" || fail "$family: other files: $(diff "$work/want" "$work/got" | head -3)"
done

# A copy with other times and modes, some files compressed, gives the same archives.
cp -r "$data/conf-keys" "$data/snapshots" "$work"
chmod 600 "$work"/snapshots/*
gzip -n "$work"/snapshots/*.json
pack "$work/second" "$work" "$3"
for family in conf-keys snapshots; do
    cmp "$work/first/$family.tar.xz" "$work/second/$family.tar.xz" || fail "$family: the archives differ"
done

[ "$failures" = 0 ]
