# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The server speaks MCP with the protocol's own client, gives typed answers, and reaches nothing outside its folder."""
import asyncio
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import jsonschema
import mcp
import pytest
import vramreplay
from vramreplay import files
from vramreplay import mcp as server

SAMPLES = ["cnn", "oom-fragmented", "mlp-adam", "mlp-sgd", "gpt-varlen-expand"]


@pytest.fixture
def folder(tmp_path, sample):
    """A server's folder: recordings, and ways out of it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in SAMPLES:
        shutil.copy(sample(name), inside / f"{name}.zst")
    shutil.copy(sample("cnn"), tmp_path / "outside.zst")
    (inside / "link.zst").symlink_to(tmp_path / "outside.zst")
    (inside / "bad.pickle").write_bytes(b"junk")
    return inside


@pytest.fixture
def session(folder):
    """session(STEPS): lets a coroutine use a client that is connected to a new server."""
    def run(steps, *options):
        async def connected():
            arguments = ["-m", "vramreplay.mcp", "--folder", str(folder), *options]
            parameters = mcp.StdioServerParameters(command=sys.executable, args=arguments)
            async with mcp.Client(parameters) as client:
                return await steps(client)
        return asyncio.run(connected())
    return run


@pytest.fixture
def call(session):
    """call(TOOL, **ARGUMENTS): the client's result."""
    return lambda tool, **arguments: session(lambda client: client.call_tool(tool, arguments))


def test_the_package_starts_the_server_by_its_own_name(folder):
    """As clients of the registry start it: server.json has these words."""
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    done = subprocess.run([sys.executable, "-m", "vramreplay", "mcp", "--folder", str(folder)], input=f"{ping}\n",
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, {}), done.stderr


def test_the_client_lists_the_tools_with_valid_schemas(session):
    tools = {tool.name: tool for tool in session(lambda client: client.list_tools()).tools}
    assert set(tools) == {"files", "info", "why", "why_text", "who", "fit", "tune", "diff", "blame", "shrink",
                          "adversary", "verify"}
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        schema = tool.output_schema["properties"].get("schema", {}).get("const")
        assert schema == (None if tool.name in ("files", "why_text") else f"replay-{tool.name}/1")
        assert tool.annotations.read_only_hint


