# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What a program is told of values that are not known, so that its later questions get answers that agree.

    mask = score > 0          a mask that is not known: all of it, all but one, or nothing
    n = mask.sum()            made of it, and of nothing else that is not known
    n.item()                  the program is told something: `mask` is what it has to be for that
    x[~mask]                  so is its negation

    keep[score.topk(k).indices] = True     of a mask that was False: k places of it, whichever they are

A tensor on the card that is not known may be a Guess: it is made, by calls that were noted, of masks and of what was
looked up in known integers at places that are not known. Such a look-up gives values of the source, evenly from the
least to the largest, so that max() and unique() are the source's. Places that a sort or a topk gave differ: what they
were written to, or put into another order by, has a count, and nothing more is told of it. Nothing is computed, and no
tensor of the card is held, until the program asks. What it was told is known from then on (replay_values.py)."""
import torch

DEPTH_MOST = 32                                      # calls between what was guessed and what is made of it
HELD_BYTES = 16 << 20                                # of a tensor on the host that a guess is made of
PURGE_AT = 64                                        # guesses, before storages that are gone are looked for
MOST = ("most", "mixed", "none")                     # how much of a mask is kept: all, all but one element, nothing
LIKELY = ("likely", *MOST)                           # of masks that ask for equality nothing, of others all
EQUAL = ("__eq__", "eq")
SORTED = ("topk", "sort", "argsort")                 # they give places, each once along a dimension
SCATTERED = ("__setitem__", "index_put_", "scatter", "scatter_", "index_fill", "index_fill_")    # they write to places
COUNTED = ("__invert__", "bitwise_not", "logical_not", "to", "bool", "int", "long", "float", "type", "clone", "view",
           "reshape", "flatten", "ravel", "sum", "count_nonzero", "any", "all")  # what is counted there is counted here
ORDERED = ("gather", "take_along_dim", "index_select", "__getitem__", "sort", "argsort", "lt", "le", "gt", "ge",
           "__lt__", "__le__", "__gt__", "__ge__")   # of places that are all there are
COUNTS = ("sum", "count_nonzero", "any", "all")
LOOK_UPS = {"index_select": "index", "gather": "index", "take_along_dim": "indices"}     # named: the places


class Root:
    """What is guessed. `values`: what was looked up; None: it is a mask. `decided`: one of MOST; None: not yet."""

    __slots__ = "shape", "is_equal", "values", "decided"
    is_count = False                                 # only the count of what it makes is right

    def __init__(self, shape, is_equal=False, values=None):
        self.shape, self.is_equal, self.values, self.decided = shape, is_equal, values, None

    def way(self, how):
        return self.decided or (("none" if self.is_equal else "most") if how == "likely" else how)

    def decide(self, how):
        self.decided = self.way(how)

    def value(self, how):
        if self.values is not None:
            return self.values
        how = self.way(how)
        value = torch.full(self.shape, how != "none", dtype=torch.bool, device="cpu")
        if how == "mixed":
            value.view(-1)[:1] = False
        return value


class Places(Root):
    """Places along a dimension that differ there, of n that there are; which they are is not known."""

    __slots__ = "dim", "n"
    is_count = True

    def __init__(self, shape, dim, n):
        super().__init__(shape)
        self.dim, self.n, self.decided = dim, n, "most"

    def is_all(self):
        return self.shape[self.dim] == self.n

    def value(self, how):
        """In each row the next ones."""
        k = self.shape[self.dim]
        rows = [m for i, m in enumerate(self.shape) if i != self.dim]
        first = torch.arange(self.shape.numel() // k, device="cpu")[:, None] * k
        return ((first + torch.arange(k, device="cpu")) % self.n).view(*rows, k).movedim(-1, self.dim)


class View:
    """How a tensor sees its storage."""

    __slots__ = "dtype", "shape", "stride", "offset"

    def __init__(self, tensor):
        self.dtype, self.shape = tensor.dtype, tensor.shape
        self.stride, self.offset = tensor.stride(), tensor.storage_offset()

    def of(self, whole):
        """The same view of another storage, all of which `whole` shows."""
        if whole.dtype != self.dtype:
            whole = whole.reshape(-1).view(self.dtype)
        return whole.as_strided(self.shape, self.stride, self.offset)


class Part:
    """What a tensor sees of the storage that a guess is of."""

    __slots__ = "guess", "view"

    def __init__(self, guess, view=None):
        self.guess, self.view = guess, view          # view None: all of the storage

    def value(self, how="likely"):
        value = self.guess.value(how)
        return value if self.view is None else self.view.of(value)


class Guess:
    """A tensor that fills its storage. `make`: gives its value on the host, of `args` with Parts; None: a root."""

    __slots__ = "weak", "version", "make", "args", "roots", "depth"

    def __init__(self, make, args, parts):
        self.make, self.args = make, args
        self.roots = list({id(r): r for p in parts for r in p.guess.roots}.values())
        self.depth = 1 + max((p.guess.depth for p in parts), default=0)

    def value(self, how):
        made = self.roots[0].value(how) if self.make is None else self.make(*valued(self.args, how))
        return made.contiguous()

    def is_decided(self):
        return all(r.decided is not None for r in self.roots) and not self.is_count()

    def is_count(self):
        return any(r.is_count for r in self.roots)


def valued(x, how="most"):
    """Arguments with values for their Parts."""
    if isinstance(x, Part):
        return x.value(how)
    if type(x) in (list, tuple):
        return type(x)(valued(y, how) for y in x)
    return {k: valued(v, how) for k, v in x.items()} if type(x) is dict else x


def parts_of(x):
    """The Parts in arguments."""
    if isinstance(x, Part):
        yield x
    elif type(x) in (list, tuple, dict):
        for y in x.values() if type(x) is dict else x:
            yield from parts_of(y)


def sorted_places(out, source, dim):
    """The root of the places that a sort along a dimension of `source` gave; None: it is none."""
    if out.dtype != torch.int64 or out.ndim == 0 or out.ndim != source.ndim or out.numel() == 0:
        return None
    return Places(out.shape, dim % out.ndim, source.shape[dim])


def is_constant(x):
    return isinstance(x, torch.Tensor) and x.numel() > 0 and bool((x == x.reshape(-1)[0]).all())


def keeps_count(name, first, parts):
    """Whether a call leaves a count right, if parts of its arguments have nothing else. `first`: its first argument, as
    known or guessed: what is written to."""
    roots = [r for p in parts for r in p.guess.roots]
    if not any(r.is_count for r in roots):
        return True
    if not all(r.is_count for r in roots):
        return False
    if name in SCATTERED:
        return is_constant(first)
    if name in ("__getitem__", *LOOK_UPS) and isinstance(first, torch.Tensor) and not first.is_floating_point():
        return False                                 # of known integers more is known: looked_up
    return name in COUNTED or (name in ORDERED and all(r.is_all() for r in roots))


class Write:
    """A call that writes to tensors, in place or as its `out`. `bases`: what the storage of each held before, a Part or
    a tensor on the host; None: the call writes all of it. `others`: what else it takes, with Parts."""

    def __init__(self, targets, bases, is_list, is_out, others):
        self.targets, self.bases, self.others = targets, bases, others
        self.views = [View(t) for t in targets]
        self.is_list, self.is_out = is_list, is_out

    def parts(self):
        return list(parts_of((self.bases, self.others)))

    def guess(self, i, compute):
        """The storage of target i after the call. `compute`: makes the call on the host."""
        def make(bases, others):
            wholes = [torch.empty(v.shape, dtype=v.dtype, device="cpu") if b is None else b.clone()
                      for b, v in zip(bases, self.views)]
            seen = [v.of(w) for v, w in zip(self.views, wholes)]
            to, (args, kwargs) = seen if self.is_list else seen[0], others
            compute(*((args, {**kwargs, "out": to}) if self.is_out else ((to, *args), kwargs)))
            return wholes[i]
        return Guess(make, (self.bases, self.others), self.parts())


class Guesses:
    """Guesses by storage, as values are (replay_values.py)."""

    def __init__(self, version_of, storage_of):
        self.of, self.purge_at = {}, PURGE_AT
        self.version_of, self.storage_of = version_of, storage_of

    def find(self, tensor):
        """The Part that a tensor on the card is; None: nothing is guessed of it."""
        storage = self.storage_of(tensor) if self.of else None
        guess = None if storage is None else self.of.get(storage._cdata)
        is_of_it = guess is not None and guess.version == self.version_of(tensor)
        return Part(guess, View(tensor)) if is_of_it else None

    def fills(self, tensor):
        storage = self.storage_of(tensor)
        return storage is not None and tensor.is_contiguous() and tensor.nbytes == storage.nbytes()

    def add(self, tensor, guess):
        """`guess` is of the tensor's storage."""
        storage = self.storage_of(tensor)
        if guess.depth > DEPTH_MOST:
            return
        self.remove(storage)
        if len(self.of) >= self.purge_at:
            self.purge()
        guess.weak, guess.version = storage._weak_ref(), self.version_of(tensor)
        self.of[storage._cdata] = guess

    def add_root(self, tensor, root):
        guess = Guess(None, (), ())
        guess.roots = [root]
        if self.fills(tensor):
            self.add(tensor, guess)

    def remove(self, storage):
        guess = self.of.pop(storage._cdata, None)
        if guess is not None:
            torch.UntypedStorage._free_weak_ref(guess.weak)

    def clear(self):
        for key in list(self.of):
            torch.UntypedStorage._free_weak_ref(self.of.pop(key).weak)

    def purge(self):
        for key in [k for k, g in self.of.items() if torch.UntypedStorage._expired(g.weak)]:
            torch.UntypedStorage._free_weak_ref(self.of.pop(key).weak)
        self.purge_at = max(PURGE_AT, 2 * len(self.of))


