#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The Debian package and the tarball of `./dev package`: installed into a root of their own they work there, they name
# what they need, and the package leaves nothing when it is removed.
#
#     tests/package.sh FOLDER        # the folder holds one .deb and one tarball of everything that is installed
set -uo pipefail
folder=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
. "$source/tests/shell.sh"
deb=$(echo "$folder"/vramreplay_*_*.deb) tarball=$(echo "$folder"/vramreplay-*-Linux.tar.gz)
version=$(sed -n 's/^project(replay VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")

# works ROOT: the program of this installation finds what lies beside it
works() {
    local replay=$1/bin/replay
    [ "$("$replay" --version | head -1)" = "replay $version" ] || fail "$1: --version says $("$replay" --version)"
    "$replay" run-sim --device 1GiB --record "$work/t.zst" -- python3 -c '
import ctypes
assert ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(3 << 20)) == 0
' 2>said || fail "$1: run-sim: $(cat said)"
    "$replay" info "$work/t.zst" | grep -q '3 MiB' || fail "$1: the recording does not hold the request"
    "$replay" record -o "$work/r.zst" -- true 2>said
    grep -q 'no calls for CUDA memory were recorded' said || fail "$1: record: $(cat said)"
    for file in lib/libreplay-alloc.so share/man/man1/replay.1 share/bash-completion/completions/replay \
        share/zsh/vendor-completions/_replay share/fish/vendor_completions.d/replay.fish; do
        [ -s "$1/$file" ] || fail "$1 lacks $file"
    done
    grep -q "share/doc" <(find "$1" -name copyright) || fail "$1 has no licence"
}

# dpkg in a root of its own, which has none of the packages that ours needs
in_root() {
    PATH=$PATH:/usr/sbin:/sbin dpkg --root="$work/root" --force-not-root --force-depends --force-script-chrootless \
        --log="$work/dpkg.log" "$@" >said 2>&1 || fail "dpkg $1: $(cat said)"
}

mkdir -p root/var/lib/dpkg/updates root/var/lib/dpkg/info root/var/lib/dpkg/triggers
touch root/var/lib/dpkg/status
in_root --install "$deb"
works "$work/root/usr"
in_root --purge vramreplay
left=$(find root -path root/var -prune -o \( -type f -o -type l \) -print)
[ -z "$left" ] || fail "the package leaves behind: $left"

needs=$(dpkg-deb --field "$deb" Depends | tr ',' '\n' | sed 's/^ *\([^ ]*\).*/\1/' | sort | tr '\n' ' ')
[ "$needs" = 'libc6 libelf1 libjansson4 liblz4-1 libprotobuf-c1 libsqlite3-0 libssl3 libzstd1 zlib1g ' ] ||
    fail "the package needs $needs"
[ "$(dpkg-deb --field "$deb" Version)" = "$version" ] || fail "the package has another version"

mkdir unpacked && tar -xzf "$tarball" -C unpacked --strip-components=1
works "$work/unpacked"

[ "$failures" = 0 ]
