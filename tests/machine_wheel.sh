#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# A wheel for another processor runs where there is nothing but the C library, and answers as the program here does.
#
#     tests/machine_wheel.sh DIST aarch64 MACHINE_FOLDER REPLAY     # the folder is that of packaging/machine
set -euo pipefail
machine=$2 bare=$(cd "$3" && pwd)/bare here=$(realpath "$4") samples=$PWD/samples
wheel=$(realpath "$1"/*manylinux*_"$machine".whl)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m zipfile -e "$wheel" wheel
for program in wheel/vramreplay/program/bin/*; do
    file -b "$program" | grep -q "ELF.*$machine" || { echo "$program is not for $machine"; exit 1; }
    chmod +x "$program"
done
there() { "qemu-$machine-static" -L "$bare" wheel/vramreplay/program/bin/replay "$@"; }

# same ARGUMENT...: both print the same
same() {
    "$here" "$@" >here.txt 2>&1 || [[ $? == 1 ]]
    there "$@" >there.txt 2>&1 || [[ $? == 1 ]]
    cmp here.txt there.txt
    echo "ok $*"
}
there --version | grep "for Linux on $machine"
same info "$samples/mlp-adam.trace.zst"
same "$samples/oom-fragmented.trace.zst" --policy pytorch --policy best-fit --device sim:2GiB
same why "$samples/oom-fragmented.trace.zst"
same who "$samples/mlp-adam.trace.zst"
there sweep "$samples/mlp-adam.trace.zst" --policy '{best-fit,none}' --device sim:1GiB -o a.db >there.txt
same report a.db --csv /dev/stdout
