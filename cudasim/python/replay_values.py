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

What is not known reads as zeros, and a number of it as a small one, so that a program may divide by it. A line that
branches on such a value is told once (replay_decisions.py), and gets the other answer if it asks again and again in a
`while`, which may wait for it: once that loop takes no more memory, or after 200 looks. Values that are not computed
are taken to be finite, an assert on one to hold, and an `if` that guards an error not to raise it.
"""
import atexit
import contextlib
import ctypes
import functools
import linecache
import os
import re
import struct
import sys
import threading
import time
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

import replay_guesses
from replay_decisions import awaiting_line, calm_answer, chooses, deciding_line, going_on, is_counted, is_only_said, \
    may_end, may_wait, turning_number

LETS_GO_WITHIN_S = 0.5                               # a thread of its modes, at the program's end
PLAIN = (torch.Tensor, torch.nn.Parameter)           # types whose tensors lie on the card themselves
FLOAT_BYTES = 64 << 10                               # floating point is data sooner than integers are
MANY_BYTES = 1 << 20                                 # a tensor of so much is large
LINES_TOLD = 8
TAKES_LEAST = os.environ.get("REPLAY_CUDASIM_SIZES") == "least"     # of sizes that are not known
ARE_FALLING = os.environ.get("REPLAY_CUDASIM_NUMBERS") == "falling"   # each that is not known is below the last
SMALL_NUMBER = 1e-6                                  # stands for one that is not known: it may be divided by
LARGE = 1 << 30                                      # or its negative: the other answer to an unknown comparison;
LARGE_WHOLE = 1 << 20                                # of a whole number, which may become a size
GROWS_LEAST = 1e-5                                   # of its memory that a turn of a loop adds, if it grows
PASSES_OTHER = 8                                     # of a loop that runs as often as a number says; else it runs once
OVERFLOW = re.compile("inf|nan|overflow", re.I)      # in a line that asks whether numbers are finite
TINY_MOST = 1e-3                                     # a number is compared with less to see whether it is zero
STOPS_MOST = 16                                      # tokens that a sentence ends with
LOOKS_MOST = 200                                     # of one line at what is not known, without a step of an optimizer
LOOKS_AWAITED = 20                                   # if the loop is in a caller: its turns do more
LOOKS_SETTLED = 2 if TAKES_LEAST else 8              # of a loop at what ends it, since its memory last grew
PURGE_AT = 512                                       # entries, before storages that are gone are looked for
LIST_SEEN = 64                                       # numbers in a list are not looked through for tensors

# Functions by name. What is in none of these is computed if all that it reads is known.
LOOK = """__get__ __set__ __delete__ size dim stride numel element_size is_contiguous view view_as unsqueeze
    squeeze transpose permute t detach expand expand_as narrow select chunk split as_strided requires_grad_
    storage register_hook untyped_storage storage_offset is_floating_point is_complex __hash__ __iter__ __len__
    get_device ndimension retain_grad is_pinned pin_memory record_stream nelement __reduce_ex__ __deepcopy__
    __setstate__ __repr__
    has_names is_inference is_shared share_memory_ grad unflatten swapaxes movedim diagonal is_tensor
    is_storage is_same_size result_type promote_types register_post_accumulate_grad_hook
    linear layer_norm conv2d scaled_dot_product_attention _int_mm""".split()
READ = """item tolist __bool__ __int__ __float__ __index__ __complex__ is_nonzero __contains__ equal allclose cpu to
    copy_ __format__ __setitem__""".split()
EMPTY = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
ESCAPES = ("data_ptr", "__dlpack__")                 # a kernel of another library may write there
SILENT = ("batch_norm", "instance_norm", "native_batch_norm", "cudnn_batch_norm", "batch_norm_gather_stats",
          "batch_norm_gather_stats_with_counts", "fused_moving_avg_obs_fake_quant")    # write without a new version
LOOK_UPS = ("__getitem__", "index", *replay_guesses.LOOK_UPS)
IN_PLACE = ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__",
            "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__idiv__")
COPY = ("to", "cuda", "cpu")
CALLED = {"_local_scalar_dense": "item", "_to_copy": "to"}    # operators that PyTorch's functions of other names call
BRANCH = ("__bool__", "is_nonzero", "__index__", "__int__", "__contains__", "equal", "allclose")
NUMBERS = ("item", "__float__", "tolist", "cpu", "to")        # what was read may decide further on
AGAIN = ("__getitem__", "__setitem__", "index", "index_put", "index_put_", "index_fill", "index_fill_", "matrix_exp",
         "linalg_matrix_exp")                        # their backward passes read the same once more
LIKE = ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "new_tensor", "rand_like",
        "randn_like", "randint_like")
OVERWRITE = ("zero_", "fill_", "copy_", "random_", "uniform_", "normal_", "bernoulli_", "exponential_", "__setitem__")
RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "normal", "random_", "uniform_",
          "normal_", "bernoulli_", "exponential_")
SAME_PLACES = ("coalesce", "to_sparse_csr", "to_sparse", "to_sparse_coo")
SPARSE_PRODUCTS = ("_sparse_mm", "mm", "matmul", "__matmul__", "addmm", "_sparse_addmm")
AND = ("__and__", "__rand__", "__iand__", "bitwise_and", "bitwise_and_", "logical_and", "logical_and_")
OR = ("__or__", "__ror__", "__ior__", "bitwise_or", "bitwise_or_", "logical_or", "logical_or_")
ABOVE = ("__gt__", "__ge__", "gt", "ge", "greater", "greater_equal")
SMALLER, LARGER = ("__lt__", "lt"), ("__gt__", "gt")  # as Python's max() and min() ask
OPENS = {"branches": "branches", "sizes": "a size", "loops": "asks again"}     # what a line that is told makes open
FINITE = {"isfinite": True, "isnan": False, "isinf": False, "_is_all_true": True}


@functools.cache
def _note_open(source):
    """What the program does not show of its peak, for whoever started it (dryrun/run/range_sources.h)."""
    folder = os.environ.get("REPLAY_CUDASIM_JOURNAL")
    if folder:
        with contextlib.suppress(OSError), open(os.path.join(folder, "open-sources"), "a") as file:
            file.write(source + "\n")


def _hidden(function):
    """No line of the function counts as the program's in a call stack."""
    function.__code__ = function.__code__.replace(co_filename="<string>")
    return function


class _Card:
    """What the simulated card knows of its bytes."""

    def __init__(self):
        library = ctypes.CDLL("libreplay-cudasim.so")
        self.known, self.keep = library.cudasim_values_known, library.cudasim_values_keep
        self.answer, self.ask = library.cudasim_values_answer, library.cudasim_values_ask
        self.known.argtypes = self.keep.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]
        self.answer.argtypes = [ctypes.POINTER(ctypes.c_int64), ctypes.c_uint64]
        self.known.restype, self.keep.restype, self.answer.restype, self.ask.restype = ctypes.c_bool, None, None, None
        self.teller_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
        self.ask.argtypes = [self.teller_type]
        self.teller = None                           # nobody but us would keep it alive

    def read(self, tensor):
        """A copy on the host; None: not known."""
        copy = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        is_known = tensor.is_contiguous() and self.known(tensor.data_ptr(), copy.data_ptr(), copy.nbytes)
        return copy if is_known else None

    def write(self, tensor, value):
        if tensor.is_contiguous():
            value = value.contiguous()
            self.keep(tensor.data_ptr(), value.data_ptr(), value.nbytes)

    def ask_values(self, values):
        """Whoever reads bytes off the card gets what `values` knows of them, in C++ and in other libraries, too."""
        self.teller = self.teller_type(values.tell)
        self.ask(self.teller)
        atexit.register(self.ask, self.teller_type(0))

    def answer_reads(self, numbers):
        """The next reads, in this thread, of bytes that are not known get these numbers. An empty list: no more."""
        self.answer((ctypes.c_int64 * len(numbers))(*numbers), len(numbers))


