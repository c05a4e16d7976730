# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Put in front of a Python program's path by `replay run-sim` and `replay record --torch`, for that run only.

When the program imports torch on the simulated card, small tensors are computed beside it (replay_values.py), and
collectives carry their values once there are ranks (replay_ranks.py). RNNs of old releases do without cuDNN (its
stand-in does not know the calls that these make, so PyTorch's own kernels run), cuDNN's attention asks for its memory
and computes nothing (replay_attention.py), and DistributedDataParallel does not compare the shapes of parameters across
processes. With REPLAY_TORCH_RECORD, a folder, PyTorch's allocator keeps its whole history, whatever the program
does to it. A snapshot is written into the folder when the program ends in any way but a kill, at the first out of
memory, and on SIGUSR1; beside it the process's rank in a distributed job. With REPLAY_TORCH_FOLLOW it is also
written again and again, and a training is held once its steps repeat (replay_steps.py). Where a CUDA graph was
captured, the history gets a record of ours at the begin and at the end, because PyTorch's own history does not tell.
With REPLAY_TORCH_LABELS requests are labelled (replay_labels.py).
Nothing else of the program changes.
"""
import _thread
import importlib.abc
import importlib.machinery
import os
import sys
import threading


class _Captures:
    """Where graph captures begin and end in PyTorch's history:
    after so many requests and frees, which PyTorch counts."""

    def __init__(self, torch):
        self.torch = torch
        self.found = []
        self.is_on = False                           # once there is a history
        graph = getattr(torch.cuda, "CUDAGraph", None)
        if graph is None:
            return
        begin, end = graph.capture_begin, graph.capture_end

        def capture_begin(graph, *args, **kwargs):
            begin(graph, *args, **kwargs)
            graph._replay_begin = self.place() if self.is_on else None

        def capture_end(graph):
            began = getattr(graph, "_replay_begin", None)
            places = [began, self.place()] if began else []
            end(graph)
            if places:
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


def _after(end, leave):
    """`leave`, which skips the exit handlers, once `end` has written what it has."""
    def call(status):
        try:
            end()
        finally:
            leave(status)
    return call


class _Recorder:
    """PyTorch's history of one program, kept on and written into a folder.

    PID.pickle          the whole history: the program has ended
    PID.oom.pickle      at the first out of memory
    PID.so-far.pickle   ended by a signal, or still running
    PID.usr1.pickle     on SIGUSR1
    """

    def __init__(self, torch, folder, labels):
        self.torch, self.memory, self.folder = torch, torch.cuda.memory, folder
        self.labels = labels                         # the module replay_labels, or None
        self.pid = None                              # of the process whose history this is; None: CUDA has not started
        self.has_ended = False
        self.has_settled = False                     # the history is whole for predict, and nothing follows
        self.counts_end = None                       # whether the history to the program's end counts; None: it does
        self.tell_end = lambda: None
        self.lock = threading.RLock()                # of the files: the thread that follows writes them, too
        self.has_complained = False
        self.record_history = self.memory._record_memory_history
        self.captures = _Captures(torch)

    def install(self):
        # The program may switch the history on, off or to fewer entries: it stays on and whole.
        self.memory._record_memory_history = lambda *_, **__: None
        os._exit = _after(self.end, os._exit)
        self.torch.cuda._lazy_call(self.start)       # when CUDA starts, not before

    def start(self):
        import atexit

        try:
            self.begin()
        except RuntimeError:                         # the driver's pool, or an allocator that was plugged in
            print("replay: the program's allocator, %s, keeps no history: only the driver's calls are recorded" %
                  self.memory.get_allocator_backend(), file=sys.stderr)
            return
        self.pid, self.has_ended, self.captures.is_on = os.getpid(), False, True
        self.torch._C._cuda_attach_out_of_memory_observer(self.on_oom)
        atexit.register(self.end)
        self.take_signals()
        if os.environ.get("REPLAY_TORCH_FOLLOW"):
            try:                                     # a snapshot imports it, not while the program imports its own
                import torch._inductor.codecache     # noqa: F401
            except Exception:
                pass                                 # a release without it does not ask for it
            threading.Thread(target=self.follow, name="replay", daemon=True).start()

    def begin(self):
        try:
            self.record_with_context("all")
        except TypeError:                            # torch 2.0
            self.record_history(True, trace_alloc_max_entries=2 ** 31 - 1, trace_alloc_record_context=True)
            return
        self.spare_checkpoints()

    def record_with_context(self, context):
        """`context`: "all", the history has the stacks of frees, too; "alloc", of requests alone."""
        self.record_history(enabled="all", context=context, stacks="python", max_entries=sys.maxsize)

    def spare_checkpoints(self):
        """PyTorch loses an exception that passes through its C++ in a backward pass (seen with 2.11; 2.9 and 2.15 do
        not) while it notes the stack of what is freed on the way. torch.utils.checkpoint ends a recomputation by one:
        while that lives, no stacks of frees are noted."""
        checkpoint = sys.modules.get("torch.utils.checkpoint")
        stop = getattr(checkpoint, "_StopRecomputationError", None)
        if stop is None or not (2, 9) < tuple(int(n) for n in self.torch.__version__.split(".")[:2]) < (2, 15):
            return
        recorder = self

        class Stop(stop):
            def __init__(self, *args):
                super().__init__(*args)
                recorder.record_with_context("alloc")

            def __del__(self):
                recorder.record_with_context("all")

        checkpoint._StopRecomputationError = Stop

    def dump(self, name, is_standing=True):
        """Writes a snapshot. is_standing: the program does nothing meanwhile,
        so captures and labels find their places. If it cannot be written, on a
        full disk for one, the program goes on as it would without us."""
        if self.pid != os.getpid():
            return                                   # a forked child holds its parent's history, not its own
        path = os.path.join(self.folder, "%d.%s" % (os.getpid(), name))
        part = "%s.%d.part" % (path, _thread.get_ident())
        with self.lock:
            if self.has_settled or (self.counts_end and not is_standing):
                return
            try:
                self.write(name, path, part, is_standing)
            except Exception as reason:
                self.complain(path, reason)
                if os.path.exists(part):
                    os.remove(part)

    def settle(self):
        """Writes what is there so far, for the last time."""
        with self.lock:
            self.dump("so-far.pickle")
            self.has_settled = True

    def keep(self, counts_end, tell_end):
        """Writes what is there so far. It stands if the program ends and counts_end() does not want the rest. Once all
        is written, tell_end() is called: predict may stop the program then."""
        with self.lock:
            self.dump("so-far.pickle")
            self.counts_end, self.tell_end = counts_end, tell_end

    def complain(self, path, reason):
        if not self.has_complained and sys.stderr is not None:
            print("replay: %s: %s: the program goes on, but this history is not kept" % (path, reason),
                  file=sys.stderr)
        self.has_complained = True

    def write(self, name, path, part, is_standing):
        import pickle

        if is_standing and self.labels is not None:
            snapshot = self.labels.snapshot(is_last=name == "pickle")
        else:
            snapshot = self.memory._snapshot()
        if is_standing:
            self.captures.put_into(snapshot)
        with open(part, "wb") as f:
            pickle.dump(snapshot, f)
        os.replace(part, path)
        rank = _rank(self.torch)
        if rank is not None:                         # the file is named after it if there are several processes
            with open(os.path.join(self.folder, "%d.rank" % os.getpid()), "w") as f:
                f.write("%d" % rank)

    def end(self):
        if self.has_ended or self.pid != os.getpid():            # a forked child ends for itself
            return
        if self.has_settled or self.counts_end is None or self.counts_end():
            self.dump("pickle")
        self.has_ended = True
        self.tell_end()

    def on_oom(self, *_):
        if not os.path.exists(os.path.join(self.folder, "%d.oom.pickle" % os.getpid())):
            self.dump("oom.pickle")

    def take_signals(self):
        """Signals for which the program has no handler of its own."""
        import signal

        def on_end(number, _):
            self.dump("so-far.pickle")
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        handlers = {signal.SIGUSR1: lambda *_: self.dump("usr1.pickle"), signal.SIGTERM: on_end, signal.SIGHUP: on_end}
        for number, handler in handlers.items():
            if signal.getsignal(number) == signal.SIG_DFL:
                try:
                    signal.signal(number, handler)
                except ValueError:                   # not the main thread
                    pass

    def follow(self):
        """Writes what is there so far, again and again, so that `replay predict` sees steps that repeat. It takes a
        fifth of the time at most."""
        import time

        while not (self.has_ended or self.has_settled or self.counts_end):
            began = time.monotonic()
            self.dump("so-far.pickle", is_standing=False)
            self.tell_last_loop()
            time.sleep(max(0.5, 4 * (time.monotonic() - began)))

    def tell_last_loop(self):
        """For predict, which may stop the program in it: PID.last-loop, nothing stands after the loop that runs."""
        import replay_follows

        path = os.path.join(self.folder, "%d.last-loop" % os.getpid())
        try:
            if not os.path.exists(path) and replay_follows.is_in_last_loop(self.torch):
                open(path, "w").close()
        except Exception:                            # no error of ours ends the thread
            pass


class _WithoutCudnn:
    """torch._VF for RNNs: its functions run with cuDNN switched off."""

    def __init__(self, torch):
        self._torch, self._functions = torch, torch._VF

    def __getattr__(self, name):
        function = getattr(self._functions, name)

        def call(*arguments, **options):
            with self._torch.backends.cudnn.flags(enabled=False):
                return function(*arguments, **options)
        return call


def _has_known_rnns():
    """Whether PyTorch makes the calls for RNNs that the stand-in of cuDNN answers, and not the ones before them. The
    stand-in has the functions that PyTorch names."""
    import ctypes

    for name in "libcudnn.so.9", "libcudnn.so.8":
        try:
            library = ctypes.CDLL(name, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except OSError:                              # PyTorch has not loaded it
            continue
        return hasattr(library, "cudnnSetRNNDescriptor_v8") and not hasattr(library, "cudnnSetRNNDescriptor_v6")
    return False


def _labels(torch):
    """The labelling module, started; None: labels are not wanted, or not to be had in this release."""
    if not os.environ.get("REPLAY_TORCH_LABELS"):
        return None
    try:
        import replay_labels
        replay_labels.start()
    except (AttributeError, ImportError, TypeError) as error:
        print("replay: PyTorch %s cannot be labelled: %s" % (torch.__version__, error), file=sys.stderr)
        return None
    return replay_labels


def _join_ranks(torch):
    """Lets collectives of small tensors carry their values, once the program joins a job of ranks."""
    if not torch.distributed.is_available():
        return
    if "RANK" in os.environ:
        _carry_values(torch)
        return
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    begin = c10d.init_process_group

    def init_process_group(*args, **kwargs):
        if c10d.init_process_group is init_process_group:
            c10d.init_process_group = torch.distributed.init_process_group = begin
            _carry_values(torch)
        return c10d.init_process_group(*args, **kwargs)
    c10d.init_process_group = torch.distributed.init_process_group = init_process_group


def _carry_values(torch):
    try:
        import replay_ranks
        replay_ranks.install()
    except (AttributeError, ImportError, TypeError) as error:
        if "RANK" in os.environ:
            print("replay: PyTorch %s: collectives carry no values: %s" % (torch.__version__, error), file=sys.stderr)


def _compute_values(torch):
    """Small tensors are computed beside the card."""
    try:
        import replay_values
        replay_values.install()
        sys.meta_path.insert(0, _Finder("torch._dynamo.eval_frame", replay_values.leave_compiler_alone))
        if "torch.nn.attention.flex_attention" in sys.modules:
            replay_values.watch_block_masks(sys.modules["torch.nn.attention.flex_attention"])
        else:
            sys.meta_path.insert(0, _Finder("torch.nn.attention.flex_attention", replay_values.watch_block_masks))
        if "pynvml" not in sys.modules:
            sys.meta_path.insert(0, _Finder("pynvml", replay_values.watch_nvml))
    except (AttributeError, ImportError, OSError) as error:
        print("replay: PyTorch %s: small values are not computed: %s" % (torch.__version__, error), file=sys.stderr)


def _attend(torch):
    """cuDNN's attention asks for what it does on a card; a release whose attention has another form does without."""
    if not hasattr(torch.backends.cuda, "enable_cudnn_sdp"):
        return
    try:
        import replay_attention
        replay_attention.install()
    except (AttributeError, ImportError, RuntimeError):
        torch.backends.cuda.enable_cudnn_sdp(False)


def _do_without_old_rnns(torch):
    if not _has_known_rnns():
        torch.nn.modules.rnn._VF = _WithoutCudnn(torch)
        torch.nn.modules.rnn.RNNBase.flatten_parameters = lambda self: None


def _leave_shapes_alone(torch):
    """DistributedDataParallel compares shapes through device memory, which reads as zeros."""
    ddp = getattr(torch.nn.parallel, "distributed", None)
    if hasattr(ddp, "_verify_param_shape_across_processes"):
        ddp._verify_param_shape_across_processes = lambda *_, **__: True


def _count_steps(recorder):
    """`predict` stops a training once its steps repeat."""
    import replay_steps
    replay_steps.install(recorder)


def _record(torch):
    folder = os.environ.get("REPLAY_TORCH_RECORD")
    if folder:
        recorder = _Recorder(torch, folder, _labels(torch))
        recorder.install()
        if os.environ.get("REPLAY_TORCH_FOLLOW"):
            _safely(_count_steps, recorder)


def _safely(step, argument):
    """If a step of ours fails, this is said, and the program goes on as it would without the step."""
    try:
        step(argument)
    except Exception as error:
        print("replay: a hook is left out (%s): %s: %s" % (step.__name__, type(error).__name__, error), file=sys.stderr)


def _imported(torch):
    steps = [_do_without_old_rnns, _attend, _leave_shapes_alone, _compute_values, _join_ranks]
    for step in (steps if os.environ.get("REPLAY_CUDASIM_DEVICE") else []) + [_record]:
        _safely(step, torch)


def _has_stand_ins(spec, found):
    """Whether stand-ins were made for this torch, or beside this JAX, for `found`: torch, folders of packages."""
    folder = (spec.submodule_search_locations or [""])[0]
    return folder in found[:1] or (spec.name == "jax" and os.path.dirname(folder) in found[1:])


_made_for = []                                       # the torch and the folders of packages of the stand-ins made here


def _stand_in(spec):
    """NVIDIA's libraries that this torch names and JAX's plugins open get stand-ins, if `replay run-sim` has not put
    them in place: it does so for the command line's Python, and a shell script, torchrun or make may have run this
    one."""
    cache = os.environ.get("REPLAY_CUDASIM_STANDINS")
    before = os.environ.get("REPLAY_CUDASIM_TORCH", "").split(":")
    if not cache or _has_stand_ins(spec, before) or _has_stand_ins(spec, _made_for):
        return
    import ctypes
    make = ctypes.CDLL("libreplay-standins.so").replay_torch_standins
    make.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_bool, ctypes.c_char_p, ctypes.c_size_t]
    make.restype = ctypes.c_bool
    said = ctypes.create_string_buffer(1 << 16)
    torch = importlib.machinery.PathFinder.find_spec("torch")
    folders = list(torch.submodule_search_locations or ()) if torch is not None else []
    _made_for[:] = (folders[:1] or [""]) + [p for p in sys.path if p]
    is_real = os.environ.get("REPLAY_CUDASIM_LIBRARIES") == "real"
    if not make(os.fsencode(":".join(_made_for)), os.fsencode(cache), is_real, said, len(said)):
        print("replay: no stand-ins for %s: %s" % (spec.name, os.fsdecode(said.value)), file=sys.stderr)
        return
    _load_stand_ins(os.fsdecode(said.value).split(), cache)


