# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Explains an out-of-memory error of PyTorch in the process that dies of it. Importing this changes nothing.

While the hook is on, PyTorch keeps a history of its last allocations. When an OutOfMemoryError is made, the history is
written as PyTorch's own snapshot, `replay why` looks at it, and its words become a note of the error: Python prints
them after the traceback, and a handler finds them in `__notes__`.

The error's `__init__` is replaced, not an observer attached: an observer could not be taken away again.
"""
from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import torch

from vramreplay import commands, running
from vramreplay.errors import ReplayError

#: Events that the history holds. 100,000 with their call stacks took 48 MB of the host, and 152 MB more to write.
MAX_ENTRIES = 100_000
#: Errors that are explained; a program that tries smaller and smaller batches makes many.
MAX_ERRORS = 3
#: Seconds that `replay why` may take.
TIMEOUT_S = 30.0


@dataclass
class Hook:
    """What enable() changed, to take it back."""

    folder: str
    max_entries: int
    max_errors: int
    timeout: float
    is_on: bool = True
    owns_history: bool = False          # the history was off before
    n_errors: int = 0                   # explained so far
    n_seen: int = 0                     # num_ooms of all devices, when last looked at
    is_busy: bool = False


_hook: Optional[Hook] = None


def enable(folder: Optional[str] = None, *, max_entries: Optional[int] = None, max_errors: int = MAX_ERRORS,
           timeout: float = TIMEOUT_S) -> None:
    """Keep PyTorch's history from now on, or from CUDA's start, and explain each OutOfMemoryError.

    folder       where snapshots go; default: VRAMREPLAY_FOLDER, else the working folder
    max_entries  events that the history holds; default: VRAMREPLAY_MAX_ENTRIES, else MAX_ENTRIES. A history that was on
                 already is left as it is
    max_errors   only so many errors are explained
    timeout      seconds for the explanation of one
    """
    global _hook
    disable()
    _hook = Hook(folder=folder or os.environ.get("VRAMREPLAY_FOLDER") or ".", max_errors=max_errors, timeout=timeout,
                 max_entries=max_entries or int(os.environ.get("VRAMREPLAY_MAX_ENTRIES", MAX_ENTRIES)))
    out_of_memory_error().__init__ = _init
    hook = _hook
    torch.cuda._lazy_call(lambda: start_history(hook))


def disable() -> None:
    """Take back all that enable() did. Snapshots that were written stay."""
    global _hook
    hook, _hook = _hook, None
    if hook is None:
        return
    hook.is_on = False
    kind = out_of_memory_error()
    if vars(kind).get("__init__") is _init:
        del kind.__init__
    if hook.owns_history:
        torch.cuda.memory._record_memory_history(enabled=None)


def is_enabled() -> bool:
    return _hook is not None


def attach_oom_observer(output_dir: str, trace_max_entries: int = MAX_ENTRIES) -> None:
    """enable(), with the arguments of torchtnt.utils.oom.attach_oom_observer."""
    os.makedirs(output_dir, exist_ok=True)
    enable(output_dir, max_entries=trace_max_entries)


def out_of_memory_error() -> Any:
    """PyTorch's class, which had another place before 2.5."""
    return getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError


def start_history(hook: Hook) -> None:
    """In the process in which CUDA starts."""
    if not hook.is_on:
        return
    is_history_on = getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)
    if not is_history_on():
        # The stack of a request is enough to say who holds memory; that of its free would cost as much again.
        torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python",
                                                 max_entries=hook.max_entries)
        hook.owns_history = True
    hook.n_seen = refused_requests()


def refused_requests() -> int:
    """How often PyTorch has raised out of memory, on all cards."""
    return sum(torch.cuda.memory_stats(n).get("num_ooms", 0) for n in range(torch.cuda.device_count()))


def _init(self: Any, *args: Any) -> None:
    """OutOfMemoryError.__init__ while the hook is on. It may not fail, whatever happens."""
    RuntimeError.__init__(self, *args)
    hook = _hook
    if hook is None or hook.is_busy or not torch.cuda.is_initialized():
        return
    hook.is_busy = True
    try:
        explain(hook, self)
    except Exception as error:
        add_note(self, f"vramreplay: no explanation: {error}")
    finally:
        hook.is_busy = False


def explain(hook: Hook, error: Any) -> None:
    """Write the snapshot and add the note, if PyTorch has refused a request since the last error."""
    seen = refused_requests()
    is_new, hook.n_seen = seen > hook.n_seen, seen
    if not is_new or hook.n_errors >= hook.max_errors:
        return
    hook.n_errors += 1
    path = new_file(hook)
    try:
        torch.cuda.memory._dump_snapshot(path)
    except BaseException:
        os.unlink(path)
        raise
    said = verdict(hook, path, str(error))
    add_note(error, f"{said}\n\nAsk more of it: replay who {path}; replay tune {path}")
    if hook.n_errors == 1 and sys.stderr is not None:       # a program that prints the error alone shows no notes
        print(f"vramreplay: out of memory: {said.splitlines()[0]} More: replay why {path}", file=sys.stderr)
    kept = traceback_words(sys._getframe())
    if kept:
        add_note(error, kept)


