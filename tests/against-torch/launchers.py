#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Every way to start a program under `replay run-sim` finds stand-ins for the torch that the program imports.

    tests/against-torch/launchers.py [--build FOLDER]

by a Python that has torch, without NVIDIA's packages. torchrun is tried with two ranks. Exit status 0: all true.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import os, torch
if "RANK" in os.environ:
    torch.distributed.init_process_group("nccl")
n = torch.tensor([3]).to("cuda:" + os.environ.get("LOCAL_RANK", "0"))
if "RANK" in os.environ:
    torch.distributed.all_reduce(n)
    torch.distributed.destroy_process_group()
print("sum", n.item())
"""


def ways(folder):
    program, script = folder / "program.py", folder / "train.sh"
    program.write_text(PROGRAM)
    script.write_text("cd /\nexec '%s' '%s'\n" % (sys.executable, program))
    (folder / "Makefile").write_text("all:\n\tsh %s\n" % script)
    return {"a shell script": (["sh", str(script)], 3), "make": (["make", "-C", str(folder)], 3),
            "env": (["env", "A=b", sys.executable, str(program)], 3),
            "a child of a Python": (["python3", "-c", "import os; os.system('sh %s')" % script], 3),
            "torchrun": ([os.path.join(os.path.dirname(sys.executable), "torchrun"), "--nproc-per-node", "2",
                          str(program)], 6)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    o = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (command, total) in ways(pathlib.Path(folder)).items():
            done = subprocess.run([str(o.build.resolve() / "replay"), "run-sim", "--device", "24GiB,count=2", "--",
                                   *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
            is_true = done.returncode == 0 and "sum %d" % total in done.stdout and "libcufile" in done.stdout
            failures += not is_true
            print("%s  %s%s" % ("ok    " if is_true else "FAILED", name, "" if is_true else ": " + done.stdout[-1500:]))
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
