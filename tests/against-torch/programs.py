"""Random programs through PyTorch's own allocator, on the simulated CUDA: a case file each, for `golden`.

Run by `run` below `replay run-sim`. torch is imported once; each program is a forked child with settings, card and
seed of its own, which works because nothing has touched CUDA before. A case has the form of tests/golden/case.h.
"""
import ctypes
import json
import os
import random
import struct
import sys

import torch

MIB = 1 << 20
IS_2_0 = torch.__version__.startswith("2.0.")       # it records by other arguments, and its segments do not expand
COUNTED = ["allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes", "inactive_split_bytes"]
CONFS = [None, None, None, "max_split_size_mb:32", "max_split_size_mb:128", "roundup_power2_divisions:4",
         "roundup_power2_divisions:[16:8,64:2,>:1]", "garbage_collection_threshold:0.6", "expandable_segments:True",
         "expandable_segments:True,garbage_collection_threshold:0.7",
         "max_split_size_mb:64,roundup_power2_divisions:8,garbage_collection_threshold:0.7"]
if IS_2_0:
    CONFS = [c for c in CONFS if c is None or "expandable" not in c]

# cudasim/journal.h: the head's length, one record, and the kinds that reached the device.
HEAD_BYTES, RECORD = 120, struct.Struct("<QQQQQ8xIB2xB")
MALLOC, FREE, OOM, RESERVE, UNRESERVE, CREATE, RELEASE, MAP, UNMAP, CREATE_OOM = 2, 3, 4, 5, 6, 7, 8, 9, 10, 20


