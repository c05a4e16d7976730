# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the tests of the installed package share. They run in an environment that has the wheel and pytest."""
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytest_plugins = ["pytester"]


@pytest.fixture
def sample():
    """sample(NAME): the path of a bundled recording."""
    return lambda name: str(ROOT / f"samples/{name}.trace.zst")


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
