# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Values of small tensors on a simulated card, so that a program's branches on flags, indices and lengths are true.

Kernels of the simulated card do nothing. So each call of PyTorch's Python functions is made on the card as ever, and a
second time on the host if all that it reads is small and known:

    on the card   mask = ids != 0     n = mask.sum()     n.item()      reads zeros
    beside it     mask = ids != 0     n = mask.sum()     n.item()  ->  the program gets this

The card sees the same requests, kernels and copies as without this module: it looks on from above autograd, as a
TorchFunctionMode. A value belongs to a storage, so views need no care, and to the version that PyTorch counts of a
tensor's writes. A write that this module has not seen, as in a backward pass, changes the version, and the value is
no longer known. Sizes that PyTorch reads off the card within one call (nonzero, a mask as an index) are answered by the
card (cudasim_values_answer). Random numbers are drawn from the seed and offset of the card's generator, but are not
those of a real card.

What is not known reads as zeros. A line that branches on such a value is told once (replay_decisions.py). Values that
are not computed are taken to be finite, and an assert on one to hold.
"""
import ctypes
import functools
import linecache
import os
import sys
import threading

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from replay_decisions import deciding_line

PLAIN = (torch.Tensor, torch.nn.Parameter)           # types whose tensors lie on the card themselves
FLOAT_BYTES = 64 << 10                               # floating point is data sooner than integers are
LINES_TOLD = 8
PURGE_AT = 512                                       # entries, before storages that are gone are looked for
LIST_SEEN = 64                                       # numbers in a list are not looked through for tensors

# Functions by name. What is in none of these is computed if all that it reads is known.
LOOK = """__get__ __set__ __delete__ size dim stride numel element_size is_contiguous view view_as unsqueeze
    squeeze transpose permute t detach expand expand_as narrow select chunk split unbind as_strided requires_grad_
    storage register_hook untyped_storage storage_offset is_floating_point is_complex __hash__ __iter__ __len__
    get_device ndimension retain_grad is_pinned pin_memory record_stream nelement __reduce_ex__ __deepcopy__
    __setstate__ __repr__
    has_names is_inference is_shared share_memory_ grad unflatten swapaxes movedim diagonal empty empty_like new_empty
    empty_strided is_tensor is_storage is_same_size result_type promote_types register_post_accumulate_grad_hook
    linear layer_norm conv2d scaled_dot_product_attention""".split()
READ = """item tolist __bool__ __int__ __float__ __index__ __complex__ is_nonzero __contains__ equal allclose cpu to
    copy_ __format__ __setitem__""".split()
ESCAPES = ("data_ptr", "__dlpack__")                 # a kernel of another library may write there
SILENT = ("batch_norm", "instance_norm", "native_batch_norm", "cudnn_batch_norm", "batch_norm_gather_stats",
          "batch_norm_gather_stats_with_counts", "fused_moving_avg_obs_fake_quant")    # write without a new version
COPY = ("to", "cuda", "cpu")
BRANCH = ("__bool__", "is_nonzero", "__index__", "__int__", "__contains__", "equal", "allclose")
NUMBERS = ("item", "__float__", "tolist", "cpu", "to")        # what was read may decide further on
INDEXING = ("__getitem__", "__setitem__", "index", "index_put", "index_put_")
LIKE = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "new_tensor", "rand_like",
        "randn_like", "randint_like")
OVERWRITE = ("zero_", "fill_", "copy_", "random_", "uniform_", "normal_", "bernoulli_", "exponential_", "__setitem__")
RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "normal", "random_", "uniform_",
          "normal_", "bernoulli_", "exponential_")
AND = ("__and__", "__rand__", "__iand__", "bitwise_and", "bitwise_and_", "logical_and", "logical_and_")
OR = ("__or__", "__ror__", "__ior__", "bitwise_or", "bitwise_or_", "logical_or", "logical_or_")
FINITE = {"isfinite": True, "isnan": False, "isinf": False, "_is_all_true": True}


def _hidden(function):
    """No line of the function counts as the program's in a call stack."""
    function.__code__ = function.__code__.replace(co_filename="<string>")
    return function


