# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the program asks of its system where it runs as WebAssembly: files, streams, time.

These are the functions of WASI (wasi_snapshot_preview1) that replay.wasm imports, and some of its own
(packaging/wasm/lacking.c). Names of files go to the system as they were typed, so the program may read and write what
this process may, as a program of this machine would. Each function returns an error number of WASI.
"""
from __future__ import annotations

import errno
import importlib
import os
import re
import stat
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

#: WASI's names of errors in the order of their numbers; those of errno with an E before them.
ERRORS = ("""\
success 2big acces addrinuse addrnotavail afnosupport again already badf badmsg busy canceled
child connaborted connrefused connreset deadlk destaddrreq dom dquot exist fault fbig
hostunreach idrm ilseq inprogress intr inval io isconn isdir loop mfile mlink msgsize multihop
nametoolong netdown netreset netunreach nfile nobufs nodev noent noexec nolck nolink nomem nomsg
noprotoopt nospc nosys notconn notdir notempty notrecoverable notsock notsup notty nxio overflow
ownerdead perm pipe proto protonosupport prototype range rofs spipe srch stale timedout txtbsy
xdev
""").split()
NUMBERS = {getattr(errno, "E" + name.upper()): number for number, name in enumerate(ERRORS)
           if hasattr(errno, "E" + name.upper())}
NUMBERS.setdefault(errno.EOPNOTSUPP, ERRORS.index("notsup"))                       # two numbers on macOS
GOOD, BAD_FD, IS_FOLDER, IS_NO_FOLDER, NOT_THERE, IS_THERE, MAY_NOT, TOO_LONG, INVALID, NO_WAY, IO = map(
    ERRORS.index, "success badf isdir notdir noent exist acces nametoolong inval nosys io".split())
UNKNOWN, BLOCKS, CHARACTERS, FOLDER, FILE, LINK = 0, 1, 2, 3, 4, 7                 # kinds of files
KINDS = {stat.S_IFBLK: BLOCKS, stat.S_IFCHR: CHARACTERS, stat.S_IFDIR: FOLDER, stat.S_IFREG: FILE, stat.S_IFLNK: LINK}
CREATE, ONLY_FOLDER, EXCLUSIVE, TRUNCATE = 1, 2, 4, 8                              # how a file is opened
APPEND, NO_WAIT = 1, 4
MAY_READ, MAY_SEEK, MAY_TELL, MAY_WRITE, ALL = 1 << 1, 1 << 2, 1 << 5, 1 << 6, (1 << 30) - 1
FOLLOW = 1
HERE = 3                        # what every name is relative to that is not in an open folder
STANDARD = 3                                                      # descriptors below it are standard streams
WHOLE_AT = 0x7FFFFFF0                       # Windows locks no file, but bytes of it: one where no data lie
IS_WINDOWS = os.name == "nt"


class Ended(Exception):
    """The program has ended with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Opened:
    """A file or a folder that the program has open."""

    path: str
    fd: int = -1                                        # of this process; -1: a folder
    flags: int = 0
    names: List[str] = field(default_factory=list)                # of a folder, once they were asked for
    goes: bool = False                                  # to be removed when it is closed
    stream: int = 0                                     # 1, 2: standard output or standard error


def error_number(error: OSError) -> int:
    """WASI's number of an error of the system."""
    return NUMBERS.get(error.errno or 0, IO)


def status_bytes(status: os.stat_result) -> bytes:
    """What the system knows of a file, as WASI has it."""
    most = (1 << 64) - 1
    return struct.pack("<QQB7xQQQQQ", status.st_dev & most, status.st_ino & most,
                       KINDS.get(stat.S_IFMT(status.st_mode), UNKNOWN), status.st_nlink, status.st_size & most,
                       status.st_atime_ns & most, status.st_mtime_ns & most, status.st_ctime_ns & most)


def slashed(name: str) -> str:
    r"""A name of Windows with slashes, which the program knows. `\\server` keeps its own: with slashes it would be a
    folder of this computer."""
    return name[:2] + name[2:].replace("\\", "/") if name.startswith("\\\\") else name.replace("\\", "/")


