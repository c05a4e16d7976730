# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the tests of the installed package share. They run in an environment that has the wheel and pytest."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytest_plugins = ["pytester"]


@pytest.fixture
def sample():
    """sample(NAME): the path of a bundled recording."""
    return lambda name: str(ROOT / f"samples/{name}.trace.zst")


@pytest.fixture
def program(tmp_path):
    """program(MIB): the words of a program that asks a simulated card for so much."""
    path = tmp_path / "program.py"
    path.write_text("import ctypes, sys\nruntime = ctypes.CDLL('libcudart.so.12')\n"
                    "sys.exit(runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), "
                    "ctypes.c_size_t(int(sys.argv[1]) << 20)))\n")
    return lambda mib: [sys.executable, str(path), str(mib)]


def pytest_addoption(parser):
    parser.addoption("--wheel", help="the wheel that is installed here; test_install.py installs it anew")


@pytest.fixture
def wheel(request):
    """The wheel's path."""
    return pathlib.Path(request.config.getoption("--wheel"))


@pytest.fixture
def root():
    """The source tree."""
    return ROOT