class _Card:
    """What the simulated card knows of its bytes."""

    def __init__(self):
        library = ctypes.CDLL("libreplay-cudasim.so")
        self.known, self.keep = library.cudasim_values_known, library.cudasim_values_keep
        self.answer = library.cudasim_values_answer
        self.known.argtypes = self.keep.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]
        self.answer.argtypes = [ctypes.POINTER(ctypes.c_int64), ctypes.c_uint64]
        self.known.restype, self.keep.restype, self.answer.restype = ctypes.c_bool, None, None

    def read(self, tensor):
        """A copy on the host; None: not known."""
        copy = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        is_known = tensor.is_contiguous() and self.known(tensor.data_ptr(), copy.data_ptr(), copy.nbytes)
        return copy if is_known else None

    def write(self, tensor, value):
        if tensor.is_contiguous():
            value = value.contiguous()
            self.keep(tensor.data_ptr(), value.data_ptr(), value.nbytes)

    def answer_reads(self, numbers):
        """The next reads, in this thread, of bytes that are not known get these numbers. An empty list: no more."""
        self.answer((ctypes.c_int64 * len(numbers))(*numbers), len(numbers))


class _Value:
    """What a storage on the card holds."""

    __slots__ = "weak", "bytes", "version", "typed"

    def __init__(self, storage, version):
        self.weak, self.version, self.typed = storage._weak_ref(), version, {}
        with torch.inference_mode(False):
            self.bytes = torch.zeros(storage.nbytes(), dtype=torch.uint8, device="cpu")

    def view(self, tensor):
        typed = self.typed.get(tensor.dtype)
        if typed is None:
            typed = self.typed[tensor.dtype] = self.bytes.view(tensor.dtype)
        return typed.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _version(tensor):
    return None if tensor.is_inference() else tensor._version


class _Values:
    """Values by storage. A weak reference keeps the number of a storage that is gone from naming another one."""

    def __init__(self, each_bytes, all_bytes):
        self.each_bytes, self.all_bytes = each_bytes, all_bytes
        self.of, self.held_bytes, self.purge_at = {}, 0, PURGE_AT

    def is_small(self, tensor):
        return tensor.nbytes <= (FLOAT_BYTES if tensor.is_floating_point() else self.each_bytes)

    def find(self, tensor):
        """The _Value that a tensor on the card reads from; None: not known."""
        if tensor.nbytes > self.each_bytes:
            return None
        try:
            value = self.of.get(tensor.untyped_storage()._cdata)
        except (NotImplementedError, RuntimeError):  # sparse, or wrapped by a transform
            return None
        return value if value is not None and value.version == _version(tensor) else None

    def get(self, tensor):
        """The tensor on the host, a view: writing to it changes what is known. None: not known."""
        value = self.find(tensor)
        return None if value is None else value.view(tensor)

    def put(self, tensor, result):
        """`tensor`, on the card, holds `result` from now on."""
        storage = tensor.untyped_storage()
        value = self.of.get(storage._cdata)
        if value is None:
            n = storage.nbytes()
            if result.shape != tensor.shape or not self.is_small(tensor) or n > self.each_bytes or \
                    tensor.is_complex() or not self.make_room(n):
                return
            value = self.of[storage._cdata] = _Value(storage, _version(tensor))
            self.held_bytes += n
        elif value.version != _version(tensor) and tensor.nbytes < storage.nbytes():
            return                                   # the rest of the storage is not known
        value.version = _version(tensor)
        value.view(tensor).copy_(result)

    def make_room(self, n):
        if len(self.of) >= self.purge_at or self.held_bytes + n > self.all_bytes:
            for key in [k for k, v in self.of.items() if torch.UntypedStorage._expired(v.weak)]:
                self.remove(key)
            self.purge_at = max(PURGE_AT, 2 * len(self.of))
        return self.held_bytes + n <= self.all_bytes

    def remove(self, key):
        value = self.of.pop(key)
        self.held_bytes -= value.bytes.nbytes
        torch.UntypedStorage._free_weak_ref(value.weak)

    def forget(self, tensor):
        key = tensor.untyped_storage()._cdata
        if key in self.of:
            self.remove(key)

    def clear(self):
        for key in list(self.of):
            self.remove(key)