def decide(part, hows, is_told):
    """Whether what is guessed can be such that `is_told` of the part's value holds; it is so then, in the first of
    these ways that does."""
    for how in hows:
        if is_told(part.value(how)):
            for root in part.guess.roots:
                root.decide(how)
            return True
    return False


def settle(part, size, takes_least):
    """Makes what is guessed so that `size` of the part's value is the largest, or the least."""
    ways = MOST if any(r.values is None and r.decided is None for r in part.guess.roots) else MOST[:1]
    how = (min if takes_least else max)(ways, key=lambda how: size(part.value(how)))
    for root in part.guess.roots:
        root.decide(how)


def places(source, dim, n):
    """n places along a dimension of a known tensor, of values that are evenly spread from the least to the largest;
    if there are as many as the source has, each once. In the order of the source."""
    n_source = source.shape[dim]
    at = torch.arange(n, device="cpu") * (n_source - 1) // max(n - 1, 1)
    if n != n_source and source.ndim == 1:
        at = source.argsort(stable=True)[at].sort().values
    return at


def looked_up(name, args, kwargs, known):
    """Places for those arguments of a look-up that are not known, by id: as `known` has values. None: it is none."""
    source = known.get(id(args[0]))
    if source is None or source.is_floating_point() or source.is_complex() or source.ndim == 0 or source.numel() == 0:
        return None
    if name in LOOK_UPS:
        return along_dimension(name, source, args, kwargs)
    if len(args) < 2:
        return None
    parts = args[1] if type(args[1]) in (tuple, list) else (args[1],)
    found = {}
    for dim, x in enumerate(parts):
        if isinstance(x, torch.Tensor) and x.dtype not in (torch.bool, torch.uint8):
            if id(x) not in known:
                found[id(x)] = places(source, dim, x.numel()).view(x.shape)
        elif type(x) is not slice and type(x) is not int:
            return None
    return found


def along_dimension(name, source, args, kwargs):
    """The same of functions that have one dimension and the places there."""
    given = [*args[1:], *kwargs.values()]
    dim = next((x for x in given if type(x) is int), None)
    index = kwargs.get(LOOK_UPS[name], next((x for x in args[1:] if isinstance(x, torch.Tensor)), None))
    if dim is None or index is None or id(index) == id(args[0]):
        return None
    dim %= source.ndim
    if name == "index_select" or index.ndim == 0:
        return {id(index): places(source, dim, index.numel()).view(index.shape)}
    at = places(source, dim, index.shape[dim])
    return {id(index): at.view([-1 if i == dim else 1 for i in range(index.ndim)]).expand(index.shape)}
