# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The program as WebAssembly does what the program of this machine does, and what it asks of a system is answered as
the program means it, on Windows too, as far as that can be played here.

`./dev wasm` builds it; the tests that run it are skipped without it.
"""
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import types
import zipfile

import pytest
import vramreplay
from vramreplay import files, running, wasi, wasm

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/wasm/program/replay.wasm"
SAMPLES = sorted(str(path) for path in (ROOT / "samples").iterdir() if path.is_file())
OOM, LEAK, GPT, CNN = (str(ROOT / f"samples/{name}.trace.zst") for name in ("oom-fragmented", "oom-leak",
                                                                            "gpt-varlen-default", "cnn"))
HERE = files.program()                          # of this machine
needs_program = pytest.mark.skipif(not PROGRAM.is_file(), reason="needs ./dev wasm")


@pytest.fixture
def portable(monkeypatch):
    """The package has no program but replay.wasm."""
    pytest.importorskip("wasmtime")
    monkeypatch.setenv("VRAMREPLAY_PROGRAM", str(PROGRAM))


def run(words, is_portable, stdin=b"", folder=None):
    command = [sys.executable, "-m", "vramreplay"] if is_portable else [HERE]
    done = subprocess.run([*command, *words], input=stdin, capture_output=True, cwd=folder, check=False)
    return done.returncode, done.stdout, done.stderr


def written(folder):
    """What is in a folder: names, permissions, bytes. A database has the time of its writing in it."""
    return {path.name: (path.stat().st_mode, b"" if path.suffix == ".db" else path.read_bytes())
            for path in folder.iterdir()}


# ---- the same as the program of this machine ----

@needs_program
@pytest.mark.parametrize("recording", SAMPLES, ids=os.path.basename)
def test_why_says_the_same_of_every_sample(recording, portable):
    assert run(["why", recording], True) == run(["why", recording], False)


@needs_program
@pytest.mark.parametrize("words", [
    ["info", GPT], ["who", OOM], [GPT], ["fit", CNN, "--policy", "best-fit"], ["tune", OOM], ["diff", CNN, OOM],
    ["verify", CNN], ["blame", OOM], ["plan", CNN], ["stats", CNN], ["summary", LEAK], ["snapshot", CNN, "-o", "-"],
    ["report", LEAK, "--html", "-"], ["why", LEAK, "--json", "-"], [CNN, "--csv", "-"], ["conf", "max_split_size_mb:1"],
    ["shrink", OOM], ["--list"], ["--schema"], ["--schema", "why"], ["fit", "--help"], [CNN, "--json", "/dev/stdout"],
    ["wyh", "x"], ["info", "/nosuch"], ["info", str(ROOT)], ["info", str(ROOT / "README.md")], ["info", ""],
    [CNN, "--json", "/no/such/folder"], [CNN, "--json", CNN], ["why", "../samples/../samples/oom-leak.trace.zst"],
], ids=lambda words: " ".join(map(os.path.basename, words)))
def test_a_command_says_the_same(words, portable):
    assert run(words, True, folder=ROOT / "samples") == run(words, False, folder=ROOT / "samples")


@needs_program
def test_it_reads_standard_input(portable):
    text = (ROOT / "samples/oom-fragmented.log").read_bytes()
    assert run(["why", "-"], True, text) == run(["why", "-"], False, text)
    recording = pathlib.Path(OOM).read_bytes()
    assert run(["why", "-"], True, recording) == run(["why", "-"], False, recording)


@needs_program
def test_it_writes_the_same_files_with_the_same_permissions(portable, tmp_path):
    told = {}
    for is_portable in (False, True):
        folder = tmp_path / ("there" if is_portable else "here")
        folder.mkdir()
        (folder / "taken.html").write_text("old")
        (folder / "taken.html").chmod(0o640)
        (folder / "elsewhere").write_text("old")
        (folder / "link.csv").symlink_to(folder / "elsewhere")
        said = [run(words, is_portable, folder=folder) for words in (
            ["report", CNN, "--html", "taken.html"], ["report", CNN, "--html", "new.html"], [CNN, "--csv", "link.csv"],
            ["sweep", CNN, "--policy", "best-fit", "--device", "4GiB", "--out", "r.db"],
            ["sweep", CNN, "--policy", "none", "--device", "4GiB", "--out", "r.db"],
            ["report", "r.db", "--html", "db.html"], ["diff", "r.db", "r.db"], ["merge", "r.db", "--out", "m.db"],
            ["generate", "mix:1000", "--events", "1000", "-o", "generated.zst"])]
        told[is_portable] = said, written(folder), run(["diff", "r.db", "../here/r.db"], is_portable, folder=folder)
    assert told[True] == told[False]


def on_terminal(words, is_portable):
    """What it writes to a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environment.update(TERM="xterm", **({"VRAMREPLAY_PROGRAM": str(PROGRAM)} if is_portable else {}))
    child = subprocess.Popen([sys.executable, "-m", "vramreplay", *words], stdin=theirs, stdout=theirs, stderr=theirs,
                             env=environment)
    os.close(theirs)
    said = b""
    try:
        while True:
            said += os.read(ours, 4096)
    except OSError:                             # the other side is closed
        os.close(ours)
    return child.wait(), said