class _Lines:
    """Lines of the program that branched on a value that is not known, told once each."""

    def __init__(self):
        self.told = set()
        self.passed = ("<", os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, __file__)

    def of_program(self):
        """The file and the line that called PyTorch."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(self.passed):
            frame = frame.f_back
        return frame.f_code.co_filename, frame.f_lineno

    def is_assert(self):
        return linecache.getline(*self.of_program()).strip().startswith("assert ")

    def tell_decision(self, out):
        """The program read a number that is not known; the line that decides by it, if there is one, is told."""
        file, line = self.of_program()
        decides = deciding_line(file, line)
        if decides is not None:
            taken = " it is taken for %s" % out if isinstance(out, (int, float)) else " zeros are taken for it"
            self.tell("branches on a value that is not computed;" + taken, (file, decides))

    def tell(self, what, place=None):
        place = place or self.of_program()
        if place in self.told or len(self.told) > LINES_TOLD:
            return
        self.told.add(place)
        text = "further such lines are not told" if len(self.told) > LINES_TOLD else "%s:%d: %s" % (*place, what)
        print("replay cudasim: " + text, file=sys.stderr, flush=True)


def _tensors(values):
    """The tensors in arguments or results."""
    for x in values:
        if isinstance(x, torch.Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _tensors(x[:LIST_SEEN] if len(x) > LIST_SEEN and not isinstance(x[0], torch.Tensor) else x)


def _outputs(out):
    return _tensors((out,))


class _Beside(TorchFunctionMode):
    """Looks on at each call and computes small ones on the host."""

    def __init__(self, values, card):
        super().__init__()
        self.values, self.card, self.lines = values, card, _Lines()
        self.kinds = {}                              # by function: its name, or None: it is only looked at
        self.generator, self.local = torch.Generator(), threading.local()
        self.is_capturing = False                    # a CUDA graph: its kernels run later, any number of times
        self.answers = {
            "nonzero": self.answer_count, "argwhere": self.answer_count, "where": self.answer_where,
            "masked_select": self.answer_masked, "__getitem__": self.answer_index, "__setitem__": self.answer_index,
            "index": self.answer_index, "index_put_": self.answer_index, "index_put": self.answer_index,
            "unique": functools.partial(self.answer_unique, torch.unique),
            "_unique2": functools.partial(self.answer_unique, torch.unique),
            "unique_consecutive": functools.partial(self.answer_unique, torch.unique_consecutive),
            "repeat_interleave": self.answer_repeats, "bincount": self.answer_bins, "one_hot": self.answer_classes,
            "multinomial": self.answer_multinomial}

    def kind(self, function):
        name = getattr(function, "__name__", "")
        if type(function).__module__ == "torch._ops":
            name = name.partition(".")[0] if str(function).startswith("aten.") else "__get__"
        kind = self.kinds[function] = None if name in LOOK or name == "" else name
        return kind

    @_hidden
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = self.kinds.get(function, "")
        if name == "":
            name = self.kind(function)
        if name is None:
            return function(*args, **kwargs)
        if name == "backward" and type(args[0]) in PLAIN:
            return self.backward(*args, **kwargs)
        known = {}
        is_known = self.gather(args, known) and (not kwargs or self.gather(kwargs.values(), known))
        seed = self.seed(kwargs, False) if name in RANDOM else None
        numbers = self.answer(name, args, kwargs) if name in self.answers else ()
        try:
            out = function(*args, **kwargs)
        except BaseException:
            args = kwargs = known = None             # a traceback holds them no longer than without this module
            raise
        finally:
            if numbers:
                self.card.answer_reads(getattr(self.local, "backward", ()))
        if numbers is None:
            self.lines.tell("a size depends on values that are not computed; they are taken for zeros")
        elif numbers and name in INDEXING:
            self.answer_backward(args[0] if name == "__setitem__" else out, numbers)
        if is_known and not known and not any(t.is_cuda for t in _outputs(out)):
            return out
        if args and out is args[0] and name != "copy_" and type(out) in PLAIN and not out.is_cuda:
            return out                               # written on the host already
        return self.follow(function, name, args, kwargs, out, known if is_known else None, seed)

    @_hidden
    def backward(self, tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        with self:                                   # it calls functions of the program, such as checkpoints
            torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)

    def gather(self, arguments, known):
        """Adds the values of tensors on the card, by id. False: one is not known, or is no plain tensor."""
        for x in arguments:
            kind = type(x)
            if kind in PLAIN:
                if x.is_cuda:
                    value = self.values.get(x)
                    if value is None:
                        return False
                    known[id(x)] = value
                    if value.numel() == 1:           # PyTorch may read it within the call, as a number
                        self.card.keep(x.data_ptr(), value.data_ptr(), value.nbytes)
                elif x.nbytes > self.values.each_bytes:
                    return False
            elif kind is list or kind is tuple:
                if len(x) > LIST_SEEN and type(x[0]) not in PLAIN:
                    continue
                if not self.gather(x, known):
                    return False
            elif isinstance(x, torch.Tensor):
                return False
        return True

    # ---- after a call ----

    def follow(self, function, name, args, kwargs, out, known, seed):
        """What the program gets: `out`, or what the host read. known None: not all arguments are."""
        if self.is_capturing or torch._C._get_tracing_state() is not None:
            for t in [*_tensors(args), *_outputs(out)]:
                if type(t) in PLAIN and t.is_cuda:
                    self.forget(t)
            return out
        if name in ESCAPES or name in SILENT:
            for t in _tensors((*args, *kwargs.values())):
                if type(t) in PLAIN and t.is_cuda:
                    self.forget(t)
            return out
        try:
            if known is None:
                return self.follow_unknown(function, name, args, kwargs, out, seed)
            if name in COPY:
                result = self.on_host(args[0], known).to(out.dtype)
            else:
                result = self.compute(function, args, kwargs, known, seed)
        except Exception:                            # the host has no such operation: what it writes is not known
            for t in [*_tensors(args), *_outputs(out)]:
                if type(t) in PLAIN and t.is_cuda:
                    self.forget_if_written(t)
            return out
        for t in _tensors((*args, *kwargs.values())):
            if id(t) in known:                       # written on both sides
                value = self.values.of.get(t.untyped_storage()._cdata)
                if value is not None:
                    value.version = _version(t)
        if name in READ and not any(t.is_cuda for t in _outputs(out)):
            return self.give(out, result)
        made = [(t, value) for t, value in zip(_outputs(out), _outputs(result))
                if type(t) in PLAIN and t.is_cuda and self.values.find(t) is None]
        for t, value in made:                        # they may share one storage
            self.values.put(t, value)
        return out

    def give(self, out, result):
        """What was read off the card: numbers are the host's; a tensor stays the one that the call made."""
        if isinstance(out, torch.Tensor):
            if isinstance(result, torch.Tensor) and result.shape == out.shape and out.data_ptr() != result.data_ptr():
                with torch.no_grad():
                    out.data.copy_(result)
            return out
        return result

    def forget(self, tensor):
        try:
            self.values.forget(tensor)
        except (NotImplementedError, RuntimeError):
            pass                                     # it has no storage

    def forget_if_written(self, tensor):
        if tensor.is_inference():                    # no version tells
            self.forget(tensor)

    def on_host(self, x, known):
        if id(x) in known:
            return known[id(x)]
        if type(x) is list or type(x) is tuple:
            return type(x)(self.on_host(y, known) for y in x)
        if isinstance(x, torch.device) or (type(x) is str and x.startswith("cuda")):
            return "cpu"
        return x

    def compute(self, function, args, kwargs, known, seed):
        """The call on the host."""
        kwargs = {k: self.on_host(v, known) for k, v in kwargs.items() if k not in ("generator", "pin_memory")}
        if "out" not in kwargs and function in _device_constructors():
            kwargs["device"] = "cpu"                 # the program's default device may be the card
        if function.__name__.partition(".")[0] in RANDOM:
            kwargs["generator"] = self.generator.manual_seed(self.seed(kwargs, True) if seed is None else seed)
        with torch.no_grad():
            return function(*self.on_host(args, known), **kwargs)

    @staticmethod
    def seed(kwargs, is_after):
        """For the host's numbers: the seed of the card's generator, and how far it has come. None: the card has not
        started; after the call it has, and its generator came from the beginning."""
        generator = kwargs.get("generator")
        if generator is None and torch.cuda.is_initialized():
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
        if generator is None or generator.device.type != "cuda":
            return None
        seed, *_, come = generator.get_state().view(torch.int64).tolist()
        return (seed * 1000003 + (0 if is_after else come)) & (2 ** 63 - 1)

    def follow_unknown(self, function, name, args, kwargs, out, seed):
        """Some results are known although not all arguments are."""
        if name in BRANCH or (name == "item" and not isinstance(out, float)):
            return self.branch(name, out)
        if name in NUMBERS and not any(t.is_cuda for t in _outputs(out)):
            if any(t.is_cuda for t in _tensors((*args, *kwargs.values()))):
                self.lines.tell_decision(out)
            return out
        if name == "_amp_foreach_non_finite_check_and_unscale_":
            value = self.values.of.get(args[1].untyped_storage()._cdata)
            if value is not None:                    # gradients are taken to be finite: it stays as it was
                value.version = _version(args[1])
            return out
        if not isinstance(out, torch.Tensor) and name != "__setitem__":
            for t in _tensors(args):
                if type(t) in PLAIN and t.is_cuda:
                    self.forget_if_written(t)
            return out
        target = args[0] if name == "__setitem__" else out
        result = self.partly(function, name, args, kwargs, target, seed)
        if result is not None:
            self.values.put(target, result)
        elif name.endswith("_") or "out" in kwargs:
            self.forget_if_written(target)
        return out

    def branch(self, name, out):
        if name == "__bool__" and self.lines.is_assert():
            return True
        self.lines.tell("branches on a value that is not computed; it is taken for %s" % out)
        return out

    def partly(self, function, name, args, kwargs, out, seed):
        """What a call gives whose arguments are not all known; None: not known either."""
        if type(out) not in PLAIN or not out.is_cuda or not self.values.is_small(out):
            return None
        known = {}
        if name in FINITE:
            return torch.full(out.shape, FINITE[name], dtype=out.dtype, device="cpu")
        if name in ("__eq__", "__ne__") and args[0] is args[1]:
            return torch.full(out.shape, name == "__eq__", dtype=out.dtype, device="cpu")
        if name in LIKE:
            like = torch.empty(out.shape if name.endswith("_like") else 0, dtype=args[0].dtype, device="cpu")
            return self.compute(function, (like, *args[1:]), kwargs, {}, seed) if self.gather(args[1:], known) else None
        if name in OVERWRITE and out.nbytes == out.untyped_storage().nbytes() and self.gather(args[1:], known):
            if name == "__setitem__" and not (args[1] is Ellipsis or args[1] == slice(None)):
                return None
            result = torch.empty(out.shape, dtype=out.dtype, device="cpu")
            self.compute(function, (result, *args[1:]), kwargs, known, seed)
            return result
        if name in AND or name in OR:
            if any(self.decides(x, name in OR) for x in args):
                return torch.full(out.shape, name in OR, dtype=out.dtype, device="cpu")
        return None

    def decides(self, x, is_or):
        """Whether one argument of a logical function makes the result: nothing but False for "and", True for "or"."""
        value = self.values.get(x) if type(x) in PLAIN and x.is_cuda else x if type(x) is bool else None
        if value is None or type(value) is bool:
            return value is is_or
        return bool(value.dtype == torch.bool and value.all()) if is_or else not value.any()

    # ---- what PyTorch reads off the card within a call ----

    def answer(self, name, args, kwargs):
        """What it will read; None: this is not known. Bytes that are known need no answer."""
        if not any(t.is_cuda for t in _tensors((*args, *kwargs.values()))):
            return ()
        try:
            numbers = self.answers[name](*args, **kwargs)
        except (TypeError, RuntimeError, IndexError):
            return ()                                # the call itself will say what is wrong
        if numbers:
            self.card.answer_reads(numbers)
        return numbers

    def answer_backward(self, tensor, numbers):
        """The backward pass looks at a mask again, for the gradient of the tensor and, if it was written, of what was
        written. It runs in a thread of its own, where nobody looks on."""
        def before(_):
            self.local.backward = 2 * numbers        # again after what a checkpoint recomputes for this node
            self.card.answer_reads(self.local.backward)
        if tensor.grad_fn is not None:
            tensor.grad_fn.register_prehook(before)

    def number_of(self, mask):
        """How many elements are not zero."""
        value = self.values.get(mask) if mask.is_cuda else mask
        return None if value is None else int(torch.count_nonzero(value))

    def answer_count(self, input, **_):
        n = self.number_of(input)
        return None if n is None else [n]

    def answer_where(self, condition, *others, **named):
        return [] if others or named else self.answer_count(condition)

    def answer_masked(self, input, mask, **_):
        value, shape = self.values.get(mask), torch.broadcast_shapes(input.shape, mask.shape)
        return None if value is None else [int(torch.count_nonzero(value.expand(shape)))]

    def answer_index(self, input, index, *_, **__):
        parts = index if isinstance(index, (list, tuple)) else (index,)
        parts = [y for x in parts for y in ((x.start, x.stop, x.step) if isinstance(x, slice) else (x,))]
        tensors = [t for t in _tensors(parts) if t.is_cuda]
        self.gather([t for t in tensors if t.numel() == 1], {})          # read as numbers
        numbers = [self.number_of(t) for t in tensors if t.dtype in (torch.bool, torch.uint8)]
        return None if None in numbers else numbers

    def answer_unique(self, function, input, *_, dim=None, **__):
        value = self.values.get(input)
        return None if value is None else [function(value, dim=dim).shape[dim or 0]]

    def answer_repeats(self, input, repeats=None, *_, output_size=None, **__):
        repeats = input if repeats is None else repeats
        if isinstance(repeats, int) or output_size is not None or not repeats.is_cuda:
            return []
        value = self.values.get(repeats)
        if value is None:
            return None
        n = input.numel() if value.numel() == 1 and repeats is not input else 1
        return [int(value.sum()) * n, 1]             # how many, and that none is negative

    def answer_bins(self, input, *_, **__):
        value = self.values.get(input)
        return None if value is None else [int(value.min()), int(value.max())]

    def answer_classes(self, tensor, num_classes=-1):
        value = self.values.get(tensor)
        return [] if num_classes >= 0 else None if value is None else [int(value.max())]

    def answer_multinomial(self, *_, **__):
        return [1, 0]                                # the weights are valid, and do not sum up to zero


