# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Random programs through PyTorch's own allocator, on the simulated CUDA: a case file each, for `golden`.

Run by `run` below `replay run-sim`. torch is imported once; each program is a forked child with settings, card and
seed of its own, which works because nothing has touched CUDA before. A case has the form of tests/golden/case.h. What
PyTorch itself does not survive, or leaves to chance, is not in the programs; where a comment here says so, it was seen.
"""
import ctypes
import json
import os
import random
import struct
import sys

import torch

MIB = 1 << 20
RELEASE = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2])
IS_2_0 = RELEASE == (2, 0)                          # it records by other arguments
HAS_POOLS, POOL_OPTIONS = RELEASE >= (2, 5), ["use_on_oom"] * (RELEASE >= (2, 8)) + ["no_split"] * (RELEASE >= (2, 10))
HAS_REGION_CAPTURES = RELEASE <= (2, 12)            # a region of a pool counts as a capture
COUNTED = ["allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes", "inactive_split_bytes"]
FEATURES = {"streams": 0.6, "pools": 0.4, "captures": 0.25, "settings": 0.25, "fractions": 0.25, "resets": 0.3}
LEFT_OUT = 3                                        # exit status of a child whose program broke torch itself

# capture/call_journal.h: the head's length, one record, and the kinds that reached the device.
HEAD_BYTES, RECORD = 256, struct.Struct("<QQQQQQIiBBBBI")
MALLOC, FREE, OOM, CREATE, MAP, UNMAP = 1, 2, 3, 5, 8, 9
SEGMENT, SEGMENT_FREE, PHYSICAL_FREE, RESERVE, UNRESERVE = 14, 15, 16, 17, 18
DEVICE_MEMORY, PHYSICAL_MEMORY = 0, 4               # spaces


def make_settings(rnd, expands, at_start):
    """A settings text of options that the release has. Who lowers max_split_size_mb while blocks are split has PyTorch
    give parts of segments back, which is an error of CUDA's or ends in one."""
    divisions = ["1", "2", "4", "8", "16", "64", "[16:8,64:2,>:1]", "[1:4,8:2,>:8]", "[32:16,64:4,256:2]"]
    options = [
        (0.3, (2, 0), "roundup_power2_divisions:" + rnd.choice(divisions)),
        (0.3, (2, 0), "garbage_collection_threshold:%s" % rnd.choice([0.2, 0.5, 0.6, 0.8, 0.95])),
        (0.3 if at_start else 0, (2, 0), "max_split_size_mb:%d" % rnd.choice([21, 32, 64, 128, 200])),
        (1.0 if expands else 0, (2, 1), "expandable_segments:True"),
        (0.15, (2, 6), "max_non_split_rounding_mb:%d" % rnd.choice([20, 21, 40, 100, 300])),
        (0.15, (2, 10), "per_process_memory_fraction:%s" % rnd.choice([0.3, 0.5, 0.9])),
        (0.15, (2, 11), "large_segment_size_mb:%d" % rnd.choice([12, 32, 64, 100])),
        (0.1, (2, 12), "throw_on_cudamalloc_oom:True"),
    ]
    texts = [text for share, since, text in options if rnd.random() < share and RELEASE >= since]
    rnd.shuffle(texts)
    return ",".join(texts)