def is_interactive() -> bool:
    """Whether a session goes on after the error, and keeps its traceback: a REPL, or a notebook."""
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules


def traceback_words(frame: Any) -> str:
    """What the error's traceback will keep of the card, and the line that frees it; or "", where nobody keeps it.

    The frames that run now are those of the traceback, from Python 3.12 on: before, PyTorch's error is made only when
    its frames have ended, and nothing is said. Variables of a module stay in any case, and are not counted.
    """
    if not is_interactive():
        return ""
    held, functions = held_by_frames(frame)
    if held < 1 << 20:
        return ""
    shell = "get_ipython().InteractiveTB.tb = None; " if is_ipython() else ""
    return (f"The traceback of this error keeps {held / (1 << 20):,.0f} MiB: local variables of {functions} "
            f"{'function' if functions == 1 else 'functions'}. To free them:\n\n"
            f"  import gc, sys; sys.last_traceback = sys.last_value = sys.last_exc = None; {shell}gc.collect(); "
            "torch.cuda.empty_cache()")


def is_ipython() -> bool:
    """Whether the session is IPython's, as a notebook's is: what prints its tracebacks keeps the last one."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None


def held_by_frames(frame: Any) -> Tuple[int, int]:
    """Bytes of tensors on the card in local variables of the functions that run, and how many functions have some."""
    held: Dict[int, int] = {}
    functions = 0
    while frame is not None:
        if frame.f_code.co_name != "<module>":
            own = storages(list(frame.f_locals.values()), 2)
            held.update(own)
            functions += len(own) > 0
        frame = frame.f_back
    return sum(held.values()), functions


def storages(value: Any, depth: int = 1) -> Dict[int, int]:
    """Address and bytes of a tensor's memory on the card; of a list, tuple or dict those of its members."""
    kind: Any = getattr(torch, "Tensor", ())
    if isinstance(value, kind):
        if not value.is_cuda:
            return {}
        storage = value.untyped_storage()
        return {storage.data_ptr(): storage.nbytes()}
    members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    found: Dict[int, int] = {}
    for member in list(members)[:1000] if depth > 0 else ():
        found.update(storages(member, depth - 1))
    return found


def new_file(hook: Hook) -> str:
    """An empty file for this error's snapshot. No older snapshot is written over, and no link is followed."""
    for number in itertools.count(hook.n_errors):
        path = os.path.join(hook.folder, f"oom-{os.getpid()}-{number}.pickle")
        try:
            with open(path, "xb"):
                return path
        except FileExistsError:                     # of a process that had this number before, in a container too
            continue
    raise AssertionError("numbers end")


def verdict(hook: Hook, path: str, message: str) -> str:
    """The words of `replay why`, or why there are none."""
    named = re.search(r"GPU (\d+) has", message)
    gpu = int(named[1]) if named else torch.cuda.current_device()
    try:
        said = commands.text("why", path, gpu=gpu, timeout=hook.timeout)
    except subprocess.TimeoutExpired:
        return f"`replay why {path}` has no answer after {hook.timeout:.0f} s."
    except (ReplayError, OSError) as reason:
        return f"`replay why {path}` has no answer: {reason}"
    return text_words(message) + said.rstrip()


def text_words(message: str) -> str:
    """What the error's text alone tells: other processes, a memory fraction, a card that had room; or ""."""
    try:
        answer = json.loads(running.run(["why", "-", "--json", "-"], timeout=TIMEOUT_S, stdin=as_log(message)))
        if answer["verdict"] not in ("somebody-else", "limited", "card-had-room"):
            return ""
        return running.run(["why", "-"], timeout=TIMEOUT_S, stdin=as_log(message)).decode().split("\n\n")[0] + "\n\n"
    except ReplayError:                             # not a text that the program knows
        return ""


def as_log(message: str) -> bytes:
    """The line that Python would print of the error."""
    return f"torch.OutOfMemoryError: {message}\n".encode()


def add_note(error: Any, text: str) -> None:
    """A note of the error. Before Python 3.11 there are none: the text goes to standard error at once."""
    if hasattr(error, "add_note"):
        error.add_note("\n" + text)
    else:
        print(text, file=sys.stderr, flush=True)


def notes(error: BaseException) -> List[str]:
    """The notes of a caught error; empty before Python 3.11."""
    return list(getattr(error, "__notes__", []))