class _Value:
    """What a storage on the card holds."""

    __slots__ = "weak", "bytes", "n", "version", "typed", "address", "tensor"

    def __init__(self, storage, tensor):
        self.weak, self.typed, self.address = storage._weak_ref(), {}, storage.data_ptr()
        self.see(tensor)
        with torch.inference_mode(False):
            self.bytes = torch.zeros(storage.nbytes(), dtype=torch.uint8, device="cpu")
        self.n = self.bytes.nbytes

    def see(self, tensor):
        """What is known is that of the tensor as it is now. It tells later, while it lives, whether it was written."""
        self.version, self.tensor = _version(tensor), weakref.ref(tensor)

    def is_held(self, key):
        """Whether its tensor lives, has this storage still (not after `x.data = y`) and was not written since."""
        tensor = self.tensor()
        storage = None if tensor is None else _storage(tensor)
        return storage is not None and storage._cdata == key and storage.data_ptr() == self.address and \
            self.version == _version(tensor)

    def view(self, tensor):
        typed = self.typed.get(tensor.dtype)
        if typed is None:
            typed = self.typed[tensor.dtype] = self.bytes.view(tensor.dtype)
        return typed.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _version(tensor):
    return None if tensor.is_inference() else tensor._version


def _storage(tensor):
    """None: the tensor has none of its own, because it is sparse, or wrapped by a transform."""
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def _is_by_element(tensor):
    """Whether its storage holds its elements one by one, as they are."""
    return not (tensor.is_quantized or tensor.is_nested or tensor.is_complex() or tensor.is_neg() or
                tensor._is_zerotensor())


def _parts(tensor):
    """The tensors that a sparse one consists of."""
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return ()


def _bytes(tensor):
    """Of its elements. 0: it is sparse, and has no bytes of its own."""
    if tensor.layout not in (torch.strided, torch.jagged):
        return 0
    try:
        return tensor.nbytes
    except (NotImplementedError, RuntimeError):
        return 0


