#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A loss of power at any moment leaves no output half-written, and no database damaged or short of finished runs.

strace records what a command does to its folder. After each call the power is cut: what was synced is there, and of the
rest any part is. A data write is on disk if its file was synced later, a name if its folder was; of the others every
subset is tried, also with a write cut off at a sector. If there are too many subsets: none, all, each one alone, each
one missing, each beginning, and others at random. Each folder that comes out is rebuilt and looked at:

  an output has its old content or the whole new one; after the command's end, the new one
  the database is sound, its rows are rows of the finished one, and after the command's end it has them all

To show that this can fail, the same is done with the syncs left out: then states must be found that are wrong.
"""
import itertools
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

CALLS = ("openat,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,fallocate,fsync,fdatasync,rename,renameat,"
         "renameat2,link,linkat,unlink,unlinkat,lseek")
SECTOR = 512
SEED = 17

# Name, arguments, the output, and whether a file of that name is there before.
COMMANDS = [
    ("a new JSON", ["a.zst", "--policy", "best-fit", "--json", "o.json"], "o.json", False),
    ("a JSON replaced", ["a.zst", "--policy", "best-fit", "--json", "o.json"], "o.json", True),
    ("a page replaced", ["report", "a.json", "--html", "o.html"], "o.html", True),
    ("a new trace", ["import", "a.pickle", "-o", "o.zst"], "o.zst", False),
    ("a snapshot replaced", ["snapshot", "a.zst", "-o", "o.pickle"], "o.pickle", True),
    ("a new database", ["sweep", "a.zst", "--policy", "{best-fit,none}", "--device", "sim:1GiB", "-o", "o.db"], "o.db",
     False),
    ("a database with one run more", ["sweep", "a.zst", "--policy", "pow2", "--device", "sim:1GiB", "-o", "o.db"],
     "o.db", True),
    ("a merge", ["merge", "b.db", "-o", "o.db"], "o.db", True),
]
SECOND = '"((?:\\\\x[0-9a-f]{2})*)"'


def unescape(text):
    return bytes.fromhex(text.replace("\\x", ""))


def whole_lines(log):
    """The lines of a log, with calls that another thread interrupted put together."""
    begun = {}
    for line in log:
        pid, text = line.rstrip("\n").split(None, 1)
        if text.endswith("<unfinished ...>"):
            begun[pid] = text[:-len("<unfinished ...>")]
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
        yield (begun.pop(pid) + resumed.group(1)) if resumed else text


class Record:
    """The calls of one command that change its folder: ("write", file, offset, bytes), ("size", file, n), ("sync",
    file), ("name", name, file), ("gone", name), ("rename", old, new, file), ("sync-names",). A file is a number."""

    def __init__(self, folder, names, log):
        self.folder, self.ops, self.offsets = os.path.realpath(folder), [], {}
        self.files = {name: i for i, name in enumerate(sorted(names))}
        self.n_files, self.unnamed, self.last_unnamed = len(self.files), {}, None
        for line in whole_lines(log):
            call = re.match(r"(\w+)\((.*)\) += (-?\d+)(.*)$", line)
            if call and int(call.group(3)) >= 0:
                self.take(call.group(1), call.group(2), int(call.group(3)), call.group(4))

    def name_of(self, text):
        """A name in the folder; None for what lies elsewhere."""
        path = os.path.join(self.folder, text)
        folder, name = os.path.split(os.path.normpath(path))
        return name if os.path.realpath(folder) == self.folder else None

    def file_of(self, shown):
        """The number of an open file, by what strace shows of it: <path>, or <path/#inode>(deleted)."""
        path = unescape(shown).decode()
        if os.path.basename(path).startswith("#") or path in self.unnamed:
            if os.path.dirname(path) != self.folder:
                return None
            if path not in self.unnamed:
                self.unnamed[path] = self.n_files
                self.n_files += 1
            return self.unnamed[path]
        return self.files.get(self.name_of(path)) if path.startswith("/") else None

    def take(self, call, arguments, result, after):
        opened = re.match(r"(\d+)<((?:\\x[0-9a-f]{2})*)>", arguments)
        names = [unescape(n).decode(errors="surrogateescape") for n in re.findall(SECOND, arguments)]
        if call in ("openat", "creat"):
            self.offsets[str(result)] = 0
            self.open(names[0], arguments, re.match(r"<((?:\\x[0-9a-f]{2})*)>", after))
        elif call in ("unlink", "unlinkat"):
            if self.name_of(names[0]) in self.files:
                self.files.pop(self.name_of(names[0]))
                self.ops.append(("gone", self.name_of(names[0])))
        elif call.startswith("rename"):
            old, new = (self.name_of(n) for n in names)
            if old in self.files:
                self.files[new] = self.files.pop(old)
                self.ops.append(("rename", old, new, self.files[new]))
        elif call in ("link", "linkat"):
            self.link(names)
        elif opened:
            self.change(call, unescape(opened.group(2)).decode(), self.file_of(opened.group(2)), opened.group(1),
                        arguments, result)

    def open(self, path, arguments, shown):
        name = self.name_of(path)
        if "O_TMPFILE" in arguments:
            unnamed = self.file_of(shown.group(1))
            self.last_unnamed = self.last_unnamed if unnamed is None else unnamed
        elif name is None:
            return
        elif "O_CREAT" in arguments and name not in self.files:
            self.files[name] = self.n_files
            self.n_files += 1
            self.ops.append(("name", name, self.files[name]))
        if "O_TRUNC" in arguments and name in self.files:
            self.ops.append(("size", self.files[name], 0))

    def link(self, names):
        to = self.name_of(names[1])
        if to is not None and names[0].startswith("/proc/self/fd/"):
            self.files[to] = self.last_unnamed
            self.ops.append(("name", to, self.last_unnamed))

    def change(self, call, path, number, fd, arguments, result):
        if call in ("fsync", "fdatasync") and path == self.folder:
            self.ops.append(("sync-names",))
        if number is None:
            return
        if call in ("fsync", "fdatasync"):
            self.ops.append(("sync", number))
        elif call == "lseek":
            self.offsets[fd] = result
        elif call == "ftruncate":
            self.ops.append(("size", number, int(arguments.rsplit(", ", 1)[1])))
        elif call in ("write", "pwrite64"):
            data = unescape(re.findall(SECOND, arguments)[0])[:result]
            at = int(arguments.rsplit(", ", 1)[1]) if call == "pwrite64" else self.offsets.get(fd, 0)
            if call == "write":
                self.offsets[fd] = at + result
            self.ops.append(("write", number, at, data))
        elif call != "fallocate":
            raise SystemExit(f"{call} is not known here")


