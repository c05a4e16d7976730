#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay trace` and `replay export` from the shell: their outputs, the proof of anonymity, and their refusals.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

expect_status 0 trace cut "$samples/gpt-fp32.trace.zst" --step -o step.zst
expect_status 0 trace repeat step.zst --times 20 -o long.zst
peak() {
    "$replay" info "$1" --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["peak_requested_bytes"])'
}
[ "$(peak step.zst)" = "$(peak long.zst)" ] ||
    fail "a repeated step needs $(peak long.zst) bytes, once $(peak step.zst)"
expect_status 0 trace merge step.zst long.zst@250ms -o both.zst
expect_status 0 trace resize step.zst --scale 3 -o larger.zst
[ "$(peak larger.zst)" = $((3 * $(peak step.zst))) ] || fail "three times $(peak step.zst) is not $(peak larger.zst)"
for part in '--events 10..20' '--events 3000..' '--time 0s..2s'; do
    # shellcheck disable=SC2086
    expect_status 0 trace cut "$samples/gpt-varlen-default.trace.zst" $part -o part.zst
done

# Nothing of the texts of the original is left in the copy, unpacked; the figures are the same.
expect_status 0 trace anonymise "$samples/gpt-varlen-expand.trace.zst" -o anonymous.zst
grep -q '^All texts in anonymous.zst, read back' out || fail "no proof: $(cat out)"
awk 'length > 80 { exit 1 }' out || fail "the proof is wider than 80 columns"
zstd -dcq anonymous.zst >unpacked
zstd -dcq "$samples/gpt-varlen-expand.trace.zst" >original
for secret in train.py forward /opt torch/ .pickle; do
    grep -aq -- "$secret" original || fail "the original lacks $secret: the test shows nothing"
    ! grep -aq -- "$secret" unpacked || fail "the anonymous copy holds $secret"
done
"$replay" verify "$samples/gpt-varlen-expand.trace.zst" | tail -3 >verified
"$replay" verify anonymous.zst | tail -3 >verified.anonymous
cmp -s verified verified.anonymous || fail "the copy is verified otherwise: $(cat verified.anonymous)"

# Of a settings text that no release of PyTorch takes, nothing is left, and the answer says so.
cat >named.py <<'PY'
import pickle
settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,owner:Alice Smith,ip:10.1.2.3", "max_split_size": -1,
            "garbage_collection_threshold": 0.0, "expandable_segments": True, "last_allocator_settings": "",
            "roundup_power2_divisions": {}}
trace = [{"action": action, "addr": 4096, "size": 512, "stream": 0, "frames": []}
         for action in ("alloc", "free_requested", "free_completed")]
with open("named.pickle", "wb") as f:
    pickle.dump({"segments": [], "device_traces": [trace], "allocator_settings": settings}, f)
PY
python3 named.py
"$replay" import named.pickle -o named.zst && zstd -dcq named.zst | grep -aq Alice || fail "the original names nobody"
expect_status 0 trace anonymise named.pickle -o anonymous.zst
grep -q '^Facts left out: .*conf' out || fail "nothing says that the settings are left out: $(cat out)"
! zstd -dcq anonymous.zst | grep -aqE 'Alice|10\.1\.2\.3' || fail "the anonymous copy names a person or a host"

# The proof reads the copy again, so a name that is no file's is refused at once.
for place in - /dev/stdout /dev/null; do
    timeout 20 "$replay" trace anonymise step.zst -o $place 2>err | cat >copied
    status=${PIPESTATUS[0]}
    [ "$status" = 2 ] || fail "trace anonymise -o $place to a pipe: exit $status, expected 2"
    grep -q 'read back as proof' err || fail "trace anonymise -o $place does not say why: $(cat err)"
    [ ! -s copied ] || fail "trace anonymise -o $place wrote before it was refused"
done

expect 2 'cut needs one of --events' trace cut step.zst -o x.zst
expect 2 'expected A..B' trace cut step.zst --events 5 -o x.zst
expect 2 'not part of a trace' trace cut step.zst --events 5..99999999 -o x.zst
expect 2 'expected cut, merge' trace mend step.zst -o x.zst
expect 2 'needs one file' trace cut step.zst long.zst --step -o x.zst
expect 2 'needs --scale X' trace resize step.zst --scale 0 -o x.zst
expect 2 'needs --times N' trace repeat step.zst -o x.zst
expect 2 'needs --by TIME' trace shift step.zst --by 2 -o x.zst
expect 2 'needs --by TIME' trace shift step.zst --by 999999999min -o x.zst
expect 2 'expected two times' trace cut step.zst --time 0s..999999999min -o x.zst
expect 2 '-1ms' trace merge step.zst step.zst@-1ms -o x.zst         # no time, so the name of a file
expect 2 '-o OUT' trace cut step.zst --step
[ ! -e x.zst ] || fail "a refused edit leaves a file"

# ---- what is held is what is live, not the trace: forty times the events, 40 MB of them, take no more memory ----
cat >peak.py <<'PY'
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
PY
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=0      # what is freed must not count
"$replay" generate random:n=20000,life=500 -o short.zst
"$replay" generate random:n=800000,life=500 -o lengthy.zst
works=("cut --events 1000..30000" "merge @@2s" "resize --scale 2" "repeat --times 2" "anonymise")
for work in "${works[@]}"; do
    peaks=()
    for file in short.zst lengthy.zst; do
        # shellcheck disable=SC2086 # the words of a work
        peak=$(python3 peak.py "$replay" trace ${work/@@/$file $file@} -o out.zst \
                   $([[ $work = merge* ]] || echo $file)) ||
            fail "trace $work: $peak"
        peaks+=("$peak")
    done
    [ "$((peaks[1] - peaks[0]))" -lt 24000 ] || fail "trace $work holds more of a longer trace: ${peaks[*]} KiB"
done

for format in csv minimalloc rmm chrome; do
    expect_status 0 export step.zst --to $format -o out.$format
    expect_status 0 info out.$format
done
expect_status 0 export step.zst --to csv -o -
grep -q '1  marks, left out' err || fail "csv keeps silent about marks: $(cat err)"
expect 2 'expected one of csv, minimalloc, rmm, chrome' export step.zst --to parquet -o x
expect 2 'export needs a format' export step.zst -o x
[ "$failures" = 0 ]
