# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The hook explains what PyTorch refuses, once, and takes back all that it changed.

PyTorch is a stand-in here (fakes/torch). tests/against-torch/hook runs the same with PyTorch itself.
"""
import os
import pathlib
import subprocess
import sys

import pytest

FAKES = pathlib.Path(__file__).parent / "fakes"
BEGIN = "import os, sys, torch\n"
CATCH = """
try:
    torch.empty(1 << 40)
except torch.OutOfMemoryError as error:
    caught = error
"""


@pytest.fixture
def python(tmp_path, sample):
    """python(CODE, **VARIABLES): runs a program in a folder of its own, where the fakes are found."""
    def run(code, **variables):
        env = {**os.environ, "PYTHONPATH": str(FAKES), "FAKE_SNAPSHOT": sample("oom-fragmented"), **variables}
        return subprocess.run([sys.executable, "-c", BEGIN + code], cwd=tmp_path, env=env, capture_output=True,
                              text=True)
    return run


def said(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_a_caught_error_has_the_verdict_as_a_note(python, tmp_path):
    done = python("import vramreplay.torch as h" + CATCH + "print(''.join(h.notes(caught)))")
    assert "Fragmented: 26.37 MiB would have fitted" in done.stdout
    assert "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" in done.stdout
    [snapshot] = tmp_path.glob("oom-*-1.pickle")
    assert f"replay tune ./{snapshot.name}" in done.stdout


def test_the_first_caught_error_is_told_although_the_program_prints_it_alone(python):
    done = python("import vramreplay.torch as h" + CATCH + CATCH)
    assert done.stderr.count("vramreplay: out of memory: Fragmented: ") == 1
    assert "More: replay why ./oom-" in done.stderr


def test_no_older_snapshot_is_written_over_and_no_link_followed(python, tmp_path):
    plant = ("import vramreplay.torch as h, os\nopen('others', 'w').write('kept')\n"
             "os.symlink('others', f'oom-{os.getpid()}-1.pickle')\n")
    done = python(plant + CATCH + "print(''.join(h.notes(caught)))")
    assert "Fragmented: " in done.stdout
    assert (tmp_path / "others").read_text() == "kept" and len(list(tmp_path.glob("oom-*-2.pickle"))) == 1


def test_an_uncaught_error_shows_the_verdict_after_the_traceback(python):
    done = python("import vramreplay.torch\ntorch.empty(1 << 40)")
    assert done.returncode == 1
    assert 0 < done.stderr.index("OutOfMemoryError: CUDA out of memory") < done.stderr.rindex("Fragmented: ")


MESSAGE = ("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which "
           "{} is free. {}Including non-PyTorch memory, this process has 2.04 GiB memory in use. {}Of the "
           "allocated memory 1.49 GiB is allocated by PyTorch, and 104.38 MiB is reserved by PyTorch but unallocated.")


def alone(message):
    """Without others this process has what is not free: a text that lists none would otherwise tell of them."""
    return message if "Process" in message or "20.00 GiB is free" in message else message.replace("2.04", "23.98")


HELD = """
sys.ps1 = ">>> "
class Storage:
    def __init__(self, at, n): self.at, self.n = at, n
    def data_ptr(self): return self.at
    def nbytes(self): return self.n
class Tensor:
    is_cuda = True
    def __init__(self, at): self.at = at
    def untyped_storage(self): return Storage(self.at, 512 << 20)
torch.Tensor = Tensor
def inner(x, pair):
    torch.empty(1 << 40)
def outer(x):
    inner(x, [Tensor(2), Tensor(3)])
kept = Tensor(9)                       # of the module: stays in any case
try:
    outer(Tensor(1))
except torch.OutOfMemoryError as error:
    caught = error