# ---- what may be on disk ----

def pending(ops, is_synced):
    """Which of these operations a loss of power after them may undo."""
    left = []
    for i, op in enumerate(ops):
        if op[0].startswith("sync"):
            continue
        later = ops[i + 1:] if is_synced else ()
        sync = ("sync", op[1]) if op[0] in ("write", "size") else ("sync-names",)
        if sync not in later:
            left.append(i)
    return left


def subsets(left, draws, most):
    """Sets of operations that are lost."""
    if 2 ** len(left) <= most:
        for n in range(len(left) + 1):
            yield from itertools.combinations(left, n)
        return
    yield ()
    yield tuple(left)
    for i in range(len(left)):
        yield (left[i],)
        yield tuple(left[:i] + left[i + 1:])
        yield tuple(left[i:])
    for _ in range(max(0, most - 3 * len(left))):
        yield tuple(i for i in left if draws.random() < 0.5)


def on_disk(before, ops, lost, cut):
    """The folder after a loss of power: names and contents. `cut`: a write that stopped at a sector."""
    names = {name: i for i, name in enumerate(sorted(before))}
    contents = {i: bytearray(before[name]) for name, i in names.items()}
    for i, op in enumerate(ops):
        if i in lost:
            continue
        if op[0] == "write":
            data = op[3][:cut[1]] if cut[0] == i else op[3]
            content = contents.setdefault(op[1], bytearray())
            content.extend(bytes(max(0, op[2] + len(data) - len(content))))
            content[op[2]:op[2] + len(data)] = data
        elif op[0] == "size":
            content = contents.setdefault(op[1], bytearray())
            content.extend(bytes(max(0, op[2] - len(content))))
            del content[op[2]:]
        elif op[0] == "name":
            names[op[1]] = op[2]
        elif op[0] == "gone":
            names.pop(op[1], None)
        elif op[0] == "rename":
            names.pop(op[1], None)
            names[op[2]] = op[3]
    return {name: bytes(contents.get(number, b"")) for name, number in names.items() if not name.endswith("-shm")}


# ---- what is asked of it ----

def rows_of(path):
    db = sqlite3.connect(path)
    try:
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            return None
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
            return set()
        return set(db.execute("SELECT key, policy, peak_reserved_bytes, details FROM runs"))
    except sqlite3.Error:
        return None
    finally:
        db.close()