def _limits():
    """Bytes of one tensor and of all, as `run-sim --values` says."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    limits = [1 << 20, 256 << 20]
    for i, text in enumerate(os.environ.get("REPLAY_CUDASIM_VALUES", "").split(",")[:2]):
        if text:
            limits[i] = int(float(text[:-3]) * units[text[-3:]]) if text[-3:] in units else int(text.rstrip("B "))
    return limits


values = mode = None                                 # None: values are switched off


@functools.cache
def _card():
    return _Card()


def read(tensor):
    """A copy on the host of what a tensor on the card holds; None: not known."""
    value = values.get(tensor) if values is not None else None
    return _card().read(tensor) if value is None else value.clone()


def write(tensor, value):
    """A tensor on the card holds this from now on."""
    _card().write(tensor, value)
    if values is not None:
        values.put(tensor, value)


def forget(tensor):
    """Something that nobody saw has written to a tensor on the card."""
    if mode is not None:
        mode.forget(tensor)


def aside(function, *args, **kwargs):
    """A call on which nobody looks."""
    return _without(mode, function, *args, **kwargs)


def install():
    """From now on this thread, and the backward passes that it begins, compute beside the card."""
    global values, mode
    _watch_free_memory(_Lines())
    each_bytes, all_bytes = _limits()
    if each_bytes == 0:
        return
    values = _Values(each_bytes, all_bytes)
    mode = _Beside(values, _card())
    _watch_graphs(mode)
    _leave_switches_alone(mode)
    mode.__enter__()


def _watch_free_memory(lines):
    """A program that looks at the card's free memory may ask for what it finds: `replay predict` has to know."""
    memory = getattr(torch.cuda, "memory", None)
    if not os.environ.get("REPLAY_TORCH_FOLLOW") or not hasattr(memory, "mem_get_info"):
        return
    look = memory.mem_get_info

    @_hidden
    def mem_get_info(*args, **kwargs):
        lines.tell("looks at the card's free memory")
        return look(*args, **kwargs)

    torch.cuda.mem_get_info = memory.mem_get_info = mem_get_info


