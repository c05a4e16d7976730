#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# PyTorch's viewer, torch/cuda/_memory_viz.py, reads the snapshots that `replay snapshot` writes. Its texts about
# segments, memory and trace agree with replay's own figures.
#
#     tests/long/memory_viz.sh FOLDER         # the folder holds the program replay
#
# The script looks for the viewer in TORCH_DIR (a folder that holds torch/), then in the installed Python. With
# FETCH_TORCH=VERSION it downloads that wheel from PyPI (some 80 MB) into FOLDER/viewer, once, and installs nothing;
# FETCH_TORCH=1 takes the newest, each time. Otherwise it skips, with status 77.
set -euo pipefail
build=$(cd "$1" && pwd)
replay=$build/replay
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch REQUIREMENT FOLDER: FOLDER/torch holds the files of the wheel. Any platform's will do; this is the smallest.
fetch() {
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --platform macosx_11_0_arm64 \
        --python-version 3.11 -d "$2/wheel" "$1" >&2 ||
        { echo "SKIP: needs a wheel: PyTorch's cannot be had from PyPI" >&2; exit 77; }
    python3 -m zipfile -e "$2"/wheel/torch-*.whl "$2/torch"
}

find_viewer() {
    local site
    if [[ -n ${TORCH_DIR:-} ]]; then
        printf '%s\n' "$TORCH_DIR/torch/cuda/_memory_viz.py"
        return
    fi
    site=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(
        s.submodule_search_locations[0] if s else "")')
    if [[ -n $site ]]; then
        printf '%s\n' "$site/cuda/_memory_viz.py"
    elif [[ ${FETCH_TORCH:-0} == 1 ]]; then
        fetch torch "$work"
        printf '%s\n' "$work/torch/torch/cuda/_memory_viz.py"
    elif [[ ${FETCH_TORCH:-0} != 0 ]]; then
        if [[ ! -d $build/viewer/$FETCH_TORCH ]]; then
            fetch "torch==$FETCH_TORCH" "$work"
            mkdir -p "$build/viewer"
            mv "$work/torch" "$build/viewer/$FETCH_TORCH"
        fi
        printf '%s\n' "$build/viewer/$FETCH_TORCH/torch/cuda/_memory_viz.py"
    fi
}

viewer=$(find_viewer)
if [[ -z $viewer || ! -e $viewer ]]; then
    echo "SKIP: needs a wheel: no torch here; TORCH_DIR=FOLDER names one, FETCH_TORCH=VERSION downloads it from PyPI"
    exit 77
fi

for sample in gpt-varlen-default gpt-varlen-expand gpt-varlen-maxsplit gpt-eval-emptycache cnn; do
    for policy in best-fit pytorch:expandable; do
        "$replay" snapshot "$root/samples/$sample.trace.zst" --policy "$policy" -o "$work/$sample.pickle"
        "$replay" "$root/samples/$sample.trace.zst" --policy "$policy" --json "$work/$sample.json" >"$work/table"
        python3 - "$viewer" "$work/$sample.pickle" "$work/$sample.json" "$sample under $policy" <<'END'
import importlib.util, json, pickle, re, sys
viewer, path, report, name = sys.argv[1:]
spec = importlib.util.spec_from_file_location("_memory_viz", viewer)
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)
with open(path, "rb") as f:
    snapshot = pickle.load(f)
with open(report) as f:
    run = json.load(f)["runs"][0]

def by_state(text):
    sums = {}
    for line in text.splitlines():
        stack, size = line.rsplit(" ", 1)
        state = re.search(r"<gaps>|active_allocated|active_pending_free|inactive", stack).group()
        sums[state] = sums.get(state, 0) + int(size)
    return sums

# the text that the viewer passes to its flame graph; each line is "prefix;state;... bytes"
sums = by_state(viz.segments(snapshot, format_flamegraph=lambda lines: lines))
end = run["end"]
assert sum(sums.values()) == end["reserved_bytes"], (name, sums, end)
assert sums.get("active_allocated", 0) == end["allocated_bytes"], (name, sums, end)
trace = viz.trace(snapshot)
assert trace.count("del ") == sum(t["action"] == "free_requested" for t in snapshot["device_traces"][0])
assert f"segments: {len(snapshot['segments'])}\n" in viz.segsum(snapshot)      # segsum checks its own sums, too
for plot in (viz.trace_plot, viz.segment_plot):
    page = plot(snapshot)
    assert len(page) > 1000, name
print(f"{name}: {len(snapshot['segments'])} segments, {end['reserved_bytes']} bytes, as torch reads them")
END
    done
done

# The viewer prints the same texts for a genuine snapshot and for the replay's: segments, blocks, every record.
(cd "$work" && cmake -E tar xf "$root/tests/data/packed/training.tar.xz")
genuine=$work/training
for name in gpt-fp32 gpt-varlen-expand gpt-varlen-maxsplit gpt-eval-emptycache cnn; do
    "$replay" snapshot "$genuine/$name.pickle" --device sim:80GiB,packing=off,addresses=rising -o "$work/$name.pickle"
    python3 - "$viewer" "$genuine/$name.pickle" "$work/$name.pickle" "$name" <<'END'
import importlib.util, pickle, sys
viewer, genuine, made, name = sys.argv[1:]
spec = importlib.util.spec_from_file_location("_memory_viz", viewer)
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)
snapshots = []
for path in (genuine, made):
    with open(path, "rb") as f:
        snapshots.append(pickle.load(f))
    for record in snapshots[-1]["device_traces"][0]:
        record["time_us"] = 0                # a free has its request's time (report/SCHEMA.md)
        record.setdefault("frames", [])
lines = lambda text: text
for say in (lambda s: viz.segments(s, format_flamegraph=lines), lambda s: viz.memory(s, format_flamegraph=lines),
            viz.segsum, viz.trace):
    assert say(snapshots[0]) == say(snapshots[1]), name
print(f"{name}: the viewer prints the same texts for both")
END
done