class _Values:
    """Values by storage. A weak reference keeps the number of a storage that is gone from naming another one."""

    def __init__(self, each_bytes, all_bytes):
        self.each_bytes, self.all_bytes = each_bytes, all_bytes
        self.of, self.held_bytes, self.purge_at = {}, 0, PURGE_AT
        self.empty, self.purge_empty_at = {}, PURGE_AT       # by storage that nobody has written to: weak, version
        self.guesses = replay_guesses.Guesses(_version, _storage)
        self.lent = threading.local()

    def is_small(self, tensor):
        return _bytes(tensor) <= (FLOAT_BYTES if tensor.is_floating_point() else self.each_bytes)

    def find(self, tensor):
        """The _Value that a tensor on the card reads from; None: not known."""
        storage = _storage(tensor)
        value = None if storage is None else self.of.get(storage._cdata)
        if value is None or value.version != _version(tensor) or value.n != storage.nbytes() or \
                not _is_by_element(tensor):
            return self.settled(tensor) if self.guesses.of else None
        value.tensor = weakref.ref(tensor)
        return value

    def settled(self, tensor):
        """The _Value of a tensor that is made of what was guessed, if the program was told of that; else None."""
        part = self.guesses.find(tensor)
        if part is None or not part.guess.is_decided():
            return None
        guess, storage = part.guess, _storage(tensor)
        self.guesses.remove(storage)
        made = guess.value("likely")
        if made.dtype != tensor.dtype or made.nbytes != storage.nbytes() or not self.has_room(storage):
            return None
        value = self.new(storage, tensor)
        value.bytes.view(tensor.dtype).copy_(made.view(-1))
        return value

    def has_room(self, storage):
        n = storage.nbytes()
        if storage._cdata in self.of:
            self.remove(storage._cdata)
        return n <= self.each_bytes and self.make_room(n)

    def new(self, storage, tensor):
        self.guesses.remove(storage)
        value = self.of[storage._cdata] = _Value(storage, tensor)
        self.held_bytes += value.n
        return value

    def get(self, tensor):
        """The tensor on the host, a view: writing to it changes what is known. None: not known."""
        value = self.find(tensor)
        return None if value is None else value.view(tensor)

    def put(self, tensor, result):
        """`tensor`, on the card, holds `result` from now on."""
        if tensor.layout is not torch.strided:
            for t, r in zip(_parts(tensor), _parts(result)):
                self.put(t, r)
            return
        storage = _storage(tensor)
        if storage is None or result.layout is not torch.strided or not _is_by_element(tensor):
            return
        value = self.of.get(storage._cdata)
        if value is not None and value.n != storage.nbytes():        # it got another size
            self.remove(storage._cdata)
            value = None
        if value is None:
            n = storage.nbytes()
            if result.shape != tensor.shape or not self.is_small(tensor) or n > self.each_bytes or \
                    not self.make_room(n):
                return
            value = self.new(storage, tensor)
        elif value.version != _version(tensor) and tensor.nbytes < storage.nbytes():
            return                                   # the rest of the storage is not known
        value.see(tensor)
        value.view(tensor).copy_(result)

    def see_empty(self, tensor):
        """Nobody has written to its storage: any values are as true as those that it has."""
        storage = _storage(tensor)
        if storage is None or tensor.numel() == 0 or not self.is_small(tensor) or storage._cdata in self.of:
            return
        if len(self.empty) >= self.purge_empty_at:
            for key in [k for k, (weak, _) in self.empty.items() if torch.UntypedStorage._expired(weak)]:
                self.forget_empty(key)
            self.purge_empty_at = max(PURGE_AT, 2 * len(self.empty))
        self.forget_empty(storage._cdata)
        self.empty[storage._cdata] = storage._weak_ref(), _version(tensor)

    def start(self, tensor):
        """A call that is looked at will write to the tensor. If nobody has before, its storage is known: zeros."""
        storage = _storage(tensor)
        _, version = self.empty.get(None if storage is None else storage._cdata, (None, -1))
        if version == -1:
            return
        self.forget_empty(storage._cdata)
        if version == _version(tensor) and _is_by_element(tensor) and self.has_room(storage):
            self.new(storage, tensor)

    def forget_empty(self, key):
        weak, _ = self.empty.pop(key, (None, None))
        if weak is not None:
            torch.UntypedStorage._free_weak_ref(weak)

    def put_all(self, tensor, number):
        """All elements of its storage hold one number, also those that the tensor does not see."""
        storage = _storage(tensor)
        if storage is not None and storage._cdata not in self.of and tensor.nbytes < storage.nbytes() <= \
                self.each_bytes and self.make_room(storage.nbytes()):
            value = self.new(storage, tensor)
            value.bytes.view(tensor.dtype).fill_(number)
        else:
            self.put(tensor, torch.full(tensor.shape, number, dtype=tensor.dtype, device="cpu"))

    def make_room(self, n):
        if len(self.of) >= self.purge_at or n > self.most_bytes():
            for key in [k for k, v in self.of.items() if torch.UntypedStorage._expired(v.weak)]:
                self.remove(key)
            self.purge_at = max(PURGE_AT, 2 * len(self.of))
        return n <= self.most_bytes()

    def most_bytes(self):
        """A large tensor takes half of what is left at most, so that there is always room for small ones."""
        left = self.all_bytes - self.held_bytes
        return left if left <= MANY_BYTES else max(MANY_BYTES, left // 2)

    def remove(self, key):
        value = self.of.pop(key)
        self.held_bytes -= value.bytes.nbytes
        torch.UntypedStorage._free_weak_ref(value.weak)

    def forget(self, tensor):
        storage = _storage(tensor)
        if storage is not None:
            self.guesses.remove(storage)
            self.forget_empty(storage._cdata)
            if storage._cdata in self.of:
                self.remove(storage._cdata)

    def keep(self, tensor):
        """What is known of a tensor was written on the host as on the card."""
        storage = _storage(tensor)
        value = None if storage is None else self.of.get(storage._cdata)
        if value is not None:
            value.see(tensor)

    def tell(self, address, n):
        """Where the host has these bytes of the card's memory; None: they are not known. They stay there until this
        thread asks again. The card asks, in whatever thread reads."""
        try:
            for key, value in list(self.of.items()):
                if value.address <= address and address + n <= value.address + value.n and value.is_held(key):
                    self.lent.bytes = value.bytes
                    return value.bytes.data_ptr() + address - value.address
        except Exception:                            # it is asked from C++, which no error must reach
            pass
        return None

    def clear(self):
        for key in list(self.of):
            self.remove(key)
        for key in list(self.empty):
            self.forget_empty(key)
        self.guesses.clear()


class _Looks:
    """How often a line in a `while` looked at what is not known, and when memory last grew meanwhile: the peak, or what
    is live, which may be below an earlier peak for long."""

    def __init__(self):
        self.n = self.grew_at = 0
        self.bytes = 0, 0

    def add(self):
        self.n += 1
        now = (0, 0) if TAKES_LEAST else _held_bytes()
        least = 1 + GROWS_LEAST * (self.n - self.grew_at)
        if any(n > was * least for n, was in zip(now, self.bytes)):
            self.bytes, self.grew_at = tuple(map(max, now, self.bytes)), self.n

    def have_settled(self):
        return self.n - self.grew_at >= LOOKS_SETTLED


def _held_bytes():
    """What is asked of PyTorch's allocator on this thread's card, not rounded: at most so far, and now."""
    if not torch.cuda.is_initialized():
        return 0, 0
    stats = torch._C._cuda_memoryStats(torch.cuda.current_device())
    held = stats.get("requested_bytes", stats["allocated_bytes"])["all"]             # older PyTorch counts none
    return held["peak"], held["current"]


class _Lines:
    """Lines of the program that branched on a value that is not known, told once each."""

    def __init__(self):
        self.told, self.has_failed = set(), False
        self.looks = {}                              # by line: its _Looks since an optimizer's last step
        self.n_turned = 0
        self.passed = ("<", os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, __file__)

    def frame_of_program(self):
        """Of the line that called PyTorch."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(self.passed):
            frame = frame.f_back
        return frame

    def of_program(self):
        """The file and the line that called PyTorch."""
        frame = self.frame_of_program()
        return frame.f_code.co_filename, frame.f_lineno

    def is_assert(self):
        return linecache.getline(*self.of_program()).strip().startswith("assert ")

    def is_stuck(self, place, looks_most=LOOKS_MOST):
        """Whether the program's line has branched very often, in a loop that may wait for it. One that it may end turns
        no longer than its memory grows."""
        if not may_wait(*place):
            return False
        looks = self.looks.setdefault(place, _Looks())
        looks.add()
        have_settled = may_end(*place) and looks.have_settled()
        if not have_settled and looks.n < looks_most:
            return False
        self.tell("asks again and again for a value that is not computed; it gets the other answer after %d looks%s" %
                  (looks.n, ", when its memory no longer grew" if have_settled else ""), place)
        del self.looks[place]
        return True

    def see_known(self, answer):
        """A loop whose end is known ends here: if the line looks again, that is another loop."""
        place = self.of_program() if self.looks else None
        if place in self.looks and going_on(*place) not in (None, answer):
            del self.looks[place]

    def turned(self, number):
        """`number`, or another one if the program has read it again and again, in a loop that may wait for it."""
        frame = self.frame_of_program()
        file, line = frame.f_code.co_filename, frame.f_lineno
        decides, looks_most = deciding_line(file, line), LOOKS_MOST
        if decides is None or not may_wait(file, decides):
            decides, looks_most = awaiting_line(frame), LOOKS_AWAITED
        if decides is None or not self.is_stuck((file, decides), looks_most):
            return number
        other = turning_number(file, line, frame, number)
        if other is None:
            large = LARGE_WHOLE if type(number) is int else LARGE
            self.n_turned += 1
            other = (-large, large, large)[self.n_turned % 3]        # most loops count upwards
        return type(number)(other)

    @staticmethod
    def asks_for_overflow():
        """Whether the nearest line reads a flag of gradients that overflowed, as a GradScaler does: there are none."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename in ("<string>", __file__):
            frame = frame.f_back
        return OVERFLOW.search(linecache.getline(frame.f_code.co_filename, frame.f_lineno)) is not None

    def tell_decision(self, out):
        """The program read a number that is not known; the line that decides by it, if there is one, is told."""
        file, line = self.of_program()
        decides = deciding_line(file, line)
        if decides is not None:
            taken = " it is taken for %s" % out if isinstance(out, (int, float)) else " zeros are taken for it"
            self.tell("branches on a value that is not computed;" + taken, (file, decides))

    def tell_unseen(self, name, error):
        """This module failed, and the program did not. It is told once a run."""
        if not self.has_failed:
            self.has_failed = True
            print("replay cudasim: %s:%d: what %s gives is not known (%s: %s)" %
                  (*self.of_program(), name, type(error).__name__, str(error).partition("\n")[0]),
                  file=sys.stderr, flush=True)

    def tell(self, what, place=None):
        place = place or self.of_program()
        source = next((key for key, begin in OPENS.items() if what.startswith(begin)), None)
        if source is not None:
            _note_open(source)
        told = place, what.partition(";")[0]
        if told in self.told or (len(self.told) > LINES_TOLD and not what.startswith("asks again")):
            return
        self.told.add(told)
        is_beyond = len(self.told) > LINES_TOLD and not what.startswith("asks again")
        text = "further such lines are not told" if is_beyond else "%s:%d: %s" % (*place, what)
        print("replay cudasim: " + text, file=sys.stderr, flush=True)


def _tensors(values):
    """The tensors in arguments or results."""
    for x in values:
        if isinstance(x, torch.Tensor):
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _tensors(x[:LIST_SEEN] if len(x) > LIST_SEEN and not isinstance(x[0], torch.Tensor) else x)


def _count(mask):
    return int(torch.count_nonzero(mask))


def _writes(operator):
    """Whether an operator that is none of PyTorch's says that it writes to an argument. No version may tell."""
    names = operator.overloads() if hasattr(operator, "overloads") else ()
    schemas = [getattr(operator, name)._schema for name in names] or [operator._schema]
    return any(a.alias_info is not None and a.alias_info.is_write for s in schemas for a in s.arguments)


def _written(name, args, kwargs):
    """What a call writes to, a tensor or a list of them: its `out`, or its first argument; None: to nothing that was
    there before."""
    if kwargs.get("out") is not None:
        return kwargs["out"]
    is_in_place = name in OVERWRITE or name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
    return args[0] if args and (is_in_place or kwargs.get("inplace") is True) else None


def _overwrites(name, args):
    """Whether all of the first argument is written anew."""
    return name in OVERWRITE and (name != "__setitem__" or args[1] is Ellipsis or
                                  (type(args[1]) is slice and args[1] == slice(None)))


def _outputs(out):
    return _tensors((out,))


class _Call:
    """One call of PyTorch's, as the program made it."""

    __slots__ = "function", "name", "args", "kwargs", "known", "seed", "numbers", "assumed", "written", "write", "out"

    def __init__(self, function, name, args, kwargs):
        self.function, self.name, self.args, self.kwargs = function, name, args, kwargs
        self.known = self.seed = self.assumed = self.out = None      # known: by id of the tensor; None: not all are
        self.written = self.write = None             # write: if what it writes to will be guessed
        self.numbers = ()


class _Beside(TorchFunctionMode):
    """Looks on at each call and computes small ones on the host."""

    def __init__(self, values, card):
        super().__init__()
        self.values, self.card, self.lines = values, card, _Lines()
        self.kinds = {}                              # by function: its name, or None: it is only looked at
        self.generator, self.local = torch.Generator(), threading.local()
        self.n_numbers = 0                           # that were read and not known
        self.is_capturing = False                    # a CUDA graph: its kernels run later, any number of times
        self.answers = {
            "nonzero": self.answer_count, "argwhere": self.answer_count, "where": self.answer_where,
            "masked_select": self.answer_masked, "__getitem__": self.answer_index, "__setitem__": self.answer_index,
            "index": self.answer_index, "index_put_": self.answer_index, "index_put": self.answer_index,
            "unique": functools.partial(self.answer_unique, torch.unique),
            "_unique2": functools.partial(self.answer_unique, torch.unique),
            "unique_consecutive": functools.partial(self.answer_unique, torch.unique_consecutive),
            "repeat_interleave": self.answer_repeats, "bincount": self.answer_bins, "one_hot": self.answer_classes,
            "multinomial": self.answer_multinomial, "coalesce": self.answer_coalesce, "isin": self.answer_isin,
            "to_sparse": self.answer_to_sparse, "to_sparse_csr": self.answer_to_sparse,
            "to_sparse_csc": self.answer_to_sparse, "to_sparse_bsr": self.answer_to_blocks,
            "to_sparse_bsc": self.answer_to_blocks, "unbind": self.answer_unbind, "_sparse_mm": self.answer_product,
            "mm": self.answer_product, "matmul": self.answer_product, "__matmul__": self.answer_product,
            "addmm": self.answer_addmm, "_sparse_addmm": self.answer_addmm,
            "mode": self.answer_mode, "matrix_exp": self.answer_matrix_exp, "linalg_matrix_exp": self.answer_matrix_exp,
            "linalg_eig": self.answer_eig, "linalg_eigvals": self.answer_eigvals, "normal": self.answer_normal,
            "index_fill": self.answer_index_fill, "index_fill_": self.answer_index_fill,
            "cov": self.answer_cov, "segment_reduce": self.answer_segments,
            "torchaudio.rnnt_loss_forward": self.answer_longest, "torchaudio.forced_align": self.answer_longest}

    def kind(self, function):
        name = getattr(function, "__name__", "")
        if type(function).__module__ == "torch._ops":
            text = str(function)
            name = name.partition(".")[0] if text.startswith("aten.") else \
                text.removesuffix(".default") if text.removesuffix(".default") in self.answers else \
                SILENT[0] if _writes(function) else "__get__"
            name = CALLED.get(name, name)
        if name == "record_stream":
            _note_open("waits")
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
        if name == "backward" and args and type(args[0]) in PLAIN:
            return self.backward(*args, **kwargs)
        call = _Call(function, name, args, kwargs)
        self.guard(self.look_before, call)
        try:
            call.out = function(*args, **kwargs)
        except BaseException:
            args = kwargs = call = None              # a traceback holds them no longer than without this module
            raise
        finally:
            if call is None or call.numbers:
                self.card.answer_reads(getattr(self.local, "backward", ()))
        return self.guard(self.look_after, call)

    def guard(self, step, call):
        """A step of ours. If it fails, all that the call took and gave is unknown, and the program goes on."""
        try:
            return step(call)
        except Exception as error:
            for t in [*_tensors(call.args), *_tensors(call.kwargs.values()), *_outputs(call.out)]:
                self.values.forget(t)
            call.known = None
            self.lines.tell_unseen(call.name, error)
        return call.out

    def look_before(self, call):
        call.written = _written(call.name, call.args, call.kwargs)
        if self.values.empty and call.written is not None:
            for t in _tensors((call.written,)):
                self.values.start(t)
        known = {}
        call.known = known if self.gather_all(call, known) else None
        if call.name in RANDOM:
            call.seed = self.seed(call.kwargs, False)
        if call.name in self.answers:
            self.local.assumed = None
            call.numbers = self.answer(call.name, call.args, call.kwargs)
            call.assumed = self.local.assumed
            if call.assumed is not None and call.known is None:      # a mask: it is known now
                call.known = known if self.gather_all(call, known) else None
        if call.known is None and call.written is not None and self.values.guesses.of:
            call.write = self.write_of(call)

    def look_after(self, call):
        name, args, out = call.name, call.args, call.out
        if name in EMPTY:
            return self.made_empty(out)
        if call.numbers is None:
            self.lines.tell("a size depends on values that are not computed; they are taken for zeros")
        if call.assumed is not None:
            self.lines.tell("a size depends on values that are not computed; the %s is taken: %d" %
                            ("least" if TAKES_LEAST else "largest", call.assumed))
        if call.numbers and name in AGAIN:
            self.answer_backward(args[0] if name == "__setitem__" else out, 2 * call.numbers)
        elif name in SPARSE_PRODUCTS and isinstance(out, torch.Tensor):
            self.see_product(args, out)
        elif name == "linalg_eig" and isinstance(out, tuple):
            self.answer_backward(out[0], [1])        # the loss does not depend on the vectors' phases
        if args and isinstance(out, torch.Tensor) and out.layout is torch.jagged and type(args[0]) is type(out) and \
                out._offsets.is_cuda and not args[0]._offsets.is_cuda:
            self.values.put(out._offsets, args[0]._offsets)
        if name in SAME_PLACES and out is not args[0]:
            self.carry_places(args[0], out)
        if call.known == {} and not any(t.is_cuda for t in _outputs(out)):
            return out
        if args and out is args[0] and name != "copy_" and type(out) in PLAIN and not out.is_cuda:
            return out                               # written on the host already
        return self.follow(call)

    @_hidden
    def within(self, function, *args, **kwargs):
        """An operator that the program wrote in Python. PyTorch calls it without the mode, and below autograd."""
        return self.below(self, function, *args, **kwargs)

    @_hidden
    def below(self, look, function, *args, **kwargs):
        """A call within which `look` looks on, below autograd: no version tells what is written."""
        was_in = getattr(self.local, "is_in_operator", False)
        self.local.is_in_operator = True
        try:
            with look:
                return function(*args, **kwargs)
        finally:
            self.local.is_in_operator = was_in

    @_hidden
    def backward(self, tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        with self:                                   # it calls functions of the program, such as checkpoints
            torch.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)

    def made_empty(self, out):
        if type(out) in PLAIN and out.is_cuda and not self.is_passed_on():
            self.values.see_empty(out)
        return out

    def gather_all(self, call, known):
        """As gather, of all arguments; of an `out` which is not known, that the call writes all of it."""
        out = call.kwargs.get("out")
        if not self.gather(call.args, known) or \
                not self.gather([x for x in call.kwargs.values() if x is not out], known):
            return False
        outs = list(_tensors((out,)))
        if all(t.numel() > 0 for t in outs) and self.gather(outs, known):
            return True
        return all(type(t) in PLAIN and id(t) not in known and (t.numel() == 0 or self.values.guesses.fills(t))
                   for t in outs)

    def is_passed_on(self):
        """Whether kernels run later, or nothing is run at all."""
        return self.is_capturing or torch._C._get_tracing_state() is not None

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
                elif _bytes(x) > self.values.each_bytes:
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

    def follow(self, call):
        """What the program gets: `out`, or what the host read."""
        name, args, kwargs, known, out = call.name, call.args, call.kwargs, call.known, call.out
        if self.is_passed_on():
            for t in [*_tensors(args), *_outputs(out)]:
                if type(t) in PLAIN and t.is_cuda:
                    self.values.forget(t)
            return out
        if name in ESCAPES or name in SILENT:
            for t in _tensors((*args, *kwargs.values())):
                if type(t) in PLAIN and t.is_cuda and name in SILENT:
                    self.values.forget(t)            # written already
                elif type(t) in PLAIN and t.is_cuda:
                    self.let_go(t)
            return out
        try:
            if known is None:
                return self.follow_unknown(call)
            if not self.matters(name, kwargs, out):
                return out
            if name in COPY:
                result = self.on_host(args[0], known).to(out.dtype)
            else:
                result = self.compute(call.function, args, kwargs, known, call.seed)
        except Exception:                            # the host has no such operation: what it writes is not known
            for t in [*_tensors(args), *_outputs(out)]:
                if type(t) in PLAIN and t.is_cuda:
                    self.forget_if_written(t)
            return out
        for t in _tensors((*args, *kwargs.values())):
            if id(t) in known:                       # written on both sides
                self.values.keep(t)
        if name in READ and not any(t.is_cuda for t in _outputs(out)):
            if name == "__bool__":
                self.lines.see_known(result)
            return self.give(out, result)
        made = [(t, value) for t, value in zip(_outputs(out), _outputs(result))
                if type(t) in PLAIN and t.is_cuda and self.values.find(t) is None]
        for t, value in made:                        # they may share one storage
            if "out" not in kwargs or self.values.guesses.fills(t):
                self.values.put(t, value)
        return out

    def matters(self, name, kwargs, out):
        """Whether the host would keep what it computes: not if all that is made is too large."""
        made = [t for t in _outputs(out) if t.is_cuda]
        return not made or name.endswith("_") or "out" in kwargs or any(self.values.is_small(t) for t in made)

    def let_go(self, tensor):
        """Whoever has its address may write there from now on. Until the next kernel the card holds what it is."""
        value = self.values.get(tensor)
        if value is not None:
            self.card.write(tensor, value)
        self.values.forget(tensor)

    def give(self, out, result):
        """What was read off the card: numbers are the host's; a tensor stays the one that the call made."""
        if isinstance(out, torch.Tensor):
            if isinstance(result, torch.Tensor) and result.shape == out.shape and out.data_ptr() != result.data_ptr():
                with torch.no_grad():
                    out.data.copy_(result)
            return out
        return result

    def forget_if_written(self, tensor):
        if tensor.is_inference() or getattr(self.local, "is_in_operator", False):        # no version tells
            self.values.forget(tensor)

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
        if any(t.is_cuda for t in _tensors((kwargs.get("out"),))):
            del kwargs["out"]                        # it was not known before
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

    def follow_unknown(self, call):
        """Some results are known although not all arguments are."""
        name, args, kwargs, out = call.name, call.args, call.kwargs, call.out
        if name in BRANCH or (name == "item" and not isinstance(out, float)):
            return self.branch(name, out, args)
        if name in NUMBERS and not any(t.is_cuda for t in _outputs(out)):
            if any(t.is_cuda for t in _tensors((*args, *kwargs.values()))):
                out = self.number(out, args[0])
                self.lines.tell_decision(out)
            return out
        if name == "copy_" and not out.is_cuda:
            guessed = self.guessed(args[1])
            return out if guessed is None else self.give_guessed(out, args[1], guessed)
        if name == "_amp_foreach_non_finite_check_and_unscale_":
            self.values.keep(args[1])                # gradients are taken to be finite: it stays as it was
            return out
        if not isinstance(out, torch.Tensor) and name != "__setitem__":
            for t in _tensors((*args, *kwargs.values())):
                if type(t) in PLAIN and t.is_cuda:
                    self.forget_if_written(t)
            self.guess(call)
            return out
        if name in SMALLER or name in LARGER:
            self.local.compared = weakref.ref(out), name
        target = args[0] if name == "__setitem__" else out
        result = self.partly(call.function, name, args, kwargs, target, call.seed)
        if result is not None:
            self.values.put(target, result)
            return out
        if call.written is not None:
            self.forget_if_written(target)
        self.guess(call)
        return out

    # ---- what is guessed ----

    def guess(self, call):
        """Notes what a call makes of guesses, a mask that is not known, and what is looked up at unknown places."""
        function, name, args, kwargs, out = call.function, call.name, call.args, call.kwargs, call.out
        if name in RANDOM:
            return
        if call.written is not None:
            self.guess_written(call)
            return
        made = [t for t in _outputs(out) if type(t) in PLAIN and t.is_cuda and self.values.is_small(t)]
        if not made:
            return
        made = [t for t in made if self.values.guesses.find(t) is None]      # else a view
        if self.values.guesses.of and self.guess_made(function, name, args, kwargs, out, made):
            return
        if name in replay_guesses.SORTED and made:
            self.guess_places(name, args, kwargs, made[-1])
            return
        if not isinstance(out, torch.Tensor) or not made or out.numel() < 2:
            return
        root = None
        if name in LOOK_UPS and args:
            root = self.look_up(function, name, args, kwargs, out)
        if root is None and out.dtype == torch.bool:
            root = replay_guesses.Root(out.shape, name in replay_guesses.EQUAL)
        if root is not None:
            self.values.guesses.add_root(out, root)

    def write_of(self, call):
        """What a call writes to, as it is before; None: nothing of it is guessed, or a part neither that nor known."""
        if not any(self.values.guesses.find(t) for t in _tensors((*call.args, *call.kwargs.values()))
                   if type(t) in PLAIN):
            return None
        is_out = call.written is call.kwargs.get("out")
        if call.name in OR and not is_out:
            return None                              # flags that are set as time goes on: guess_written
        others = self.taken((call.args, {k: v for k, v in call.kwargs.items() if k != "out"}) if is_out else
                            (call.args[1:], call.kwargs))
        targets = list(_tensors((call.written,)))
        if others is None or any(type(t) not in PLAIN or not t.is_cuda for t in targets):
            return None
        write = replay_guesses.Write(targets, [self.base_of(t) for t in targets], not isinstance(
            call.written, torch.Tensor), is_out, others)
        return write if write.parts() and replay_guesses.keeps_count(call.name, write.bases[0], write.parts()) else None

    def base_of(self, tensor):
        """What the storage of a tensor holds, for a Write; None: it is not known."""
        storage = _storage(tensor)
        if storage is None or storage.nbytes() > replay_guesses.HELD_BYTES:
            return None
        value, part = self.values.find(tensor), self.values.guesses.find(tensor)
        return value.bytes.view(tensor.dtype).clone() if value is not None else \
            None if part is None else replay_guesses.Part(part.guess)

    def guess_written(self, call):
        """What a call wrote to. Flags of which nothing else is known are not set, if the program asks: else a loop that
        waits until they are would end at once. If a size depends on them first, they are all set, as any mask is."""
        write, written = call.write, call.written
        if write is None:
            if type(written) in PLAIN and written.is_cuda and written.dtype == torch.bool and written.numel() > 1:
                is_unset = written is not call.kwargs.get("out") or call.name in replay_guesses.EQUAL
                self.values.guesses.add_root(written, replay_guesses.Root(written.shape, is_unset))
            return
        targets, write.targets = write.targets, ()   # a guess holds no tensor of the card
        for i, (t, base) in enumerate(zip(targets, write.bases)):
            is_anew = self.values.guesses.fills(t) and (write.is_out or _overwrites(call.name, call.args))
            if is_anew:
                write.bases[i], write.views[i] = None, replay_guesses.View(t)
            elif base is None:
                return
        compute = functools.partial(self.compute, call.function, known={}, seed=None)
        for i, t in enumerate(targets):
            self.values.guesses.add(t, write.guess(i, compute))

    def guess_places(self, name, args, kwargs, out):
        """Those that a sort of what is not known gave."""
        given = args[2:] if name == "topk" else args[1:]
        dim = kwargs.get("dim", given[0] if given and type(given[0]) is int else -1)
        root = replay_guesses.sorted_places(out, args[0], dim) if args else None
        if root is not None and out.nbytes <= replay_guesses.HELD_BYTES:
            self.values.guesses.add_root(out, root)

    def look_up(self, function, name, args, kwargs, out):
        """What is guessed of known integers at places that are not known; None: nothing."""
        known = {}
        taken = [x for x in _tensors((*args, *kwargs.values())) if type(x) in PLAIN]
        for x in taken:
            self.gather([x], known)
        at = replay_guesses.looked_up(name, args, kwargs, known) if id(args[0]) in known else None
        if not at or out.nbytes > replay_guesses.HELD_BYTES or any(
                x.is_cuda and id(x) not in known and id(x) not in at for x in taken):
            return None
        if out.dtype == torch.bool and out.numel() != known[id(args[0])].numel():
            return None                              # more of a mask may be kept than there is now
        values = self.compute(function, args, kwargs, {**known, **at}, None)
        return replay_guesses.Root(out.shape, values=values.clone()) if values.shape == out.shape else None

    def guess_made(self, function, name, args, kwargs, out, made):
        """Whether all that a call reads of the card is guessed or known, and a part is guessed."""
        taken = self.taken(args), self.taken(kwargs)
        parts = list(replay_guesses.parts_of(taken))
        if not parts or None in taken or not replay_guesses.keeps_count(name, (*taken[0], None)[0], parts):
            return False
        if name in replay_guesses.COUNTS and all(p.guess.is_count() for p in parts):
            self.values.put(out, self.compute(function, *(replay_guesses.valued(x) for x in taken), {}, None))
            return True

        def make(args, kwargs):
            return self.compute(function, args, kwargs, {}, None)
        outs = [id(t) for t in _outputs(out)]
        for t in made:
            i = outs.index(id(t))
            self.values.guesses.add(t, replay_guesses.Guess(
                lambda args, kwargs, i=i: list(_outputs(make(args, kwargs)))[i], taken, parts))
        return True

    def taken(self, x):
        """Arguments with copies of what is known and Parts of what is guessed; None: one is neither."""
        if type(x) in (list, tuple, dict):
            found = [self.taken(y) for y in (x.values() if type(x) is dict else x)]
            if any(y is None and z is not None for y, z in zip(found, x.values() if type(x) is dict else x)):
                return None
            return dict(zip(x, found)) if type(x) is dict else type(x)(found)
        if not isinstance(x, torch.Tensor):
            return x
        if type(x) not in PLAIN or _bytes(x) > replay_guesses.HELD_BYTES:
            return None
        value = self.values.get(x) if x.is_cuda else x
        return value.clone() if value is not None else self.values.guesses.find(x)

    @staticmethod
    def ways():
        """How what a program asks of is guessed, the first that does."""
        return replay_guesses.MOST[::-1] if TAKES_LEAST else replay_guesses.LIKELY

    def told(self, tensor, is_told=lambda value: True):
        """Whether something is guessed of a tensor, and is_told(value) can hold: then it does from now on."""
        part = self.values.guesses.find(tensor) if type(tensor) in PLAIN else None
        return part is not None and replay_guesses.decide(part, self.ways(), is_told)

    def guessed(self, tensor):
        """What a guess is likely to be, while the program has not been told; None: it is none."""
        part = self.values.guesses.find(tensor) if type(tensor) in PLAIN else None
        return None if part is None else part.value(self.ways()[0])

    def settle(self, tensor, size):
        """The value of a tensor on which a size depends, by `size` of it: if it is guessed, it is known from now on, so
        that the size is the largest. None: it is not known."""
        value = self.values.get(tensor)
        part = self.values.guesses.find(tensor) if value is None and type(tensor) in PLAIN else None
        if part is None:
            return value
        if part.guess.is_count():
            return part.value("most")
        replay_guesses.settle(part, size, TAKES_LEAST)
        value = self.values.get(tensor)
        if value is not None:
            self.assume(size(value), size(value))
        return value

    def branch(self, name, out, args):
        if name == "__bool__" and self.lines.is_assert():
            return self.agreed(True, args[0])
        place = self.lines.of_program()
        calm = calm_answer(*place) if name == "__bool__" else None
        if calm is not None:
            return self.agreed(calm, args[0])
        is_open = type(out) is bool and self.is_of_mask(args[0])     # answered with no; nothing follows
        guessed = self.guessed(args[0]) if type(out) in (bool, int) and not is_open else None
        out = self.likely_answer(out, args[0], guessed)
        if type(out) is bool and name == "__bool__":
            out = self.chosen(args[0], place) if chooses(*place) else self.loop_answer(out, place)
        elif type(out) is int and is_counted(*place):
            out = PASSES_OTHER if ARE_FALLING else 1 if guessed is None or self.is_of_mask(args[0]) else out
        self.lines.tell("branches on a value that is not computed; it is taken for %s" % out)
        if type(out) is int and (out == 0 or guessed is not None):
            out = self.lines.turned(out)
        elif type(out) is bool and self.lines.is_stuck(place):
            out = not out
        return out if is_open else self.agreed(out, args[0])

    def likely_answer(self, out, tensor, guessed):
        """What a program gets that asks something of a guess."""
        return out if guessed is None or guessed.numel() != 1 else type(out)(guessed.item())

    def is_of_mask(self, tensor):
        part = self.values.guesses.find(tensor)
        return part is not None and any(root.values is None for root in part.guess.roots)

    def agreed(self, out, tensor):
        """The program gets `out`: what was guessed is so from now on, if it can be."""
        if type(tensor) in PLAIN and tensor.numel() == 1:
            self.told(tensor, lambda value: type(out)(value.item()) == out)
        return out

    @staticmethod
    def loop_answer(out, place):
        """The loop that may end here goes on: the last of its turns may take most. A `for` has an end of its own, and
        does not turn again if the other way is asked for."""
        goes_on, waits = going_on(*place), may_wait(*place)
        if goes_on is None:
            return out
        if waits:
            _note_open("loops")
        return goes_on if waits or not ARE_FALLING else not goes_on

    def chosen(self, condition, place):
        """Of max(unknown, n) the program gets n, as of max(n, unknown). The first asks whether n is larger, the second
        whether the unknown one is."""
        compared, name = getattr(self.local, "compared", (lambda: None, None))
        return compared() is condition and name in (SMALLER if chooses(*place) == "max" else LARGER)

    def number(self, out, tensor):
        """What a program gets that reads a number which is not known, also by way of a tensor on the host."""
        guessed = None if ARE_FALLING else self.guessed(tensor)
        is_tensor = type(out) is torch.Tensor and out.numel() == 1 and out.is_floating_point() and not out.is_cuda
        if type(out) is not float and not is_tensor:
            return out if guessed is None else self.give_guessed(out, tensor, guessed)
        if self.lines.asks_for_overflow():
            return out
        self.n_numbers += 1
        likely = 0 if guessed is None else float(guessed)
        number = self.lines.turned(1 / self.n_numbers if ARE_FALLING else likely or SMALL_NUMBER)
        if number == likely:
            self.told(tensor)
        if is_tensor:
            out.data.fill_(number)
        return out if is_tensor else number

    def give_guessed(self, out, tensor, guessed):
        """A list, or a tensor on the host."""
        self.told(tensor)
        if not isinstance(out, torch.Tensor):
            return guessed.tolist()
        return self.give(out, guessed.to(out.dtype).expand(out.shape))

    def partly(self, function, name, args, kwargs, out, seed):
        """What a call gives whose arguments are not all known; None: not known either."""
        if type(out) not in PLAIN or not out.is_cuda or not self.values.is_small(out):
            return None
        known = {}
        if name in FINITE:
            return torch.full(out.shape, FINITE[name], dtype=out.dtype, device="cpu")
        if name in ("__eq__", "__ne__") and args[0] is args[1]:
            return torch.full(out.shape, name == "__eq__", dtype=out.dtype, device="cpu")
        if ARE_FALLING and name in ABOVE and out.numel() == 1 and type(args[1]) is float and 0 < args[1] <= TINY_MOST:
            return torch.ones(out.shape, dtype=out.dtype, device="cpu")
        if name == "isin" and len(args) > 1 and not args[0].is_floating_point() and \
                isinstance(args[1], torch.Tensor) and args[1].numel() <= STOPS_MOST and self.gather(args[1:2], {}):
            return torch.zeros(out.shape, dtype=out.dtype, device="cpu")     # a stop token is never sampled
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
            self.local.backward = numbers            # again after what a checkpoint recomputes for this node
            self.card.answer_reads(self.local.backward)

        def after(*_):                               # what was not read is nobody else's
            self.local.backward = ()
            self.card.answer_reads(())
        if tensor.grad_fn is not None:
            tensor.grad_fn.register_prehook(before)
            tensor.grad_fn.register_hook(after)

    def assume(self, most, least=0):
        """A size that depends on values which are not known: the largest, as a person would plan for. `replay predict`
        asks for the least, too."""
        self.local.assumed = least if TAKES_LEAST else most
        return self.local.assumed

    def number_of(self, mask):
        """How many elements are not zero."""
        value = self.settle(mask, _count) if mask.is_cuda else mask
        return self.assume_mask(mask) if value is None else _count(value)

    def assume_mask(self, mask, most=None):
        """All of a mask that is not known, or nothing. From then on that is what it holds: a count of it agrees."""
        number = self.assume(mask.numel() if most is None else most)
        if mask.dtype == torch.bool and type(mask) in PLAIN:
            self.values.put_all(mask, number > 0)
        return number

    def assume_blocks(self, made):
        """Which blocks of FlexAttention's mask hold anything: all, if its function was not computed."""
        counts, n = made.kv_num_blocks, made.kv_indices.shape[-1]
        if not counts.is_cuda or self.values.get(counts) is not None:
            return
        each = 0 if TAKES_LEAST else n
        self.values.put(counts, torch.full(counts.shape, each, dtype=counts.dtype, device="cpu"))
        if made.full_kv_num_blocks is not None:
            self.values.put(made.full_kv_num_blocks, torch.zeros(counts.shape, dtype=counts.dtype, device="cpu"))

    def answer_count(self, input, **_):
        return [self.number_of(input)]

    def answer_where(self, condition, *others, **named):
        return [] if others or named else self.answer_count(condition)

    def answer_masked(self, input, mask, **_):
        value, shape = self.settle(mask, _count), torch.broadcast_shapes(input.shape, mask.shape)
        return [self.assume_mask(mask, shape.numel()) if value is None else
                int(torch.count_nonzero(value.expand(shape)))]

    def answer_index(self, input, index, *_, **__):
        if input.layout is torch.sparse_coo and type(index) is int:
            places = self.values.get(input._indices())
            return 2 * [input._nnz() if places is None else int((places[0] == index % input.shape[0]).sum())]
        parts = index if isinstance(index, (list, tuple)) else (index,)
        bounds = self.bounds_of(input, parts)
        parts = [y for x in parts for y in ((x.start, x.stop, x.step) if isinstance(x, slice) else (x,))]
        tensors = [t for t in _tensors(parts) if t.is_cuda]
        self.gather([t for t in tensors if t.numel() == 1], {})          # read as numbers
        return bounds + [self.number_of(t) for t in tensors if t.dtype in (torch.bool, torch.uint8)]

    def bounds_of(self, input, parts):
        """Where slices end whose end is not known: with the dimension, so that they have the largest size. Only of an
        index of nothing but slices and numbers, of which each is one dimension."""
        if any(not isinstance(x, (slice, int)) for x in parts):
            return []
        ends = [(x.stop, n) for x, n in zip(parts, input.shape) if isinstance(x, slice)]
        return [self.assume(n) for end, n in ends
                if isinstance(end, torch.Tensor) and end.is_cuda and self.settle(end, int) is None]

    def answer_unique(self, function, input, *_, dim=None, **__):
        n = input.numel() if dim is None else input.shape[dim]
        value = self.settle(input, lambda value: function(value, dim=dim).shape[dim or 0])
        return [self.assume(n, min(n, 1)) if value is None else function(value, dim=dim).shape[dim or 0]]

    def answer_repeats(self, input, repeats=None, *_, output_size=None, **__):
        repeats = input if repeats is None else repeats
        if isinstance(repeats, int) or output_size is not None or not repeats.is_cuda:
            return []
        value = self.settle(repeats, lambda value: int(value.sum()))
        if value is None:                            # there is no largest: each once
            return [self.assume(repeats.numel()), 1]
        n = input.numel() if value.numel() == 1 and repeats is not input else 1
        return [int(value.sum()) * n, 1]             # how many, and that none is negative

    def answer_bins(self, input, weights=None, minlength=0):
        """The least and the largest value. If a least number of bins is given, it is that of the values, too."""
        value = self.settle(input, lambda value: int(value.max()) + 1)
        if value is None:
            return [0, minlength - 1] if minlength > 0 else None
        return [int(value.min()), int(value.max())]

    def answer_classes(self, tensor, num_classes=-1):
        value = self.settle(tensor, lambda value: int(value.max()) + 1)
        return [] if num_classes >= 0 else None if value is None else [int(value.max())]

    def answer_multinomial(self, *_, **__):
        return [1, 0]                                # the weights are valid, and do not sum up to zero

    def answer_eig(self, *_, **__):
        return [1]                                   # there is no infinity

    def answer_eigvals(self, input, *_, **__):
        return [] if input.is_complex() else [1]     # of complex numbers it is not asked

    def answer_normal(self, *_, **__):
        return [1, 1]                                # no standard deviation is below zero; it is asked twice

    def answer_index_fill(self, input, dim, index, value, **__):
        """The gradient of a value that is a tensor: how many places got it."""
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return []
        places = self.values.get(index)
        return [index.numel() if places is None else torch.unique(places).numel()]

    def answer_cov(self, input, *_, fweights=None, aweights=None, **__):
        n_weights = (fweights is not None) + (aweights is not None)
        return [1] * (n_weights + (n_weights > 0))   # none is negative, and they do not sum up to zero

    def answer_segments(self, *_, lengths=None, unsafe=False, **__):
        return [] if lengths is None or unsafe else [0, 1]           # the least one, and that they sum up to all

    def answer_coalesce(self, input, *_, **__):
        """How many places remain. Their values may be unknown."""
        if input.is_coalesced() or input._nnz() < 2:
            return []
        places = self.places_of(input)
        return [self.assume(input._nnz(), 1) if places is None else places.shape[1]]

    def places_of(self, sparse):
        """Where a sparse tensor has elements, each place once, in order; None: not known."""
        if sparse.layout is torch.sparse_csr and sparse.ndim == 2:
            starts, columns = [self.values.get(x) if x.is_cuda else x for x in
                               (sparse.crow_indices(), sparse.col_indices())]
            if starts is None or columns is None:
                return None
            return torch.stack([torch.arange(len(starts) - 1).repeat_interleave(starts.diff()), columns])
        if sparse.layout is not torch.sparse_coo:
            return None
        places = self.values.get(sparse._indices()) if sparse.is_cuda else sparse._indices()
        return None if places is None else torch.unique(places, dim=1)

    def carry_places(self, sparse, out):
        """`out` has its elements where `sparse` has them, whose values may be unknown."""
        places = None if sparse.layout is torch.strided else self.places_of(sparse)
        if places is None:
            return
        if out.layout is torch.sparse_coo and out._nnz() == places.shape[1]:
            self.values.put(out._indices(), places)
        elif out.layout is torch.sparse_csr and out._nnz() == places.shape[1]:
            starts = torch.bincount(places[0] + 1, minlength=out.shape[0] + 1).cumsum(0)
            self.values.put(out.crow_indices(), starts)
            self.values.put(out.col_indices(), places[1])

    def answer_to_sparse(self, input, *_, **__):
        """How many elements are not zero; all, if their values are not known. Compressed layouts ask twice."""
        if input.layout is not torch.strided:
            return []
        return 2 * [self.number_of(input)]

    def answer_to_blocks(self, input, blocksize, *_, **__):
        if input.layout is not torch.strided or input.ndim != 2:
            return []
        value, (rows, columns) = self.values.get(input), blocksize
        if value is None:
            return 2 * [input.numel() // (rows * columns)]
        blocks = (value != 0).unflatten(0, (-1, rows)).unflatten(2, (-1, columns))
        return 2 * [int(blocks.any(3).any(1).sum())]

    def answer_unbind(self, input, *_, **__):
        """The lengths of a jagged tensor's parts."""
        if input.layout is not torch.jagged or input._lengths is not None:
            return []
        places = self.values.get(input._offsets)
        return None if places is None else places.diff().tolist()

    def answer_longest(self, data, targets, lengths, target_lengths, *_, **__):
        known = [self.values.get(x) for x in (lengths, target_lengths)]
        return None if None in [None if x is None else 0 for x in known] else [int(x.max()) for x in known]

    def answer_addmm(self, _, *both, **__):
        return self.answer_product(*both)

    def see_product(self, args, out):
        if out.requires_grad:
            self.answer_transposed(args, out)

    def answer_transposed(self, args, out):
        """A gradient of what a sparse matrix is multiplied with: the transposed one is made without doubles first."""
        sparse = [x for x in _tensors(args) if x.layout is torch.sparse_coo]
        if len(sparse) == 1:
            self.answer_backward(out, [self.count_of(sparse[0])])

    def count_of(self, sparse):
        places = self.places_of(sparse)
        return sparse._nnz() if places is None else places.shape[1]

    def answer_product(self, *both, **_):
        """How many elements a product of two sparse matrices has, or a sparse one without doubles."""
        if len(both) == 2 and isinstance(both[1], torch.Tensor) and both[1].layout is torch.strided and \
                isinstance(both[0], torch.Tensor) and both[0].layout is torch.sparse_coo:
            return [] if both[0].is_coalesced() or both[0]._nnz() < 2 else [self.count_of(both[0])]
        if len(both) < 2 or any(not isinstance(x, torch.Tensor) or x.layout is torch.strided for x in both[:2]):
            return []
        a, b = both[:2]
        counts = [self.count_of(x) for x in (a, b)
                  if x.layout is torch.sparse_coo and not x.is_coalesced() and x._nnz() > 1]
        return counts + self.elements_of(a, b)

    def elements_of(self, a, b):
        """Of a product of two sparse matrices: how many products of elements are added up, and how many elements it
        has."""
        places = [self.places_of(x) for x in (a, b)]
        if None in [None if x is None else 0 for x in places]:
            n_elements = self.assume(min(a.shape[0] * b.shape[1], a._nnz() * b._nnz()))
            return [max(n_elements, 1, a._nnz() * b._nnz() // max(1, b.shape[0])), n_elements]
        n_products = torch.bincount(places[1][0], minlength=b.shape[0])[places[0][1]].sum()
        ones = [torch.sparse_coo_tensor(x, torch.ones(x.shape[1]), t.shape) for x, t in zip(places, (a, b))]
        return [int(n_products), torch.sparse.mm(*ones)._nnz()]

    def answer_isin(self, elements, test_elements, *_, **__):
        both = [x for x in (elements, test_elements) if isinstance(x, torch.Tensor)]
        known = [self.values.get(x) for x in both]
        return [x.numel() if value is None else torch.unique(value).numel() for x, value in zip(both, known)]

    def answer_mode(self, input, dim=-1, *_, **__):
        """For each row: how many values but one, how many; of the most frequent one its count, place and value;
        whether it was found, where, and where it was before the sort."""
        if input.numel() == 0:
            return []
        n = input.shape[dim] if input.ndim else 1
        return [n - 1, n, 0, 0, 0, 1, 0, 0] * min(input.numel() // n, 128)

    def answer_matrix_exp(self, input, *_, **__):
        """A matrix alone: its norm, a large one, so that no shorter series does. Then, of groups of matrices that are
        squared as often: how many groups, how many matrices are in the first, and how often it is squared."""
        n = input.shape[:-2].numel()
        large = [struct.unpack("q", struct.pack("d", 4.0))[0] if input.dtype in (torch.float64, torch.complex128) else
                 struct.unpack("q", struct.pack("fxxxx", 4.0))[0]] if n == 1 else []
        return large + [1, n, 1]


class _Scripted(TorchDispatchMode):
    """Looks on at code that was scripted: it calls operators, and no function of Python's."""

    def __init__(self, beside):
        super().__init__()
        self.beside = beside

    @_hidden
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return self.beside.__torch_function__(function, types, args, kwargs)


def _limits():
    """Bytes of one tensor and of all, as `run-sim --values` says."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    limits = [128 << 20, 256 << 20]
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
        mode.values.forget(tensor)


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
    _card().ask_values(values)
    mode = _Beside(values, _card())
    register_optimizer_step_post_hook(lambda *_: mode.lines.looks.clear())
    _watch_graphs(mode)
    _leave_switches_alone(mode)
    _watch_operators(mode)
    _watch_scripts(mode)
    mode.__enter__()
    atexit.register(_let_go, sys.getrefcount(mode))


def _let_go(n_at_rest):
    """The thread of a backward pass holds the modes of who began it a little longer than the pass lasts, and wants
    Python to let go of them. If it finds that Python has ended, it ends the program by an abort."""
    end = time.monotonic() + LETS_GO_WITHIN_S
    while sys.getrefcount(mode) > n_at_rest and time.monotonic() < end:
        time.sleep(0.001)


def _watch_free_memory(lines):
    """A program that looks at the card's memory may ask for what it finds: `replay predict` has to know."""
    memory = getattr(torch.cuda, "memory", None)
    if not os.environ.get("REPLAY_TORCH_FOLLOW") or not hasattr(memory, "mem_get_info"):
        return
    memory.mem_get_info = _watched(memory.mem_get_info, lines, "free memory")
    torch.cuda.mem_get_info = memory.mem_get_info
    _watch_total_memory(lines)
    _watch_nvidia_smi(lines)
    if "pynvml" in sys.modules:
        watch_nvml(sys.modules["pynvml"])


def _watched(look, lines, what):
    @_hidden
    def looks(*args, **kwargs):
        lines.tell("looks at the card's " + what)
        return look(*args, **kwargs)
    return looks


def watch_block_masks(flex):
    """`flex`: torch.nn.attention.flex_attention, just imported."""
    make = flex.create_block_mask

    @functools.wraps(make)
    def create_block_mask(*args, **kwargs):
        made = make(*args, **kwargs)
        if mode is not None and not torch.compiler.is_compiling():
            mode.assume_blocks(made)
        return made
    flex.create_block_mask = create_block_mask


def watch_nvml(pynvml):
    """`pynvml`: the module, just imported."""
    if os.environ.get("REPLAY_TORCH_FOLLOW"):
        pynvml.nvmlDeviceGetMemoryInfo = _watched(pynvml.nvmlDeviceGetMemoryInfo, _Lines(), "free memory (NVML)")


def _watch_total_memory(lines):
    """Of the program's own lines: a library that looks has its reasons. What is only printed decides nothing."""
    of_card = getattr(torch._C, "_CudaDeviceProperties", None)
    look = getattr(of_card, "total_memory", None)
    if look is None:
        return

    @_hidden
    def total_memory(properties):
        caller = sys._getframe(1)
        file, line = caller.f_code.co_filename, caller.f_lineno
        is_own = not file.startswith(lines.passed) and not _is_installed(file)
        if is_own and not is_only_said(file, line, "total_memory"):
            lines.tell("looks at the card's total memory", (file, line))
        return look.__get__(properties)
    of_card.total_memory = property(total_memory)


def _watch_nvidia_smi(lines):
    import subprocess

    begin = subprocess.Popen.__init__

    @_hidden
    def __init__(self, args, *others, **options):
        if _asks_for_memory(args):
            lines.tell("looks at the card's free memory (nvidia-smi)", _outside(subprocess.__file__))
        begin(self, args, *others, **options)
    subprocess.Popen.__init__ = __init__


def _asks_for_memory(args):
    """Whether a command is nvidia-smi and shows memory. What can be read only once is left for the command."""
    words = [args] if isinstance(args, str) else args if isinstance(args, (list, tuple)) else []
    text = " ".join(map(str, words))
    return "nvidia-smi" in text and ("memory" in text or not re.search(r"--query-gpu|-L\b|--list-gpus", text))


def _is_installed(file):
    return not {"site-packages", "dist-packages"}.isdisjoint(file.split(os.sep))


def _outside(passed):
    """The file and the line of the program's that called a module of Python's, through whatever is installed; if all
    that called it is, the caller's. None: no file did (python -c)."""
    calls, frame = [], sys._getframe(2)
    while frame is not None:
        calls.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    calls = [(file, line) for file, line in calls if file != passed and not file.startswith("<")]
    return next((call for call in calls if not _is_installed(call[0])), calls[0] if calls else None)


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


def _is_of_card(args):
    return any(type(t) in PLAIN and t.is_cuda for t in _tensors(args))


def _watch_operators(mode):
    """Operators made by torch.library.custom_op are Python, whose branches and sizes depend on values as others do."""
    definition = getattr(getattr(torch.library, "CustomOpDef", None), "register_kernel", None)
    if definition is None:
        return

    @functools.wraps(definition)
    def register_kernel(self, device_types, fn=None, /):
        if fn is None:
            return functools.partial(register_kernel, self, device_types)

        @functools.wraps(fn)
        @_hidden
        def seen(*args, **kwargs):
            is_seen = mode in torch.overrides._get_current_function_mode_stack()
            is_seen = is_seen or not _is_of_card((*args, *kwargs.values()))
            return fn(*args, **kwargs) if is_seen else mode.within(fn, *args, **kwargs)
        definition(self, device_types, seen)
        return fn
    torch.library.CustomOpDef.register_kernel = register_kernel


def _watch_scripts(mode):
    """Sizes and branches of what torch.jit made depend on values as others do."""
    scripted = _Scripted(mode)

    def watched(call):
        @_hidden
        def __call__(self, *args, **kwargs):
            is_seen = not mode.is_capturing and torch._C._get_tracing_state() is None and \
                mode in torch.overrides._get_current_function_mode_stack() and _is_of_card((*args, *kwargs.values()))
            return mode.below(scripted, call, self, *args, **kwargs) if is_seen else call(self, *args, **kwargs)
        return __call__
    for kind in (getattr(torch._C, name, None) for name in ("ScriptFunction", "ScriptMethod")):
        if kind is not None:
            kind.__call__ = watched(kind.__call__)


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


@_hidden
def _without_modes(mode, function, *args):
    """As _without, and without those below it, such as the default device: a backward pass and grad() call functions of
    the program, at which `mode` must look."""
    stack = []
    if mode in torch.overrides._get_current_function_mode_stack():
        stack = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack())]
    try:
        return function(*args)
    finally:
        for each in reversed(stack):
            torch._C._push_on_torch_function_stack(each)


def _leave_switches_alone(mode):
    """Modules choose a path by torch.overrides.has_torch_function, which is true of every tensor under a mode."""
    torch.overrides.has_torch_function = functools.partial(_without, mode, torch.overrides.has_torch_function)
    torch.autograd.has_torch_function = functools.partial(_without_modes, mode, torch.autograd.has_torch_function)


def _compile_ahead_without(aot_compile):
    """What is compiled ahead of time is neither traced nor called under the mode."""
    def aot_compile_without(*args, **kwargs):
        made = _without(mode, aot_compile, *args, **kwargs)
        kind = type(made)
        call = kind.__call__
        if not hasattr(kind, "_replay_call"):
            kind._replay_call = call
            kind.__call__ = _hidden(lambda compiled, *args, **kwargs: _without(mode, call, compiled, *args, **kwargs))
        return made
    return functools.wraps(aot_compile)(aot_compile_without)


def leave_compiler_alone(eval_frame):
    """torch.compile would trace the mode. `eval_frame`: the module, just imported."""
    context = eval_frame._TorchDynamoContext
    make = context.__call__

    def make_without(self, function):
        made = make(self, function)
        if mode is None or isinstance(made, torch.nn.Module) or not callable(made):
            return made
        without = functools.wraps(made)(functools.partial(_without, mode, made))
        if hasattr(made, "aot_compile"):
            without.aot_compile = _compile_ahead_without(made.aot_compile)
        return without
    context.__call__ = make_without
