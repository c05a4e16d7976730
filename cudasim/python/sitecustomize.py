# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Put in front of a Python program's path by `replay run-sim` and `replay record --torch`, for that run only.

When the program imports torch on the simulated card, cuDNN is switched off (its stand-in has no algorithms, so
PyTorch's own kernels run), and DistributedDataParallel does not compare the shapes of parameters across processes. With
REPLAY_TORCH_RECORD, a folder, PyTorch's allocator keeps its history. A snapshot is written into the folder at exit, at
the first out of memory, and on SIGUSR1; beside it the process's rank in a distributed job. Where a CUDA graph was
captured, the history gets a record of ours at the begin and at the end, because PyTorch's own history does not tell.
Nothing else of the program changes.
"""
import importlib.abc
import importlib.machinery
import os
import sys


class _Captures:
    """Where graph captures begin and end in PyTorch's history: after so many requests and frees, which PyTorch counts."""

    def __init__(self, torch):
        self.torch = torch
        self.found = []
        graph = torch.cuda.CUDAGraph
        begin, end = graph.capture_begin, graph.capture_end

        def capture_begin(graph, *args, **kwargs):
            begin(graph, *args, **kwargs)
            graph._replay_begin = self.place()

        def capture_end(graph):
            places = [getattr(graph, "_replay_begin", None), self.place()]
            end(graph)
            if places[0] is not None:
                self.found += [dict(place, action=action, pool_id=tuple(graph.pool()))
                               for place, action in zip(places, ("capture_begin", "capture_end"))]

        for hook in capture_begin, capture_end:      # a call stack shows no line of this file as the program's
            hook.__code__ = hook.__code__.replace(co_filename="<string>")
        graph.capture_begin, graph.capture_end = capture_begin, capture_end

    def place(self):
        cuda = self.torch.cuda
        return {"device": cuda.current_device(), "stream": cuda.current_stream().cuda_stream,
                "counts": self.counts(cuda.current_device())}

    def counts(self, device):
        requests = self.torch._C._cuda_memoryStats(device)["allocation"]["all"]
        return requests["allocated"], requests["freed"]

    def put_into(self, snapshot):
        for device, history in enumerate(snapshot["device_traces"]):
            marks = [m for m in self.found if m["device"] == device]
            if marks:
                history[:] = self.put_between(marks, history, self.counts(device))

    @staticmethod
    def put_between(marks, history, now):
        """The history with the records. What lies before the history is left out."""
        actions = [r["action"] for r in history]
        # Records that follow a place and still belong before it: the second half of a free, and at a capture's begin
        # what torch.cuda.graph gave back.
        after = {"capture_begin": ("free_completed", "segment_free", "segment_unmap", "snapshot"),
                 "capture_end": ("free_completed",)}
        requests, frees = now[0] - actions.count("alloc"), now[1] - actions.count("free_requested")
        if min(requests, frees) < 0:                 # the program set the counts back: places are not known
            return history
        begins = [m["counts"][0] >= requests and m["counts"][1] >= frees for m in marks]
        at, out = 0, []
        for i, m in enumerate(marks):
            if not begins[i - i % 2]:                # of a pair
                continue
            while at < len(history) and (requests < m["counts"][0] or frees < m["counts"][1] or
                                         actions[at] in after[m["action"]]):
                requests += actions[at] == "alloc"
                frees += actions[at] == "free_requested"
                out.append(history[at])
                at += 1
            out.append({"action": m["action"], "addr": 0, "size": 0, "stream": m["stream"], "frames": [],
                        "time_us": (out or history)[-1].get("time_us", 0), "pool_id": m["pool_id"]})
        return out + history[at:]


def _rank(torch):
    """The process's number in its distributed job; None without one."""
    rank = os.environ.get("RANK", "")
    distributed = getattr(torch, "distributed", None)
    if not rank.isdigit() and distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    return int(rank) if rank.isdigit() else None


def _record(torch, folder):
    import atexit
    import pickle
    import signal

    memory = torch.cuda.memory
    state = {"pid": None}
    captures = _Captures(torch)

    def dump(name):
        if state["pid"] != os.getpid():
            return                                   # a forked child holds its parent's history, not its own
        path = os.path.join(folder, "%d.%s" % (os.getpid(), name))
        snapshot = memory._snapshot()
        captures.put_into(snapshot)
        with open(path + ".part", "wb") as f:
            pickle.dump(snapshot, f)
        os.replace(path + ".part", path)
        rank = _rank(torch)
        if rank is not None:                         # the file is named after it if there are several processes
            with open(os.path.join(folder, "%d.rank" % os.getpid()), "w") as f:
                f.write("%d" % rank)

    def on_oom(*_):
        if not os.path.exists(os.path.join(folder, "%d.oom.pickle" % os.getpid())):
            dump("oom.pickle")

    def start():
        state["pid"] = os.getpid()
        try:
            memory._record_memory_history(enabled="all", stacks="python", max_entries=sys.maxsize)
        except TypeError:                            # torch 2.0
            memory._record_memory_history(True, trace_alloc_max_entries=2 ** 31 - 1, trace_alloc_record_context=True)
        torch._C._cuda_attach_out_of_memory_observer(on_oom)
        atexit.register(dump, "pickle")
        if signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL:
            try:
                signal.signal(signal.SIGUSR1, lambda *_: dump("usr1.pickle"))
            except ValueError:                       # not the main thread
                pass

    torch.cuda._lazy_call(start)                     # when CUDA starts, not before


def _imported(torch):
    if os.environ.get("REPLAY_CUDASIM_DEVICE"):
        torch.backends.cudnn.enabled = False
        if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
            torch.backends.cuda.enable_cudnn_sdp(False)
        ddp = getattr(torch.nn.parallel, "distributed", None)
        if hasattr(ddp, "_verify_param_shape_across_processes"):
            # It compares shapes through device memory, which reads as zeros.
            ddp._verify_param_shape_across_processes = lambda *_, **__: True
    folder = os.environ.get("REPLAY_TORCH_RECORD")
    if folder:
        _record(torch, folder)


class _Loader(importlib.abc.Loader):
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self.loader
        _imported(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _chain():
    """The sitecustomize that would have been found without this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec(
        "sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


import importlib.util                                # noqa: E402

sys.meta_path.insert(0, _Finder())
_chain()
