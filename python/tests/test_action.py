# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The steps of the GitHub Action, run here one after the other as GitHub would, and the workflow that uses it."""
import os
import re
import subprocess
import sys

import pytest
import yaml

TEST = """
import ctypes, pytest

@pytest.mark.peak_memory("%s", device="sim:1GiB")
def test_step():
    at = ctypes.c_void_p()
    assert ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(at), ctypes.c_size_t(4 << 20)) == 0
"""


@pytest.fixture
def action(root, tmp_path, wheel):
    """action(): runs the steps in a folder; the status of the first that fails, what it said, summary and outputs."""
    steps = yaml.safe_load((root / "python/action/action.yml").read_text())
    inputs = {name: entry["default"] for name, entry in steps["inputs"].items()} | {"package": str(wheel)}
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"),
           "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "PIP_NO_INDEX": "1",
           "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}

    def run():
        for step in steps["runs"]["steps"]:
            assert step["shell"] == "bash" and "${{" not in step["run"], "an input in a script is a way to inject one"
            own = {name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m[1]], value)
                   for name, value in step["env"].items()}
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env={**env, **own},
                                  capture_output=True, text=True)
            if done.returncode:
                break
        return done, (tmp_path / "summary").read_text(), (tmp_path / "output").read_text()
    return run


def test_the_action_passes_and_fails_with_its_tests(action, tmp_path):
    (tmp_path / "test_it.py").write_text(TEST % "4 MiB")
    done, summary, output = action()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| `test_it.py::test_step` | `sim:1GiB` | 4.00 MiB (4,194,304 B) |" in summary
    assert output == f"summary={tmp_path}/peaks.md\n"
    (tmp_path / "test_it.py").write_text(TEST % "3 MiB")
    done, summary, _ = action()
    assert done.returncode == 1 and "test_step` (failed)" in summary and "At the peak hold most:" in summary


def test_the_example_workflow_uses_what_the_action_has(root):
    action = yaml.safe_load((root / "python/action/action.yml").read_text())
    workflow = yaml.safe_load((root / "examples/workflow/peak-memory.yml").read_text())
    [step] = [s for s in workflow["jobs"]["peak-memory"]["steps"] if s.get("id") == "peaks"]
    assert set(step["with"]) <= set(action["inputs"]) and "/python/action@" in step["uses"]
    used = set(re.findall(r"steps\.peaks\.outputs\.(\w+)", (root / "examples/workflow/peak-memory.yml").read_text()))
    assert used == set(action["outputs"])
