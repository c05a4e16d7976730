#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The recipes of doc/python.md for Weights & Biases and TensorBoard run as they stand, and their figures arrive.

    trackers.py SOURCE SNAPSHOT

Runs in an environment that has the Python package, wandb, tensorboard and torch. Nothing goes over a network.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()


def recipe(package):
    """The block of the page that uses the package."""
    blocks = re.findall(r"^```py\n(.*?)^```", (ROOT / "doc/python.md").read_text(), re.M | re.S)
    return next(block for block in blocks if package in block)


def run(package, folder):
    env = {**os.environ, "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": folder, "HOME": folder}
    subprocess.run([sys.executable, "-c", recipe(package)], cwd=folder, check=True, env=env)


def check_wandb(folder):
    """The offline run's file holds the names, and the page lies beside it."""
    log = pathlib.Path(*glob.glob(f"{folder}/wandb/offline-run-*/*.wandb")).read_bytes()
    assert b"gpu/reserved" in log and b"gpu/requested" in log, "wandb's log lacks the figures"
    pages = glob.glob(f"{folder}/wandb/offline-run-*/files/media/html/**/*.html", recursive=True)
    assert len(pages) == 1 and "Fragmented: " in pathlib.Path(pages[0]).read_text(), f"wandb's pages: {pages}"


def check_tensorboard(folder, reserved):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(f"{folder}/runs").Reload()
    assert events.Scalars("gpu/reserved")[0].value == float(reserved), "TensorBoard has another figure"
    words = events.Tensors("gpu/why/text_summary")[0].tensor_proto.string_val[0]
    assert words.startswith(b"Fragmented: "), words


def main():
    import vramreplay

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sys.argv[2], f"{folder}/snapshot.pickle")
        run("wandb", folder)
        check_wandb(folder)
        run("tensorboard", folder)
        reserved = vramreplay.replay(f"{folder}/snapshot.pickle", policy="best-fit").runs[0].peak.reserved_bytes
        check_tensorboard(folder, reserved)


if __name__ == "__main__":
    main()
