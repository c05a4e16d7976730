# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Runs the program and reads its JSON. Nothing is computed here."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from vramreplay import files, wasm
from vramreplay.errors import HostError, InputError

#: Called with what is being done and the part of it that is done, 0 to 1; None: how much there is in all is not known.
Progress = Callable[[str, Optional[float]], None]

PROGRESS_LINE = re.compile(r"^(.+?): +(?:run \d+, )?(\d+) (%|MiB)(?:, [\d.]+ (?:MiB|thousand events|million events)/s)?"
                           r"(?:, about \d+ s left)?$")
STATUS_FAILED, STATUS_OPEN = 1, 4       # bad news, or an open end, but an answer
PATIENCE_S = 10.0                       # to end after SIGTERM
TIMEOUT_MOST_S = 2_000_000              # 23 days; poll takes 2^31 ms at most
#: Options of the functions of commands.py that are no switches.
WITH_VALUE = frozenset((
    "at", "bad", "by", "calls", "device", "effort", "explain", "from_", "given_back", "good", "gpu", "grew",
    "insert", "keep", "memory_limit", "more_than", "on_oom", "out", "package", "policy", "price", "range",
    "sample_every", "script", "seed", "start", "step_us", "steps", "system", "threads", "torch", "torch_libs",
    "trace", "values", "warm", "within"))


def option_words(options: Mapping[str, Any]) -> List[str]:
    """Options as the program takes them: {"on_oom": "skip", "policy": ["a", "b"], "audit": True} becomes words.

    None leaves an option out, and so does False. TypeError names an option that is of no such type: the program would
    take the next word for the value of `gpu=True`.
    """
    words: List[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, bool) and name in WITH_VALUE:
            raise TypeError(f"{name} takes a value, not {value}")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words.append(f"{flag}={value_word(name, one)}")
    return words


def value_word(name: str, value: Any) -> str:
    """The value of an option as a text."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(f"{name} takes a text, a number or a path, not {type(value).__name__}: {value!r}")
    return str(value)


def path_word(what: str, path: Any) -> str:
    """A path as a text."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} is a path, not {type(path).__name__}: {path!r}")
    return os.fsdecode(path)


def input_words(inputs: Sequence[Any]) -> List[str]:
    """Paths as the program takes them: a name that begins with a dash is no option."""
    names = [path_word("a recording", path) for path in inputs]
    return ["./" + name if name.startswith("-") and name != "-" else name for name in names]


def program_words(program: Any) -> List[str]:
    """The words of a command."""
    if not isinstance(program, (list, tuple)):
        raise TypeError(f"program is a list of words, not {type(program).__name__}: {program!r}")
    return [path_word("a word of program", word) for word in program]


def seconds(timeout: Optional[float]) -> Optional[float]:
    """The timeout as the system can wait for it. Longer than TIMEOUT_MOST_S is without end."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds, not {type(timeout).__name__}: {timeout!r}")
    if not timeout >= 0:                            # nor "not a number"
        raise ValueError(f"timeout is a number of seconds from 0 on, not {timeout!r}")
    return float(timeout) if timeout <= TIMEOUT_MOST_S else None


class Listener(threading.Thread):
    """Reads what the program says to a person: progress goes to the caller's function, the rest is kept.

    An exception of that function ends the program, and is kept as `failure`. Reading goes on to the end: a terminal
    that nobody reads fills up, and the program would wait for it.
    """

    def __init__(self, child: "subprocess.Popen[bytes]", stream: IO[bytes], progress: Optional[Progress]) -> None:
        super().__init__(daemon=True)
        self.child, self.stream, self.progress = child, stream, progress
        self.sentences: List[str] = []
        self.failure: Optional[BaseException] = None

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
            try:
                self.progress(found[1], int(found[2]) / 100 if found[3] == "%" else None)
            except BaseException as error:          # whatever it is, it is the caller's
                self.progress, self.failure = None, error
                end_program(self.child)
        elif line and not found:
            self.sentences.append(line)


def end_program(child: "subprocess.Popen[bytes]") -> None:
    """Ends it although another thread waits for it, with SIGKILL if it does not end by itself."""
    child.terminate()
    killer = threading.Timer(PATIENCE_S, child.kill)        # does nothing once the program has ended
    killer.daemon = True
    killer.start()


def start(words: Sequence[str], has_progress: bool, has_input: bool,
          folder: Optional[str] = None) -> Tuple["subprocess.Popen[bytes]", IO[bytes]]:
    """The program, started, and what it says to a person. It tells progress to a terminal only, so it gets one, or as
    WebAssembly takes its pipe for one: Windows has no such terminals."""
    command = [*files.command(), *words]
    stdin = subprocess.PIPE if has_input else subprocess.DEVNULL
    if not has_progress or files.is_portable():
        child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                                 env={**os.environ, wasm.PROGRESS: "1" if has_progress else ""})
        assert child.stderr is not None
        return child, child.stderr
    import pty
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
        timeout: Optional[float] = None, stdin: Optional[bytes] = None, folder: Optional[str] = None,
        begun: Optional[Callable[["subprocess.Popen[bytes]"], None]] = None) -> bytes:
    """What the program prints. `inputs` are the files among the words, for errors; `stdin` is what it reads as "-";
    `folder` is where it works, if not here; `begun` gets its process, for another thread to end it.

    InputError and HostError with the program's sentence; subprocess.TimeoutExpired after `timeout` seconds. Any
    exception here, KeyboardInterrupt included, and any of `progress` ends the program, which removes what it has half
    written.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is a function, not {type(progress).__name__}: {progress!r}")
    patience = seconds(timeout)
    child, stream = start(words, progress is not None, stdin is not None, folder)
    listener = Listener(child, stream, progress)
    try:
        if begun is not None:
            begun(child)
        listener.start()                            # from here on the caller may be told, and may want to end this
        out = communicate(child, patience, stdin)
    except BaseException:
        child.terminate()
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise
    finally:
        if listener.ident is not None:
            listener.join(PATIENCE_S)
        stream.close()
        if child.stdout:
            child.stdout.close()
    if listener.failure is not None:
        raise listener.failure
    if child.returncode in (0, STATUS_FAILED, STATUS_OPEN):
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


class Answer(NamedTuple):
    """What one run of the program answered."""

    data: Dict[str, Any]                            # its JSON
    text: str                                       # what it prints for a person


def ask(command: str, inputs: Sequence[Any], options: Mapping[str, Any], progress: Optional[Progress] = None,
        timeout: Optional[float] = None, after: Sequence[str] = ()) -> Answer:
    """The program's answer to a command. "replay" is the command without a name; `after` stands last of all."""
    names = input_words(inputs)
    words = ([] if command == "replay" else [command]) + names + option_words(options)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "answer.json")
        text = run([*words, "--json", file, *after], names, progress, timeout)
        with open(file, "rb") as made:
            return Answer(json.load(made), text.decode(errors="replace"))


def ask_program(command: str, program: Sequence[Any], options: Mapping[str, Any], progress: Optional[Progress] = None,
                timeout: Optional[float] = None) -> Answer:
    """The answer of `predict`, `serve` or `bisect` about a program, which is run: its words stand after "--"."""
    return ask(command, (), options, progress, timeout, ["--", *program_words(program)])


def replace_process() -> None:
    """Become the program, with this process's arguments: for the console script and `python -m`."""
    try:
        path = str(files.program())
    except FileNotFoundError as error:
        sys.exit(f"vramreplay: {error}")
    if files.is_portable():
        wasm.main()
    os.execv(path, ["replay", *sys.argv[1:]])
