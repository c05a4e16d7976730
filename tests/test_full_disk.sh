#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# A full disk: whatever a command writes, it says that the output cannot be written, ends with status 3, and leaves no
# file that looks finished. The shell's limit on the size of a file stands for the full disk.
set -uo pipefail
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

trace=$samples/gpt-varlen-default.trace.zst
trap '' XFSZ                                     # a write beyond the limit fails, and does not end the program

# fills_up FILE ARGUMENT...: with room for more and more, until the command gets by
fills_up() {
    local file=$1 kib=0 status said
    shift
    while rm -f "$file"; do
        said=$( (ulimit -f "$kib"; exec "$replay" "$@" 2>&1 >/dev/null </dev/null) )
        status=$?
        (( status == 0 )) && break
        if (( status != 3 )) || [[ $said != *"cannot be written"* || -n $(ls) ]]; then
            fail "replay $*: with room for $kib KiB: exit $status, it leaves '$(ls)' and says: $said"
            return
        fi
        (( kib < 1 << 20 )) || { fail "replay $*: not even a GiB is enough"; return; }
        kib=$(( kib == 0 ? 1 : 2 * kib ))
    done
    (( kib > 0 )) || fail "replay $*: writes nothing, so that nothing was tried"
    [[ $(ls) == "$file" ]] || fail "replay $*: in the end there is: $(ls)"
    rm -f "$file"
}

"$replay" snapshot "$trace" -o snapshot.pickle || fail "there is no snapshot to import"
mkdir out && cd out || exit 1
fills_up out.json "$trace" --json out.json
fills_up out.csv "$trace" --csv out.csv
fills_up out.samples "$trace" --samples out.samples
fills_up out.perfetto "$trace" --perfetto out.perfetto
fills_up out.trace.zst generate mix:2000 --events 50000 -o out.trace.zst
fills_up out.trace.zst import ../snapshot.pickle -o out.trace.zst
fills_up out.pickle snapshot "$trace" -o out.pickle
fills_up out.html report "$trace" --html out.html

[ "$failures" = 0 ]
