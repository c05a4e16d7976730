#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The rules of cudasim/python/replay_values.py and replay_decisions.py, without PyTorch: what is known of the card's
tensors, what a program gets that reads one which is not, how its loops on such numbers end, and that no error of ours
reaches it.

    test_values.py REPLAY BUILD SOURCE

A stand-in for torch has as much of a tensor as these rules ask: cells of 8 bytes, which are zeros on the card whatever
is written there. tests/against-torch/values.py tries the same rules on PyTorch."""
import contextlib
import io
import itertools
import pathlib
import sys
import types
import weakref

CELL = 8
failures = 0


# ---- a stand-in for torch ----

class Storage:
    alive = weakref.WeakValueDictionary()
    numbers = itertools.count(1 << 20, 1 << 20)      # never one again: PyTorch keeps that of a weak reference, too

    def __init__(self, n):
        self.cells = [0] * n
        self._cdata = next(Storage.numbers)
        Storage.alive[self._cdata] = self

    def nbytes(self):
        return CELL * len(self.cells)

    def data_ptr(self):
        return self._cdata

    def _weak_ref(self):
        return self._cdata

    @staticmethod
    def _expired(number):
        return number not in Storage.alive

    @staticmethod
    def _free_weak_ref(number):
        pass


class Tensor:
    """A row of cells."""
    layout, is_quantized, is_nested, requires_grad, grad_fn = "strided", False, False, False, None

    def __init__(self, n, dtype, is_cuda, storage=None):
        self.n, self.dtype, self.is_cuda, self._version, self.shape = n, dtype, is_cuda, 0, Shape((n,))
        self.storage = storage or Storage(n)
        self.device = types.SimpleNamespace(type="cuda" if is_cuda else "cpu")

    @property
    def nbytes(self):
        return CELL * self.n

    @property
    def ndim(self):
        return 1

    def numel(self):
        return self.n

    def untyped_storage(self):
        return self.storage

    def data_ptr(self):
        return self.storage.data_ptr()

    def view(self, dtype):
        return Tensor(self.n, dtype, self.is_cuda, self.storage)

    def as_strided(self, shape, stride, offset):
        return Tensor(shape[0], self.dtype, self.is_cuda, self.storage)

    def stride(self):
        return (1,)

    def storage_offset(self):
        return 0

    def contiguous(self):
        return self

    def is_contiguous(self):
        return True

    def clone(self):
        made = Tensor(self.n, self.dtype, self.is_cuda)
        made.storage.cells = list(self.storage.cells)
        return made

    def any(self):
        return any(self.storage.cells)

    def item(self):
        return item(self)

    def __setitem__(self, at, value):
        self.storage.cells[at] = [value] * len(self.storage.cells[at])

    def copy_(self, other):
        self.storage.cells[:self.n] = other.storage.cells[:other.n]

    def is_floating_point(self):
        return self.dtype == "float"

    def is_false(self):
        return False

    is_inference = is_complex = is_neg = _is_zerotensor = is_false

    def __bool__(self):
        return call(truth, self)

    def __gt__(self, other):
        return call(greater, self, other)

    def __lt__(self, other):
        return call(less, self, other)


class Shape(tuple):
    def numel(self):
        return self[0]


def named(name):
    """PyTorch's function of that name."""
    def decorate(function):
        function.__name__ = name
        return function
    return decorate


@named("full")
def full(shape, value, dtype="int", device="cuda"):
    made = Tensor(shape[0], dtype, device == "cuda")
    if device == "cpu":
        made.storage.cells = [value] * shape[0]
    return made


@named("add_")
def add_(tensor, n):
    tensor._version += 1
    if not tensor.is_cuda:
        more = n.storage.cells if isinstance(n, Tensor) else [n] * tensor.n
        tensor.storage.cells = [c + m for c, m in zip(tensor.storage.cells, more)]
    return tensor


@named("empty")
def empty(n):
    return Tensor(n, "int", True)


@named("copied")
def copied(tensor, out=None):
    made = Tensor(tensor.n, tensor.dtype, tensor.is_cuda) if out is None else out
    if not tensor.is_cuda:
        made.storage.cells = list(tensor.storage.cells)
    return made


@named("item")
def item(tensor):
    return {"float": float, "bool": bool}.get(tensor.dtype, int)(tensor.storage.cells[0])


@named("__bool__")
def truth(tensor):
    return bool(tensor.storage.cells[0])


def compared(operation):
    def compare(a, b):
        made = Tensor(a.n, "bool", a.is_cuda)
        if not a.is_cuda:
            made.storage.cells = [operation(cell, b) for cell in a.storage.cells]
        return made
    return compare


