#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The rules of cudasim/python/replay_donate.py, without JAX: which arguments are donated, and by which function.

    test_donate.py REPLAY BUILD SOURCE

A stand-in for JAX has jit and the leaves of a tree."""
import contextlib
import io
import os
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(sys.argv[3]) / "cudasim" / "python"))
os.environ["REPLAY_JAX_DONATE"] = "jit_train_step"
import replay_donate                                 # noqa: E402

failures = 0


def expect(what, is_true):
    global failures
    if not is_true:
        failures += 1
        print("FAILED: %s" % what, file=sys.stderr)


def array(*shape, dtype="float32"):
    kind = type(dtype, (), {"itemsize": 4, "__str__": lambda self: dtype})
    return types.SimpleNamespace(shape=shape, dtype=kind())


def leaves(tree):
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, (list, tuple)) else [tree]


class Jitted:
    """Returns its first two arguments' shapes, and a loss."""

    def __init__(self, function, **options):
        self.options, self.clear_cache = options, "is JAX's own"

    def eval_shape(self, *args, **kwargs):
        return [args[:2], array()]

    def __call__(self, *args, **kwargs):
        return self.options.get("donate_argnums")

    def lower(self, *args, **kwargs):
        return self


def new_jax():
    jax = types.SimpleNamespace(jit=lambda function, **options: Jitted(function, **options),
                                tree_util=types.SimpleNamespace(tree_leaves=leaves))
    replay_donate.install(jax)
    return jax


def train_step(*args):
    return args


def quietly(function, *args):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        found = function(*args)
    return found, said.getvalue()


large, small = array(512, 512), array(2)
choose = replay_donate.arguments_to_donate
two, three = [large] * 2, [large] * 3
expect("arguments with the shapes of results are donated", choose(leaves, (two, large), three) == (0, 1))
expect("each result takes one", choose(leaves, (large, large), [large]) == (0,))
expect("one array without a result keeps its argument", choose(leaves, ([large, array(9, 99999)],), [large]) == ())
expect("another type is another array", choose(leaves, (array(512, 512, dtype="int32"),), [large]) == ())
expect("a scalar beside it does not matter", choose(leaves, ([large, small],), [large]) == (0,))
expect("scalars alone are nothing to donate", choose(leaves, (small, 3, None), [small]) == ())
expect("a static argument is no buffer", choose(leaves, (large,), [large], (0,)) == ())



def fresh():
    return array(512, 512)


share = replay_donate.shared_arguments
expect("an array in two arguments is of both", share(leaves, ([large], fresh(), large)) == (0, 2))
expect("or twice in one", share(leaves, (two, fresh())) == (0,))
expect("or in one that is named", share(leaves, (fresh(), large), [large]) == (1,))
expect("a scalar may stand in two", share(leaves, ([small, fresh()], small)) == ())
found, said = quietly(new_jax().jit(train_step), large, large, fresh())
expect("what is passed twice is not donated, another is", found == (2,))
expect("and is said", said == "replay donate: train_step donates 2 shares 0,1\n")
found, said = quietly(new_jax().jit(train_step), [fresh()], [fresh(), fresh()], array(64, 999))
expect("the function that is named donates", found == (0, 1))
expect("and says which", said == "replay donate: train_step donates 0,1\n")
found, said = quietly(new_jax().jit(train_step, donate_argnums=1), [fresh()], [fresh(), fresh()])
expect("besides what the program donates", found == (0, 1) and said.endswith("donates 0\n"))
found, said = quietly(new_jax().jit(train_step), 3, small)
expect("nothing is found in scalars", found == () and said.endswith("donates nothing\n"))
found, said = quietly(new_jax().jit(lambda x: x), large, large)
expect("another function is left alone", found is None and said == "")
found, _ = quietly(new_jax().jit(static_argnums=0)(train_step), fresh(), fresh())
expect("a decorator with options is one too", found == (1,))
jitted = new_jax().jit(train_step)
expect("what it compiles ahead donates", quietly(jitted.lower, fresh(), fresh())[0].options["donate_argnums"] == (0, 1))
expect("all else is JAX's", jitted.clear_cache == "is JAX's own" and jitted.__name__ == "train_step")
os.environ["REPLAY_JAX_DONATE"] = ""
jax = types.SimpleNamespace(jit=len)
replay_donate.install(jax)
expect("without a name nothing is changed", jax.jit is len)
print("%d failures" % failures)
sys.exit(1 if failures else 0)
