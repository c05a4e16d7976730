# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Kernels that a program compiles as it goes, in name: nothing of them would run on the simulated card.

FlashInfer and SGLang hand C++ to nvcc, which takes minutes for each module and asks for a CUDA toolkit. NVIDIA's CuTe
DSL has NVIDIA's runtime linked into it, which takes no driver but NVIDIA's. What such a kernel writes to, and the
workspaces it needs, its caller asks PyTorch for before: these are requests as on a card. A module that lies compiled
already is loaded as it is.
"""
import functools
import os

_told = set()


def _tell(family):
    """Among the stand-ins of the run, once for each process."""
    journals = os.environ.get("REPLAY_CUDASIM_JOURNAL")
    if journals and family not in _told:
        _told.add(family)
        with open(os.path.join(journals, "stand-ins"), "a") as f:
            f.write(family + "\n")


class _InName:
    """A compiled kernel, or a module of them: every function of it takes what it is given, and answers nothing."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *_, **__):
        return None

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _InName("%s.%s" % (self._name, name))

    def __repr__(self):
        return "<%s, in name>" % self._name


def of_cute(compiler):
    """`compiler`: the module of CuTe DSL that compiles, just imported."""
    def compile_in_name(self, function, *_, **__):
        _tell("cute-dsl-kernels")
        return _InName(getattr(function, "__name__", type(function).__name__))
    compiler.CompileCallable._compile = compile_in_name


def of_flashinfer(core):
    """`core`: FlashInfer's module that builds, just imported."""
    build = core.JitSpec.build_and_load

    @functools.wraps(build)
    def build_and_load(self, *args, **kwargs):
        try_load = getattr(self, "try_load", None)   # releases before 0.7 only know whether it came with the package
        found = try_load() if try_load is not None else None
        if found is not None:
            return found
        if try_load is None and getattr(self, "is_aot", False):
            return build(self, *args, **kwargs)
        _tell("flashinfer-modules")
        return _InName(self.name)
    core.JitSpec.build_and_load = build_and_load


def of_sglang(loader):
    """`loader`: SGLang's module that builds, just imported."""
    @functools.wraps(loader.load_jit)
    def load_jit(*names, **_):
        _tell("sglang-modules")
        return _InName("_".join(str(name) for name in names))
    loader.load_jit = load_jit