class Maker:
    """Makes up the operations of one program."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.has = {name: rnd.random() < share for name, share in FEATURES.items()}
        self.has["pools"] &= HAS_POOLS
        self.expands = rnd.random() < 0.35
        self.n_streams = rnd.randint(2, 4) if self.has["streams"] or self.has["captures"] else 1
        self.biggest = rnd.choice([MIB // 2, 8 * MIB, 40 * MIB, 200 * MIB])
        self.few = [rnd.randint(1, self.biggest) for _ in range(5)]
        self.ops, self.live, self.n_requests, self.used = [], [], 0, set()
        self.pools, self.entered, self.n_pools = [], [], 0
        self.capture, self.graphs, self.n_graphs = None, [], 0
        self.has_deferred = False

    def allocate(self):
        rnd = self.rnd
        size = rnd.choice(self.few) if rnd.random() < 0.5 else int(self.biggest ** rnd.random()) + 1
        is_captured = self.capture is not None and rnd.random() < 0.8
        self.n_requests += 1
        self.live.append(self.n_requests)
        self.ops.append(["a", self.n_requests, self.capture if is_captured else rnd.randrange(self.n_streams), size])
        self.has_deferred &= self.defers()                  # else the request has polled

    def defers(self):
        return self.capture is not None or (HAS_REGION_CAPTURES and len(self.entered) > 0)

    def free(self):
        """Of two frees that wait for the end of a capture the first is the one whose block has the lower hash, of its
        address on the host: no program has two."""
        number = self.live[self.rnd.randrange(len(self.live))]
        if self.defers() and number in self.used:
            if self.has_deferred:
                return
            self.has_deferred = True
        self.live.remove(number)
        self.ops.append(["f", number])

    def use(self):
        number = self.rnd.choice(self.live)
        self.used.add(number)
        self.ops.append(["rs", number, self.rnd.randrange(self.n_streams)])

    def turn_events(self):
        rnd, stream = self.rnd, self.rnd.randrange(self.n_streams)
        self.ops.append(rnd.choice([["hold", 1], ["hold", 0], ["hold_stream", stream, rnd.randrange(2)],
                                    ["complete", stream, rnd.randint(1, 3)]]))

    def turn_pools(self):
        """A pool of ranges that is given up while requests live in it is forgotten by PyTorch too early."""
        rnd, dice = self.rnd, self.rnd.random()
        left = [p for p in self.pools if p not in self.entered]
        if not self.pools or dice < 0.2:
            options = {name: True for name in POOL_OPTIONS if rnd.random() < 0.25}
            self.ops.append(["pool_new", self.n_pools] + ([options] if options else []))
            self.pools.append(self.n_pools)
            self.n_pools += 1
        elif self.entered and dice < 0.55:
            self.ops.append(["pool_end", self.entered.pop()])
        elif left and dice < 0.9 and len(self.entered) < 3:
            self.entered.append(rnd.choice(left))
            self.ops.append(["pool_begin", self.entered[-1]])
        elif left and not self.expands and not self.defers():
            self.pools.remove(left[0])
            self.ops.append(["pool_del", left[0]])

    def turn_captures(self):
        rnd = self.rnd
        if self.capture is not None:
            self.ops.append(["capture_end"])
            self.capture = None
        elif self.graphs and rnd.random() < 0.4 and not self.expands:
            self.ops.append(["graph_reset", self.graphs.pop(rnd.randrange(len(self.graphs)))])
        elif not self.entered:
            self.n_graphs += 1
            self.capture = rnd.randrange(1, self.n_streams)
            self.graphs.append(self.n_graphs)
            self.ops.append(["capture_begin", self.n_graphs, self.capture])

    def turn(self):
        rnd, dice = self.rnd, self.rnd.random()
        outside = self.capture is None
        if not self.live or dice < 0.42:
            self.allocate()
        elif dice < 0.8:
            self.free()
        elif dice < 0.85 and self.has["streams"]:
            self.use()
        elif dice < 0.87 and self.has["streams"]:
            self.turn_events()
        elif dice < 0.91 and self.has["pools"] and outside:
            self.turn_pools()
        elif dice < 0.94 and self.has["captures"]:
            self.turn_captures()
        elif dice < 0.95 and self.has["settings"]:
            self.ops.append(["set_conf", make_settings(rnd, self.expands and rnd.random() < 0.7, False)])
        elif dice < 0.96 and self.has["fractions"]:
            self.ops.append(["set_fraction", rnd.choice([0.1, 0.33, 0.5, 0.75, 1.0])])
        elif dice < 0.97 and self.has["resets"]:
            self.ops.append([rnd.choice(["reset_peak", "reset_accumulated"])])
        elif dice < 0.985 and outside:
            self.ops.append(["empty_cache"])
        elif dice < 0.99 and outside:
            self.ops.append(["sync"])
        elif dice < 0.995 and outside:
            self.ops.append([rnd.choice(["snapshot", "stats", "summary"] + ["get_fraction"] * (RELEASE >= (2, 6)))])

    def finish(self):
        if self.capture is not None:
            self.turn_captures()
        while self.entered:
            self.ops.append(["pool_end", self.entered.pop()])
        self.ops.append(["snapshot"])


def make_program(seed):
    """Settings, card and operations; the same for the same seed and release."""
    rnd = random.Random(seed)
    maker = Maker(rnd)
    conf = make_settings(rnd, maker.expands, True) if rnd.random() < 0.7 else None
    total = rnd.choice([64, 200, 600, 2000, 24576]) * MIB
    fraction = rnd.choice([0.3, 0.7]) if rnd.random() < 0.15 else None
    for _ in range(rnd.randint(60, 300)):
        maker.turn()
    maker.finish()
    return {"case": "against-%d" % seed, "kind": "against", "seed": seed, "torch": torch.__version__, "conf": conf,
            "env": {}, "device_total": total, "devices": 1, "fraction": fraction, "alloc_via": "tensor",
            "ops": maker.ops, "stats_every": 1}, maker.n_streams


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
        _, addr, size, _, handle, _, _, _, kind, space, device, _, is_whole = RECORD.unpack_from(data, at)
        if not is_whole:
            break
        if kind in (MALLOC, FREE) and space != DEVICE_MEMORY:
            continue                                 # of the host, or within a segment of a pool
        if kind == CREATE:
            handles[handle] = "h%d" % (len(handles) + 1)
        kind = {SEGMENT: MALLOC, SEGMENT_FREE: FREE}.get(kind, kind)
        line = {MALLOC: ["malloc", device, size, addr],
                OOM: ["create_oom" if space == PHYSICAL_MEMORY else "malloc_oom", device, size],
                FREE: ["free", device, -(-size // (2 * MIB)) * 2 * MIB, addr],
                RESERVE: ["reserve", device, size, addr], UNRESERVE: ["unreserve", size, addr],
                CREATE: ["create", device, size, handles.get(handle)],
                PHYSICAL_FREE: ["release", handles.get(handle)],
                MAP: ["map", size, addr, handles.get(handle)],
                UNMAP: ["unmap", size, addr]}.get(kind)
        if line:
            log.append(line)
    return log


def short(error):
    return str(error).split("\nException raised")[0]


class Machine:
    """Does the operations of one program; do_<name> does those of that name."""

    def __init__(self, n_streams):
        self.sim = ctypes.CDLL("libreplay-cudasim.so")
        self.sim.cudasim_segment.restype = ctypes.c_uint64
        self.sim.cudasim_segment.argtypes = [ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)]
        self.sim.cudasim_complete.argtypes = [ctypes.c_uint64, ctypes.c_int]
        self.sim.cudasim_hold.argtypes = [ctypes.c_uint64, ctypes.c_int]
        self.streams = [None] + [torch.cuda.Stream() for _ in range(n_streams - 1)]
        self.default = torch.cuda.default_stream()
        self.live, self.pools, self.regions, self.graphs, self.capture = {}, {}, {}, {}, None

    def handle(self, i):
        return self.streams[i].cuda_stream if i else 0

    def do_a(self, number, stream, size):
        offset = ctypes.c_uint64()
        with torch.cuda.stream(self.streams[stream] or self.default):
            self.live[number] = torch.empty(size, dtype=torch.uint8, device="cuda")
        address = self.live[number].data_ptr()
        return [self.sim.cudasim_segment(address, ctypes.byref(offset)), offset.value, address]

    def do_f(self, number):
        return "skip" if self.live.pop(number, None) is None else None

    def do_rs(self, number, stream):
        if number not in self.live:
            return "skip"
        self.live[number].record_stream(self.streams[stream] or self.default)
        return None

    def do_hold(self, is_held):
        self.sim.cudasim_hold_all(is_held)

    def do_hold_stream(self, stream, is_held):
        self.sim.cudasim_hold(self.handle(stream), is_held)

    def do_complete(self, stream, n):
        self.sim.cudasim_complete(self.handle(stream), n)

    def do_sync(self):
        torch.cuda.synchronize()

    def do_empty_cache(self):
        torch.cuda.empty_cache()

    def do_reset_peak(self):
        torch.cuda.reset_peak_memory_stats(0)

    def do_reset_accumulated(self):
        torch.cuda.reset_accumulated_memory_stats(0)

    def do_set_fraction(self, fraction):
        torch.cuda.set_per_process_memory_fraction(fraction, 0)

    def do_get_fraction(self):
        return torch.cuda.get_per_process_memory_fraction(0)

    def do_set_conf(self, text):
        torch.cuda.memory._set_allocator_settings(text)

    def do_pool_new(self, pool, options={}):
        self.pools[pool] = torch.cuda.MemPool(**options)
        return list(self.pools[pool].id)

    def do_pool_begin(self, pool):
        self.regions[pool] = torch.cuda.use_mem_pool(self.pools[pool])
        self.regions[pool].__enter__()

    def do_pool_end(self, pool):
        self.regions.pop(pool).__exit__(None, None, None)

    def do_pool_del(self, pool):
        del self.pools[pool]

    def do_capture_begin(self, graph, stream):
        self.graphs[graph] = torch.cuda.CUDAGraph()
        self.capture = self.graphs[graph], torch.cuda.stream(self.streams[stream])
        self.capture[1].__enter__()
        self.capture[0].capture_begin()

    def do_capture_end(self):
        self.capture[0].capture_end()
        self.capture[1].__exit__(None, None, None)

    def do_graph_reset(self, graph):
        self.graphs[graph].reset()

    def do_snapshot(self):
        return reduce_snapshot(torch.cuda.memory_snapshot())

    def do_stats(self):
        return [torch.cuda.memory_stats(0)]

    def do_summary(self):
        return [torch.cuda.memory_summary(0, False), torch.cuda.memory_summary(0, True)]

    def do(self, op):
        return getattr(self, "do_" + op[0])(*op[1:])


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


class NotBegun(Exception):
    """A capture that no memory was left for; or a program for a recording, whose settings were refused."""


def init(case):
    """False: the settings were refused."""
    try:
        torch.cuda.init()
        torch._C._cuda_memoryStats(0)
    except Exception as e:
        case["init_error"] = [type(e).__name__, short(e)]
        return False
    if case["fraction"] is not None:
        torch.cuda.set_per_process_memory_fraction(case["fraction"], 0)
    return True


def run_op(machine, op):
    try:
        return machine.do(op)
    except torch.cuda.OutOfMemoryError as e:
        if op[0] == "capture_begin":
            raise NotBegun() from e
        return ["oom", short(e)]
    except Exception as e:
        if op[0] != "set_conf":
            raise
        return ["error", type(e).__name__, short(e)]


def run_program(case, machine):
    case["streams"] = [[machine.handle(i) for i in range(len(machine.streams))]]
    record_history(400000)
    results = []
    for op in case["ops"]:
        result = run_op(machine, op)
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
    case["device_log"] = device_log(os.path.join(os.environ["REPLAY_CUDASIM_JOURNAL"], "%d.0.calls" % os.getpid()))


def child(seed, folder):
    """Ends the process while it still holds all: some states of torch cannot be destroyed."""
    case, n_streams = make_program(seed)
    os.environ["REPLAY_CUDASIM_DEVICE"] = "sim:%dB,packing=off" % case["device_total"]
    if case["conf"] is not None:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["conf"]
    if init(case):
        machine = Machine(n_streams)
        run_program(case, machine)
    with open(os.path.join(folder, "%s.json" % case["case"]), "w") as f:
        json.dump(case, f)
    os._exit(0)


def has_broken_torch(error):
    """By an error of CUDA's, or an assertion of its own; or it has not come so far. 2.7 refuses pools of ranges."""
    return any(text in str(error) for text in ("CUDA error: ", "INTERNAL ASSERT", "MemPool doesn't currently")) or \
        isinstance(error, NotBegun)


def in_child(name, call, *arguments):
    """The exit status of a child that makes a call which ends it; negative: the signal that did."""
    pid = os.fork()
    if pid == 0:
        try:
            call(*arguments)
        except BaseException as e:
            is_known = has_broken_torch(e)
            if not is_known:
                print("%s: %s: %s" % (name, type(e).__name__, short(e)), flush=True)
            os._exit(LEFT_OUT if is_known else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0:
        print("%s: ended by signal %d" % (name, -status), flush=True)
    journal = os.path.join(os.environ["REPLAY_CUDASIM_JOURNAL"], "%d.0.calls" % pid)
    if os.path.exists(journal):
        os.remove(journal)
    return status


def main():
    folder, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    failed = left_out = 0
    for seed in range(first, first + n):
        status = in_child("seed %d" % seed, child, seed, folder)
        failed += status not in (0, LEFT_OUT)
        left_out += status == LEFT_OUT
    print("%d programs by torch %s, %d left out, %d failed" % (n, torch.__version__, left_out, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
