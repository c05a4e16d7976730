#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The formats on a big-endian machine: the program for s390x under qemu reads and writes what it does here, byte for byte.
# Debian's libraries for s390x are unpacked below build/big-endian; nothing is installed for them.
set -euo pipefail
build=$(cd "$1" && pwd) source=$PWD work=$build/big-endian
export LC_ALL=C
for tool in qemu-s390x-static s390x-linux-gnu-gcc; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install qemu-user-static gcc-s390x-linux-gnu"; exit 1; }
done

# apt keeps lists and packages of its own here, so that this system's stay as they are.
fetch_libraries() {
    mkdir -p "$work"/apt/{lists,cache/archives}/partial "$work/apt/etc" "$work/root"
    : >"$work/apt/status"
    echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' \
        >"$work/apt/etc/sources.list"
    local options=(-q -o APT::Architecture=s390x -o APT::Architectures=s390x -o Dir::State="$work/apt"
                   -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt/cache"
                   -o Dir::Etc::sourcelist="$work/apt/etc/sources.list" -o Dir::Etc::sourceparts=-
                   -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1)
    apt-get "${options[@]}" update
    apt-get "${options[@]}" install -y --download-only libc6-dev libzstd-dev zlib1g-dev libsqlite3-dev libssl-dev libjansson-dev \
        libprotobuf-c-dev
    for package in "$work"/apt/cache/archives/*.deb; do dpkg -x "$package" "$work/root"; done
    touch "$work/fetched"
}
[[ -e $work/fetched ]] || fetch_libraries

cat >"$work/s390x.cmake" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_SYSROOT $work/root)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE s390x-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-s390x-static;-L;$work/root")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
CMAKE
export PKG_CONFIG_LIBDIR=$work/root/usr/lib/s390x-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root
cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$work/s390x.cmake" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS=-O1 -DREPLAY_TESTS=OFF -DREPLAY_MPI=OFF -DREPLAY_FUZZ_CORPUS=ON
cmake --build "$work/build" --target replay fuzzers

here=$build/replay
there() { qemu-s390x-static -L "$work/root" "$work/build/replay" "$@"; }
for target in "$work"/build/tests/fuzz/fuzz_*; do
    [[ -x $target && -f $target ]] || continue
    [[ $target == *fuzz_command || $target == *fuzz_plugin ]] && continue       # they replay; no format is read there only
    qemu-s390x-static -L "$work/root" "$target" "tests/fuzz/corpus/$(basename "$target")" >"$work/out" || { cat "$work/out"; exit 1; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp samples/mlp-adam.trace.zst "$folder/a.zst"
cp samples/oom-fragmented.trace.zst "$folder/b.zst"
cd "$folder"

# same NAME ARGUMENT...: both write the same file and print the same; an output is named with ^
same() {
    local name=$1
    shift
    "$here" "${@/^/x86.out}" >x86.txt 2>x86.err || [[ $? == 1 ]]
    there "${@/^/s390.out}" >s390.txt 2>s390.err || [[ $? == 1 ]]
    sed -i 's/s390.out/x86.out/g' s390.txt
    cmp x86.txt s390.txt
    [[ " $* " != *^* ]] || cmp x86.out s390.out
    echo "ok $name"
}
for trace in a b; do
    same "info $trace" info $trace.zst
    same "snapshot $trace" snapshot $trace.zst -o ^
    cp x86.out $trace.pickle
    same "import $trace" import $trace.pickle -o ^
    same "who $trace" who $trace.zst --at peak
    same "replay $trace" $trace.zst --policy best-fit --policy none --device sim:2GiB --json ^
done
same "generate" generate mix:500 --events 20000 -o ^
same "report" report a.zst --policy best-fit --device sim:2GiB --md ^
"$here" sweep a.zst --policy '{best-fit,none}' --device sim:1GiB -o a.db >/dev/null
there sweep a.zst --policy pow2 --device sim:1GiB -o a.db >/dev/null
same "a database that both have written" report a.db --csv ^
