# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""JAX's functions of one name donate their arguments, to see what that saves (`predict`, REPLAY_JAX_DONATE=jit_step).

At its first call a function is asked, by shapes alone, which of its positional arguments have in every large array the
shape and the type of a result. These are donated besides what the program donates itself. A program that reads one of
them after the call then ends in JAX's own error, which is an answer too. An array that is passed in two places of a
call cannot be donated: arguments that hold one are left as they are, and said.
"""
import collections
import functools
import os
import re
import sys
import types

SCALAR_BYTES = 64 << 10                              # less than this is not worth a place: a loss, a counter


def _letters(name):
    return re.sub("[^A-Za-z0-9]", "", name)


def _shapes(tree_leaves, tree):
    """Shape and type of each large array of a tree."""
    arrays = [leaf for leaf in tree_leaves(tree) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    return collections.Counter((tuple(a.shape), str(a.dtype)) for a in arrays
                               if functools.reduce(lambda n, k: n * k, a.shape, 1) *
                               getattr(a.dtype, "itemsize", 0) >= SCALAR_BYTES)


def arguments_to_donate(tree_leaves, arguments, results, static=()):
    """Numbers of arguments whose large arrays all find a result of their own, the first arguments first."""
    left, found = _shapes(tree_leaves, results), []
    for number, argument in enumerate(arguments):
        wanted = _shapes(tree_leaves, argument) if number not in static else None
        if wanted and not wanted - left:
            left -= wanted
            found.append(number)
    return tuple(found)


def shared_arguments(tree_leaves, arguments, others=()):
    """Numbers of arguments that hold a large array which stands in another place of the call, too."""
    places = collections.Counter(id(leaf) for tree in [*arguments, *others] for leaf in tree_leaves(tree)
                                 if _shapes(tree_leaves, leaf))
    return tuple(number for number, argument in enumerate(arguments)
                 if any(places[id(leaf)] > 1 for leaf in tree_leaves(argument)))


def _numbers(value):
    return () if value is None else (value,) if isinstance(value, int) else tuple(value)


class _Donating:
    """A jitted function that donates more from its first call on."""

    def __init__(self, jax, jit, function, options):
        self._jax, self._jit, self._function, self._options = jax, jit, function, options
        self._plain, self._donating = jit(function, **options), None
        functools.update_wrapper(self, function)

    def _choose(self, args, kwargs):
        if self._donating is None:
            mine = _numbers(self._options.get("donate_argnums"))
            leaves, results = self._jax.tree_util.tree_leaves, self._plain.eval_shape(*args, **kwargs)
            left_out = _numbers(self._options.get("static_argnums")) + mine
            shared = shared_arguments(leaves, args, kwargs.values())
            found = arguments_to_donate(leaves, args, results, left_out + shared)
            refused = sorted(set(arguments_to_donate(leaves, args, results, left_out)) & set(shared))
            options = dict(self._options, donate_argnums=tuple(sorted(set(mine + found))))
            self._donating = self._jit(self._function, **options)
            print("replay donate: %s donates %s%s" % (self._function.__name__, ",".join(map(str, found)) or "nothing",
                                                      " shares %s" % ",".join(map(str, refused)) if refused else ""),
                  file=sys.stderr)
        return self._donating

    def __call__(self, *args, **kwargs):
        return self._choose(args, kwargs)(*args, **kwargs)

    def lower(self, *args, **kwargs):
        return self._choose(args, kwargs).lower(*args, **kwargs)

    def trace(self, *args, **kwargs):
        return self._choose(args, kwargs).trace(*args, **kwargs)

    def __get__(self, instance, owner=None):         # a method
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name):
        return getattr(self._plain, name)


def install(jax):
    wanted = os.environ.get("REPLAY_JAX_DONATE")
    if not wanted:
        return
    jit = jax.jit

    @functools.wraps(jit)
    def donating_jit(*args, **options):
        if not args and "fun" not in options:        # @jax.jit(static_argnums=...)
            return lambda function: donating_jit(function, **options)
        if len(args) != 1 or _letters("jit" + getattr(args[0], "__name__", "")) != _letters(wanted):
            return jit(*args, **options)
        return _Donating(jax, jit, args[0], options)
    jax.jit = donating_jit