def test_the_list_of_tools_is_short_enough_to_go_with_every_question(folder):
    [listed] = say(folder, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', options=["--run-programs"])
    assert len(listed["result"]["tools"]) == 15
    assert len(json.dumps(listed, separators=(",", ":"))) < 20_000          # as it is sent


def test_bisect_runs_the_commits_of_the_folder(folder, session, root):
    subprocess.run([root / "tests/bisect/make_example.sh"], cwd=folder, check=True, capture_output=True)
    arguments = {"good": "v1", "program": [sys.executable, "train.py"]}
    answer = session(lambda client: client.call_tool("bisect", arguments), "--run-programs").structured_content
    assert answer["end"] == "named" and "Plot the attention" in answer["said"]
    jsonschema.validate(answer, server.TOOLS["bisect"].output_schema())


def test_a_program_is_run_only_if_the_server_was_started_so(session, folder, program):
    arguments = {"program": program(300), "device": "1GiB"}

    async def refused(client):
        try:
            return str(await client.call_tool("predict", arguments))
        except mcp.MCPError as error:
            return str(error)

    async def steps(client):
        return (await client.list_tools()).tools, await client.call_tool("predict", arguments)

    assert "no tool 'predict'" in session(refused) and not list(folder.glob("*.predict.*"))

    tools, answer = session(steps, "--run-programs")
    assert [tool.annotations.read_only_hint for tool in tools if tool.name == "predict"] == [False]
    assert not answer.is_error and answer.structured_content["cards"][0]["fits"] is True
    jsonschema.validate(answer.structured_content, server.TOOLS["predict"].output_schema())


@pytest.mark.parametrize("tool, arguments", [
    ("info", {"recording": "cnn.zst"}), ("why", {"recording": "oom-fragmented.zst"}),
    ("who", {"recording": "cnn.zst", "at": "peak", "by": "line"}),
    ("fit", {"recording": "cnn.zst", "policy": ["best-fit", "pow2"], "device": "8GiB"}),
    ("tune", {"recording": "oom-fragmented.zst", "device": "2GiB"}),
    ("diff", {"a": "mlp-adam.zst", "b": "mlp-sgd.zst"}), ("diff", {"a": "cnn.zst", "policy": ["best-fit", "none"]}),
    ("blame", {"recording": "cnn.zst", "policy": "best-fit"}),
    ("shrink", {"recording": "oom-fragmented.zst", "keep": "refused"}),
    ("adversary", {"allocator": "best-fit", "other": "pow2", "calls": 2}),
    ("verify", {"recording": "gpt-varlen-expand.zst", "gpu": 0})])
def test_every_tool_answers_by_its_schema_and_with_words(call, tool, arguments):
    result = call(tool, **arguments)            # the client checks the answer against the declared schema, too
    assert not result.is_error and result.content[0].text.strip()
    jsonschema.validate(result.structured_content, server.TOOLS[tool].whole_schema())
    assert result.structured_content["said"] == result.content[0].text     # some clients show one of the two


def test_an_answer_is_the_programs_and_names_no_folder(call, sample, folder):
    result = call("why", recording="oom-fragmented.zst")
    want = vramreplay.why(sample("oom-fragmented")).to_dict()
    got = {**want, **result.structured_content}
    assert got.pop("said") and got.pop("path") == "oom-fragmented.zst" and want.pop("path") and got == want
    assert result.content[0].text.startswith("Fragmented: ") and str(folder) not in str(result)


@pytest.mark.parametrize("tool, arguments, reason", [
    ("info", {"recording": "../outside.zst"}, "is not below the folder"),
    ("info", {"recording": "link.zst"}, "is not below the folder"),
    ("info", {"recording": "/etc/passwd"}, "is not below the folder"),
    ("info", {"recording": "."}, "is not below the folder"),
    ("info", {"recording": "nosuch.zst"}, "no such file"),
    ("info", {"recording": "bad.pickle"}, "bad.pickle: byte 0: not a recording"),
    ("info", {}, "needs 'recording'"), ("info", {"recording": 7}, "recording is a text"),
    ("info", {"recording": "cnn.zst", "html": "x"}, "not 'html'"),
    ("info", {"recording": "cnn.zst", "gpu": True}, "gpu is a whole number"),
    ("fit", {"recording": "cnn.zst", "policy": ["./evil.so"]}, "a plugin is not loaded"),
    ("fit", {"recording": "cnn.zst", "policy": ["evil.so:x=1"]}, "a plugin is not loaded"),
    ("fit", {"recording": "cnn.zst", "policy": ["plan:out.csv"]}, "a plan is not read"),
    ("fit", {"recording": "cnn.zst", "policy": ["tlsf:upstream=(plan:out.csv)"]}, "a plan is not read"),
    ("shrink", {"recording": "cnn.zst", "keep": "differs:./evil.so"}, "a plugin is not loaded"),
    ("shrink", {"recording": "cnn.zst", "keep": "differs:plan:out.csv"}, "a plan is not read"),
    ("adversary", {"allocator": "./evil.so"}, "a plugin is not loaded"),
    ("adversary", {"allocator": "best-fit", "other": "plan:out.csv"}, "a plan is not read"),
    ("adversary", {"allocator": "--json=x"}, "--json=x"),
    ("blame", {"recording": "cnn.zst", "policy": "evil.so"}, "a plugin is not loaded"),
    ("shrink", {"recording": "cnn.zst", "keep": "refused", "out": "x.zst"}, "not 'out'"),
    ("fit", {"recording": "cnn.zst", "policy": [1]}, "policy is a list of texts"),
    ("fit", {"recording": "cnn.zst", "device": "cuda:0"}, "a real card is not used"),
    ("who", {"recording": "cnn.zst", "by": "colour"}, "colour")])
def test_what_reaches_out_or_means_nothing_is_refused_with_a_sentence(call, tool, arguments, reason):
    result = call(tool, **arguments)
    assert result.is_error and reason in result.content[0].text


def test_a_recording_that_results_name_is_not_read(call, folder, sample):
    outside = folder.parent / "of-others.zst"
    shutil.copy(sample("cnn"), outside)
    for name, policy in (("a.json", "best-fit"), ("b.json", "pow2")):
        subprocess.run([*files.command(), outside, "--policy", policy, "--json", folder / name],
                       check=True, stdout=subprocess.DEVNULL)
    result = call("diff", a="a.json", b="b.json")
    assert not result.is_error and "peak" in result.content[0].text
    outside.unlink()
    assert call("diff", a="a.json", b="b.json").content[0].text == result.content[0].text


def test_no_database_is_changed(call, folder, sample):
    database = folder / "a.db"
    subprocess.run([*files.command(), "sweep", sample("cnn"), "--policy", "best-fit", "--device", "1GiB",
                    "-o", database], check=True, stdout=subprocess.DEVNULL)
    other = sqlite3.connect(database)
    other.execute("PRAGMA wal_autocheckpoint = 0")
    other.execute("PRAGMA user_version = %d" % other.execute("PRAGMA user_version").fetchone())
    other.commit()
    for name in ("hot.db", "hot.db-wal"):
        shutil.copy(folder / name.replace("hot", "a"), folder / name)
    other.close()
    before = {path.name: path.read_bytes() for path in folder.glob("hot.db*")}
    assert len(before["hot.db-wal"]) > 0
    assert not call("diff", a="hot.db", b="hot.db").is_error
    assert {name: (folder / name).read_bytes() for name in before} == before


def say(folder, *lines, options=()):
    done = subprocess.run([sys.executable, "-m", "vramreplay.mcp", "--folder", folder, *options],
                          input="\n".join(lines), text=True, capture_output=True)
    assert done.returncode == 0 and done.stderr == ""
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted(answers, key=lambda answer: (answer.get("id") is not None, answer.get("id")))


def test_files_lists_what_other_tools_take_and_nothing_outside(call, folder):
    (folder / ".git").mkdir()
    (folder / ".git" / "hidden.log").write_text("x")
    (folder / "runs").mkdir()
    (folder / "runs" / "train.LOG").write_text("x")
    listed = call("files")
    names = {file["name"] for file in listed.structured_content["files"]}
    assert names == {f"{name}.zst" for name in SAMPLES} | {"bad.pickle", "runs/train.LOG"}
    assert "cnn.zst  " in listed.content[0].text and listed.structured_content["left_out"] == 0
    only = call("files", like="TRAIN").structured_content["files"]
    assert [file["name"] for file in only] == ["runs/train.LOG"]
    assert "No recording" in call("files", like="nosuch").content[0].text


def test_an_error_that_was_pasted_is_answered(call, root):
    text = (root / "samples/oom-fragmented.log").read_text()
    answer = call("why_text", text=text)
    assert answer.content[0].text.startswith("Fragmented: ") and answer.structured_content["schema"] == "replay-why/1"
    assert call("why_text", text="").is_error


def test_a_command_that_is_no_tool_is_called_the_persons(call):
    said = call("why", recording="oom-fragmented.zst").content[0].text
    assert "replay run-sim" in said and "not a tool here: `replay run-sim`" in said
    assert "not a tool here" not in call("fit", recording="cnn.zst").content[0].text


@pytest.mark.parametrize("tool, typed, same", [
    ("who", {"at": 3102}, {"at": "3102"}), ("fit", {"policy": "best-fit"}, {"policy": ["best-fit"]}),
    ("info", {"gpu": "0"}, {"gpu": 0}), ("tune", {"torch": 2.9}, {"torch": "2.9"}),
    ("who", {"at": None, "by": None}, {})])
def test_arguments_as_models_give_them_are_taken(call, tool, typed, same):
    got, want = (call(tool, recording="oom-fragmented.zst", **arguments) for arguments in (typed, same))
    assert not got.is_error and got.structured_content == want.structured_content


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "info", "arguments": {"recording": "cnn.zst"}, "_meta": {"progressToken": 7}}}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


