#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The nvidia-smi that answers under `run-sim`: the simulated card's figures, and what its processes hold.
set -u
replay=$1
build=$2
. "$3/tests/programs.sh"

# smi DEVICE WORDS...: what nvidia-smi answers while a process, whose number is in `holder`, holds 300 MiB of card 0.
cat >holder.py <<'P'
import ctypes, os, subprocess, sys
runtime = ctypes.CDLL("libcudart.so.12")
assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(300 << 20)) == 0
open("holder", "w").write(str(os.getpid()))
sys.exit(subprocess.run(["nvidia-smi", *sys.argv[1:]]).returncode)
P
smi() {
    local device=$1
    shift
    "$replay" run-sim --device "$device" -- python3 holder.py "$@" 2>/dev/null
}
nl=$'\n'

expect "the cards are listed" 0 "GPU 1: NVIDIA GeForce RTX 4090 (UUID: GPU-02000000-0000-0000-0000-000000000000)" \
    smi 4090,count=2 -L
expect "a query has the card's figures" 0 \
    "index, memory.used [MiB], memory.free [MiB], utilization.gpu [%]${nl}0, 300 MiB, 724 MiB, 0 %" \
    smi sim:1GiB --query-gpu=index,memory.used,memory.free,utilization.gpu --format=csv
expect "what other processes hold and a context count" 0 "1024, 412" \
    smi sim:1GiB,others=100MiB,context=12MiB --query-gpu=memory.total,memory.used --format=csv,noheader,nounits
expect "a card that nobody uses is empty" 0 "1, 0, [N/A]" \
    smi sim:1GiB,count=2 --query-gpu=index,memory.used,temperature.gpu --format=csv,noheader,nounits -i 1
said=$(smi sim:1GiB --query-compute-apps=pid,used_memory --format=csv,noheader)
expect "processes have what they hold" 0 "$(cat holder), 300 MiB" echo "$said"
expect "the table is for people" 0 "300MiB /   1024MiB" smi sim:1GiB
smi 4090 -q -x >out.xml
expect "XML is well-formed and names the process" 0 "24564 MiB $(cat holder) 300 MiB" python3 -c "
import xml.etree.ElementTree as tree
card = tree.parse('out.xml').getroot().find('gpu')
process = card.find('processes/process_info')
print(card.findtext('fb_memory_usage/total'), process.findtext('pid'), process.findtext('used_memory'))"
expect "a field that nobody knows is refused" 2 'Field "colour" is not a valid field' \
    smi sim:1GiB --query-gpu=colour --format=csv
expect "an option that nobody knows is named" 1 "--gom=1" smi sim:1GiB --gom=1
expect "a card that is not there" 1 "No devices were found" smi sim:1GiB -i 3
# Watches for 2 seconds; on a slow host, where not two rounds were shown by then, for 20.
watched() {
    for seconds in 2 20; do
        ended=0
        timeout "$seconds" "$replay" run-sim -- nvidia-smi -L -lms 100 >rounds 2>/dev/null || ended=$?
        [ "$(wc -l <rounds)" -ge 2 ] && break
    done
    cut -c 1-5 rounds
    return "$ended"
}
expect "it goes on if that is wanted" 124 "GPU 0${nl}GPU 0" watched
exit "$failed"
