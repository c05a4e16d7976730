#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Under run-sim kernels that a program would compile as it goes are there in name (cudasim/python/replay_kernels.py).

    test_kernels_in_name.py REPLAY BUILD SOURCE

Packages of the same form, made here, refuse to compile."""
import os
import pathlib
import subprocess
import sys
import tempfile

PACKAGES = {
    "cutlass/base_dsl/compiler.py": """
class CompileCallable:
    def __getitem__(self, options):
        return CompileCallable()
    def __call__(self, *args, **kwargs):
        return self._compile(*args, **kwargs)
    def _compile(self, function, *args, **kwargs):
        raise RuntimeError("a driver of NVIDIA's is wanted")
""",
    "flashinfer/jit/core.py": """
class JitSpec:
    def __init__(self, name, made=None):
        self.name, self.made = name, made
    def try_load(self):
        return self.made
    def build_and_load(self):
        raise RuntimeError("nvcc is wanted")
""",
    "sglang/kernels/jit/utils/compile/loader.py": """
def load_jit(*names, cuda_files=None):
    raise RuntimeError("nvcc is wanted")
""",
}
PROGRAM = """
from cutlass.base_dsl.compiler import CompileCallable
from flashinfer.jit.core import JitSpec
from sglang.kernels.jit.utils.compile.loader import load_jit

def norm(x):
    raise RuntimeError("never traced")

kernel = CompileCallable()["fast"](norm, 1, options="x")
assert kernel(1, stream=None) is None, kernel
module = JitSpec("sampling").build_and_load()
assert module.plan.default(1, 2) is None and not hasattr(module, "__len__")
assert JitSpec("norm", made="compiled").build_and_load() == "compiled", "what lies compiled is loaded"
assert load_jit("store", 8, cuda_files=["a.cuh"]).run(3) is None
print("all in name")
"""


def main():
    replay = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for path, text in PACKAGES.items():
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAM)
        words = [sys.executable, str(program)]
        environment = dict(os.environ, PYTHONPATH=folder, ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
        bare = subprocess.run(words, env=environment, capture_output=True, text=True)
        if bare.returncode == 0:
            return "the packages compile without a card"
        ran = subprocess.run([replay, "run-sim", "--device", "24GiB", "--", *words], env=environment, cwd=folder,
                             capture_output=True, text=True)
        if ran.returncode != 0 or "all in name" not in ran.stdout:
            return "run-sim ended with %d:\n%s\n%s" % (ran.returncode, ran.stdout, ran.stderr)
    return None


if __name__ == "__main__":
    sys.exit(main())
