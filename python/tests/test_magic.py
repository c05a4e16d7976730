# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""`%load_ext vramreplay`, and what a prompt shows: an answer its sentence, a part of one no long list."""
import sys
import types

import pytest
import vramreplay
from vramreplay import results


class Shell:
    """IPython's shell, as far as an extension needs it."""

    def __init__(self):
        self.magics = {}

    def register_magic_function(self, function, magic_kind, magic_name):
        assert magic_kind == "line"
        self.magics[magic_name] = function


class UsageError(Exception):
    """IPython shows the words of its own, without a traceback."""


@pytest.fixture
def magics(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.core", types.ModuleType("IPython.core"))
    error = types.ModuleType("IPython.core.error")
    error.UsageError = UsageError
    monkeypatch.setitem(sys.modules, "IPython.core.error", error)
    shell = Shell()
    vramreplay.load_ipython_extension(shell)
    return shell.magics


def test_why_is_an_answer_that_shows_itself(magics, sample):
    answer = magics["why"](f"'{sample('oom-fragmented')}'")
    assert answer.verdict == "fragmented" and repr(answer).startswith("Fragmented: ")
    assert answer._repr_html_().startswith("<pre>Fragmented: ")


def test_replay_prints_what_the_program_prints(magics, sample, capsys):
    assert magics["replay"](f"fit {sample('cnn')} --policy best-fit") is None
    assert capsys.readouterr().out == vramreplay.text("fit", sample("cnn"), policy="best-fit")


@pytest.mark.parametrize("name, line, sentence", [
    ("why", "a.pickle --device 24GiB", "%replay why FILE"), ("why", "no-such.pickle", "^no-such.pickle: No such file"),
    ("why", "'a", "quotation"), ("replay", "fit no-such-file", "^no-such-file: No such file"),
    ("replay", "a b", "one name too many")])
def test_a_refusal_is_a_sentence_at_the_prompt(magics, name, line, sentence):
    with pytest.raises(UsageError, match=sentence) as caught:
        magics[name](line)
    assert caught.value.__suppress_context__


def test_a_part_shows_no_long_list(sample):
    step = results.ShrinkProgram(call="request", request=1, bytes=2, stream=0)
    whole, cut = (results.Shrink.from_json({**dict.fromkeys(results.Shrink.__annotations__), "program": [step] * n})
                  for n in (8, 20_000))
    assert repr(whole).count("ShrinkProgram(") == 8 and "in all" not in repr(whole)
    assert repr(cut).count("ShrinkProgram(") == 3 and "... 20,000 in all]" in repr(cut)
    assert repr(vramreplay.report(sample("cnn"))) == f"Report({sample('cnn')})"


def test_without_a_word_it_says_what_there_is_to_ask(magics, capsys):
    magics["replay"]("")
    assert "replay why" in capsys.readouterr().out