@needs_program
@pytest.mark.parametrize("words", [[CNN], ["who", OOM], ["why", LEAK]], ids=["replay", "who", "why"])
def test_it_knows_the_terminal(words, portable):
    status, said = on_terminal(words, False)
    assert (status, said) == on_terminal(words, True) and (b"\x1b[1m" in said or words[0] != CNN)


@needs_program
def test_nobody_reads_its_output(portable):
    child = subprocess.Popen([sys.executable, "-m", "vramreplay", "snapshot", CNN, "-o", "-"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env={**os.environ, "VRAMREPLAY_PROGRAM": str(PROGRAM)})
    child.stdout.close()
    assert (child.stderr.read(), child.wait()) == (b"", 128 + signal.SIGPIPE)
    child.stderr.close()


@needs_program
def test_a_signal_ends_it_and_leaves_nothing(portable, tmp_path):
    words = ["generate", "mix:1000", "--events", "1000000000", "-o", "big.zst"]
    child = subprocess.Popen([sys.executable, "-m", "vramreplay", *words], cwd=tmp_path,
                             env={**os.environ, "VRAMREPLAY_PROGRAM": str(PROGRAM)})
    until = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(tmp_path.iterdir())
    child.send_signal(signal.SIGINT)
    assert child.wait() == 128 + signal.SIGINT and list(tmp_path.iterdir()) == []


@needs_program
@pytest.mark.parametrize("command", ["run-sim", "record", "predict", "serve", "bisect"])
def test_a_command_that_runs_programs_says_that_it_wants_linux(command, portable):
    status, out, err = run([command, "--", "true"], True)
    assert (status, out) == (2, b"") and err.startswith(f"replay: {command} runs a program, which wants Linux".encode())


# ---- the package ----

@needs_program
def test_the_functions_answer_the_same(portable, monkeypatch):
    answers = vramreplay.why(LEAK).to_dict(), vramreplay.fit(CNN, policy="best-fit").to_dict()
    monkeypatch.delenv("VRAMREPLAY_PROGRAM")
    assert answers == (vramreplay.why(LEAK).to_dict(), vramreplay.fit(CNN, policy="best-fit").to_dict())


@needs_program
def test_an_error_and_what_wants_linux_are_exceptions(portable):
    with pytest.raises(vramreplay.InputError) as caught:
        vramreplay.info("/nosuch")
    assert (caught.value.file, caught.value.reason) == ("/nosuch", "No such file or directory")
    with pytest.raises(vramreplay.InputError, match="wants Linux"):
        vramreplay.predict(["true"])


@needs_program
def test_progress_is_told_without_a_terminal(portable, tmp_path):
    told = []
    recording = str(tmp_path / "long.zst")
    running.run(["generate", "mix:1000", "--events", "4000000", "-o", recording])
    vramreplay.replay(recording, policy="best-fit", progress=lambda what, part: told.append(part))
    assert told and all(0 <= part <= 1 for part in told)


@needs_program
def test_a_module_where_it_works_is_not_read(portable, tmp_path, monkeypatch):
    for name in ("wasmtime", "vramreplay", "struct"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('read')")
    monkeypatch.chdir(tmp_path)
    assert vramreplay.info(CNN).events > 0


@needs_program
def test_the_wheel_for_all_systems_answers(tmp_path, wheel):
    found = list(wheel.parent.glob("*-py3-none-any.whl"))
    if not found:
        pytest.skip("needs ./dev wheel any")
    pytest.importorskip("wasmtime")
    with zipfile.ZipFile(found[0]) as packed:
        packed.extractall(tmp_path)
    program = [path.name for path in (tmp_path / "vramreplay/program").iterdir()]
    assert program == ["replay.wasm"] and not (tmp_path / "vramreplay.libs").exists()
    metadata = next(tmp_path.glob("*.dist-info/METADATA")).read_text()
    assert "wasmtime" in metadata and all((tmp_path / "x").parent.glob(f"*.dist-info/licenses/{name}")
                                          for name in re.findall(r"License-File: (.*)", metadata))
    words = ["-c", "import vramreplay.__main__ as m; m.main()", "why", LEAK]
    done = subprocess.run([sys.executable, *words], capture_output=True, cwd=tmp_path, check=False,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == run(["why", LEAK], False)


def test_it_says_which_package_is_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    assert wasm.run("replay.wasm", wasi.Host([], {})) == wasm.STATUS_FAILED
    assert "pip install wasmtime" in capsys.readouterr().err


def test_the_allocator_of_linux_is_not_here(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="the one for Linux has"):
        files.live_allocator()


# ---- Windows, as far as it can be played here ----

@pytest.mark.parametrize("typed, read", [
    (r"C:\logs\train.log", "C:/logs/train.log"), (r"..\x", "../x"), (r"--json=C:\a b.json", "--json=C:/a b.json"),
    (r"\\server\share\x.zst", r"\\server/share/x.zst"), ("x.zst", "x.zst"), ("-", "-")])
def test_a_name_of_windows_keeps_its_meaning(typed, read):
    assert wasm.typed_words([typed], is_windows=True) == [read]
    assert wasm.typed_words([typed], is_windows=False) == [typed]


@pytest.mark.parametrize("asked, meant", [
    ("./C:/x/m.db", "C:/x/m.db"), ("/C:/work/C:/x/m.db-wal", "C:/x/m.db-wal"), ("/C:/work/m.db", "C:/work/m.db"),
    (r"/C:/work/\\server/share/m.db", r"\\server/share/m.db"), ("../x", "../x"), ("C:/x", "C:/x"), ("/x", "/x"),
    (r"\\server/share/x", r"\\server/share/x"), ("a:b", "a:b")])
def test_what_the_program_makes_of_a_name_with_a_drive_is_undone(asked, meant):
    assert wasi.system_name(asked, is_windows=True) == meant
    assert wasi.system_name(asked, is_windows=False) == asked


def test_the_real_name_begins_with_a_slash_on_windows(monkeypatch):
    monkeypatch.setattr(wasi, "IS_WINDOWS", True)
    monkeypatch.setattr(os, "stat", lambda path: None)
    monkeypatch.setattr(os.path, "realpath", lambda path: "C:\\work\\r.db")
    flat = Flat()
    length = flat.ask["real_path"](*flat.name("r.db")[1:], 3000, 100)
    assert bytes(flat.bytes[3000:3000 + length]) == b"/C:/work/r.db"


def test_temporary_files_go_where_windows_has_them():
    made = wasm.environment({"PATH": "x"}, is_windows=True)
    assert made["PATH"] == "x" and os.path.isdir(made["TMPDIR"])
    assert wasm.environment({"TMPDIR": "mine"}, is_windows=True)["TMPDIR"] == "mine"
    assert "TMPDIR" not in wasm.environment({}, is_windows=False)


class Flat:
    """A memory, and a program in it that asks a host."""

    def __init__(self, **options):
        self.bytes = bytearray(1 << 16)
        self.host = wasi.Host(["replay"], {}, **options)
        self.host.memory = self
        self.ask = {name: wasm.answered(getattr(self.host, name), [True] * 9) for name in dir(wasi.Host)
                    if name.startswith(("fd_", "path_")) or name in ("lock", "access", "real_path", "duplicate")}

    def read(self, begin, end):
        return self.bytes[begin:end]

    def write(self, data, at):
        self.bytes[at:at + len(data)] = data

    def name(self, path, at=100):
        text = os.fsencode(path)
        self.write(text, at)
        return wasi.HERE, at, len(text)

    def number(self, at, form="<I"):
        return struct.unpack_from(form, self.bytes, at)[0]

    def open(self, path, how=0, may=wasi.MAY_READ, flags=0):
        folder, at, length = self.name(path)
        status = self.ask["path_open"](folder, wasi.FOLLOW, at, length, how, may, 0, flags, 0)
        return -status if status else self.number(0)

    def put(self, fd, data):
        self.write(struct.pack("<II", 1000, len(data)), 8)
        self.write(data, 1000)
        return self.ask["fd_write"](fd, 8, 1, 0)

    def two(self, call, first, second):
        a, b = self.name(first, 100), self.name(second, 5000)
        return self.ask[call](*a, *b) if call == "path_rename" else self.ask[call](a[0], 0, *a[1:], *b)

    def gone(self, path):
        return self.ask["path_unlink_file"](*self.name(path))


NEW = wasi.CREATE | wasi.EXCLUSIVE


@pytest.mark.parametrize("moves_open", [True, False], ids=["unix", "windows"])
def test_a_file_that_is_open_is_moved_and_goes_on(moves_open, tmp_path):
    flat, old, new = Flat(moves_open=moves_open), tmp_path / "old", tmp_path / "new"
    new.write_text("before")
    new.chmod(0o640)
    fd = flat.open(old, NEW, wasi.MAY_WRITE)
    assert old.stat().st_mode & 0o777 == 0o600 and flat.put(fd, b"one ") == 0
    assert flat.two("path_rename", old, new) == 0 and flat.host.unfinished == {}
    assert flat.put(fd, b"two") == 0 and flat.ask["fd_close"](fd) == 0
    assert new.read_text() == "one two" and new.stat().st_mode & 0o777 == 0o640 and not old.exists()


@pytest.mark.parametrize("moves_open", [True, False], ids=["unix", "windows"])
def test_a_file_that_is_open_is_removed_at_the_latest_when_it_is_closed(moves_open, tmp_path):
    flat, path = Flat(moves_open=moves_open), tmp_path / "x"
    fd = flat.open(path, NEW, wasi.MAY_WRITE | wasi.MAY_READ)
    assert flat.gone(path) == 0 and path.exists() != moves_open
    assert flat.put(fd, b"still") == 0 and flat.ask["fd_close"](fd) == 0 and not path.exists()


@pytest.mark.parametrize("moves_open", [True, False], ids=["unix", "windows"])
def test_what_is_half_written_goes(moves_open, tmp_path):
    flat = Flat(moves_open=moves_open)
    flat.open(tmp_path / "x", NEW, wasi.MAY_WRITE)
    flat.open(tmp_path / "y", wasi.CREATE, wasi.MAY_WRITE)
    flat.host.remove_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["y"]


def test_a_link_is_made_once(tmp_path):
    flat = Flat()
    flat.ask["fd_close"](flat.open(tmp_path / "x", NEW, wasi.MAY_WRITE))
    assert flat.two("path_link", tmp_path / "x", tmp_path / "y") == 0
    assert flat.two("path_link", tmp_path / "x", tmp_path / "y") == wasi.IS_THERE


def test_errors_have_the_numbers_of_wasi(tmp_path):
    flat = Flat()
    (tmp_path / "file").touch()
    assert flat.open(tmp_path / "none") == -wasi.NOT_THERE
    assert flat.open(tmp_path, 0, wasi.MAY_WRITE) == -wasi.IS_FOLDER
    assert flat.open(tmp_path / "file", wasi.ONLY_FOLDER) == -wasi.IS_NO_FOLDER
    assert flat.open(tmp_path / "file", NEW) == -wasi.IS_THERE
    assert flat.open("a\0b") != 0 and flat.ask["fd_close"](77) == wasi.BAD_FD
    assert flat.ask["fd_read"](flat.open(tmp_path), 8, 0, 0) == wasi.IS_FOLDER
    assert wasi.error_number(OSError(None, "of its own")) == wasi.IO
    assert flat.ask["real_path"](*flat.name(tmp_path / "none")[1:], 3000, 100) == -wasi.NOT_THERE


def test_a_folder_lists_itself_and_what_is_in_it(tmp_path):
    (tmp_path / "ä").touch()
    flat = Flat()
    assert flat.ask["fd_readdir"](flat.open(tmp_path), 1000, 4096, 0, 0) == 0
    listed, at = [], 1000
    while at < 1000 + flat.number(0):
        length = flat.number(at + 16)
        listed.append(bytes(flat.bytes[at + 24:at + 24 + length]).decode())
        at += 24 + length
    assert listed == [".", "..", "ä"]


def test_windows_locks_a_byte_in_place_of_a_file(tmp_path, monkeypatch):
    (tmp_path / "x").write_text("data")
    flat, told = Flat(), []
    monkeypatch.setattr(wasi, "IS_WINDOWS", True)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(
        LK_NBLCK=2, LK_UNLCK=0, locking=lambda fd, how, size: told.append((os.lseek(fd, 0, os.SEEK_CUR), how, size))))
    fd = flat.open(tmp_path / "x")
    assert [flat.ask["lock"](fd, *asked) for asked in ((1, 0, 0), (2, 1 << 30, 512), (0, 0, 0))] == [0, 0, 0]
    assert told == [(wasi.WHOLE_AT, 2, 1), (1 << 30, 2, 512), (wasi.WHOLE_AT, 0, 1)]
    assert os.lseek(flat.host.files[fd].fd, 0, os.SEEK_CUR) == 0


def test_the_console_of_windows_shows_utf8(monkeypatch, capsys):
    monkeypatch.setattr(wasi, "IS_WINDOWS", True)
    monkeypatch.setattr(os, "isatty", lambda fd: True)
    flat = Flat()
    assert flat.put(1, "größer\n".encode()) == 0 and capsys.readouterr().out == "größer\n"


def test_progress_wants_a_terminal_or_somebody_who_reads_it():
    for shows, kind in ((True, wasi.CHARACTERS), (False, None)):
        flat = Flat(shows_progress=shows)
        assert flat.ask["fd_fdstat_get"](2, 3000) == 0
        assert (flat.bytes[3000] == kind) is shows or kind is None