"""


def test_in_a_session_it_says_what_the_traceback_keeps(python):
    done = python("import vramreplay.torch as h" + HELD + "print(h.notes(caught)[-1])")
    assert "keeps 1,536 MiB: local variables of 2 functions" in done.stdout, done.stderr
    assert "sys.last_traceback = " in done.stdout
    done = python("import vramreplay.torch as h" + HELD.replace("sys.ps1", "prompt") + "print(h.notes(caught)[-1])")
    assert "local variables" not in done.stdout


FAKE_IPYTHON = """
import types
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: object())
"""


def test_in_a_notebook_the_line_also_frees_what_ipython_keeps(python):
    line = "InteractiveTB.tb = None"
    for before, is_said in ((FAKE_IPYTHON, True), ("", False)):
        done = python("import sys" + before + "\nimport vramreplay.torch as h" + HELD + "print(h.notes(caught)[-1])")
        assert (line in done.stdout) == is_said, done.stderr


@pytest.mark.parametrize("free, others, allowed, verdict", [
    ("14.00 MiB", "", "", "Fragmented: "),
    ("14.00 MiB", "Process 7 has 21.90 GiB memory in use. ", "",
     "Somebody else has the memory: other processes hold 21.90 GiB"),
    ("20.00 GiB", "", "4.00 GiB allowed; ", "A memory fraction refused it: 4 GiB are allowed"),
    ("20.00 GiB", "", "", "The card had room: 20 GiB were free")])
def test_what_the_text_alone_tells_comes_first(python, free, others, allowed, verdict):
    done = python("import vramreplay.torch as h" + CATCH + "print(h.notes(caught)[0].lstrip())",
                  FAKE_MESSAGE=alone(MESSAGE.format(free, others, allowed)))
    assert said(done)[0].startswith(verdict) and "Fragmented: 26.37 MiB would have fitted" in done.stdout


def test_the_history_begins_when_cuda_starts_and_is_cheap(python):
    code = "import vramreplay.torch\nprint(torch.state['history'])\ntorch.empty(1)\nprint(torch.state['history'])"
    assert said(python(code)) == ["None", "{'enabled': 'all', 'context': 'alloc', 'stacks': 'python', "
                                          "'max_entries': 100000}"]
    assert "'max_entries': 77" in said(python(code, VRAMREPLAY_MAX_ENTRIES="77"))[1]


def test_disable_takes_everything_back(python, tmp_path):
    code = ("before = dict(vars(torch.OutOfMemoryError))\nimport vramreplay.torch as h\n{}h.disable()\n"
            "print(dict(vars(torch.OutOfMemoryError)) == before, torch.state['history'])" + CATCH +
            "print(torch.state['history'], hasattr(caught, '__notes__'))")
    for begin in ("", "torch.empty(1)\n"):
        assert said(python(code.format(begin))) == ["True None", "None False"]
    assert list(tmp_path.iterdir()) == []


def test_a_history_of_the_program_itself_is_left_as_it_is(python):
    code = ("torch.cuda.memory._record_memory_history(enabled='all', max_entries=5)\nimport vramreplay.torch as h\n"
            "torch.empty(1)\nh.disable()\nprint(torch.state['history'])")
    assert said(python(code)) == ["{'enabled': 'all', 'max_entries': 5}"]


def test_only_so_many_errors_are_explained(python):
    code = ("import vramreplay.torch as h\nn = 0\nfor _ in range(5):" + CATCH.replace("\n", "\n    ") +
            "\n    n += len(h.notes(caught))\nprint(n, len(torch.state['dumps']))")
    assert said(python(code)) == ["3 3"]


def test_an_error_that_pytorch_did_not_raise_is_not_explained(python):
    code = ("import vramreplay.torch as h\ntorch.empty(1)\nerror = torch.OutOfMemoryError('mine')\n"
            "print(h.notes(error), torch.state['dumps'], error)")
    assert said(python(code)) == ["[] [] mine"]


@pytest.mark.parametrize("break_it, reason", [
    ("torch.cuda.memory._dump_snapshot = lambda path: 1 / 0", "no explanation: division by zero"),
    ("os.environ['FAKE_SNAPSHOT'] = os.devnull", "has no answer: "),
    ("os.environ['VRAMREPLAY_PROGRAM'] = '/nosuch'", "has no answer: /nosuch")])
def test_what_fails_in_the_hook_is_told_and_hides_nothing(python, break_it, reason):
    done = python(f"import vramreplay.torch as h\n{break_it}{CATCH}print(caught)\nprint(h.notes(caught))")
    assert said(done)[0].startswith("CUDA out of memory") and reason in said(done)[1]


def test_an_explanation_that_takes_too_long_is_given_up(python, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 100\n")
    slow.chmod(0o755)
    code = "import vramreplay.oom_hook as h\nh.enable(timeout=0.5)" + CATCH + "print(h.notes(caught))"
    assert "has no answer after" in said(python(code, VRAMREPLAY_PROGRAM=str(slow)))[0]


def test_the_variable_is_heard_by_what_torch_loads(python):
    code = "import vramreplay.torch_autoload as a, vramreplay.oom_hook as h\na.autoload()\nprint(h.is_enabled())"
    assert said(python(code, VRAMREPLAY_TORCH="1")) == ["True"]
    assert said(python(code)) == said(python(code, VRAMREPLAY_TORCH="0")) == ["False"]


def test_the_package_names_its_entry_point_for_torch():
    from importlib.metadata import entry_points
    [entry] = [e for e in entry_points(group="torch.backends") if e.name == "vramreplay"]
    assert callable(entry.load())


@pytest.mark.parametrize("module, is_on_when_made, begin, end", [
    ("lightning", "False", "setup(None, None, 'fit')", "teardown(None, None, 'fit')"),
    # the Trainer puts the model on the card before it calls
    ("transformers", "True", "on_train_begin(None, None, None, model=1)", "on_train_end(None, None, None)")])
def test_callbacks_switch_the_hook_on_and_off(python, tmp_path, module, is_on_when_made, begin, end):
    (tmp_path / "there").mkdir()
    code = (f"from vramreplay.{module} import OomCallback\nimport vramreplay.oom_hook as h\n"
            f"callback = OomCallback(folder='there')\nprint(h.is_enabled())\ncallback.{begin}\nprint(h.is_enabled())" +
            CATCH + f"callback.{end}\nprint(h.is_enabled(), os.listdir('there') != [])")
    assert said(python(code)) == [is_on_when_made, "True", "False True"]


def test_the_callback_of_transformers_keeps_one_history_until_the_end_and_begins_again(python):
    code = ("from vramreplay.transformers import OomCallback\nimport vramreplay.oom_hook as h\n"
            "callback = OomCallback(folder='.')\nfirst = h._hook\ncallback.on_train_begin(None, None, None)\n"
            "print(h._hook is first)\ncallback.on_train_end(None, None, None)\n"
            "callback.on_train_begin(None, None, None)\nprint(h.is_enabled())")
    assert said(python(code)) == ["True", "True"]


def test_the_observer_takes_the_arguments_of_torchtnt(python):
    code = ("from vramreplay.oom_hook import attach_oom_observer\n"
            "attach_oom_observer(output_dir='new/folder', trace_max_entries=9)" + CATCH +
            "print(len(os.listdir('new/folder')), torch.state['history']['max_entries'])")
    assert said(python(code)) == ["1 9"]
