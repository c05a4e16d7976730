# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The program's questions as tools of an assistant: an MCP server on standard input and output.

    python -m vramreplay.mcp --folder FOLDER [--timeout SECONDS] [--run-programs]

An assistant reads recordings in FOLDER and below it, and nothing else: not what a results file names, and no plan. No
tool writes a file, runs a command, loads a plugin or uses a real card. Only with --run-programs there is the tool
`predict`, which runs any command in FOLDER. Each answer is the program's JSON, by the schema that the tool declares,
with the program's words beside it. Calls are answered one after the other.
"""
from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Dict, List, Optional, Tuple

from vramreplay import running
from vramreplay.errors import ReplayError

#: Versions of the protocol that begin with `initialize`, newest first. A newer client falls back to these.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
ROWS_MAX = 50                               # of `who`: a stack trace a row may be megabytes
INSTRUCTIONS = ("Answers questions on recordings of GPU memory. A file that ends in an out-of-memory error: call why. "
                "Otherwise: info, then fit for the card, tune for the setting. Figures are exact for what was "
                "recorded; is_lower_bound says where the program may need more.")

RECORDING = {"type": "string",
             "description": "a recording below the server's folder: PyTorch's memory snapshot (.pickle), a trace "
                            "(.zst), or for `why` a log with the OutOfMemoryError"}
DEVICE = {"type": "string", "description": "a simulated card: 24GiB, h100-80g, sim:24GiB,context=450MiB"}
POLICY = {"type": "array", "items": {"type": "string"},
          "description": "allocators with settings: best-fit (PyTorch's default), expandable_segments:True, "
                         "max_split_size_mb:128, pow2, none"}
GPU = {"type": "integer", "minimum": 0, "description": "the device to take, of a file that recorded several"}
PROGRAM = {"type": "array", "items": {"type": "string"}, "minItems": 1,
           "description": "the words of a command, such as python, train.py, --batch, {batch}; it runs in the server's "
                          "folder"}


@dataclass(frozen=True)
class Tool:
    """One command of the program."""

    name: str
    title: str
    description: str
    options: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    inputs: Tuple[str, ...] = ("recording",)
    optional_inputs: Tuple[str, ...] = ()
    runs_program: bool = False              # its one input is the words of a command, not a file
    words: Tuple[str, ...] = ()             # that each call has

    def input_schema(self) -> Dict[str, Any]:
        inputs = {name: RECORDING for name in self.inputs + self.optional_inputs}
        properties = ({"program": PROGRAM, **self.options} if self.runs_program
                      else {**inputs, **self.options, "gpu": GPU})
        return {"type": "object", "properties": properties, "required": list(self.inputs),
                "additionalProperties": False}

    def output_schema(self) -> Any:
        return json.loads(Path(__file__).with_name("schemas").joinpath(f"replay-{self.name}-1.json").read_text())

    def declaration(self) -> Dict[str, Any]:
        return {"name": self.name, "title": self.title, "description": self.description,
                "inputSchema": self.input_schema(), "outputSchema": self.output_schema(),
                "annotations": {"readOnlyHint": not self.runs_program, "idempotentHint": not self.runs_program,
                                "openWorldHint": self.runs_program}}


TOOLS = {tool.name: tool for tool in (
    Tool("info", "What a recording holds", "What a recording covers: program, settings, peak, refused requests, and "
         "what could not be known. Call this first on a file that you do not know."),
    Tool("why", "Why it ran out of memory", "One verdict on an out-of-memory error: fragmented, full, leak, a setting "
         "not in force, another process; the setting that cures it; the lines of the program that hold the memory.",
         {"device": DEVICE}),
    Tool("who", "Who holds the memory", "Live memory at a moment by line, file, module, category, stack, size, "
         f"stream or pool; the {ROWS_MAX} largest groups.",
         {"at": {"type": "string", "description": "peak, refusal, end, or the number of an event"},
          "by": {"type": "string", "description": "line, file, module, category, stack, size, stream or pool"},
          "grew": {"type": "string",
                   "description": "A..B: only what was requested since event A and is live at event B"}}),
    Tool("fit", "The smallest card", "The smallest card on which no request is refused, per policy.",
         {"policy": POLICY, "device": DEVICE}),
    Tool("tune", "The best setting", "The best setting of PyTorch's allocator for a recording, tried on changed copies "
         "of it.",
         {"device": DEVICE, "torch": {"type": "string", "description": "the PyTorch release, such as 2.9"}}),
    Tool("diff", "What differs", "What differs between two recordings, or between two policies on one.",
         {"policy": POLICY, "device": DEVICE}, inputs=("a",), optional_inputs=("b",), words=("--no-replay",)),
    Tool("verify", "Is the replay exact?", "Whether the replayed allocator makes every decision that was recorded.",
         {"device": DEVICE}),
    Tool("predict", "Which card a program needs", "Runs a program on a simulated card, without a GPU: what it "
         "reserves, whether it fits, the smallest card, the largest batch.",
         {"device": DEVICE, "range": {"type": "string", "description": "NAME=A..B: the largest value that fits is "
                                      "found; {NAME} among the program's words stands for it"},
          "steps": {"type": "integer", "description": "stop after so many equal steps (5)"},
          "within": {"type": "integer", "description": "seconds that a run may take (600)"}},
         inputs=("program",), runs_program=True),
)}


class Refused(Exception):
    """A call that is not carried out. The assistant reads the sentence."""


class Gone(Exception):
    """The client reads no answers any more."""


class Server:
    """Answers requests one after the other. No request ends it; only Gone does."""

    def __init__(self, folder: Path, timeout: float, runs_programs: bool, out: IO[str]) -> None:
        self.folder, self.timeout, self.out = folder.resolve(), timeout, out
        self.tools = {name: tool for name, tool in TOOLS.items() if runs_programs or not tool.runs_program}

    # ---- the protocol ----

    def serve(self, lines: IO[str]) -> None:
        for line in lines:
            if line.strip():
                self.answer_line(line)

    def answer_line(self, line: str) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self.send(id=None, error={"code": PARSE_ERROR, "message": f"not JSON: {error}"})
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            self.send(id=None, error={"code": INVALID_REQUEST, "message": "not a request"})
        elif not is_number_or_text(message.get("id")):
            self.send(id=None, error={"code": INVALID_REQUEST, "message": "id is neither a whole number nor a text"})
        elif "id" in message:
            params = message.get("params") or {}
            if not isinstance(params, dict):
                self.send(id=message["id"], error={"code": INVALID_PARAMS, "message": "params is no object"})
            else:
                self.answer_or_fail(message["id"], message["method"], params)

    def answer_or_fail(self, number: Any, method: str, params: Dict[str, Any]) -> None:
        try:
            self.answer(number, method, params)
        except Gone:
            raise
        except Exception as error:
            self.send(id=number, error={"code": INTERNAL_ERROR, "message": self.without_folder(what_failed(error))})

    def answer(self, number: Any, method: str, params: Dict[str, Any]) -> None:
        if method == "initialize":
            self.send(id=number, result=self.initialize(params))
        elif method == "ping":
            self.send(id=number, result={})
        elif method == "tools/list":
            self.send(id=number, result={"tools": [tool.declaration() for tool in self.tools.values()]})
        elif method == "tools/call" and isinstance(params.get("name"), str) and params["name"] in self.tools:
            self.send(id=number, result=self.call(self.tools[params["name"]], params))
        elif method == "tools/call":
            self.send(id=number, error={"code": INVALID_PARAMS, "message": f"no tool {params.get('name')!r}"})
        else:
            self.send(id=number, error={"code": NO_METHOD, "message": f"no method {method}"})

    def send(self, **message: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        try:
            self.out.write(line)
            self.out.flush()
        except (OSError, ValueError) as error:      # ValueError: it is closed
            raise Gone(str(error)) from error

    def initialize(self, params: Dict[str, Any]) -> Dict[str, Any]:
        import vramreplay

        asked = params.get("protocolVersion")
        return {"protocolVersion": asked if asked in VERSIONS else VERSIONS[0], "capabilities": {"tools": {}},
                "serverInfo": {"name": "vramreplay", "version": vramreplay.__version__},
                "instructions": INSTRUCTIONS}

    # ---- a call ----

    def call(self, tool: Tool, params: Dict[str, Any]) -> Dict[str, Any]:
        arguments, meta = params.get("arguments") or {}, params.get("_meta")
        try:
            if not isinstance(arguments, dict):
                raise Refused("arguments is no object")
            token = meta.get("progressToken") if isinstance(meta, dict) else None
            return self.run(tool, arguments, token if is_number_or_text(token) else None)
        except (Refused, ReplayError) as error:
            sentence = str(error)
        except subprocess.TimeoutExpired:
            sentence = f"no answer after {self.timeout:.0f} s"
        except (OSError, ValueError) as error:
            sentence = f"the program cannot be run: {error}"
        except Gone:
            raise
        except Exception as error:
            sentence = what_failed(error)
        return {"content": [{"type": "text", "text": self.without_folder(sentence)}], "isError": True}

    def without_folder(self, text: str) -> str:
        return text.replace(str(self.folder) + os.sep, "")

    def run(self, tool: Tool, arguments: Dict[str, Any], token: Any) -> Dict[str, Any]:
        words = self.words(tool, arguments)
        inputs = [word for word in words if os.path.isabs(word)]

        def progress(what: str, part: Optional[float]) -> None:
            if part is not None:
                self.send(method="notifications/progress",
                          params={"progressToken": token, "progress": part, "total": 1, "message": what})

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "answer.json")
            told = progress if token is not None else None
            printed = running.run([tool.name, "--json", str(path), *words], inputs, told, self.timeout,
                                  folder=str(self.folder))
            said = printed.decode(errors="replace")
            answer = json.loads(path.read_text())
        if tool.name == "who":
            answer["rows"] = answer["rows"][:ROWS_MAX]
        for name in ("path", "a", "b"):
            if isinstance(answer.get(name), str):
                answer[name] = self.without_folder(answer[name])
        return {"content": [{"type": "text", "text": self.without_folder(said)}],
                "structuredContent": answer, "isError": False}

    def words(self, tool: Tool, arguments: Dict[str, Any]) -> List[str]:
        """The program's words for the arguments. Refused if one is unknown, of another type, or reaches out."""
        schema = tool.input_schema()
        for name, value in arguments.items():
            if name not in schema["properties"]:
                raise Refused(f"{tool.name} takes {', '.join(schema['properties'])}, not {name!r}")
            check(name, value, schema["properties"][name])
        missing = [name for name in tool.inputs if name not in arguments]
        if missing:
            raise Refused(f"{tool.name} needs {missing[0]!r}")
        options = {name: value for name, value in arguments.items() if name in tool.options or name == "gpu"}
        if tool.runs_program:
            return [*running.option_words(options), "--", *arguments["program"]]
        files = [self.inside(arguments[name]) for name in tool.inputs + tool.optional_inputs if name in arguments]
        return [*files, *tool.words, *running.option_words(options)]

    def inside(self, name: str) -> str:
        """The file's real path, which lies below the folder."""
        try:
            path = Path(os.path.realpath(self.folder / name))
        except ValueError:
            raise Refused("a file has no such name") from None      # a NUL, half of a surrogate pair
        if self.folder not in path.parents:
            raise Refused(f"{name}: is not below the folder that this server may read")
        if not path.is_file():
            raise Refused(f"{name}: no such file below the folder that this server may read")
        return str(path)


