# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Runs the program and reads its JSON. Nothing is computed here."""
from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import threading
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from vramreplay import files
from vramreplay.errors import HostError, InputError

#: Called with what is being done and the part of it that is done, 0 to 1; None: how much there is in all is not known.
Progress = Callable[[str, Optional[float]], None]

PROGRESS_LINE = re.compile(r"^(.+?): +(?:run \d+, )?(\d+) (%|MiB)(?:, [\d.]+ (?:MiB|thousand events|million events)/s)?"
                           r"(?:, about \d+ s left)?$")
STATUS_FAILED = 1                       # bad news, but an answer
PATIENCE_S = 10.0                       # to end after SIGTERM


def option_words(options: Mapping[str, Any]) -> List[str]:
    """Options as the program takes them: {"on_oom": "skip", "policy": ["a", "b"], "audit": True} becomes words.

    None and False leave an option out.
    """
    words: List[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words.append(f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words


def input_words(inputs: Sequence[Any]) -> List[str]:
    """Paths as the program takes them: a name that begins with a dash is no option."""
    names = [os.fspath(path) for path in inputs]
    return ["./" + name if name.startswith("-") and name != "-" else name for name in names]


class Listener(threading.Thread):
    """Reads what the program says to a person: progress goes to the caller's function, the rest is kept."""

    def __init__(self, stream: IO[bytes], progress: Optional[Progress]) -> None:
        super().__init__(daemon=True)
        self.stream, self.progress = stream, progress
        self.sentences: List[str] = []
        self.start()

    def run(self) -> None:
        pending = b""
        while True:
            try:
                read = os.read(self.stream.fileno(), 4096)
            except OSError:                         # a terminal whose other side is closed
                read = b""
            *lines, pending = re.split(rb"[\r\n]", pending + read)
            for line in lines if read else [*lines, pending]:
                self.hear(line.decode(errors="replace").replace("\x1b[K", ""))
            if not read:
                return

    def hear(self, line: str) -> None:
        found = PROGRESS_LINE.match(line)
        if found and self.progress:
            self.progress(found[1], int(found[2]) / 100 if found[3] == "%" else None)
        elif line and not found:
            self.sentences.append(line)


def start(words: Sequence[str], has_progress: bool, has_input: bool,
          folder: Optional[str] = None) -> Tuple["subprocess.Popen[bytes]", IO[bytes]]:
    """The program, started, and what it says to a person. It tells progress to a terminal only, so it gets one."""
    command = [str(files.program()), *words]
    stdin = subprocess.PIPE if has_input else subprocess.DEVNULL
    if not has_progress:
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        assert child.stderr is not None
        return child, child.stderr
    ours, theirs = pty.openpty()
    try:
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=theirs, cwd=folder)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return child, os.fdopen(ours, "rb", buffering=0)


def run(words: Sequence[str], inputs: Sequence[str] = (), progress: Optional[Progress] = None,
        timeout: Optional[float] = None, stdin: Optional[bytes] = None, folder: Optional[str] = None) -> bytes:
    """What the program prints. `inputs` are the files among the words, for errors; `stdin` is what it reads as "-";
    `folder` is where it works, if not here.

    InputError and HostError with the program's sentence; subprocess.TimeoutExpired after `timeout` seconds. Any
    exception here, KeyboardInterrupt included, ends the program, which removes what it has half written.
    """
    child, stream = start(words, progress is not None, stdin is not None, folder)
    listener = Listener(stream, progress)
    try:
        out = communicate(child, timeout, stdin)
    except BaseException:
        child.terminate()
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise
    finally:
        listener.join(PATIENCE_S)
        stream.close()
        if child.stdout:
            child.stdout.close()
    if child.returncode in (0, STATUS_FAILED):
        return out
    sentence = next((s for s in reversed(listener.sentences) if s.startswith("replay: ")), "replay: says nothing")
    kind = InputError if child.returncode == 2 else HostError
    raise kind(sentence[len("replay: "):], inputs, child.returncode)


def communicate(child: "subprocess.Popen[bytes]", timeout: Optional[float], stdin: Optional[bytes]) -> bytes:
    """Standard output to its end. Standard error is the listener's."""
    stderr, child.stderr = child.stderr, None
    try:
        return child.communicate(stdin, timeout=timeout)[0]
    finally:
        child.stderr = stderr


def run_json(command: str, inputs: Sequence[Any], options: Mapping[str, Any], progress: Optional[Progress] = None,
             timeout: Optional[float] = None) -> Dict[str, Any]:
    """The program's answer to a command. "replay" is the command without a name."""
    names = input_words(inputs)
    words = ([] if command == "replay" else [command]) + names + option_words(options) + ["--json", "-"]
    answer: Dict[str, Any] = json.loads(run(words, names, progress, timeout))
    return answer


def predict_json(program: Sequence[Any], options: Mapping[str, Any], progress: Optional[Progress] = None,
                 timeout: Optional[float] = None) -> Dict[str, Any]:
    """The answer of `predict` about a program, which is run: its words stand after "--"."""
    words = ["predict", *option_words(options), "--json", "-", "--", *(os.fspath(word) for word in program)]
    answer: Dict[str, Any] = json.loads(run(words, (), progress, timeout))
    return answer


def replace_process() -> None:
    """Become the program, with this process's arguments: for the console script and `python -m`."""
    try:
        path = str(files.program())
    except FileNotFoundError as error:
        sys.exit(f"vramreplay: {error}")
    os.execv(path, ["replay", *sys.argv[1:]])