def _watch_graphs(mode):
    """A graph's kernels write when it is replayed, and no version tells."""
    graph = getattr(torch.cuda, "CUDAGraph", None)
    if graph is None:
        return
    begin, end, replay = graph.capture_begin, graph.capture_end, graph.replay

    def capture_begin(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        mode.is_capturing = True

    def capture_end(self):
        mode.is_capturing = False
        end(self)

    def replay_and_forget(self):
        replay(self)
        mode.values.clear()

    graph.capture_begin, graph.capture_end, graph.replay = map(_hidden, (capture_begin, capture_end, replay_and_forget))


@_hidden
def _without(mode, function, *args, **kwargs):
    """The call as if the mode, if there is one, were not there."""
    is_empty = mode is None or torch._C._len_torch_function_stack() == 0
    if is_empty or torch.overrides._get_current_function_mode() is not mode:
        return function(*args, **kwargs)
    torch._C._pop_torch_function_stack()
    try:
        return function(*args, **kwargs)
    finally:
        torch._C._push_on_torch_function_stack(mode)


def _leave_switches_alone(mode):
    """Modules choose a path by torch.overrides.has_torch_function, which is true of every tensor under a mode."""
    torch.overrides.has_torch_function = functools.partial(_without, mode, torch.overrides.has_torch_function)
    torch.autograd.has_torch_function = torch.overrides.has_torch_function      # grad() calls functions of the program


def leave_compiler_alone(eval_frame):
    """torch.compile would trace the mode. `eval_frame`: the module, just imported."""
    context = eval_frame._TorchDynamoContext
    make = context.__call__

    def make_without(self, function):
        made = make(self, function)
        if mode is None or isinstance(made, torch.nn.Module) or not callable(made):
            return made
        return functools.wraps(made)(functools.partial(_without, mode, made))
    context.__call__ = make_without
