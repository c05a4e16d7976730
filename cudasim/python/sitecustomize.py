# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Put in front of a Python program's path by `replay run-sim` and `replay record --torch`, for that run only.

When the program imports torch on the simulated card, cuDNN is switched off (its stand-in has no algorithms, so PyTorch's
own kernels run), and DistributedDataParallel does not compare the shapes of parameters across processes. With
REPLAY_TORCH_RECORD, a folder, PyTorch's allocator keeps its history. A snapshot is written into the folder at exit, at the
first out of memory, and on SIGUSR1. With REPLAY_TORCH_LABELS its requests are labelled (replay_labels.py). Nothing else
of the program changes.
"""
import importlib.abc
import importlib.machinery
import os
import sys


def _record(torch, folder, labels):
    import atexit
    import pickle
    import signal

    memory = torch.cuda.memory
    state = {"pid": None}

    def dump(name):
        if state["pid"] != os.getpid():
            return                                   # a forked child holds its parent's history, not its own
        path = os.path.join(folder, "%d.%s" % (os.getpid(), name))
        if labels is not None:
            labels.dump(path + ".part", is_last=name == "pickle")
        elif hasattr(memory, "_dump_snapshot"):
            memory._dump_snapshot(path + ".part")
        else:
            with open(path + ".part", "wb") as f:
                pickle.dump(memory._snapshot(), f)
        os.replace(path + ".part", path)

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
    labels = None
    if folder and os.environ.get("REPLAY_TORCH_LABELS"):
        try:
            import replay_labels as labels
            labels.start()
        except (AttributeError, ImportError, TypeError) as error:
            print("replay: PyTorch %s cannot be labelled: %s" % (torch.__version__, error), file=sys.stderr)
            labels = None
    if folder:
        _record(torch, folder, labels)


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
