#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The program for another processor under qemu reads, writes and prints what it does here, byte for byte.
#
#     tests/long/other_machine.sh BUILD [s390x|aarch64]      # without one: both
#
# s390x is big-endian: the formats. aarch64 is what people have beside cards: also the golden cases, and the stand-ins
# that are written for it. Debian's libraries for the processor are unpacked below BUILD; nothing is installed for them.
set -euo pipefail
if [[ $# -lt 2 ]]; then
    bash "$0" "$1" s390x
    exec bash "$0" "$1" aarch64
fi
build=$(cd "$1" && pwd) machine=$2 source=$PWD work=$build/$machine
export LC_ALL=C
packaging/machine "$machine" "$work"
. "$work/environment"
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS=-O1 -DREPLAY_TESTS=OFF -DREPLAY_MPI=OFF -DREPLAY_FUZZ_CORPUS=ON -DREPLAY_WERROR=ON
cmake --build "$work/build"

here=$build/replay
emulated() { "qemu-$machine-static" -L "$work/root" "$@"; }
there() { emulated "$work/build/replay" "$@"; }
for target in "$work"/build/tests/fuzz/fuzz_*; do
    [[ -x $target && -f $target ]] || continue
    [[ $target == *fuzz_command || $target == *fuzz_plugin ]] && continue    # they replay; no format is read there only
    emulated "$target" "tests/fuzz/corpus/$(basename "$target")" >"$work/out" || { cat "$work/out"; exit 1; }
done

# The answers of the real allocators, and the stand-ins: they are for machines that have cards.
if [[ $machine == aarch64 ]]; then
    for set in pytorch zoo; do
        mkdir -p "$work/cases"
        tar -xJf "tests/data/packed/$set.tar.xz" -C "$work/cases"
        emulated "$work/build/golden" "$work/cases/$set" >"$work/out" || { tail -n 20 "$work/out"; exit 1; }
        echo "ok golden cases: $set, $(tail -n 1 "$work/out")"
    done
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp samples/mlp-adam.trace.zst "$folder/a.zst"
cp samples/oom-fragmented.trace.zst "$folder/b.zst"
cd "$folder"

# same NAME ARGUMENT...: both write the same file and print the same; an output is named with ^
same() {
    local name=$1
    shift
    "$here" "${@/^/here.out}" >here.txt 2>here.err || [[ $? == 1 ]]
    there "${@/^/there.out}" >there.txt 2>there.err || [[ $? == 1 ]]
    sed -i 's/there.out/here.out/g' there.txt
    cmp here.txt there.txt
    [[ " $* " != *^* ]] || cmp here.out there.out
    echo "ok $name"
}
for trace in a b; do
    same "info $trace" info $trace.zst
    same "snapshot $trace" snapshot $trace.zst -o ^
    cp here.out $trace.pickle
    same "import $trace" import $trace.pickle -o ^
    same "who $trace" who $trace.zst --at peak
    same "replay $trace" $trace.zst --policy best-fit --policy none --device sim:2GiB --json ^
done
same "generate" generate mix:500 --events 20000 -o ^
same "report" report a.zst --policy best-fit --device sim:2GiB --md ^
"$here" sweep a.zst --policy '{best-fit,none}' --device sim:1GiB -o a.db >/dev/null
there sweep a.zst --policy pow2 --device sim:1GiB -o a.db >/dev/null
same "a database that both have written" report a.db --csv ^
