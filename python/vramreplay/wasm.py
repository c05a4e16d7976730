# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Runs replay.wasm, the program as WebAssembly, by wasmtime: for systems that have no program of their own.

What it compiles is kept in wasmtime's own cache. The program runs in a thread, so that this process hears signals.
"""
from __future__ import annotations

import importlib
import os
import signal
import sys
import tempfile
import threading
from typing import Any, Callable, Dict, List, Optional

from vramreplay import files, wasi

#: Set for a program whose progress somebody reads: standard error then counts as a terminal.
PROGRESS = "VRAMREPLAY_PROGRESS"
STACK_BYTES = 16 << 20                          # of the thread; macOS gives 512 KiB
STATUS_FAILED = 3                               # as of a machine that lacks something
STATUS_CRASHED = 128 + 6                        # as of a program that aborts


def typed_words(words: List[str], is_windows: bool = wasi.IS_WINDOWS) -> List[str]:
    """The words as the program reads them: it knows folders by a slash, and Windows takes both. No option takes a
    backslash otherwise."""
    return [wasi.slashed(word) for word in words] if is_windows else words


def environment(variables: Dict[str, str], is_windows: bool = wasi.IS_WINDOWS) -> Dict[str, str]:
    """The variables that the program gets: this process's, the terminal's size, and where temporary files go."""
    made = dict(variables)
    try:
        made["REPLAY_TERMINAL"] = "{}x{}".format(*os.get_terminal_size(1))
    except (OSError, ValueError):
        pass                                    # no terminal
    if is_windows and not made.get("TMPDIR"):
        made["TMPDIR"] = wasi.slashed(tempfile.gettempdir())
    return made


def answered(call: Callable[..., Any], is_wide: List[bool]) -> Callable[..., Any]:
    """A function of the host as WebAssembly calls it: its 32-bit numbers have a sign, and it knows no exceptions."""
    def answer(*numbers: int) -> Any:
        try:
            return call(*(n if wide else n & 0xFFFFFFFF for n, wide in zip(numbers, is_wide)))
        except OSError as error:
            return wasi.error_number(error)
        except KeyError:                        # no such descriptor
            return wasi.BAD_FD
        except ValueError:                      # no name of a file
            return wasi.INVALID
    return answer


class Memory:
    """The program's memory, which may move when it grows."""

    def __init__(self, memory: Any, store: Any) -> None:
        self.memory, self.store = memory, store

    def read(self, begin: int, end: int) -> bytearray:
        return self.memory.read(self.store, begin, end)  # type: ignore[no-any-return]

    def write(self, data: bytes, at: int) -> None:
        self.memory.write(self.store, data, at)


def run(program: str, host: wasi.Host) -> int:
    """Runs the program to its end; returns its status."""
    try:
        wasmtime: Any = importlib.import_module("wasmtime")
    except ImportError:
        print("vramreplay: this package of vramreplay needs another: pip install wasmtime", file=sys.stderr)
        return STATUS_FAILED
    config = wasmtime.Config()
    try:
        config.cache = True
    except wasmtime.WasmtimeError:              # no folder for it: compiled each time
        pass
    engine = wasmtime.Engine(config)
    store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
    module = wasmtime.Module.from_file(engine, program)
    for needed in module.imports:
        kind, name = needed.type, needed.name or ""
        is_wide = [str(one) == "i64" for one in kind.params]
        linker.define_func(needed.module, name, kind, answered(getattr(host, name), is_wide))
    exports = linker.instantiate(store, module).exports(store)
    host.memory = Memory(exports["memory"], store)
    try:
        exports["_start"](store)
    except wasi.Ended as ended:
        return ended.status
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        host.remove_unfinished()
        print(f"replay: it crashed: {str(error).strip().splitlines()[-1].strip()}", file=sys.stderr)
        return STATUS_CRASHED
    return 0


def caught(host: wasi.Host) -> Callable[[int, Any], None]:
    """What a signal does: what is half written goes, and the status is a shell's for a program that a signal ended."""
    def end(number: int, _frame: Any) -> None:
        host.remove_unfinished()
        os._exit(128 + number)
    return end


def main(words: Optional[List[str]] = None) -> None:
    """Becomes the program, with these words, or those of this process."""
    host = wasi.Host(["replay", *typed_words(sys.argv[1:] if words is None else words)],
                     environment(dict(os.environ)), shows_progress=bool(os.environ.get(PROGRESS)))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, caught(host))
    program = str(files.program())
    status: List[int] = []
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=lambda: status.append(run(program, host)), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(1.0)                        # Windows hears Ctrl-C between two waits
    sys.exit(status[0] if status else STATUS_CRASHED)
