#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# A full disk, and a folder that is read-only: whatever a command writes, it says that the output cannot be written,
# ends with status 3, and leaves no file that looks finished. The shell's limit on the size of a file stands
# for the full disk.
set -uo pipefail
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

trace=$samples/gpt-varlen-default.trace.zst

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

# sealed FILE ARGUMENT...: in a folder that one may not write to
sealed() {
    local file=$1 status said
    shift
    said=$(cd sealed && "${nobody[@]}" "$replay" "$@" 2>&1 >/dev/null </dev/null)
    status=$?
    [[ $status == 3 && $said == *"cannot be written"* && -z $(ls sealed) ]] ||
        fail "replay $*, in a read-only folder: exit $status, it leaves '$(ls sealed)' and says: $said"
}

"$replay" snapshot "$trace" -o snapshot.pickle || fail "there is no snapshot to import"
"$replay" "$trace" --policy none --device sim:1GiB --json runs.json >runs.out || fail "there are no results"
cp "$trace" one.zst && cp "$trace" two.zst && cp "$3/tests/data/graphs/program.trace.zst" captures.zst
cp "$samples/530-270.trace.zst" small.zst
chmod 755 .
mkdir -m 555 sealed
mkdir out
# Root may write anywhere, so root asks as nobody.
nobody=()
[[ $(id -u) != 0 ]] || nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# Each file that a command writes, and the command. The names of inputs count from a folder below.
while read -r file line; do
    # shellcheck disable=SC2086
    (cd out && fills_up $file $line; [ "$failures" = 0 ]) || failures=$((failures + 1))
    # shellcheck disable=SC2086
    sealed $file $line
done <<'TABLE'
out.json ../one.zst --json out.json
out.csv ../one.zst --csv out.csv
out.samples ../one.zst --samples out.samples
out.perfetto ../one.zst --perfetto out.perfetto
out.trace.zst generate mix:2000 --events 50000 -o out.trace.zst
out.trace.zst import ../snapshot.pickle -o out.trace.zst
out.trace.zst technique ../one.zst --optimizer sgd -o out.trace.zst
out.json technique ../one.zst --optimizer sgd --json out.json
out.trace.zst extrapolate ../one.zst:batch=1 ../two.zst:batch=2 --to batch=4 -o out.trace.zst
out.json extrapolate ../one.zst:batch=1 ../two.zst:batch=2 --to batch=4 --json out.json
out.pickle snapshot ../one.zst -o out.pickle
out.html report ../one.zst --html out.html
out.md report ../runs.json --md out.md
out.csv report ../runs.json --csv out.csv
out.json info ../one.zst --json out.json
out.json verify ../one.zst --json out.json
out.json stats ../one.zst --json out.json
out.json why ../one.zst --json out.json
out.json who ../one.zst --json out.json
out.folded who ../one.zst --folded out.folded
out.scope who ../one.zst --speedscope out.scope
out.json graphs ../captures.zst --json out.json
out.json fit ../small.zst --json out.json
out.json tune ../small.zst --json out.json
out.json diff ../one.zst ../two.zst --json out.json
out.json conf max_split_size_mb:64 --json out.json
TABLE

# A database that fills the disk is not there, or sound and without half a run; with more room the same command goes on.
cd out || exit 1
for kib in 0 4 16 32 64; do
    (ulimit -f $kib; exec "$replay" sweep ../one.zst --policy '{none,best-fit}' --device sim:1GiB -o out.db) >said 2>&1
    status=$?
    (( status == 0 || status == 3 )) || fail "a sweep with room for $kib KiB: exit $status: $(cat said)"
    [ ! -s out.db ] || [ "$(sqlite3 out.db 'PRAGMA integrity_check')" = ok ] ||
        fail "a sweep with room for $kib KiB leaves a damaged database"
done
"$replay" sweep ../one.zst --policy '{none,best-fit}' --device sim:1GiB -o out.db >said 2>&1 ||
    fail "the sweep does not go on: $(cat said)"
[ "$(sqlite3 out.db 'SELECT count(*) FROM runs')" = 2 ] || fail "not all runs are in the database"

[ "$failures" = 0 ]