@named("sum")
def total(tensor):
    made = Tensor(1, "int", tensor.is_cuda)
    if not tensor.is_cuda:
        made.storage.cells = [sum(tensor.storage.cells)]
    return made


equal = named("__eq__")(compared(lambda a, b: a == b))
@named("logical_not")
def opposite(mask, _, out=None):
    made = Tensor(mask.n, "bool", mask.is_cuda) if out is None else out
    if not mask.is_cuda:
        made.storage.cells = [not cell for cell in mask.storage.cells]
    return made


greater = named("__gt__")(compared(lambda a, b: a > b))
less = named("__lt__")(compared(lambda a, b: a < b))


@named("isfinite")
def isfinite(tensor):
    return Tensor(tensor.n, "bool", tensor.is_cuda)


@named("nonzero")
def nonzero(mask):
    return Tensor(mask.n, "int", mask.is_cuda)


def fake_torch():
    torch = types.ModuleType("torch")
    torch.__file__ = "/nowhere/torch/__init__.py"
    torch.Tensor, torch.UntypedStorage, torch.device, torch.bool, torch.uint8 = Tensor, Storage, bytes, "bool", "bytes"
    for layout in ("strided", "jagged", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"):
        setattr(torch, layout, layout)
    torch.nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
    torch.zeros = lambda n, **_: Tensor(n // CELL, "bytes", False)
    torch.empty = lambda shape, dtype, device: Tensor(shape[0], dtype, False)
    torch.full, torch.unique, torch.unique_consecutive = full, None, None
    torch.count_nonzero = lambda mask: sum(map(bool, mask.storage.cells))
    torch.no_grad = contextlib.nullcontext
    torch.inference_mode = lambda is_on: contextlib.nullcontext()
    torch.Generator = lambda: None
    torch._C = types.SimpleNamespace(_get_tracing_state=lambda: None)
    torch.cuda = types.SimpleNamespace(is_initialized=lambda: False)
    parts = {"torch.optim": {}, "torch.optim.optimizer": {"register_optimizer_step_post_hook": None},
             "torch.overrides": {"TorchFunctionMode": object}, "torch.utils": {},
             "torch.utils._device": {"_device_constructors": lambda: {full}},
             "torch.utils._python_dispatch": {"TorchDispatchMode": object}}
    sys.modules["torch"] = torch
    for name, members in parts.items():
        module = sys.modules[name] = types.ModuleType(name)
        for key, value in members.items():
            setattr(module, key, value)


class Card:
    def __init__(self):
        self.answered = []

    def answer_reads(self, numbers):
        self.answered.append(list(numbers))


# ---- the rules ----

def check(what, seen, expected):
    global failures
    failures += seen != expected
    print("%s: %s%s" % ("ok" if seen == expected else "FAILED", what,
                        "" if seen == expected else ", %r and not %r" % (seen, expected)))


def call(function, *args, **kwargs):
    """PyTorch's function, as a program calls it on which we look; on the host itself nobody does."""
    if any(isinstance(a, Tensor) and not a.is_cuda for a in args):
        return function(*args, **kwargs)
    return beside.__torch_function__(function, (), args, kwargs)


def unknown(dtype="float", n=1):
    return Tensor(n, dtype, True)


def anew():
    global beside
    beside = replay_values._Beside(replay_values._Values(1 << 20, 2 << 20), Card())


def check_known():
    three = call(full, (1,), 3, device="cuda")
    check("what was filled is known", call(item, three), 3)
    call(add_, three, 4)
    check("what was written in place is known", call(item, three), 7)
    check("C++ finds it at its address", beside.values.tell(three.data_ptr(), CELL) is not None, True)
    three._version += 1
    check("a write that was not seen makes it unknown", beside.values.get(three), None)
    check("at its address as well", beside.values.tell(three.data_ptr(), CELL), None)
    other = call(full, (1,), 3, device="cuda")
    address, held, other.storage = other.data_ptr(), other.storage, Storage(1)           # x.data = y
    check("nor what another tensor was put for", beside.values.tell(address, CELL), None)
    del other, held
    gone = call(full, (1,), 3, device="cuda")
    storage = gone.storage._cdata
    del gone
    beside.values.make_room(4 << 20)
    check("what is gone is forgotten", storage in beside.values.of, False)


def check_unknown():
    check("a number that is not known may be divided by", call(item, unknown()), 1e-6)
    has_inf = call(item, unknown())
    check("a flag of overflow is not set", has_inf, 0)
    check("a loss is finite", beside.values.get(call(isfinite, unknown())).storage.cells, [True])
    mask = unknown("bool", 50)
    call(nonzero, mask)
    check("a mask that is not known keeps all", beside.card.answered[0], [50])
    check("and stays so", beside.values.get(mask).storage.cells, [True] * 50)
    replay_values.TAKES_LEAST = True
    call(nonzero, unknown("bool", 50))
    replay_values.TAKES_LEAST = False
    check("or nothing, for the lower end", [0] in beside.card.answered, True)


def size_of(mask):
    """How many elements of a mask PyTorch gets that reads them for a size."""
    beside.card.answered.clear()
    call(nonzero, mask)
    return beside.card.answered[0][0]


def check_writes():
    made = call(empty, 2)
    call(add_, made, 3)
    check("what nobody wrote to is known once it is written", (call(item, made), len(beside.values.of)), (3, 1))
    made = call(empty, 2)
    made._version += 1
    call(add_, made, 3)
    check("not if something was written that nobody saw", beside.values.get(made), None)
    made = call(empty, 2)
    beside.values.forget(made)
    call(add_, made, 3)
    check("nor if its address was given away", beside.values.get(made), None)
    mask = call(greater, unknown(n=50), 0)
    count, zero = call(total, mask), call(full, (1,), 0, device="cuda")
    call(add_, count, 2)
    call(add_, zero, count)
    check("a guess is followed through writes", (call(item, zero), call(item, count), size_of(mask)), (52, 52, 50))
    zero = call(full, (1,), 0, device="cuda")
    call(add_, zero, call(total, call(greater, unknown(n=50), 0)))
    storage, is_guessed = zero.storage._cdata, zero.storage._cdata in beside.values.guesses.of
    del zero
    beside.values.guesses.purge()
    check("a guess holds no tensor of the card", (is_guessed, storage in beside.values.guesses.of), (True, False))
    mask = call(greater, unknown(n=50), 0)
    others = Tensor(50, "bool", True)
    call(opposite, mask, None, out=others)
    check("and into an `out`", (call(item, call(total, others)), size_of(mask)), (0, 50))
    known = call(full, (1,), 7, device="cuda")
    call(add_, known, unknown("int"))
    check("what is not known is not after a write, either", beside.values.get(known), None)
    again = call(full, (2,), 4, device="cuda")
    seen = Tensor(2, "int", True)
    call(copied, again, out=seen)
    check("an `out` that is wholly written is known", call(item, seen), 4)


def check_agreement():
    mask = call(greater, unknown(n=50), 0)
    others = call(opposite, mask, None)
    check("of a mask that is not known all count", call(item, call(total, mask)), 50)
    check("and none of its negation", (size_of(others), call(item, call(total, others)), size_of(mask)), (0, 0, 50))
    mask = call(greater, unknown(n=50), 0)
    others = call(opposite, mask, None)
    check("the first that a size depends on keeps all", (size_of(others), call(item, call(total, mask))), (50, 0))
    mask = call(equal, unknown(n=50), 7)
    check("none is a certain number, if that is asked first", (call(item, call(total, mask)), size_of(mask)), (0, 0))
    check("all are, if a size depends on it first", size_of(call(equal, unknown(n=50), 7)), 50)
    mask = call(greater, unknown(n=50), 0)
    count = call(total, mask)
    mask._version += 1
    check("a mask that was written is another", (call(item, count), beside.values.get(mask)), (50, None))
    mask = call(greater, unknown(n=50), 0)
    replay_values.TAKES_LEAST = True
    check("the least is nothing", (call(item, call(total, mask)), size_of(mask)), (0, 0))
    replay_values.TAKES_LEAST = False
    mask = call(greater, unknown(n=50), 0)
    storage = mask.storage._cdata
    del mask
    beside.values.guesses.purge()
    check("what is gone is not guessed", storage in beside.values.guesses.of, False)


def check_choices():
    seven, ten = max(unknown("int"), 7), max(10, unknown("int"))
    check("max() of what is not known is the number that is", (seven, ten), (7, 10))
    three = min(unknown("int"), 3)
    four = min(4, unknown("int"))
    check("and so is min()", (three, four), (3, 4))
    check("known ones are compared", max(call(full, (1,), 9, device="cuda"), 7) == 7, False)


def passes():
    n = 0
    for _ in range(call(item, unknown("int"))):
        n += 1
    last = call(item, unknown("int"))
    for _ in range(last):
        n += 10
    return n


def waits(limit):
    n = 0
    while call(item, unknown()) < limit:
        n += 1
    return n


def settles():
    n, error = 0, 1.0
    while error > 1e-9:
        error = abs(call(item, unknown()))
        n += 1
    return n


class Words:
    def __init__(self):
        self.stop = 50256

    def decode(self):
        n = 0
        while True:
            n += 1
            word = call(item, unknown("int"))
            if word == self.stop:
                return n


def guarded():
    n = 0
    while n < 500:
        n += 1
        if call(item, unknown()) > 5:
            raise AssertionError
    return n


def flagged():
    n, is_done = 0, False
    while not is_done:
        n += 1
        if call(item, unknown()) > 5:
            is_done = True
    return n


def advance(at, i):
    at[i] += call(item, unknown("int"))
    return at


def seeks():
    n, at = 0, [0]
    while max(at) < 5000 and n < 500:
        at = advance(at, 0)
        n += 1
    return n


def counted():
    n = best = 0
    while n < 150:
        n += 1
        if call(item, unknown()) > 5:
            best += 1
    return n + best


def check_errors():
    wrong = [unknown("bool") for _ in range(3)]
    if wrong[0]:
        raise AssertionError
    if not wrong[1]:
        raise AssertionError
    if not wrong[2] or not wrong[0]:
        raise AssertionError
    if wrong[0]:
        seen = "the right way"
    else:
        raise AssertionError
    check("an error on what is not known is not raised", seen, "the right way")


def unfinished(limit):
    """As beam search asks: whether a better sentence may come is not known, whether the longest has is."""
    n, this_peer_finished, longest = 0, False, call(full, (1,), 0, "bool", device="cuda")
    while has_unfinished(this_peer_finished):
        n += 1
        ends = unknown("bool") if n < limit else longest
        this_peer_finished = not ends
    return n


def has_unfinished(this_peer_finished):
    return not this_peer_finished


def breaks():
    n = 0
    for _ in range(20):
        n += 1
        if not unknown("bool"):
            break
    return n


def check_ends():
    longer = itertools.cycle(range(10, 34))          # a turn each, then from the beginning
    replay_values._held_bytes = lambda: (100, next(longer))
    check("a loop goes on to the end that is known, while it keeps more", (unfinished(25), unfinished(25)), (25, 25))
    replay_values._held_bytes = lambda: (7, 7)
    check("and ends sooner if it takes no more memory", unfinished(25), 9)
    check("a `for` goes on to its end", breaks(), 20)
    replay_values.ARE_FALLING = True
    check("or stops at once, the other way", breaks(), 1)
    replay_values.ARE_FALLING = False


def check_loops():
    check("a loop that a number bounds runs once", passes(), 11)
    replay_values.ARE_FALLING = True
    check("and some times the other way", passes(), 88)
    replay_values.ARE_FALLING = False
    growing = itertools.count(1)
    replay_values._held_bytes = lambda: (next(growing), 0)
    check("one that waits for a number to grow ends", waits(5.0), 199)
    check("one that waits for it to fall ends", settles(), 200)
    check("one that waits for a word ends", Words().decode(), 200)
    check("an error is not asked for", guarded(), 500)
    replay_values._held_bytes = lambda: (7, 7)
    check("one that takes no more memory ends sooner", (waits(5.0), settles(), Words().decode()), (8, 9, 9))
    check("and one that sets what the loop asks", flagged(), 9)
    check("and one that waits in a caller of what reads", seeks(), 9)
    check("what ends no loop is left alone", counted(), 150)
    replay_values.TAKES_LEAST, replay_values.LOOKS_SETTLED = True, 2
    check("the least is one turn", (waits(5.0), settles(), Words().decode()), (1, 2, 2))
    replay_values.TAKES_LEAST, replay_values.LOOKS_SETTLED = False, 8


def check_guard():
    def fails(*_):
        raise ValueError("ours")
    known = call(full, (2,), 1, device="cuda")
    beside.answers["nonzero"] = lambda *_, **__: [5]
    beside.number_of = beside.gather = fails
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        check("an error of ours does not reach the program", call(nonzero, known).n, 2)
        call(nonzero, known)
    check("it is told once", said.getvalue().count("is not known (ValueError: ours)"), 1)
    check("and what the call took is unknown", beside.values.get(known), None)


def main():
    global replay_values
    sys.path.insert(0, str(pathlib.Path(sys.argv[3], "cudasim/python")))
    fake_torch()
    import replay_values
    for function in (call, Tensor.__bool__, Tensor.__gt__, Tensor.__lt__):
        replay_values._hidden(function)              # PyTorch's lines, not the program's
    with contextlib.redirect_stderr(io.StringIO()) as said:
        for rules in (check_known, check_unknown, check_writes, check_agreement, check_choices, check_errors,
                      check_loops, check_ends, check_guard):
            anew()
            rules()
    line = "test_values.py:%d: branches on a value that is not computed; it is taken for 1"
    check("lines that branch are told", line % (passes.__code__.co_firstlineno + 2) in said.getvalue(), True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