def system_name(name: str, is_windows: bool) -> str:
    """A name as the system takes it. The program, which knows no drives, may have put the working folder before one."""
    return re.sub(r"^.*/(?=[A-Za-z]:[/\\]|\\\\)", "", name) if is_windows else name


def new_mode() -> int:
    """The permissions that a new file gets."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class Host:
    """The system of one run of the program. `memory` is set once the program is there.

    On Windows nobody moves or removes a file that is open. `moves_open` says whether one may here.
    """

    def __init__(self, words: Sequence[str], environment: Dict[str, str], moves_open: bool = not IS_WINDOWS,
                 shows_progress: bool = False) -> None:
        self.words = [os.fsencode(word) + b"\0" for word in words]
        self.environment = [os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items()]
        self.files: Dict[int, Opened] = {n: Opened("", n, stream=n) for n in range(STANDARD)}
        self.files[HERE] = Opened("")
        self.unfinished: Dict[str, None] = {}                 # new files that have no lasting name yet
        self.moves_open, self.shows_progress = moves_open, shows_progress
        self.memory: Any = None

    # ---- the program's memory ----

    def take(self, at: int, length: int) -> bytes:
        return bytes(self.memory.read(at, at + length))

    def put(self, at: int, data: bytes) -> None:
        self.memory.write(data, at)

    def put_number(self, at: int, form: str, number: int) -> None:
        self.put(at, struct.pack("<" + form, number))

    def parts(self, at: int, count: int) -> List[Tuple[int, int]]:
        """Pieces of memory that are read or written as one: addresses and lengths."""
        return list(struct.iter_unpack("<II", self.take(at, 8 * count)))

    def name(self, folder: int, at: int, length: int) -> str:
        """A name as the system takes it."""
        typed = system_name(os.fsdecode(self.take(at, length)), IS_WINDOWS)
        return typed if folder == HERE else os.path.join(self.files[folder].path, typed)

    # ---- words, variables, time, chance, the end ----

    def put_texts(self, texts: List[bytes], pointers: int, at: int) -> int:
        for text in texts:
            self.put_number(pointers, "I", at)
            self.put(at, text)
            pointers, at = pointers + 4, at + len(text)
        return GOOD

    def put_sizes(self, texts: List[bytes], count: int, size: int) -> int:
        self.put_number(count, "I", len(texts))
        self.put_number(size, "I", sum(map(len, texts)))
        return GOOD

    def args_get(self, pointers: int, at: int) -> int:
        return self.put_texts(self.words, pointers, at)

    def args_sizes_get(self, count: int, size: int) -> int:
        return self.put_sizes(self.words, count, size)

    def environ_get(self, pointers: int, at: int) -> int:
        return self.put_texts(self.environment, pointers, at)

    def environ_sizes_get(self, count: int, size: int) -> int:
        return self.put_sizes(self.environment, count, size)

    def clock_time_get(self, clock: int, _precision: int, at: int) -> int:
        now = (time.time_ns, time.monotonic_ns, time.process_time_ns, time.process_time_ns)[clock]
        self.put_number(at, "Q", now())
        return GOOD

    def poll_oneoff(self, wanted: int, happened: int, count: int, n_happened: int) -> int:
        """Sleeps: the program waits for nothing else."""
        name, kind, _clock, wait_ns = struct.unpack("<QB7xI4xQ", self.take(wanted, 32))
        if count != 1 or kind != 0:
            return NO_WAY
        time.sleep(wait_ns / 1e9)
        self.put(happened, struct.pack("<QHB21x", name, GOOD, kind))
        self.put_number(n_happened, "I", 1)
        return GOOD

    def sched_yield(self) -> int:
        return GOOD

    def random_get(self, at: int, length: int) -> int:
        self.put(at, os.urandom(length))
        return GOOD

    def proc_exit(self, status: int) -> None:
        raise Ended(status)

    # ---- open files ----

    def fd_prestat_get(self, _fd: int, _at: int) -> int:
        return BAD_FD                                   # no folder is given: names come as they are

    def fd_prestat_dir_name(self, _fd: int, _at: int, _length: int) -> int:
        return BAD_FD

    def fd_fdstat_get(self, fd: int, at: int) -> int:
        opened = self.files[fd]
        kind = FOLDER if opened.fd < 0 else KINDS.get(stat.S_IFMT(os.fstat(opened.fd).st_mode), UNKNOWN)
        if kind == CHARACTERS and not os.isatty(opened.fd):
            kind = UNKNOWN                              # such as /dev/null
        if fd == 2 and self.shows_progress:
            kind = CHARACTERS
        may = ALL & ~(MAY_SEEK | MAY_TELL) if kind == CHARACTERS else ALL       # which tells a terminal
        self.put(at, struct.pack("<BxHxxxxQQ", kind, 0, may, ALL))
        return GOOD

    def fd_fdstat_set_flags(self, fd: int, flags: int) -> int:
        if not IS_WINDOWS:
            os.set_blocking(self.files[fd].fd, not flags & NO_WAIT)
        return GOOD

    def fd_filestat_get(self, fd: int, at: int) -> int:
        opened = self.files[fd]
        self.put(at, status_bytes(os.stat(opened.path or ".") if opened.fd < 0 else os.fstat(opened.fd)))
        return GOOD

    def fd_filestat_set_size(self, fd: int, size: int) -> int:
        os.ftruncate(self.files[fd].fd, size)
        return GOOD

    def fd_read(self, fd: int, at: int, count: int, n_read: int) -> int:
        opened, done = self.files[fd], 0
        if opened.fd < 0:
            return IS_FOLDER
        for place, length in self.parts(at, count):
            data = os.read(opened.fd, length)
            self.put(place, data)
            done += len(data)
            if len(data) < length:
                break
        self.put_number(n_read, "I", done)
        return GOOD

    def fd_write(self, fd: int, at: int, count: int, n_written: int) -> int:
        data = b"".join(self.take(place, length) for place, length in self.parts(at, count))
        opened = self.files[fd]
        self.put_number(n_written, "I", self.write_standard(opened, data) if opened.stream else
                        os.write(opened.fd, data))
        return GOOD

    def write_standard(self, opened: Opened, data: bytes) -> int:
        """Writes to a standard stream. Nobody reads it any more: the program ends, as SIGPIPE would end it."""
        try:
            if not (IS_WINDOWS and os.isatty(opened.fd)):
                return os.write(opened.fd, data)
            stream = sys.stdout if opened.stream == 1 else sys.stderr
            stream.buffer.write(data)                   # the console shows UTF-8 if Python writes
            stream.flush()
            return len(data)
        except (BrokenPipeError, OSError) as error:
            if isinstance(error, BrokenPipeError) or IS_WINDOWS and error.errno == errno.EINVAL:
                self.remove_unfinished()
                raise Ended(128 + 13) from None
            raise

    def at_place(self, fd: int, place: int, work: Callable[[int], Any]) -> Any:
        """Does something at a place of a file, which stays where it was."""
        system = self.files[fd].fd
        before = os.lseek(system, 0, os.SEEK_CUR)
        os.lseek(system, place, os.SEEK_SET)
        try:
            return work(system)
        finally:
            os.lseek(system, before, os.SEEK_SET)

    def fd_pread(self, fd: int, at: int, count: int, place: int, n_read: int) -> int:
        return int(self.at_place(fd, place, lambda _: self.fd_read(fd, at, count, n_read)))

    def fd_pwrite(self, fd: int, at: int, count: int, place: int, n_written: int) -> int:
        return int(self.at_place(fd, place, lambda _: self.fd_write(fd, at, count, n_written)))

    def fd_seek(self, fd: int, offset: int, whence: int, at: int) -> int:
        self.put_number(at, "Q", os.lseek(self.files[fd].fd, offset, whence))
        return GOOD

    def fd_tell(self, fd: int, at: int) -> int:
        return self.fd_seek(fd, 0, os.SEEK_CUR, at)

    def fd_sync(self, fd: int) -> int:
        if self.files[fd].fd >= 0:                          # a folder is the system's business
            os.fsync(self.files[fd].fd)
        return GOOD

    def fd_close(self, fd: int) -> int:
        if fd > HERE:                                       # standard streams stay
            opened = self.files.pop(fd)
            if opened.fd >= 0:
                os.close(opened.fd)
            if opened.goes:
                os.unlink(opened.path)
        return GOOD

    def fd_readdir(self, fd: int, at: int, length: int, first: int, n_read: int) -> int:
        opened = self.files[fd]
        if first == 0:
            opened.names = [".", "..", *os.listdir(opened.path or ".")]
        listed = b""
        for number, name in enumerate(opened.names[first:], first + 1):
            coded = os.fsencode(name)
            listed += struct.pack("<QQIB3x", number, 0, len(coded), UNKNOWN) + coded
            if len(listed) >= length:
                break
        self.put(at, listed[:length])
        self.put_number(n_read, "I", min(len(listed), length))
        return GOOD

    # ---- names ----

    def path_open(self, folder: int, follows: int, at: int, length: int, how: int, may: int, _inherited: int,
                  flags: int, opened_at: int) -> int:
        path = self.name(folder, at, length)
        if os.path.isdir(path) and (follows & FOLLOW or not os.path.islink(path)):
            if may & MAY_WRITE:
                return IS_FOLDER
            opened = Opened(path)
        elif how & ONLY_FOLDER:
            return IS_NO_FOLDER if os.path.lexists(path) else NOT_THERE
        else:
            opened = self.open_file(path, how, may, flags, follows)
        self.put_number(opened_at, "I", self.enter(opened))
        return GOOD

    def enter(self, opened: Opened) -> int:
        """A new descriptor for an open file: the lowest that is free."""
        fd = next(n for n in range(HERE + 1, HERE + 2 + len(self.files)) if n not in self.files)
        self.files[fd] = opened
        return fd

    def open_file(self, path: str, how: int, may: int, flags: int, follows: int) -> Opened:
        """A file that is made only if there is none is a temporary one until it is moved."""
        mode = os.O_RDWR if may & MAY_READ and may & MAY_WRITE else os.O_WRONLY if may & MAY_WRITE else os.O_RDONLY
        given = {os.O_CREAT: how & CREATE, os.O_EXCL: how & EXCLUSIVE, os.O_TRUNC: how & TRUNCATE,
                 os.O_APPEND: flags & APPEND, getattr(os, "O_NONBLOCK", 0): flags & NO_WAIT,
                 getattr(os, "O_NOFOLLOW", 0): not follows & FOLLOW, getattr(os, "O_BINARY", 0): 1,
                 getattr(os, "O_NOINHERIT", 0): 1}
        mode |= sum(flag for flag, is_given in given.items() if is_given)
        fd = os.open(path, mode, 0o600 if how & EXCLUSIVE else 0o666)
        if how & EXCLUSIVE:
            self.unfinished[path] = None
        return Opened(path, fd, mode & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))

    def path_filestat_get(self, folder: int, follows: int, at: int, length: int, out: int) -> int:
        path = self.name(folder, at, length)
        self.put(out, status_bytes(os.stat(path, follow_symlinks=bool(follows & FOLLOW))))
        return GOOD

    def path_filestat_set_times(self, folder: int, _follows: int, at: int, length: int, accessed: int, changed: int,
                                _which: int) -> int:
        os.utime(self.name(folder, at, length), ns=(accessed, changed))
        return GOOD

    def path_create_directory(self, folder: int, at: int, length: int) -> int:
        os.mkdir(self.name(folder, at, length))
        return GOOD

    def path_remove_directory(self, folder: int, at: int, length: int) -> int:
        os.rmdir(self.name(folder, at, length))
        return GOOD

    def path_readlink(self, folder: int, at: int, length: int, out: int, room: int, n_read: int) -> int:
        target = os.fsencode(os.readlink(self.name(folder, at, length)))[:room]
        self.put(out, target)
        self.put_number(n_read, "I", len(target))
        return GOOD

    def open_as(self, path: str) -> Optional[Opened]:
        """The file of this name, if it is open and may not be touched while it is."""
        found = [opened for opened in self.files.values() if opened.fd >= STANDARD and opened.path == path]
        return found[0] if found and not self.moves_open else None

    def path_unlink_file(self, folder: int, at: int, length: int) -> int:
        path = self.name(folder, at, length)
        opened = self.open_as(path)
        if opened is not None:
            opened.goes = True
        else:
            os.unlink(path)
        self.unfinished.pop(path, None)
        return GOOD

    def path_rename(self, old_folder: int, old_at: int, old_length: int, folder: int, at: int, length: int) -> int:
        old, new = self.name(old_folder, old_at, old_length), self.name(folder, at, length)
        opened, place = self.open_as(old), 0
        if opened is not None:
            place = os.lseek(opened.fd, 0, os.SEEK_CUR)
            os.close(opened.fd)
        try:
            self.give_permissions(old, new)
            os.replace(old, new)
            self.unfinished.pop(old, None)
        finally:
            if opened is not None:
                opened.path = new if not os.path.lexists(old) else old
                opened.fd = os.open(opened.path, opened.flags)
                os.lseek(opened.fd, place, os.SEEK_SET)
        return GOOD

    def path_link(self, old_folder: int, _follows: int, old_at: int, old_length: int, folder: int, at: int,
                  length: int) -> int:
        old, new = self.name(old_folder, old_at, old_length), self.name(folder, at, length)
        if os.path.lexists(new):
            return IS_THERE
        self.give_permissions(old, new)
        os.link(old, new)
        return GOOD

    def give_permissions(self, temporary: str, name: str) -> None:
        """A file that gets its name has the permissions of the one that it replaces, or those of a new one."""
        if temporary in self.unfinished:
            try:
                mode = stat.S_IMODE(os.stat(name).st_mode)
            except OSError:
                mode = new_mode()
            os.chmod(temporary, mode)

    def remove_unfinished(self) -> None:
        """For a run that does not come to its end."""
        if not self.moves_open:
            for opened in self.files.values():
                if opened.fd >= STANDARD:
                    os.close(opened.fd)
        for path in list(self.unfinished):
            try:
                os.unlink(path)
            except OSError:
                pass

    # ---- the program's own ----

    def duplicate(self, fd: int) -> int:
        """Returns another descriptor of the same file, or less than 0: an error."""
        opened = self.files[fd]
        try:
            return self.enter(Opened(opened.path, os.dup(opened.fd), opened.flags, stream=opened.stream))
        except OSError as error:
            return -error_number(error)

    def access(self, at: int, length: int, how: int) -> int:
        path = self.name(HERE, at, length)
        os.stat(path)                                       # says what is wrong with the name
        return GOOD if os.access(path, how) else MAY_NOT

    def real_path(self, at: int, length: int, out: int, room: int) -> int:
        """Returns the length of the name, or less than 0: an error. The name begins with a slash."""
        path = self.name(HERE, at, length)
        try:
            os.stat(path)
        except OSError as error:
            return -error_number(error)
        name = os.path.realpath(path)
        real = os.fsencode("/" + slashed(name) if IS_WINDOWS else name)
        if len(real) > room:
            return -TOO_LONG
        self.put(out, real)
        return len(real)

    def lock(self, fd: int, how: int, start: int, length: int) -> int:
        """Gives back (0), takes (1) or shares (2) bytes of a file, or the whole if `length` is 0. Never waits."""
        system = self.files[fd].fd
        if IS_WINDOWS:
            msvcrt: Any = importlib.import_module("msvcrt")
            place, size = (start, length) if length else (WHOLE_AT, 1)
            self.at_place(fd, place, lambda fd: msvcrt.locking(fd, msvcrt.LK_NBLCK if how else msvcrt.LK_UNLCK, size))
            return GOOD
        import fcntl
        kind = (fcntl.LOCK_UN, fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_SH | fcntl.LOCK_NB)[how]
        if length:
            fcntl.lockf(system, kind, length, start)
        else:
            fcntl.flock(system, kind)
        return GOOD