def _load_stand_ins(libraries, cache):
    import ctypes
    for library in libraries:                        # a library that is loaded serves all that name its soname
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    journals = os.environ.get("REPLAY_CUDASIM_JOURNAL")
    made = [os.path.basename(p) for p in libraries if p.startswith(cache)]
    if journals and made:
        with open(os.path.join(journals, "stand-ins"), "a") as f:
            f.write("".join(name + "\n" for name in made))


def _show_device_nodes(hardware):
    """JAX looks for NVIDIA's device nodes before it asks its plugin for cards. No node is there."""
    hardware.has_visible_nvidia_gpu = lambda: True


def _watch_jax(jax):
    """What JAX's own allocator holds is written beside the journals. A JAX that has no plugin runs on the CPU."""
    import replay_donate
    import replay_jax
    replay_jax.install(jax)
    replay_donate.install(jax)
    plugins = importlib.machinery.PathFinder.find_spec("jax_plugins")
    folders = plugins.submodule_search_locations if plugins is not None else ()
    names = [name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
    if not any(name.startswith("xla_cuda") for name in names):
        print("replay: this JAX has no plugin for CUDA (jax-cuda12-plugin, jax-cuda13-plugin and their -pjrt): it runs "
              "on the CPU, and nothing of it reaches the simulated card", file=sys.stderr)


def _count_tokens(model_runner):
    import replay_vllm
    replay_vllm.install(model_runner)


def _in_name(family):
    """What is called once the module that compiles kernels of that family has been imported."""
    def imported(module):
        import replay_kernels
        getattr(replay_kernels, family)(module)
    return imported


def _watch_tensorflow(tensorflow):
    """TensorFlow's allocator takes most of what it finds free: what a program did on one card holds for that card. Many
    import TensorFlow and use no card with it."""
    def tell():
        module = sys.modules.get("tensorflow.python.eager.context")
        context = module.context() if module is not None else None
        if getattr(context, "_initialized", False) and context.list_logical_devices("GPU"):
            print("replay cudasim: %s:1: looks at the card's free memory" % tensorflow.__file__, file=sys.stderr)
    if os.environ.get("REPLAY_TORCH_FOLLOW"):
        import atexit
        atexit.register(_safely, lambda _: tell(), None)


def _record_jax(plugin):
    import replay_jax
    replay_jax.record(plugin, _after)


class _Loader(importlib.abc.Loader):
    def __init__(self, loader, finder):
        self.loader, self.finder = loader, finder

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self.loader
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
            _safely(self.finder.imported, module)


class _Finder(importlib.abc.MetaPathFinder):
    """Calls found(spec) before a module is imported, and imported(module) after it. Many look for a module before they
    import it, as transformers does for torch: it is found as often as that."""

    def __init__(self, name, imported, found=None):
        self.name, self.imported, self.found = name, imported, found

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            if self.found is not None:
                _safely(self.found, spec)
            spec.loader = _Loader(spec.loader, self)
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

if os.environ.get("REPLAY_CUDASIM_DEVICE"):          # a compiled graph asks for other memory if it comes from a cache,
    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")             # and ours must not get into one
    os.environ.setdefault("VLLM_DISABLE_COMPILE_CACHE", os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"])    # its own
    os.environ.setdefault("VLLM_USE_FLASHINFER_SAMPLER", "0")        # its kernels would be compiled first, by nvcc
    sys.meta_path.insert(0, _Finder("jax", _watch_jax, _stand_in))
    sys.meta_path.insert(0, _Finder("jax._src.hardware_utils", _show_device_nodes))
    sys.meta_path.insert(0, _Finder("tensorflow", _watch_tensorflow))
    sys.meta_path.insert(0, _Finder("vllm.v1.worker.gpu.model_runner", _count_tokens))
    for _name, _family in (("cutlass.base_dsl.compiler", "of_cute"), ("flashinfer.jit.core", "of_flashinfer"),
                           ("sglang.kernels.jit.utils.compile.loader", "of_sglang")):
        sys.meta_path.insert(0, _Finder(_name, _in_name(_family)))
    for _name in "jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13":
        sys.meta_path.insert(0, _Finder(_name, _record_jax))
sys.meta_path.insert(0, _Finder("torch", _imported, _stand_in))
_chain()
