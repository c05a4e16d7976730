# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The program's questions as tools of an assistant: an MCP server on standard input and output.

    python -m vramreplay.mcp --folder FOLDER [--timeout SECONDS] [--run-programs]

An assistant reads recordings in FOLDER and below it, and nothing else: not what a results file names, and no plan. No
tool writes a file, runs a command, loads a plugin or uses a real card. Only with --run-programs there are the tools
`predict`, `serve` and `bisect`, which run any command in FOLDER. Each answer is the program's JSON, by the schema that
the tool declares, with the program's words in it and beside it. Each call has a thread and a process of its own: none
waits for another, and one that is cancelled ends and is not answered.
"""
from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, Optional, Tuple, Union

from vramreplay import running
from vramreplay.errors import ReplayError
from vramreplay.mcp_tools import FILES_MAX, ROWS_MAX, TOOLS, Refused, Tool, taken, what_is_no_tool

#: Versions of the protocol that begin with `initialize`, newest first. A newer client falls back to these.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
PROGRAMS_MOST, CALLS_MOST = 2, 8            # at once; the others wait
SUFFIXES = frozenset((".pickle", ".pkl", ".zst", ".log", ".txt", ".out", ".err", ".json", ".csv", ".db", ".gz", ".pb",
                      ".heap", ".sqlite", ".nsys-rep"))
NO_RECORDINGS = frozenset(("node_modules", "site-packages", "__pycache__"))
INSTRUCTIONS = ("Answers questions on recordings of GPU memory. An error that was pasted: call why_text. A file that "
                "ends in an out-of-memory error: why; files lists what there is. Otherwise: info, then fit for the "
                "card, tune for the setting. Figures are exact for what was recorded; is_lower_bound says where the "
                "program may need more.")


class Gone(Exception):
    """The client reads no answers any more."""


class Call(threading.Thread):
    """A call of a tool that is under way. It has the program's process, and sends the answer."""

    def __init__(self, server: "Server", number: Any, tool: Tool, params: Dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.server, self.number, self.tool, self.params = server, number, tool, params
        self.lock = threading.Lock()
        self.child: Optional["subprocess.Popen[bytes]"] = None
        self.is_cancelled = False

    def run(self) -> None:
        with self.server.rooms[self.tool.runs_program]:
            if not self.is_cancelled:
                self.server.answer_call(self)
        self.server.calls.pop(self.number, None)

    def begun(self, child: "subprocess.Popen[bytes]") -> None:
        """The program has been started; it ends at once if nobody wants it any more."""
        with self.lock:
            self.child = child
            if self.is_cancelled:
                running.end_program(child)

    def cancel(self) -> None:
        with self.lock:
            self.is_cancelled = True
            if self.child is not None:
                running.end_program(self.child)


class Server:
    """Answers requests, calls of tools beside each other. No request ends it; only Gone does."""

    def __init__(self, folder: Path, timeout: float, runs_programs: bool, out: IO[str]) -> None:
        self.folder, self.timeout, self.out = folder.resolve(), timeout, out
        self.tools = {name: tool for name, tool in TOOLS.items() if runs_programs or not tool.runs_program}
        self.calls: Dict[Any, Call] = {}
        self.rooms = {True: threading.Semaphore(PROGRAMS_MOST), False: threading.Semaphore(CALLS_MOST)}
        self.arrived: "queue.Queue[Union[str, Gone, None]]" = queue.Queue()
        self.out_lock = threading.Lock()

    # ---- the protocol ----

    def serve(self, lines: IO[str]) -> None:
        """To the end of the lines, and of the calls in them. Calls end if an exception ends this."""
        threading.Thread(target=self.read, args=(lines,), daemon=True).start()
        try:
            for line in iter(self.next_line, None):
                if line.strip():
                    self.answer_line(line)
            while self.calls:
                self.next_line(0.05)
        finally:
            self.end_calls()

    def read(self, lines: IO[str]) -> None:
        for line in lines:
            self.arrived.put(line)
        self.arrived.put(None)

    def next_line(self, patience: Optional[float] = None) -> Optional[str]:
        """What has arrived, None at the end. Gone if the client went while a call was under way."""
        try:
            came = self.arrived.get(timeout=patience)
        except queue.Empty:
            return None
        if isinstance(came, Gone):
            raise came
        return came

    def end_calls(self) -> None:
        calls = list(self.calls.values())
        for call in calls:
            call.cancel()
        for call in calls:
            call.join(running.PATIENCE_S + 1)

    def answer_line(self, line: str) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self.send(id=None, error={"code": PARSE_ERROR, "message": f"not JSON: {error}"})
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            self.send(id=None, error={"code": INVALID_REQUEST, "message": "not a request"})
        elif message["method"] == "notifications/cancelled":
            self.cancel(message.get("params"))
        elif not is_number_or_text(message.get("id")):
            self.send(id=None, error={"code": INVALID_REQUEST, "message": "id is neither a whole number nor a text"})
        elif "id" in message:
            params = message.get("params") or {}
            if not isinstance(params, dict):
                self.send(id=message["id"], error={"code": INVALID_PARAMS, "message": "params is no object"})
            else:
                self.answer_or_fail(message["id"], message["method"], params)

    def cancel(self, params: Any) -> None:
        """Of a call that has been answered, or never was, nothing is left to do."""
        number = params.get("requestId") if isinstance(params, dict) else None
        call = self.calls.get(number) if is_number_or_text(number) else None
        if call is not None:
            call.cancel()

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
            self.calls[number] = call = Call(self, number, self.tools[params["name"]], params)
            call.start()
        elif method == "tools/call":
            self.send(id=number, error={"code": INVALID_PARAMS, "message": f"no tool {params.get('name')!r}"})
        else:
            self.send(id=number, error={"code": NO_METHOD, "message": f"no method {method}"})

    def send(self, **message: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n"
        try:
            with self.out_lock:
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

    def answer_call(self, call: Call) -> None:
        """Sends the result of a call, unless it was cancelled: the protocol wants no answer then."""
        try:
            result = self.result(call)
            if not call.is_cancelled:
                self.send(id=call.number, result=result)
        except Gone as gone:
            self.arrived.put(gone)

    def result(self, call: Call) -> Dict[str, Any]:
        try:
            return self.run(call)
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

    def run(self, call: Call) -> Dict[str, Any]:
        arguments = call.params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise Refused("arguments is no object")
        values = taken(call.tool, arguments)
        answer, said = self.listing(values) if call.tool.name == "files" else self.ask(call, values)
        said += what_is_no_tool(said, set(self.tools))
        return {"content": [{"type": "text", "text": said}], "structuredContent": {**answer, "said": said},
                "isError": False}

    def ask(self, call: Call, values: Dict[str, Any]) -> Tuple[Dict[str, Any], str]:
        """The program's answer in JSON and in words."""
        tool, words = call.tool, self.words(call.tool, values)
        inputs = [word for word in words if os.path.isabs(word)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "answer.json")
            printed = running.run([tool.command or tool.name, "--json", str(path), *words], inputs, self.teller(call),
                                  self.timeout, stdin=values["text"].encode(errors="replace") if "text" in values else
                                  None, folder=str(self.folder), begun=call.begun)
            answer = json.loads(path.read_text())
        if tool.name == "who":
            answer["rows"] = answer["rows"][:ROWS_MAX]
        for name in ("path", "a", "b"):
            if isinstance(answer.get(name), str):
                answer[name] = self.without_folder(answer[name])
        return answer, self.without_folder(printed.decode(errors="replace"))

    def teller(self, call: Call) -> Optional[running.Progress]:
        """Tells the client how far a call is, if it wants to know."""
        meta = call.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None

        def progress(what: str, part: Optional[float]) -> None:
            if part is not None and not call.is_cancelled:
                self.send(method="notifications/progress",
                          params={"progressToken": token, "progress": part, "total": 1, "message": what})

        return progress if token is not None and is_number_or_text(token) else None

    def words(self, tool: Tool, values: Dict[str, Any]) -> List[str]:
        """The program's words for the arguments."""
        options = running.option_words({name: value for name, value in values.items()
                                        if name in tool.options or name == "gpu"})
        if tool.runs_program:
            return [*options, "--", *values["program"]]
        if "text" in values:
            return ["-", *options]
        if "allocator" in values:
            return [*options, "--", *(values[name] for name in ("allocator", "other") if name in values)]
        files = [self.inside(values[name]) for name in tool.inputs + tool.optional_inputs if name in values]
        return [*files, *tool.words, *options]

    def listing(self, values: Dict[str, Any]) -> Tuple[Dict[str, Any], str]:
        """The files below the folder that a tool may take, newest first."""
        found = sorted(self.recordings(values.get("like", "")), key=lambda file: file["modified"], reverse=True)
        files = found[:FILES_MAX]
        lines = [f"{file['name']}  {file['bytes']:,} B  {file['modified']}" for file in files]
        if len(found) > len(files):
            lines.append(f"and {len(found) - len(files)} older ones; `like` finds them by a part of their names")
        lines = lines or ["No recording and no log lies in this folder or below it."]
        return {"files": files, "left_out": len(found) - len(files)}, "\n".join(lines) + "\n"

    def recordings(self, like: str) -> Iterator[Dict[str, Any]]:
        """Links are not followed, and folders whose names begin with a dot are left out."""
        for here, folders, names in os.walk(self.folder):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NO_RECORDINGS)
            for name in names:
                path = Path(here, name)
                if path.suffix.lower() in SUFFIXES and like.lower() in str(path.relative_to(self.folder)).lower():
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode):
                        yield {"name": str(path.relative_to(self.folder)), "bytes": status.st_size,
                               "modified": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(status.st_mtime))}

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


def positive(text: str) -> float:
    """Seconds: a number above 0, "inf" included."""
    value = float(text)
    if not value > 0:
        raise ValueError(text)
    return value


def end_on_signals() -> None:
    """A signal that ends the server is an exception, so that the running program ends, too, and its folder goes."""
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]     # of this system
    numbers = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]

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
                        help="offer predict, serve and bisect, which run any command in the folder")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        parser.error(f"{arguments.folder}: is no folder")
    end_on_signals()
    try:
        # A file object of our own: Python may not close one that a thread reads when it ends.
        lines = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8", errors="replace")
        Server(arguments.folder, arguments.timeout, arguments.run_programs, sys.stdout).serve(lines)
    except (KeyboardInterrupt, Gone):
        # Python writes what is left of standard output when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