@pytest.mark.parametrize("timeout", ["inf", "1e308"])
def test_a_timeout_may_be_as_long_as_one_likes(folder, timeout):
    first, last = say(folder, json.dumps(CALL), json.dumps(PING), options=["--timeout", timeout])
    assert first["result"]["isError"] is False and last["result"] == {}


def test_a_timeout_must_be_a_number_above_0(folder):
    for timeout in ("nan", "0", "-1", "x"):
        done = subprocess.run([sys.executable, "-m", "vramreplay.mcp", "--folder", folder, "--timeout", timeout],
                              capture_output=True, text=True)
        assert done.returncode == 2 and "--timeout" in done.stderr


@pytest.mark.parametrize("kind", [RuntimeError, KeyError, OverflowError, MemoryError, RecursionError])
def test_an_exception_that_nobody_thought_of_is_an_answer(folder, monkeypatch, kind):
    def fail(*arguments, **options):
        raise kind(f"in {folder}/cnn.zst")

    out = io.StringIO()
    monkeypatch.setattr(server.running, "run", fail)
    monkeypatch.setattr(server.Tool, "output_schema", fail)
    listing = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
    requests = "".join(json.dumps(message) + "\n" for message in (CALL, listing, PING))
    server.Server(folder, 5, False, out).serve(io.StringIO(requests))
    called, pinged, listed = sorted((json.loads(line) for line in out.getvalue().splitlines()), key=lambda a: a["id"])
    assert called["result"]["isError"] and kind.__name__ in called["result"]["content"][0]["text"]
    assert listed["error"]["code"] == -32603 and kind.__name__ in listed["error"]["message"]
    assert pinged["result"] == {} and str(folder) not in out.getvalue()


