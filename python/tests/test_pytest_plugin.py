# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Marked tests run on the simulated card, fail where they take too much, and say what changed since the baseline."""
import json
import os
import re
import shutil

import pytest
from vramreplay import commands, pytest_plugin

HEAD = """
import ctypes, pytest

def take(*sizes):
    cuda = ctypes.CDLL("libcudart.so.12")
    for size in sizes:
        at = ctypes.c_void_p()
        assert cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size)) == 0
"""


@pytest.fixture
def outcome(pytester):
    """outcome(TEST, WORD...): what pytest says of a file with this test, in a folder of its own."""
    def run(text, *words):
        pytester.makepyfile(test_it=HEAD + text)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)
    return run


LIMITED = """
@pytest.mark.peak_memory("%s", device="sim:1GiB")
def test_step():
    take(4 << 20, 6 << 20)
"""


def test_a_test_below_its_limit_passes(outcome):
    outcome(LIMITED % "10 MiB").assert_outcomes(passed=1)


def test_a_test_above_its_limit_fails_and_says_who_holds_the_memory(outcome):
    result = outcome(LIMITED % "9.5 MiB")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "10.00 MiB (10,485,760 B) at the peak on sim:1GiB, limit 9.50 MiB (9,961,472 B): 524,288 B too much",
        "At the peak hold most:", "*60.0%  6.00 MiB*"])


GUARDED = """
@pytest.mark.peak_memory(device="sim:1GiB")
def test_step():
    take(%s)
"""


def test_the_baseline_is_written_kept_and_compared(outcome, pytester):
    result = outcome(GUARDED % "4 << 20, 6 << 20")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nothing to compare it with*--update-peaks writes one"])
    outcome(GUARDED % "4 << 20, 6 << 20", "--update-peaks").assert_outcomes(passed=1)
    written = json.loads((pytester.path / "peaks.json").read_text())
    assert written == {"test_it.py::test_step": {"device": "sim:1GiB", "peak_bytes": 10 << 20}}
    outcome(GUARDED % "4 << 20, 6 << 20").assert_outcomes(passed=1)
    outcome(GUARDED % "4 << 20").assert_outcomes(passed=1)
    result = outcome(GUARDED % "4 << 20, 8 << 20")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["12.00 MiB*baseline 10.00 MiB*: 2,097,152 B too much", "Since the baseline:",
                                 "  +8.00 MiB (8,388,608 B)  8 MiB", "  -6.00 MiB (6,291,456 B)  6 MiB",
                                 "Its recording, for replay who and why: *.trace.zst"])
    kept = result.stdout.str().partition("for replay who and why: ")[2].splitlines()[0]
    assert commands.info(kept).peak_requested_bytes == 12 << 20
    shutil.rmtree(os.path.dirname(kept))


@pytest.mark.parametrize("text, reason", [
    ("{bad", "is no JSON"), ("null", "it is no peak"), ("[]", "it is no peak"), ('{"t": 3}', "t is no peak"),
    ('{"t": {"device": "24GiB", "peak_bytes": "x"}}', "t is no peak")])
def test_a_baseline_that_cannot_be_read_is_told_in_a_sentence(outcome, pytester, text, reason):
    (pytester.path / "peaks.json").write_text(text)
    result = outcome(GUARDED % "4 << 20")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *peaks.json: {reason}*"])


def test_markdown_has_every_peak_and_the_diff(outcome, pytester):
    outcome(GUARDED % "4 << 20", "--update-peaks")
    outcome(GUARDED % "5 << 20", "--peaks-md", "peaks.md")
    text = (pytester.path / "peaks.md").read_text()
    assert "| `test_it.py::test_step` (failed) | `sim:1GiB` | 5.00 MiB (5,242,880 B) | 4.00 MiB" in text
    assert "Since the baseline:" in text and text.count("```") == 2


def test_before_is_what_was_on_file_before_the_run(outcome, pytester):
    def row():
        return (pytester.path / "peaks.md").read_text().splitlines()[2].split("|")[3:6]

    outcome(GUARDED % "4 << 20", "--update-peaks", "--peaks-md", "peaks.md").assert_outcomes(passed=1)
    assert row() == [" 4.00 MiB (4,194,304 B) ", "  ", "  "]
    outcome(GUARDED % "5 << 20", "--update-peaks", "--peaks-md", "peaks.md").assert_outcomes(passed=1)
    assert row() == [" 5.00 MiB (5,242,880 B) ", " 4.00 MiB (4,194,304 B) ", "  "]


@pytest.mark.parametrize("name, shown", [
    ("plain", "`plain`"), ("a|b `x` <img src=x>", "`` a\\|b `x` <img src=x> ``"), ("a\nb\u202e", "`a?b?`"),
    ("``` x", "```` ``` x ````")])
