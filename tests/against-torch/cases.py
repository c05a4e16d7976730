# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Puts golden cases to the PyTorch that is imported, on the simulated CUDA, and writes its answers as cases.

    cases.py OUT CASE...        CASE: a golden case, .json or .json.gz; its answers are ignored

Run by `new-torch` under `replay run-sim`. torch is imported once; each case is a forked child, as in programs.py. A
case that the release cannot run, because it lacks a function, has that error as the op's answer.
"""
import gzip
import json
import os
import sys

import torch

import programs

KEPT = ("case", "kind", "seed", "note", "conf", "conf_var", "env", "device_total", "devices", "fraction", "alloc_via",
        "stats_every", "ops")
# How a case names the order of addresses, and the nearest order that the simulated CUDA has.
ORDERS = {"FAKECUDA_REUSE": "first-fit", "FAKECUDA_DOWN": "descending", "FAKECUDA_SCATTER": "descending"}


def load(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        return json.load(f)


def device_text(case):
    env = case.get("env") or {}
    text = "sim:%dB,packing=off" % case["device_total"]
    if case.get("devices", 1) > 1:
        text += ",count=%d" % case["devices"]
    if "FAKECUDA_OVERHEAD" in env:
        text += ",context=%sB" % env["FAKECUDA_OVERHEAD"]
    named = [order for name, order in ORDERS.items() if env.get(name) == "1"]
    return text + ",addresses=" + (named[-1] if named else "rising")


def n_streams(ops):
    named = [op[2] for op in ops if op[0] in ("a", "rs", "capture_begin")]
    return 1 + max(named + [op[1] for op in ops if op[0] in ("hold_stream", "complete")], default=0)


class Machine(programs.Machine):
    """Does the operations of a case: on several devices, and by the raw entry points if the case wants them."""

    def __init__(self, case):
        super().__init__(n_streams(case["ops"]))
        self.n_devices = case.get("devices", 1)
        self.is_raw = case.get("alloc_via") != "tensor"
        self.by_device = {0: self.streams}
        for d in range(1, self.n_devices):
            self.by_device[d] = [None] + [torch.cuda.Stream(device=d) for _ in self.streams[1:]]
        self.defaults = [torch.cuda.default_stream(d) for d in range(self.n_devices)]

    def handles(self):
        return [[0] + [s.cuda_stream for s in self.by_device[d][1:]] for d in range(self.n_devices)]

    def do_a(self, number, stream, size, device=0):
        torch.cuda.set_device(device)
        on = self.by_device[device][stream] or self.defaults[device]
        if self.is_raw:
            handle = on.cuda_stream if stream else 0
            address = self.live[number] = torch._C._cuda_cudaCachingAllocator_raw_alloc(size, handle)
        else:
            with torch.cuda.stream(on):
                self.live[number] = torch.empty(size, dtype=torch.uint8, device="cuda:%d" % device)
            address = self.live[number].data_ptr()
        return self.place(address)

    def place(self, address):
        offset = programs.ctypes.c_uint64()
        if not address:
            return [-1, 0, address]
        return [self.sim.cudasim_segment(address, programs.ctypes.byref(offset)), offset.value, address]

    def do_f(self, number):
        if number not in self.live:
            return "skip"
        what = self.live.pop(number)
        if self.is_raw:
            torch._C._cuda_cudaCachingAllocator_raw_delete(what)
        return None

    def do_rs(self, number, stream):
        if number not in self.live:
            return "skip"
        device = self.live[number].device.index
        self.live[number].record_stream(self.by_device[device][stream] or self.defaults[device])
        return None

    def do_reset_peak(self):
        for d in range(self.n_devices):
            torch.cuda.reset_peak_memory_stats(d)

    def do_reset_accumulated(self):
        for d in range(self.n_devices):
            torch.cuda.reset_accumulated_memory_stats(d)

    def do_pool_begin(self, pool):
        region = torch.cuda.use_mem_pool(self.pools[pool])
        region.__enter__()
        self.regions.setdefault(pool, []).append(region)

    def do_pool_end(self, pool):
        self.regions[pool].pop().__exit__(None, None, None)

    def do_stats(self):
        return [torch.cuda.memory_stats(d) for d in range(self.n_devices)]


def counters(n_devices):
    out = []
    for d in range(n_devices):
        stats = torch._C._cuda_memoryStats(d)
        out += [stats[name]["all"]["current"] for name in programs.COUNTED] + [
            stats["segment"]["all"]["current"], stats["num_alloc_retries"], stats["num_ooms"]]
    return out


def answer(machine, op):
    try:
        return machine.do(op)
    except torch.cuda.OutOfMemoryError as e:
        return ["oom", programs.short(e)]
    except Exception as e:
        return ["error", type(e).__name__, programs.short(e)]


def run(case, machine):
    case["streams"] = machine.handles()
    programs.record_history(400000)
    every, n, case["results"] = case.get("stats_every") or 1, len(case["ops"]), []
    for i, op in enumerate(case["ops"], 1):
        result = [answer(machine, op)]
        case["results"].append(result + [counters(machine.n_devices)] if i % every == 0 or i == n else result)
    case["stats_columns"] = programs.COUNTED + ["segments", "num_alloc_retries", "num_ooms"]
    snapshot = torch.cuda.memory._snapshot()
    case["trace"] = [[e["action"], e.get("addr", e.get("device_free", 0)), e["size"], e["stream"]] +
                     ([d] if machine.n_devices > 1 else [])
                     for d, records in enumerate(snapshot["device_traces"]) for e in records]
    case["memory_stats"] = machine.do_stats()
    case["segments"] = programs.reduce_snapshot(torch.cuda.memory_snapshot())
    case["memory_summary"] = [{"full": torch.cuda.memory_summary(d, False),
                               "abbreviated": torch.cuda.memory_summary(d, True)} for d in range(machine.n_devices)]
    case["device_log"] = programs.device_log(
        os.path.join(os.environ["REPLAY_CUDASIM_JOURNAL"], "%d.0.journal" % os.getpid()))


def set_fraction(case):
    for d in range(case.get("devices", 1)):
        torch.cuda.set_per_process_memory_fraction(case["fraction"], d)


def child(path, asked, out):
    """Ends the process while it still holds all: some states of torch cannot be destroyed."""
    case = {key: asked[key] for key in KEPT if key in asked}
    case["torch"] = torch.__version__
    os.environ["REPLAY_CUDASIM_DEVICE"] = device_text(case)
    os.environ.update({k: v for k, v in (case.get("env") or {}).items() if not k.startswith("FAKECUDA_")})
    if case.get("conf") is not None:
        os.environ[case.get("conf_var", "PYTORCH_CUDA_ALLOC_CONF")] = case["conf"]
    fraction, case["fraction"] = case.get("fraction"), None      # programs.init sets it on one device only
    if programs.init(case):
        case["fraction"] = fraction
        if fraction is not None:
            set_fraction(case)
        run(case, Machine(case))
    name = os.path.basename(path).split(".json")[0]
    with open(os.path.join(out, name + ".json"), "w") as f:
        json.dump(case, f)
    os._exit(0)


def is_another_allocator(case):
    """backend:cudaMallocAsync is chosen while torch is loaded, and is the driver's own."""
    return "cudaMallocAsync" in (case.get("conf") or "")


def main():
    out, paths = sys.argv[1], sys.argv[2:]
    failed = left_out = 0
    for path in paths:
        case, name = load(path), os.path.basename(path)
        if is_another_allocator(case):
            left_out += 1
        elif programs.in_child(name, child, path, case, out) != 0:
            print("not answered: %s" % name, flush=True)
            failed += 1
    print("%d cases put to torch %s, %d left out, %d not answered" % (len(paths), torch.__version__, left_out, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