@pytest.fixture
def slow_server(folder, tmp_path):
    """slow_server(REST): a server whose program tells progress, runs the shell's words REST, and waits."""
    (tmp_path / "tmp").mkdir()
    children = []

    def start(rest):
        path = tmp_path / "slow"
        path.write_text(f"#!/bin/bash\ntrap 'touch {tmp_path}/ended; exit 143' TERM\nprintf 'reading: 50 %%\\n' >&2\n"
                        f"touch {tmp_path}/begun\n{rest}\nfor _ in $(seq 600); do sleep 0.1; done\n")
        path.chmod(0o755)
        environment = {**os.environ, "VRAMREPLAY_PROGRAM": str(path), "TMPDIR": str(tmp_path / "tmp")}
        child = subprocess.Popen([sys.executable, "-m", "vramreplay.mcp", "--folder", str(folder)], env=environment,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children.append(child)
        child.stdin.write(json.dumps(CALL) + "\n")
        child.stdin.flush()
        assert "notifications/progress" in child.stdout.readline()
        while not (tmp_path / "begun").exists() and child.poll() is None:    # the shell is past its own start
            time.sleep(0.01)
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()


def test_a_cancelled_call_ends_and_is_not_answered_and_keeps_nobody_waiting(slow_server, tmp_path):
    child = slow_server("")
    child.stdin.write(json.dumps(PING) + "\n")
    child.stdin.flush()
    assert json.loads(child.stdout.readline()) == {"jsonrpc": "2.0", "id": 2, "result": {}}
    begun = time.monotonic()
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                  "params": {"requestId": 1, "reason": "given up"}}) + "\n")
    child.stdin.close()
    assert child.wait(60) == 0 and time.monotonic() - begun < 20 and child.stdout.read() == ""
    assert (tmp_path / "ended").exists() and not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("params", ["[]", "{}", '{"requestId":[1]}', '{"requestId":7}', "null"])