def test_a_name_ends_neither_its_code_nor_its_row(name, shown):
    assert pytest_plugin.in_code(name) == shown


def test_a_folder_whose_name_begins_with_a_dash_is_no_option(outcome, pytester):
    (pytester.mkdir("-x") / "test_it.py").write_text(HEAD + LIMITED % "10 MiB")
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "./-x/test_it.py").assert_outcomes(passed=1)


def test_two_runs_take_the_same_bytes(outcome, pytester):
    for _ in range(2):
        outcome(GUARDED % "1000, 3 << 20, 77", "--update-peaks").assert_outcomes(passed=1)
        (pytester.path / "peaks.json").rename(pytester.path / f"{_}.json")
    assert (pytester.path / "0.json").read_text() == (pytester.path / "1.json").read_text()


def test_fixtures_parameters_and_plain_tests_work_as_ever(outcome):
    outcome("""
@pytest.fixture
def size():
    return 1 << 20

@pytest.mark.peak_memory("3 MiB")
@pytest.mark.parametrize("n", [1, 2, 4])
def test_many(size, n):
    take(*[size] * n)

def test_plain(size):
    assert size == 1 << 20
""").assert_outcomes(passed=3, failed=1)


def test_failures_skips_and_expected_failures_come_through(outcome):
    result = outcome("""
@pytest.mark.peak_memory("1 MiB")
def test_wrong():
    assert "apples" == "pears"

@pytest.mark.peak_memory("1 MiB")
def test_skipped():
    pytest.skip("not today")

@pytest.mark.peak_memory("1 MiB")
@pytest.mark.xfail
def test_known():
    take(2 << 20)

@pytest.mark.peak_memory("1 MiB")
def test_without_cuda():
    pass

@pytest.mark.peak_memory("1 MB")
def test_unclear():
    pass
""", "-rs")
    result.assert_outcomes(failed=3, skipped=1, xfailed=1)
    for words in ("assert 'apples' == 'pears'", "asked for no device memory", "'1 MB' is no size", "not today"):
        assert words in result.stdout.str()


def test_a_test_that_is_refused_memory_fails_in_its_own_words(outcome):
    result = outcome(LIMITED.replace("1GiB", "8MiB") % "1 GiB")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["on the card sim:8MiB:", "*assert 2 == 0*"])


@pytest.mark.parametrize("text, n", [("1.5 GiB", 3 << 29), ("12", 12), (12, 12), ("7 KiB", 7168), ("1mib", 1 << 20)])
def test_sizes_are_read(text, n):
    assert pytest_plugin.parse_size(text) == n
    assert re.search(f"{n:,}", pytest_plugin.size_text(n))


MANY = """
@pytest.mark.peak_memory(device="sim:1GiB")
@pytest.mark.parametrize("mib", [10, 20, 30, 40])
def test_step(mib):
    take(mib << 20)
"""


def test_every_worker_of_xdist_keeps_its_figures(outcome, pytester):
    pytest.importorskip("xdist")
    result = outcome(MANY, "-n", "2", "--update-peaks", "--peaks-md", "peaks.md")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["4 peaks written to *peaks.json"])
    written = json.loads((pytester.path / "peaks.json").read_text())
    assert {name: peak["peak_bytes"] >> 20 for name, peak in written.items()} == {
        f"test_it.py::test_step[{mib}]": mib for mib in (10, 20, 30, 40)}
    assert [line.count("MiB") for line in (pytester.path / "peaks.md").read_text().splitlines()[2:]] == [1] * 4
    outcome(MANY, "-n", "2").assert_outcomes(passed=4)
    result = outcome(MANY.replace("mib << 20", "mib << 20, 1 << 20"), "-n", "2")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*1,048,576 B too much", "Since the baseline:"])


def test_tests_whose_names_differ_in_letters_that_no_file_has_do_not_share_a_recording(outcome, pytester):
    two = MANY.replace("[10, 20, 30, 40]", "[10, 20], ids=['a/b', 'a b']")
    outcome(two, "--update-peaks").assert_outcomes(passed=2)
    assert len(list((pytester.path / "peaks").glob("*.trace.zst"))) == 2


CONFTEST = """
def pytest_collection_modifyitems(items):
    for item in items:
        assert item.fixturenames is not None and item.function.__name__.startswith("test_")

def pytest_runtest_setup(item):
    assert "slow" not in item.fixturenames and item.function and item.obj and item.cls is None
"""


def test_a_project_whose_hooks_look_at_its_functions_goes_on(outcome, pytester):
    pytester.makeconftest(CONFTEST)
    outcome(LIMITED % "10 MiB" + "\n\ndef test_plain(): pass\n").assert_outcomes(passed=2)
