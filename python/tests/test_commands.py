# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The functions return what the program says, refuse as it refuses, and end it when they are interrupted."""
import inspect
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest
import vramreplay
from vramreplay import commands, files, results, running

COMMANDS = {"info": [], "replay": [], "why": [], "who": [], "fit": [], "tune": [], "blame": [], "verify": [],
            "diff": ["best-fit", "none"]}
NOT_OPTIONS = {"recording", "a", "b", "other", "progress", "timeout"}
# Options that only choose how the program writes, and those that measure a real card.
WRITING = {"json", "csv", "samples", "perfetto", "folded", "speedscope", "wide", "all", "help", "calibrate", "html"}


def program_says(command, recording, policies):
    words = ([] if command == "replay" else [command]) + [recording] + [w for p in policies for w in ("--policy", p)]
    done = subprocess.run([*files.command(), *words, "--json", "-"], capture_output=True, check=False)
    return json.loads(done.stdout)


def without_unset(value):
    """Members that the program left out are None in the dataclass."""
    if isinstance(value, dict):
        return {k: without_unset(v) for k, v in value.items() if v is not None}
    return [without_unset(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["gpt-varlen-expand", "oom-fragmented"])
def test_a_function_returns_every_member_that_the_program_writes(command, name, sample):
    policies = COMMANDS[command]
    answer = getattr(vramreplay, command)(sample(name), **({"policy": policies} if policies else {}))
    assert type(answer) is getattr(results, command.capitalize())
    assert without_unset(answer.to_dict()) == without_unset(program_says(command, sample(name), policies))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_function_takes_every_option_of_its_command(command):
    help_of = [*files.command(), *([] if command == "replay" else [command]), "x", "--help"]
    said = subprocess.run(help_of, capture_output=True, text=True, check=True).stdout.split("Exit status:")[0]
    options = set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", said, re.M)) - WRITING
    taken = set(inspect.signature(getattr(commands, command)).parameters) - NOT_OPTIONS
    if command == "replay":
        options -= {"sample-every", "share"}        # an option of samples(); a list of files instead of a recording
    options.discard("host")                         # of tune: another question, with an answer of its own
    assert {name.rstrip("_").replace("_", "-") for name in taken} == options


def test_predict_runs_a_program(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = vramreplay.predict(program("{mib}"), device="1GiB", range="mib=1..2000")
    assert (answer.fits, answer.cards[0].largest, answer.cards[0].fails) == (True, 1024, 1025)
    refused = vramreplay.predict(program(300), device=["1GiB", "8MiB"])
    assert [card.fits for card in refused.cards] == [True, False]
    assert vramreplay.replay(refused.recording, policy="none").runs[0].peak.requested_bytes == 300 << 20


@pytest.mark.parametrize("command", ["predict", "serve", "bisect"])
def test_what_runs_a_program_takes_every_option_of_its_command(command):
    said = subprocess.run([files.program(), command, "--help"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", said.split("Exit status:")[0], re.M)) - WRITING
    taken = set(inspect.signature(getattr(commands, command)).parameters) - NOT_OPTIONS - {"program"}
    assert {name.rstrip("_").replace("_", "-") for name in taken} == options


def test_serve_reads_what_a_server_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = tmp_path / "vllm"
    server.write_text("#!/bin/sh\necho 'Available KV cache memory: 58.11 GiB'\necho 'KV cache size: 476,016 tokens'\n"
                      "echo 'init engine (profile, create kv cache, warmup model) took 1 seconds'\nsleep 60\n")
    server.chmod(0o755)
    answer = vramreplay.serve([server, "serve", "model"], device="h100-80g", within=30, no_overlay=True)
    assert [(card.end, card.tokens, card.tries) for card in answer.cards] == [("ready", 476016, [])]


def test_a_page_is_made_when_it_is_shown_and_once(sample, tmp_path, monkeypatch):
    page = vramreplay.load(sample("oom-fragmented")).report(policy=["best-fit", "expandable_segments:True"])
    calls = []
    run = running.run
    monkeypatch.setattr(running, "run", lambda *words, **options: calls.append(words) or run(*words, **options))
    assert "srcdoc=" in page._repr_html_() and page.html.startswith("<!DOCTYPE html>")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html and len(calls) == 1


def test_an_inner_object_is_an_object(sample):
    run = vramreplay.replay(sample("cnn"), policy=["best-fit", "none"]).runs[1]
    assert (run.policy, run.outcome) == ("none", "ok") and run.peak.requested_bytes > 0


@pytest.mark.parametrize("content, place, reason", [
    (b"junk", "byte 0", "not a recording"), (None, None, "No such file")])
def test_an_error_names_file_place_and_reason(tmp_path, content, place, reason):
    path = tmp_path / "bad.pickle"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(vramreplay.InputError) as caught:
        vramreplay.load(path)
    assert (caught.value.file, caught.value.place, caught.value.status) == (str(path), place, 2)
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize("text", ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
                                  "Traceback (most recent call last):\n  File \"a.py\", line 1", "out of memory " * 99])
def test_a_text_in_the_place_of_a_path_is_told_how_to_ask(tmp_path, text, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"oom.txt'\)\.write_text\(text\)"):
        vramreplay.why(text)
    (tmp_path / "out of memory.txt").write_text("CUDA out of memory. Tried to allocate 2.00 GiB")
    assert vramreplay.why("out of memory.txt").verdict


def test_wrong_usage_is_an_error_without_a_file(sample):
    with pytest.raises(vramreplay.InputError, match="nosuch") as caught:
        vramreplay.fit(sample("cnn"), policy="nosuch")
    assert caught.value.file is None


def test_a_file_whose_name_begins_with_a_dash_is_a_file(tmp_path, sample, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink(sample("cnn"), "-x.zst")
    assert vramreplay.info("-x.zst").events == vramreplay.info(sample("cnn")).events


def test_load_reads_and_its_options_reach_each_question(sample):
    recording = vramreplay.load(sample("cnn"))
    assert recording.info() == vramreplay.info(sample("cnn"))
    with pytest.raises(vramreplay.InputError, match="--gpu 7"):
        vramreplay.load(sample("cnn"), gpu=7)


class SlowProgram:
    """A program in replay's place that tells progress, then sleeps, and leaves a file when it is told to end."""

    def __init__(self, folder, monkeypatch, rest=""):
        self.ended = folder / "ended"
        path = folder / "slow"
        path.write_text(f"""#!/bin/bash
trap 'touch {self.ended}; exit 143' TERM
[ -t 2 ] && printf '\\rreading: run 2, 25 %%, 8.1 million events/s, about 3 s left\\r\\033[Kreading:  50 %%\
\\rreading: 12 MiB, 7 MiB/s\\r\\033[K' >&2
{rest}
for _ in $(seq 600); do sleep 0.1; done
""")
        path.chmod(0o755)
        monkeypatch.setenv("VRAMREPLAY_PROGRAM", str(path))


def test_progress_is_told_and_an_exception_from_outside_ends_the_program(tmp_path, monkeypatch):
    slow, told = SlowProgram(tmp_path, monkeypatch), []
    with pytest.raises(subprocess.TimeoutExpired):
        vramreplay.info("x", progress=lambda what, part: told.append((what, part)), timeout=3)
    assert told == [("reading", 0.25), ("reading", 0.5), ("reading", None)]
    assert slow.ended.exists()


@pytest.mark.parametrize("rest", ["", "while :; do printf '%01000d\\n' 1 >&2; done"])
def test_an_exception_of_the_progress_function_ends_the_program_and_reaches_the_caller(rest, tmp_path, monkeypatch):
    """Also of a program that says more than a terminal holds."""
    slow = SlowProgram(tmp_path, monkeypatch, rest)
    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        vramreplay.info("x", progress=lambda what, part: 1 / 0, timeout=100)
    assert slow.ended.exists() and time.monotonic() - begun < 60


@pytest.mark.parametrize("timeout", [float("inf"), 1e308, 1e9, 600])
def test_a_timeout_may_be_as_long_as_one_likes(timeout, sample):
    assert vramreplay.info(sample("cnn"), timeout=timeout).events > 0


@pytest.mark.parametrize("arguments, kind, said", [
    ({"gpu": True}, TypeError, "gpu takes a value, not True"), ({"gpu": False}, TypeError, "gpu takes a value"),
    ({"gpu": [True]}, TypeError, "gpu takes a text, a number or a path, not bool: True"),
    ({"gpu": {"a": 1}}, TypeError, "gpu takes a text, a number or a path, not dict"),
    ({"from_": b"nsys"}, TypeError, "from_ takes a text"), ({"timeout": "3"}, TypeError, "timeout is a number of"),
    ({"timeout": float("nan")}, ValueError, "timeout is a number of seconds from 0 on, not nan"),
    ({"timeout": -1}, ValueError, "timeout is a number of seconds from 0 on, not -1"),
    ({"progress": 7}, TypeError, "progress is a function"),
    ({"recording": None}, TypeError, "a recording is a path, not NoneType"),
    ({"recording": 7}, TypeError, "a recording is a path, not int: 7")])
def test_an_argument_of_a_wrong_type_is_named(arguments, kind, said, sample):
    with pytest.raises(kind, match=said):
        vramreplay.info(**{"recording": sample("cnn"), **arguments})


def test_a_program_is_a_list_of_words():
    for program, said in (("python x.py", "program is a list of words, not str"), ([7], "a word of program is a path")):
        with pytest.raises(TypeError, match=said):
            vramreplay.predict(program)


def test_a_path_may_be_bytes(sample):
    assert vramreplay.info(os.fsencode(sample("cnn"))).events == vramreplay.info(sample("cnn")).events


def test_every_option_that_is_no_switch_is_known_as_one_with_a_value():
    taken = {}
    for command in [*COMMANDS, "predict", "serve", "bisect", "samples", "requests", "shrink", "adversary"]:
        taken.update(inspect.signature(getattr(commands, command)).parameters)
    options = {name for name, of in taken.items() if name not in NOT_OPTIONS | {"program"} and of.annotation != "bool"}
    assert options == running.WITH_VALUE


def test_the_programs_own_progress_is_understood(tmp_path):
    """It is silent for the first moments, so the work grows until it is heard."""
    for events in (4_000_000, 16_000_000, 64_000_000):
        told = []
        path = tmp_path / f"{events}.zst"
        subprocess.run([*files.command(), "generate", "mix:1000", "--events", str(events), "-o", path], check=True)
        vramreplay.replay(path, policy=["best-fit", "none"], threads=1, progress=lambda *words: told.append(words))
        if told:
            break
    assert told and all(what and 0 <= part <= 1 for what, part in told)


def test_ctrl_c_ends_the_program(tmp_path, monkeypatch):
    slow = SlowProgram(tmp_path, monkeypatch)
    signal.signal(signal.SIGINT, signal.default_int_handler)      # a job in the background begins with it ignored

    def interrupt():
        time.sleep(1)
        os.kill(os.getpid(), 2)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        vramreplay.info("x")
    assert slow.ended.exists()


def test_progress_of_a_fast_command_is_silent_and_errors_still_come(sample, tmp_path):
    told = []
    vramreplay.info(sample("cnn"), progress=lambda *a: told.append(a))
    assert told == []
    with pytest.raises(vramreplay.InputError, match="No such file"):
        vramreplay.info(tmp_path / "none", progress=lambda *a: None)


def test_samples_are_columns_that_numpy_shares(sample):
    numpy = pytest.importorskip("numpy")
    run = vramreplay.replay(sample("cnn"), policy="best-fit").runs[0]
    columns = vramreplay.samples(sample("cnn"), policy="best-fit", sample_every=1)
    arrays = columns.arrays()
    assert len(columns) > 1000 and set(columns.words["policy"]) == {"best-fit"}
    assert arrays["reserved_bytes"].max() == run.peak.reserved_bytes
    columns.numbers["reserved_bytes"][0] = 7
    assert arrays["reserved_bytes"][0] == 7 and numpy.shares_memory(arrays["event"], columns.arrays()["event"])


def test_frames_hold_the_rows_of_an_answer(sample):
    pytest.importorskip("pandas")
    answer = vramreplay.replay(sample("cnn"), policy=["best-fit", "none"])
    frame = answer.frame()
    assert list(frame["policy"]) == ["best-fit", "none"]
    assert list(frame["peak.reserved_bytes"]) == [run.peak.reserved_bytes for run in answer.runs]
    assert len(vramreplay.samples(sample("cnn")).frame().columns) == 12
    with pytest.raises(ValueError, match="no list"):
        answer.frame("nosuch")


def test_options_become_words():
    options = {"on_oom": "skip", "policy": ["a", "--b"], "audit": True, "gpu": 0, "from_": None, "touch": False}
    assert running.option_words(options) == ["--on-oom=skip", "--policy=a", "--policy=--b", "--audit", "--gpu=0"]


@pytest.mark.parametrize("ask, words", [
    (lambda path: vramreplay.why(path), "Fragmented"), (lambda path: vramreplay.fit(path), "needs a card of"),
    (lambda path: vramreplay.tune(path), "export PYTORCH_CUDA_ALLOC_CONF="),
    (lambda path: vramreplay.who(path), "MiB")])
def test_an_answer_shows_itself_as_the_program_says_it(sample, ask, words):
    answer = ask(sample("oom-fragmented"))
    command = type(answer).__name__.lower()
    assert str(answer) == repr(answer) == vramreplay.text(command, sample("oom-fragmented")).rstrip("\n")
    assert words in str(answer) and str(answer).splitlines()[0] in answer._repr_html_()


def test_a_part_of_an_answer_shows_its_members_and_samples_their_names(sample):
    holder = results.Holder(line="<x>", bytes=1, requests=1)
    assert repr(holder) == "Holder(line='<x>', bytes=1, requests=1)" and "&lt;" in holder._repr_html_()
    assert len(repr(vramreplay.samples(sample("gpt-fp32")))) < 500


def test_a_notebook_shows_a_page_and_escapes_it(sample):
    assert "&lt;!DOCTYPE html&gt;" in vramreplay.load(sample("cnn"))._repr_html_()


def test_text_is_what_a_person_reads(sample):
    assert vramreplay.text("why", sample("oom-fragmented")).startswith("Fragmented: ")


def test_requests_come_as_an_arrow_table(sample):
    pytest.importorskip("pyarrow")
    table = vramreplay.requests(sample("mlp-adam"))
    facts = vramreplay.info(sample("mlp-adam"))
    assert table.column_names == ["time", "op", "ptr", "size", "stream"]
    assert table.column("op").to_pylist().count("alloc") == facts.events_by_kind.alloc
    live = most = 0
    for op, size in zip(table.column("op").to_pylist(), table.column("size").to_pylist()):
        live += size if op == "alloc" else -size if op == "free" else 0
        most = max(most, live)
    assert most == facts.peak_requested_bytes