def make_program(seed):
    """Settings, card and operations; the same for the same seed."""
    rnd = random.Random(seed)
    conf = rnd.choice(CONFS)
    has_streams = rnd.random() < 0.5
    total = rnd.choice([64, 200, 600, 2000, 24576]) * MIB
    n_streams = rnd.randint(2, 4) if has_streams else 1
    biggest = rnd.choice([MIB // 2, 8 * MIB, 40 * MIB, 200 * MIB])
    few = [rnd.randint(1, biggest) for _ in range(5)]
    ops, live, number = [], [], 0
    for _ in range(rnd.randint(60, 240)):
        dice = rnd.random()
        if not live or dice < 0.5:
            number += 1
            bytes_ = rnd.choice(few) if rnd.random() < 0.5 else int(biggest ** rnd.random()) + 1
            ops.append(["a", number, rnd.randrange(n_streams), bytes_])
            live.append(number)
        elif dice < 0.9:
            ops.append(["f", live.pop(rnd.randrange(len(live)))])
        elif has_streams and dice < 0.95:
            ops.append(["rs", rnd.choice(live), rnd.randrange(n_streams)])
        elif has_streams and dice < 0.97:
            ops.append(rnd.choice([["hold", 1], ["hold", 0], ["complete", rnd.randrange(n_streams), 2]]))
        elif dice < 0.985:
            ops.append(["empty_cache"])
        else:
            ops.append(["sync"])
    ops.append(["snapshot"])
    return {"case": "against-%d" % seed, "kind": "against", "seed": seed, "torch": torch.__version__, "conf": conf,
            "env": {}, "device_total": total, "devices": 1, "fraction": None, "alloc_via": "tensor", "ops": ops,
            "stats_every": 1}, n_streams


def reduce_snapshot(segments):
    out = []
    for g in segments:
        blocks, at = [], g["address"]
        for b in g["blocks"]:
            blocks.append([b.get("address", at), b["size"], b.get("requested_size"), b["state"]])
            at += b["size"]
        keys = ("device", "address", "segment_type", "stream", "total_size", "allocated_size", "active_size",
                "requested_size", "is_expandable", "segment_pool_id")
        out.append({**{k: g.get(k) for k in keys}, "blocks": blocks})
    return sorted(out, key=lambda g: (g["device"], g["address"]))


def device_log(path):
    """The journal of this process in the words of a case's device_log."""
    log, handles = [], {}
    with open(path, "rb") as f:
        data = f.read()
    for at in range(HEAD_BYTES, len(data) - RECORD.size + 1, RECORD.size):
        _, addr, size, _, extra, _, device, kind = RECORD.unpack_from(data, at)
        if kind == 0:
            break
        if kind == CREATE:
            handles[addr] = "h%d" % (len(handles) + 1)
        line = {MALLOC: ["malloc", device, size, addr], OOM: ["malloc_oom", device, size],
                FREE: ["free", device, -(-size // (2 * MIB)) * 2 * MIB, addr],
                RESERVE: ["reserve", device, size, addr], UNRESERVE: ["unreserve", size, addr],
                CREATE: ["create", device, size, handles.get(addr)], CREATE_OOM: ["create_oom", device, size],
                RELEASE: ["release", handles.get(addr)],
                MAP: ["map", size, addr, handles.get(extra)],
                UNMAP: ["unmap", size, addr]}.get(kind)
        if line:
            log.append(line)
    return log


def short(error):
    return str(error).split("\nException raised")[0]


class Machine:
    """Does the operations of one program."""

    def __init__(self, n_streams):
        self.sim = ctypes.CDLL("libreplay-cudasim.so")
        self.sim.cudasim_segment.restype = ctypes.c_uint64
        self.sim.cudasim_segment.argtypes = [ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)]
        self.sim.cudasim_complete.argtypes = [ctypes.c_uint64, ctypes.c_int]
        self.streams = [None] + [torch.cuda.Stream() for _ in range(n_streams - 1)]
        self.default = torch.cuda.default_stream()
        self.live = {}

    def handle(self, i):
        return self.streams[i].cuda_stream if i else 0

    def allocate(self, number, stream, size):
        offset = ctypes.c_uint64()
        with torch.cuda.stream(self.streams[stream] or self.default):
            self.live[number] = torch.empty(size, dtype=torch.uint8, device="cuda")
        address = self.live[number].data_ptr()
        return [self.sim.cudasim_segment(address, ctypes.byref(offset)), offset.value, address]

    def do(self, op):
        kind = op[0]
        if kind == "a":
            return self.allocate(*op[1:])
        if kind in ("f", "rs") and op[1] not in self.live:
            return "skip"
        if kind == "f":
            del self.live[op[1]]
        elif kind == "rs":
            self.live[op[1]].record_stream(self.streams[op[2]] or self.default)
        elif kind == "hold":
            self.sim.cudasim_hold_all(op[1])
        elif kind == "complete":
            self.sim.cudasim_complete(self.handle(op[1]), op[2])
        elif kind == "sync":
            torch.cuda.synchronize()
        elif kind == "empty_cache":
            torch.cuda.empty_cache()
        elif kind == "snapshot":
            return reduce_snapshot(torch.cuda.memory_snapshot())
        return None


def counters():
    stats = torch._C._cuda_memoryStats(0)
    return [stats[name]["all"]["current"] for name in COUNTED] + [
        stats["segment"]["all"]["current"], stats["num_alloc_retries"], stats["num_ooms"]]


def record_history(entries):
    record = torch.cuda.memory._record_memory_history
    if IS_2_0:
        record(True, record_context=False, trace_alloc_max_entries=entries)
    else:
        record(enabled="all", context=None, max_entries=entries)


def run_program(case, n_streams):
    torch.cuda.init()
    torch._C._cuda_memoryStats(0)
    machine = Machine(n_streams)
    case["streams"] = [[machine.handle(i) for i in range(n_streams)]]
    record_history(400000)
    results = []
    for op in case["ops"]:
        try:
            result = machine.do(op)
        except torch.cuda.OutOfMemoryError as e:
            result = ["oom", short(e)]
        results.append([result, counters()])
    case["results"] = results
    case["stats_columns"] = COUNTED + ["segments", "num_alloc_retries", "num_ooms"]
    snapshot = torch.cuda.memory._snapshot()
    case["trace"] = [[e["action"], e.get("addr", e.get("device_free", 0)), e["size"], e["stream"]]
                     for e in snapshot["device_traces"][0]]
    case["allocator_settings"] = snapshot.get("allocator_settings")
    case["memory_stats"] = [torch.cuda.memory_stats(0)]
    case["segments"] = reduce_snapshot(torch.cuda.memory_snapshot())
    case["memory_summary"] = [{"full": torch.cuda.memory_summary(0, False),
                               "abbreviated": torch.cuda.memory_summary(0, True)}]
    case["device_log"] = device_log(os.path.join(os.environ["REPLAY_CUDASIM_JOURNAL"], "%d.0.journal" % os.getpid()))


def child(seed, folder):
    case, n_streams = make_program(seed)
    os.environ["REPLAY_CUDASIM_DEVICE"] = "sim:%dB,packing=off" % case["device_total"]
    if case["conf"] is not None:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["conf"]
    run_program(case, n_streams)
    with open(os.path.join(folder, "%s.json" % case["case"]), "w") as f:
        json.dump(case, f)


def main():
    folder, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    failed = 0
    for seed in range(first, first + n):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                child(seed, folder)
                status = 0
            except BaseException as e:
                print("seed %d: %s: %s" % (seed, type(e).__name__, short(e)), flush=True)
            os._exit(status)
        failed += os.waitpid(pid, 0)[1] != 0
        journal = os.path.join(os.environ["REPLAY_CUDASIM_JOURNAL"], "%d.0.journal" % pid)
        if os.path.exists(journal):
            os.remove(journal)
    print("%d programs by torch %s, %d failed" % (n, torch.__version__, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
