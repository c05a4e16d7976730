#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What is put into a program's Python under run-sim waits for the import of a module, however often the program looks
for it before, also if its first import fails.

    test_import_hooks.py REPLAY BUILD SOURCE

The module is one of those that compile kernels (cudasim/python/replay_kernels.py), made here."""
import os
import pathlib
import subprocess
import sys
import tempfile

ASAN = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}       # Python itself has no sanitizer
MODULE = """
import os
if os.environ.pop("FAILS", None):
    raise ImportError("not yet")
class JitSpec:
    def __init__(self, name, made=None):
        self.name, self.made = name, made
    def try_load(self):
        return self.made
    def build_and_load(self):
        raise RuntimeError("nvcc is wanted")
"""
PROGRAM = """
import importlib.util
for _ in range(2):
    spec = importlib.util.find_spec("flashinfer.jit.core")
    assert spec.loader.get_filename("flashinfer.jit.core").endswith("core.py"), spec
try:
    import flashinfer.jit.core
except ImportError as error:
    print(error)
from flashinfer.jit.core import JitSpec
JitSpec("norm").build_and_load()
print("in name")
"""


def main():
    replay = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "flashinfer/jit/core.py")
        path.parent.mkdir(parents=True)
        path.write_text(MODULE)
        pathlib.Path(folder, "program.py").write_text(PROGRAM)
        for fails in ("", "yes"):
            done = subprocess.run([replay, "run-sim", "--device", "24GiB", "--", sys.executable, "program.py"],
                                  cwd=folder, env=dict(os.environ, FAILS=fails, **ASAN), capture_output=True, text=True)
            if "in name" not in done.stdout.split("\n") or ("not yet" in done.stdout) != bool(fails):
                sys.exit(f"FAILS={fails}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