def what_failed(error: Exception) -> str:
    """An exception that nobody thought of."""
    return f"the server failed: {type(error).__name__}: {error}"


def is_number_or_text(value: Any) -> bool:
    """Whether the protocol allows it as an id; or there is none."""
    return value is None or (isinstance(value, (int, str)) and not isinstance(value, bool))


TYPES = {"string": str, "integer": int, "array": list}


def check(name: str, value: Any, schema: Dict[str, Any]) -> None:
    """Refused if the value is not what the schema says, or names a plugin, a plan or a real card."""
    kind = TYPES.get(schema.get("type", ""))
    if kind and (not isinstance(value, kind) or isinstance(value, bool)):
        raise Refused(f"{name} is of type {schema['type']}")
    for text in value if isinstance(value, list) else [value]:
        if schema.get("type") == "array" and not isinstance(text, str):
            raise Refused(f"{name} holds texts")
        if name == "policy" and re.search(r"/|\.so\b", text):
            raise Refused(f"{text}: a plugin is not loaded here")
        if name == "policy" and re.search(r"\b(plan|file)\b", text):
            raise Refused(f"{text}: a plan is not read here")
        if name == "device" and text.startswith("cuda"):
            raise Refused(f"{text}: a real card is not used here")


def positive(text: str) -> float:
    """Seconds: a number above 0, "inf" included."""
    value = float(text)
    if not value > 0:
        raise ValueError(text)
    return value


def end_on_signals() -> None:
    """A signal that ends the server is an exception, so that the running program ends, too, and its folder goes."""
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]

    def end(number: int, frame: Any) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)         # once is enough: the end is not interrupted
        sys.exit(128 + number)

    for number in numbers:
        signal.signal(number, end)


def main() -> None:
    parser = argparse.ArgumentParser(prog="vramreplay-mcp", description="An MCP server on standard input and output "
                                     "that answers questions on recordings of GPU memory.")
    parser.add_argument("--folder", type=Path, required=True, help="only recordings in this folder and below are read")
    parser.add_argument("--timeout", type=positive, default=600, help="seconds that an answer may take (default: 600)")
    parser.add_argument("--run-programs", action="store_true",
                        help="offer predict, which runs any command in the folder")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.error(f"{arguments.folder}: is no folder")
    end_on_signals()
    try:
        lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
        Server(arguments.folder, arguments.timeout, arguments.run_programs, sys.stdout).serve(lines)
    except (KeyboardInterrupt, Gone):
        # Python writes what is left of standard output when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