def test_a_cancellation_of_nothing_is_nothing(folder, params):
    cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}' % params
    assert say(folder, cancelled, json.dumps(PING)) == [{"jsonrpc": "2.0", "id": 2, "result": {}}]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_running_program_too_and_leaves_no_folder(slow_server, tmp_path, number):
    before = signal.signal(number, signal.SIG_DFL)          # a server that inherits it ignored goes on
    try:
        child = slow_server("")
    finally:
        signal.signal(number, before)
    child.send_signal(number)
    assert child.wait(60) == 128 + number and child.stderr.read() == ""
    assert (tmp_path / "ended").exists() and not list((tmp_path / "tmp").iterdir())


def test_a_client_that_is_gone_ends_the_server_and_its_program(slow_server, tmp_path):
    child = slow_server("while :; do printf 'reading: 60 %%\\n' >&2; done")
    child.stdout.close()
    assert child.wait(60) == 1 and child.stderr.read() == ""
    assert (tmp_path / "ended").exists() and not list((tmp_path / "tmp").iterdir())


def test_broken_messages_are_answered_and_the_server_goes_on(folder):
    answers = say(folder, "{", "[]", '{"jsonrpc":"2.0","method":"notifications/initialized"}',
                  '{"jsonrpc":"2.0","id":1,"method":"nosuch"}',
                  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm"}}', "",
                  '{"jsonrpc":"2.0","id":3,"method":"ping"}')
    assert [a.get("error", {}).get("code") for a in answers] == [-32700, -32600, -32601, -32602, None]
    assert answers[-1] == {"jsonrpc": "2.0", "id": 3, "result": {}}


@pytest.mark.parametrize("hostile", [
    "[" * 200_000, '{"id":1,"method":"tools/call","params":[1]}', '{"id":1,"method":"tools/call","params":"x"}',
    '{"id":1,"method":"tools/call","params":{"name":[]}}',
    '{"id":1,"method":"initialize","params":{"protocolVersion":{}}}', '{"id":1e999,"method":"ping"}',
    '{"id":1,"method":"tools/call","params":{"name":"info","_meta":{"progressToken":1e999},'
    '"arguments":{"recording":"cnn.zst"}}}',
    *('{"id":1,"method":"tools/call","params":{"name":"info",%s}}' % rest for rest in (
        '"arguments":[1]', '"arguments":{"recording":"a\\u0000b"}', '"arguments":{"recording":"\\ud800"}',
        '"_meta":[1],"arguments":{"recording":"cnn.zst"}', '"arguments":{"recording":"%s"}' % ("a/" * 5000),
        '"arguments":{"recording":"cnn.zst","gpu":%s}' % ("9" * 4000)))])
def test_no_message_ends_the_server(folder, hostile):
    [first, last] = say(folder, hostile, '{"jsonrpc":"2.0","id":3,"method":"ping"}')
    assert "error" in first or "result" in first
    json.dumps(first, allow_nan=False)
    assert str(folder) not in json.dumps(first)
    assert last == {"jsonrpc": "2.0", "id": 3, "result": {}}


@pytest.mark.parametrize("asked, got", [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
                                        ("1999-01-01", "2025-11-25")])
def test_the_version_is_the_clients_if_it_is_known(folder, asked, got):
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": asked}}
    [answer] = say(folder, json.dumps(request))
    assert answer["result"]["protocolVersion"] == got
    assert answer["result"]["serverInfo"]["version"] == vramreplay.__version__


def test_a_package_that_nobody_installed_begins_as_well(folder, tmp_path):
    shutil.copytree(os.path.dirname(vramreplay.__file__), tmp_path / "source" / "vramreplay")
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    done = subprocess.run([sys.executable, "-S", "-m", "vramreplay.mcp", "--folder", str(folder)],
                          input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "source")})
    assert json.loads(done.stdout)["result"]["serverInfo"]["version"] == "unknown", done.stderr


def test_a_folder_must_be_named(tmp_path):
    for words in ([], ["--folder", str(tmp_path / "none")]):
        done = subprocess.run([sys.executable, "-m", "vramreplay.mcp", *words], capture_output=True, text=True)
        assert done.returncode == 2 and "folder" in done.stderr
