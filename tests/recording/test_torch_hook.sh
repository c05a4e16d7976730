#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The hook in a program's Python, with a package that stands for torch: the history is written however the program ends,
# and whatever it does to the history. tests/against-torch/predict.py does the same with PyTorch.
set -u
source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# A torch of a few lines: the history is the list of what was asked for while it was on.
mkdir torch
cat >torch/__init__.py <<'P'
import types


keeps_history = True


def _record(enabled="all", context="all", **_):
    if not keeps_history:
        raise RuntimeError("this allocator does not yet support recordHistory")
    cuda.memory.is_on, cuda.memory.context = enabled is not None, context


def _snapshot():
    return {"device_traces": [list(cuda.memory.history)]}


def ask(what):
    cuda.start()
    if cuda.memory.is_on:
        cuda.memory.history.append(what)


def _start():
    while cuda.queued:
        cuda.queued.pop()()


class Graph:
    def capture_begin(self):
        pass

    def capture_end(self):
        pass


memory = types.SimpleNamespace(_record_memory_history=_record, _snapshot=_snapshot, history=[], is_on=False,
                               get_allocator_backend=lambda: "its own")
cuda = types.SimpleNamespace(memory=memory, queued=[], start=_start, CUDAGraph=Graph)
cuda._lazy_call = cuda.queued.append
_C = types.SimpleNamespace(_cuda_attach_out_of_memory_observer=lambda observer: None)
P
mkdir out
export PYTHONPATH=$source/cudasim/python:$work REPLAY_TORCH_RECORD=$work/out
unset REPLAY_CUDASIM_DEVICE REPLAY_TORCH_FOLLOW

# ends NAME STATUS FILES HISTORY: the program on standard input ends with the status and leaves so many files, and the
# last of them holds the history.
ends() {
    local name=$1 status=$2 files=$3 history=$4 got=0 found said=
    rm -f out/*
    python3 - <<<"import os, signal, sys, torch
$(cat)" || got=$?
    found=(out/*)
    [[ -e ${found[0]} ]] || found=()
    ((${#found[@]} == 0)) || said=$(python3 -c 'import pickle, sys
print(*pickle.load(open(sys.argv[1], "rb"))["device_traces"][0])' "${found[@]: -1}")
    if [[ $got -ne $status || ${#found[@]} -ne $files || $said != "$history" ]]; then
        printf 'FAILED: %s: status %d instead of %d, files: %s, the last holds: %s\n' "$name" "$got" "$status" \
            "${found[*]}" "$said"
        failed=1
    else
        printf 'ok: %s\n' "$name"
    fi
}

ends 'at its end' 0 1 'a b' <<'P'
torch.ask("a"); torch.ask("b")
P
ends 'switched off by the program' 0 1 'a b c' <<'P'
torch.ask("a")
torch.cuda.memory._record_memory_history(enabled=None)
torch.ask("b")
torch.cuda.memory._record_memory_history(max_entries=1)
torch.ask("c")
P
mkdir torch/utils
echo 'class _StopRecomputationError(Exception): pass' >torch/utils/checkpoint.py
for release in 2.9.1:all 2.11.0+cu130:alloc 2.15.0:all; do
    ends "while a recomputation stops, in ${release%:*}" 0 1 "a ${release#*:} all" <<P
import torch.utils.checkpoint as checkpoint
torch.__version__ = "${release%:*}"
torch.ask("a")
try:
    raise checkpoint._StopRecomputationError
except checkpoint._StopRecomputationError:
    torch.ask(torch.cuda.memory.context)
torch.ask(torch.cuda.memory.context)
P
done
ends 'without exit handlers' 5 1 'a' <<'P'
torch.ask("a"); os._exit(5)
P
ends 'by an exception' 1 1 'a' 2>/dev/null <<'P'
torch.ask("a"); raise ValueError
P
ends 'by SIGTERM' 143 1 'a' <<'P'
torch.ask("a"); os.kill(os.getpid(), signal.SIGTERM); signal.pause()
P
ends 'by a SIGTERM of its own' 7 1 'a' <<'P'
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
torch.ask("a"); os.kill(os.getpid(), signal.SIGTERM); signal.pause()
P
ends 'a forked child has not the history of its parent' 0 1 'a' <<'P'
torch.ask("a")
if os.fork() == 0:
    os._exit(0)
os.wait()
P
ends 'a forked child that starts CUDA has its own' 0 1 'b' <<'P'
if os.fork() == 0:
    torch.ask("b")
    os._exit(0)
os.wait()
P
ends 'by SIGTERM, where nothing can be written' 143 0 '' 2>said <<'P'
torch.ask("a"); sys.stderr.flush()
os.rename("out", "gone"); signal.alarm(10); os.kill(os.getpid(), signal.SIGTERM); signal.pause()
P
mv gone out
grep -q 'so-far.pickle: .*: the program goes on' said || { echo "FAILED: not said: $(cat said)"; failed=1; }
ends 'an out of memory is still one, where nothing can be written' 4 0 '' 2>/dev/null <<'P'
observers = []
torch._C._cuda_attach_out_of_memory_observer = observers.append
torch.ask("a"); os.rename("out", "gone")
try:
    observers[0](0, 1, 2, 3)
    sys.exit(4)
except OSError:
    sys.exit(5)
P
mv gone out
ends 'an allocator that keeps no history leaves the program alone, and graphs too' 6 0 '' 2>said <<'P'
torch.keeps_history = False
torch.ask("a")
graph = torch.cuda.CUDAGraph()
graph.capture_begin(); graph.capture_end()
sys.exit(6)
P
grep -q 'allocator, its own, keeps no history' said || { echo "FAILED: not said: $(cat said)"; failed=1; }
ends 'without CUDA there is none' 0 0 '' <<'P'
P
exit "$failed"