class Trial:
    def __init__(self, replay, work, inputs, most):
        self.replay, self.work, self.inputs, self.most = replay, work, inputs, most
        self.draws = random.Random(SEED)

    def prepare(self, folder, output, is_there):
        shutil.copytree(self.inputs, folder)
        if is_there and output.endswith(".db"):
            shutil.copy(folder + "/a.db", folder + "/" + output)
        elif is_there:
            with open(folder + "/" + output, "wb") as f:
                f.write(b"of old " * 300)

    def record(self, arguments, output, is_there):
        folder, log = self.work + "/run", self.work + "/log"
        if os.path.exists(folder):
            shutil.rmtree(folder)
        self.prepare(folder, output, is_there)
        before = {}
        for name in os.listdir(folder):
            with open(folder + "/" + name, "rb") as f:
                before[name] = f.read()
        # Who is traced cannot be searched for leaks; that is done in the other tests.
        leakless = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
        subprocess.run(["strace", "-f", "-y", "-xx", "-s", "100000000", "-e", "trace=" + CALLS, "-o", log,
                        self.replay] + arguments, cwd=folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, env=leakless)
        after = folder + "/" + output
        with open(log, encoding="ascii") as lines:
            ops = Record(folder, before, lines).ops
        if output.endswith(".db"):
            return before, ops, rows_of(after)
        with open(after, "rb") as f:
            return before, ops, f.read()

    def is_right(self, state, before, output, want, at_end):
        if not output.endswith(".db"):
            got = state.get(output)
            return got == want or (not at_end and got == before.get(output))
        place = self.work + "/state"
        if os.path.exists(place):
            shutil.rmtree(place)
        os.mkdir(place)
        for name, content in state.items():
            if name.startswith(output):
                with open(place + "/" + name, "wb") as f:
                    f.write(content)
        if output not in state:
            return output not in before and not at_end
        rows = rows_of(place + "/" + output)
        return rows is not None and rows <= want and (not at_end or rows == want)

    def states(self, before, ops, is_synced):
        """Each folder that a loss of power may leave, once, and whether the command had ended."""
        seen = set()
        for n in range(len(ops) + 1):
            at_end = n == len(ops)
            left = pending(ops[:n], is_synced)
            for lost in subsets(left, self.draws, self.most):
                kept = [i for i in left if i not in lost and ops[i][0] == "write" and len(ops[i][3]) > SECTOR]
                cut = (-1, 0)
                if kept and self.draws.random() < 0.3:
                    i = self.draws.choice(kept)
                    cut = (i, SECTOR * self.draws.randrange(len(ops[i][3]) // SECTOR))
                state = on_disk(before, ops[:n], set(lost), cut)
                key = (at_end, hash(frozenset(state.items())))
                if key not in seen:
                    seen.add(key)
                    yield state, at_end

    def count(self, command, is_synced):
        """How many states there are, and how many of them are wrong."""
        _, arguments, output, is_there = command
        before, ops, want = self.record(arguments, output, is_there)
        n = wrong = 0
        for state, at_end in self.states(before, ops, is_synced):
            n += 1
            wrong += not self.is_right(state, before, output, want, at_end)
        return len(ops), n, wrong


def main():
    replay, samples = os.path.abspath(sys.argv[1]), os.path.join(os.path.abspath(sys.argv[3]), "samples")
    if shutil.which("strace") is None:
        print("strace is not installed")
        return 1
    most = 4096 if os.environ.get("REPLAY_LONG_TESTS") else 24
    failures = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as work:
        inputs = work + "/inputs"
        os.mkdir(inputs)
        shutil.copy(os.path.join(samples, "530-270.trace.zst"), inputs + "/a.zst")
        for arguments in (["snapshot", "a.zst", "-o", "a.pickle"],
                          ["a.zst", "--policy", "none", "--device", "sim:1GiB", "--json", "a.json"],
                          ["sweep", "a.zst", "--policy", "none", "--device", "sim:1GiB", "-o", "a.db"],
                          ["sweep", "a.zst", "--policy", "{best-fit,pow2}", "--device", "sim:1GiB", "-o", "b.db"]):
            done = subprocess.run([replay] + arguments, cwd=inputs, stdout=subprocess.DEVNULL, check=False)
            if done.returncode not in (0, 1):
                print(f"replay {' '.join(arguments)}: status {done.returncode}")
                return 1
        trial = Trial(replay, work, inputs, most)
        for command in COMMANDS:
            n_ops, n, wrong = trial.count(command, True)
            _, n_unsynced, wrong_unsynced = trial.count(command, False)
            is_good = wrong == 0 and n > 0 and wrong_unsynced > 0
            failures += not is_good
            print(f"{'ok' if is_good else 'FAILED':6} {command[0]}: {n_ops} operations, {n} states, {wrong} wrong; "
                  f"without syncs {wrong_unsynced} of {n_unsynced} wrong")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
