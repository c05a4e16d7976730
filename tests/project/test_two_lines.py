#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The two lines of README that record a program write the file however the program ends, unless it is killed.

    test_two_lines.py REPLAY BUILD SOURCE

They are run as they stand, with a stand-in for torch that writes down what it was asked."""
import os
import pathlib
import subprocess
import sys
import tempfile

TORCH = """
history = None
class OutOfMemoryError(RuntimeError): pass
class cuda:
    class memory:
        @staticmethod
        def _record_memory_history(**options):
            global history
            history = options
        @staticmethod
        def _dump_snapshot(path):
            open(path, "w").write(repr(history))
"""
# how a program ends, and its exit status
ENDINGS = {
    "at its last line": ("pass", 0),
    "by an OutOfMemoryError": ("def step():\n    raise torch.OutOfMemoryError('CUDA out of memory.')\nstep()", 1),
    "by sys.exit": ("import sys; sys.exit(3)", 3),
    "by Ctrl-C": ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", -2),
}


def two_lines(page):
    lines = [line.strip() for line in page.read_text().split("\n") if line.startswith("    ")]
    found = [line for line in lines if "_record_memory_history(" in line or "_dump_snapshot" in line]
    assert len(found) >= 2, f"{page} has no two lines that record: {found}"
    return "\n".join(found[:2])


def check(page, ending):
    end, status = ENDINGS[ending]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "torch.py").write_text(TORCH)
        pathlib.Path(folder, "program.py").write_text(f"import torch\n{two_lines(page)}\n{end}\n")
        ran = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True)
        assert ran.returncode == status, f"a program that ends {ending}: status {ran.returncode}: {ran.stderr}"
        snapshot = pathlib.Path(folder, "snapshot.pickle")
        assert snapshot.exists(), f"{page.name}: a program that ends {ending} leaves no snapshot"
        assert snapshot.read_text() == "{'stacks': 'python'}", f"the history was not begun: {snapshot.read_text()}"


source = pathlib.Path(sys.argv[3])
os.environ.pop("PYTHONPATH", None)
for page in (source / "README.md", source / "doc/recording.md"):
    for ending in ENDINGS:
        check(page, ending)
