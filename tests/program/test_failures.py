#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Every command survives the failure of any call that it makes.

For each command and each kind of call (memory, read, write, open, rename, mmap, fsync, a new thread, ...) the calls are
counted, and then the n-th fails: once, or from then on. Afterwards:

  the status is 0 and every output, the printed one too, is what it is without the failure, or the status says whose
  fault it was, with a word on standard error; nothing crashed or hangs
  a file that was to be replaced is the old or the new one, whole; no other file is left
  the database is sound, and its rows are rows of the whole result
  no more memory is kept at the end than without the failure

With REPLAY_LONG_TESTS every n is tried, of at most 65,536 calls of a command and kind; a fourth argument says another
number. Where there are more calls, the first and the last from each place (by the same way through the program) fail,
and a sample of the others. Without REPLAY_LONG_TESTS it is a few calls from different places.
As many commands run at a time as there are cores for this process. A file that REPLAY_DONE names gets a line for each
command and kind that survived; what it lists already is left out, so a run that was stopped goes on where it was.
"""
import base64
import concurrent.futures
import contextlib
import gzip
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

SYSTEM_KINDS = ("read", "write", "open", "rename", "mmap", "fsync", "resize", "thread", "lock")
SAMPLED = 6
LAST_PRINTED = 6                 # the last calls for memory are always among the sampled: what is printed is made there
LONG_MOST = 65536                # only bench-suite makes more: its edition is frozen, and has 110 runs of each policy
OTHERS = 1000                    # are tried of those, beside the first and the last call from each place
SEED = 30

# Name, arguments, outputs (files that are to appear or be replaced), and whether the first output is a database.
COMMANDS = [
    ("replay", ["a.zst", "--policy", "best-fit", "--json", "o.json", "--csv", "o.csv"], ["o.json", "o.csv"]),
    ("replay --perfetto", ["a.zst", "--perfetto", "o.json", "--samples", "o.csv"], ["o.json", "o.csv"]),
    ("info", ["info", "a.zst", "--json", "o.json"], ["o.json"]),
    ("info, a snapshot", ["info", "a.pickle"], []),
    ("import", ["import", "a.pickle.zst", "-o", "o.zst"], ["o.zst"]),
    ("verify", ["verify", "a.pickle", "--json", "o.json"], ["o.json"]),
    ("stats", ["stats", "a.zst", "--json", "o.json"], ["o.json"]),
    ("summary", ["summary", "a.zst"], []),
    ("snapshot", ["snapshot", "a.zst", "-o", "o.pickle"], ["o.pickle"]),
    ("fit", ["fit", "small.zst", "--json", "o.json"], ["o.json"]),
    ("tune", ["tune", "small.zst", "--json", "o.json"], ["o.json"]),
    ("sweep", ["sweep", "a.zst", "--policy", "{best-fit,pow2}", "--device", "sim:1GiB", "-o", "o.db", "--csv", "o.csv"],
     ["o.db", "o.csv"]),
    ("merge", ["merge", "a.db", "-o", "o.db", "--json", "o.json"], ["o.db", "o.json"]),
    ("report", ["report", "a.db", "--html", "o.html", "--md", "o.md"], ["o.html", "o.md"]),
    ("report, JSON", ["report", "a.json", "--csv", "o.csv"], ["o.csv"]),
    ("diff", ["diff", "a.zst", "a.zst", "--json", "o.json"], ["o.json"]),
    ("diff, a page", ["diff", "a.zst", "small.zst", "--html", "o.html"], ["o.html"]),
    ("diff, policies", ["diff", "a.zst", "--policy", "best-fit", "--policy", "pow2", "--json", "o.json"], ["o.json"]),
    ("diff, results", ["diff", "a.json", "a.json"], []),
    ("why, a leak", ["why", "leak.zst", "--json", "o.json"], ["o.json"]),
    ("why, fragmented", ["why", "small.zst", "--device", "sim:1600MiB", "--json", "o.json"], ["o.json"]),
    ("who", ["who", "a.zst", "--json", "o.json"], ["o.json"]),
    ("who, categories", ["who", "a.zst", "--by", "category", "--json", "o.json"], ["o.json"]),
    ("who, stacks", ["who", "a.zst", "--folded", "o.folded", "--speedscope", "o.scope"], ["o.folded", "o.scope"]),
    ("why, a log", ["why", "oom.txt"], []),
    ("graphs", ["graphs", "captures.zst", "--json", "o.json"], ["o.json"]),
    ("technique", ["technique", "a.zst", "--optimizer", "sgd", "-o", "o.zst", "--json", "o.json"], ["o.zst", "o.json"]),
    ("extrapolate", ["extrapolate", "a.zst:batch=1", "b.zst:batch=2", "--to", "batch=4", "-o", "o.zst", "--json",
                     "o.json"], ["o.zst", "o.json"]),
    ("conf", ["conf", "max_split_size_mb:64", "--json", "o.json"], ["o.json"]),
    ("ranks", ["ranks", "--json", "o.json"], ["o.json"]),
    ("replay, explained", ["a.zst", "--policy", "best-fit", "--audit", "--explain", "500"], []),
    ("import, a CSV", ["import", "log.csv", "-o", "o.zst"], ["o.zst"]),
    ("import, a profile", ["import", "profile.json", "-o", "o.zst"], ["o.zst"]),
    ("generate", ["generate", "mix:50", "--events", "2000", "-o", "o.zst"], ["o.zst"]),
    ("plan", ["plan", "small.zst", "-o", "o.csv", "--json", "o.json"], ["o.csv", "o.json"]),
    ("blame", ["blame", "small.zst", "--threads", "1", "--json", "o.json"], ["o.json"]),
    ("shrink", ["shrink", "small.zst", "--keep", "differs:none", "-o", "o.zst", "--json", "o.json"],
     ["o.zst", "o.json"]),
    ("adversary", ["adversary", "none", "--calls", "5", "--effort", "1", "-o", "o.zst", "--json", "o.json"],
     ["o.zst", "o.json"]),
    ("conform", ["conform", "cupy", "--as", "cupy", "--json", "o.json"], ["o.json"]),
    ("trace cut", ["trace", "cut", "a.zst", "--events", "10..400", "-o", "o.zst"], ["o.zst"]),
    ("trace resize", ["trace", "resize", "a.zst", "--scale", "2", "-o", "o.zst"], ["o.zst"]),
    ("trace repeat", ["trace", "repeat", "a.zst", "--times", "2", "-o", "o.zst"], ["o.zst"]),
    ("trace shift", ["trace", "shift", "a.zst", "--by", "1s", "-o", "o.zst"], ["o.zst"]),
    ("trace anonymise", ["trace", "anonymise", "a.zst", "-o", "o.zst"], ["o.zst"]),
    ("trace merge", ["trace", "merge", "a.zst", "b.zst", "-o", "o.zst"], ["o.zst"]),
    ("export", ["export", "a.zst", "--to", "csv", "-o", "o.csv"], ["o.csv"]),
    ("export, minimalloc", ["export", "a.zst", "--to", "minimalloc", "-o", "o.csv"], ["o.csv"]),
    ("export, rmm", ["export", "a.zst", "--to", "rmm", "-o", "o.csv"], ["o.csv"]),
    ("export, chrome", ["export", "a.zst", "--to", "chrome", "-o", "o.json"], ["o.json"]),
    ("replay, two on a card", ["--share", "small.zst,b.zst@+1s", "--device", "sim:24GiB", "--json", "o.json"],
     ["o.json"]),
    ("replay, a card", ["small.zst", "--policy", "best-fit", "--device", "cuda:0", "--json", "o.json"], ["o.json"]),
    ("calibrate", ["--calibrate", "--device", "cuda:0", "--json", "o.json"], ["o.json"]),
    ("sweep, a job", ["sweep", "job.ini", "-o", "o.db"], ["o.db"]),
    ("report, a recording", ["report", "a.zst", "--html", "o.html"], ["o.html"]),
    ("bench-suite", ["bench-suite", "suite", "--policy", "best-fit", "--threads", "1", "--json", "o.json"], ["o.json"]),
    ("bench-pools", ["bench-pools", "azure,layers=1", "made,n=5,prefixes=2", "--json", "o.json"], ["o.json"]),
    ("import, a log of malloc", ["import", "mtrace", "-o", "o.zst"], ["o.zst"]),
    ("import, an XPlane", ["import", "two-threads", "-o", "o.zst"], ["o.zst"]),
    ("import, a pprof", ["import", "jax", "-o", "o.zst"], ["o.zst"]),
    ("import, Nsight", ["import", "all-tables", "-o", "o.zst"], ["o.zst"]),
    ("import, a timeline", ["import", "actions", "-o", "o.zst"], ["o.zst"]),
    ("import, a journal", ["import", "driver", "-o", "o.zst"], ["o.zst"]),
    ("import, a page", ["import", "page.html", "-o", "o.zst"], ["o.zst"]),
    ("generate, a server", ["generate", "serve:requests=azure,layers=1", "-o", "o.zst"], ["o.zst"]),
    ("generate, alike", ["generate", "like:a.zst", "-o", "o.zst"], ["o.zst"]),
    ("replay, a plan", ["small.zst", "--policy", "plan:file=plan.csv", "--json", "o.json"], ["o.json"]),
    ("sweep, copies", ["sweep", "small.zst", "--policy", "best-fit", "--copies", "sizes=2%,seeds=1..2", "-o", "o.db"],
     ["o.db"]),
    ("list", ["--list"], []),
    ("help", ["tune", "--help"], []),
    ("completion", ["--completion", "bash"], []),
    ("record", ["record", "-o", "o.zst", "--json", "o.json", "--", "PROGRAM", "driver", "log"], ["o.zst", "o.json"]),
    ("run-sim", ["run-sim", "-o", "o.zst", "--json", "o.json", "--", "PROGRAM", "driver", "log"], ["o.zst", "o.json"]),
    ("predict", ["predict", "-o", "o.zst", "--json", "o.json", "--", "PROGRAM", "driver", "log"], ["o.zst", "o.json"]),
]

# What these compare differs, so they end with 1, as diff does.
WITH_DIFFERENCES = ("diff, a page", "diff, policies")

# This one runs a copy of the program with a single recorded case next to it, of 441.
OF_ONE_CASE = "conform"
ONE_CASE = "cupy/h03-best-fit.json"

# These run a program, which is left alone, or use a card. Times and addresses differ from run to run, so their outputs
# are only read.
RUNNERS = ("record", "run-sim", "predict", "replay, a card", "calibrate")

# The driver of these is in the same process, so its calls fail, too: it may refuse memory, and keep what it loaded.
# What they print tells times. Where a library that was opened has no memory for a thread's data,
# glibc ends the program.
CARDS = ("replay, a card", "calibrate")

# What may be wrong in the person's view: an input that cannot be opened or read. The rest is the host's fault.
PERSONS_FAULT = ("read", "open")

ROWS = "SELECT policy, peak_reserved_bytes, details FROM runs ORDER BY 1"


def opened(path):
    """A database, for a with statement that closes it. sqlite3's own ends a transaction only; what is left open is
    closed whenever Python collects its cycles, and removes the files beside whatever has that name by then."""
    return contextlib.closing(sqlite3.connect(path))


class Failures:
    def __init__(self, replay, build, source, most=None):
        self.replay = os.path.abspath(replay)
        self.build = os.path.abspath(build)
        faults = os.path.join(self.build, "tests", "faults")
        self.refuse, self.library = os.path.join(faults, "refuse_calls"), os.path.join(faults, "refuse_memory.so")
        self.source = source
        self.most = int(most) if most else LONG_MOST if os.environ.get("REPLAY_LONG_TESTS") else SAMPLED
        self.with_one_case = None
        self.messages, self.tried, self.left_out = [], 0, 0
        self.done_name = os.environ.get("REPLAY_DONE")
        self.done = set()
        if self.done_name and os.path.exists(self.done_name):
            with open(self.done_name, encoding="utf-8") as f:
                self.done = {line.split("\t")[0] for line in f}

    def run(self, folder, kind, which, arguments):
        """Runs a command whose call fails; its result, the calls of the kind, and the pieces of memory it kept. If none
        is to fail, writes the places of its calls for memory to a file."""
        simulated = os.path.join(os.path.dirname(self.replay), "cudasim")        # built as the program is that loads it
        fake = os.path.join(self.build, "tests", "record", "fake")
        env = dict(os.environ, LD_LIBRARY_PATH=simulated if "cuda:0" in arguments else fake,
                   REPLAY_CUDASIM_DEVICE="sim:24GiB",
                   XDG_CACHE_HOME=folder + ".cache", TMPDIR=folder + ".tmp",
                   REFUSE_MEMORY=which if kind == "memory" else "0", REFUSE_MEMORY_COUNTS=folder + ".memory")
        if kind == "memory" and which == "0":
            env["REFUSE_MEMORY_PLACES"] = folder + ".places"
        call = ["fsync", "0"] if kind == "memory" else [kind, which]
        for name in (folder + ".memory", folder + ".calls"):
            if os.path.exists(name):
                os.remove(name)
        os.makedirs(folder + ".tmp", exist_ok=True)
        program = os.path.join(self.build, "tests", "record", "record_program")
        arguments = [program if word == "PROGRAM" else word for word in arguments]
        replay = self.with_one_case if arguments[0] == OF_ONE_CASE else self.replay
        line = [self.refuse] + call + [folder + ".calls", self.library, replay] + arguments
        done = subprocess.run(line, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                              check=False)
        try:
            with open(folder + ".memory", encoding="ascii") as f:
                calls, kept = (int(word) for word in f.read().split())
        except (OSError, ValueError):                    # the failure hit the file of counts itself
            calls, kept = 0, 0
        if kind != "memory":
            with open(folder + ".calls", encoding="ascii") as f:
                calls = int(f.read())
        return done, calls, kept

    def is_whole(self, path):
        """Whether an output whose bytes differ from run to run is complete."""
        if path.endswith(".json"):
            try:
                with open(path, encoding="utf-8") as f:
                    return isinstance(json.load(f), dict)
            except ValueError:
                return False
        return b"requested at most" in subprocess.run([self.replay, "info", path], capture_output=True, timeout=120,
                                                      check=False).stdout

    def fresh(self, inputs, place, outputs, old):
        """A folder with the inputs, and with files of former results under the names of the outputs if `old`."""
        if os.path.exists(place):
            shutil.rmtree(place)
        shutil.copytree(inputs, place, symlinks=True)
        for name in outputs:
            if old and not name.endswith(".db"):
                with open(os.path.join(place, name), "w", encoding="ascii") as f:
                    f.write("of old")

    def complain(self, what, text):
        self.messages.append(f"{what}: {text}")
        print("FAILED:", self.messages[-1], flush=True)

    def check_database(self, what, path, whole, is_done):
        try:
            with opened(path) as db:
                if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                    self.complain(what, "the database is damaged")
                has_runs = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone()
                rows = db.execute(ROWS).fetchall() if has_runs else []
        except sqlite3.Error as e:
            self.complain(what, f"the database: {e}")
            return
        if not set(rows) <= set(whole) or (is_done and len(rows) != len(whole)):
            self.complain(what, f"the database holds other rows: {rows}")

    def check(self, what, kind, outcome, baseline, folder, outputs, old):
        done, kept = outcome
        whole, rows, kept_before, names, printed, status = baseline
        is_done = done.returncode == status
        said = done.stderr.decode(errors="replace")
        # What cannot be read is left out of a page or a sweep, which say so; a sweep ends with 2 or 5 then.
        is_partial = (what.startswith(("report", "sweep", "diff, a page")) and
                      (kind in PERSONS_FAULT or "left out" in said))
        is_persons = kind in PERSONS_FAULT or what.startswith("report") or what.startswith("import, Nsight: lock")
        has_card = what.split(":")[0] in CARDS
        allowed = (0, 1, 2, 3) if has_card else (status, 2, 3) if is_persons else (status, 3)
        if what.startswith("sweep") and "left out" in said:
            allowed += (5,)
        if has_card and done.returncode == 127 and "thread-local data" in said:
            return
        if done.returncode not in allowed:
            self.complain(what, f"status {done.returncode}: {said[-300:]}")
        # To write to standard error may be what fails.
        if not is_done and "replay: " not in said and kind != "write":
            self.complain(what, f"status {done.returncode} without a word")
        if kept > kept_before and not has_card:
            self.complain(what, f"{kept} pieces of memory are kept, {kept_before} without the failure")
        # predict goes on without overlays, and says so: the program writes its own file, "log", which is listed.
        is_bare = "this system gives no overlay" in said
        is_same = done.stdout == printed or b"cannot be listed in full" in done.stdout
        if is_done and not is_partial and not has_card and not is_same and not is_bare:
            self.complain(what, f"prints another text although the status is {status}: {done.stdout.decode()[-300:]}")
        for name in os.listdir(folder + ".tmp"):
            if is_done and name not in said and not (kind == "open" and "+" in what):
                self.complain(what, f"left behind in TMPDIR although the status is {status}: {name}: {said}")
            shutil.rmtree(os.path.join(folder + ".tmp", name), ignore_errors=True)
        for name in sorted(set(os.listdir(folder)) - names):
            # record keeps its journals and says so, where it can still write a word.
            is_mute = kind == "write" and "+" in what
            if not is_done and name.endswith(".calls") and (name in said or is_mute):
                continue
            if is_bare and name == "log":
                continue
            if not name.endswith(("-wal", "-shm", "-journal")):      # SQLite takes the database back by them
                self.complain(what, f"left behind: {name}")
        for name in outputs:
            path = os.path.join(folder, name)
            if name.endswith(".db"):
                if os.path.exists(path):
                    self.check_database(what, path, rows, is_done and not is_partial)
                elif is_done:
                    self.complain(what, f"no {name} although the status is {status}")
                continue
            if not os.path.exists(path):
                if old or is_done:
                    self.complain(what, f"{name} is gone: {done.returncode} {said}")
                continue
            with open(path, "rb") as f:
                got = f.read()
            if is_partial and got.startswith(whole[name][:20]):
                continue
            if what.split(":")[0] in RUNNERS and got != b"of old" and self.is_whole(path):
                continue
            if got != whole[name] and (is_done or not (old and got == b"of old")):
                self.complain(what, f"{name} is neither the old nor the whole new one ({len(got)} bytes)")

    def without_failure(self, place, kind, command):
        """What a command does when nothing fails:
        ((outputs, rows, pieces of memory kept, names, text, status), calls)."""
        _, arguments, outputs = command
        done, calls, kept = self.run(place, kind, "0", arguments)
        if done.returncode != (1 if command[0] in WITH_DIFFERENCES else 0):
            raise ValueError(f"fails by itself: {done.returncode} {done.stderr.decode()[-300:]}")
        whole, rows = {}, []
        for output in outputs:
            with open(os.path.join(place, output), "rb") as f:
                whole[output] = f.read()
            if output.endswith(".db"):
                with opened(os.path.join(place, output)) as db:
                    rows = db.execute(ROWS).fetchall()
        return (whole, rows, kept, set(os.listdir(place)), done.stdout, done.returncode), calls

    @staticmethod
    def calls_by_place(folder):
        """The calls for memory that a command made without a failure, a list for each place they come from."""
        with open(folder + ".places", "rb") as f:
            places = struct.iter_unpack("@Q", f.read())
        lists = {}
        for n, place in enumerate(places, 1):
            lists.setdefault(place, []).append(n)
        if not lists:
            raise ValueError("no places of its calls were written")
        return list(lists.values())

    def choose(self, place, kind, calls, draws):
        """Which calls are to fail, of so many."""
        if calls <= self.most:
            return range(1, calls + 1)
        if kind != "memory":
            return sorted(draws.sample(range(1, calls + 1), self.most))
        lists = self.calls_by_place(place)
        if len(lists) <= self.most:
            chosen = {n for of_place in lists for n in (of_place[0], of_place[-1])}
            chosen.update(draws.sample(range(1, calls + 1), min(OTHERS, calls)))
        else:
            chosen = {draws.choice(of_place) for of_place in draws.sample(lists, self.most)}
        return sorted(chosen.union(range(calls - LAST_PRINTED + 1, calls + 1)))

    def try_kind(self, inputs, place, command, kind):
        """Lets calls of a kind fail; how many."""
        name, arguments, outputs = command
        draws = random.Random(f"{SEED} {name} {kind}")
        self.fresh(inputs, place, outputs, False)
        baseline, calls = self.without_failure(place, kind, command)
        chosen = self.choose(place, kind, calls, draws)
        for n in chosen:
            # SQLite waits long for a lock that it never gets.
            lasting, old = kind != "lock" and draws.random() < 0.3, draws.random() < 0.5
            which = f"{n}+" if lasting else f"{n}"
            self.fresh(inputs, place, outputs, old)
            what = f"{name}: {kind} {which} of {calls} fails{', over old files' if old else ''}"
            try:
                done, _, kept_after = self.run(place, kind, which, arguments)
            except subprocess.TimeoutExpired:
                self.complain(what, "hangs")
                continue
            self.check(what, kind, (done, kept_after), baseline, place, outputs, old)
        return len(chosen)

    def try_one(self, inputs, work, command, kind):
        what = f"{command[0]}: {kind}"
        if what in self.done:
            self.left_out += 1
            return
        n_before = len([m for m in self.messages if m.startswith(what)])
        place = os.path.join(work, what.replace(" ", "_").replace(",", "").replace(":", ""))
        try:
            n = self.try_kind(inputs, place, command, kind)
        except ValueError as e:
            self.complain(what, str(e))
            return
        self.tried += n
        if self.done_name and len([m for m in self.messages if m.startswith(what)]) == n_before:
            with open(self.done_name, "a", encoding="utf-8") as f:
                f.write(f"{what}\t{n}\n")

    def make_inputs(self, folder):
        os.mkdir(folder)
        samples = os.path.join(self.source, "samples")
        shutil.copy(os.path.join(samples, "mlp-adam.trace.zst"), folder + "/a.zst")
        shutil.copy(os.path.join(samples, "530-270.trace.zst"), folder + "/small.zst")
        shutil.copy(folder + "/a.zst", folder + "/b.zst")
        data = os.path.join(self.source, "tests", "data")
        shutil.copy(os.path.join(data, "graphs", "program.trace.zst"), folder + "/captures.zst")
        shutil.copytree(os.path.join(data, "ranks"), folder + "/ranks")
        for name in ("xplane/two-threads", "malloc/mtrace", "pprof/jax", "nsys/all-tables", "timeline/actions",
                     "calls/driver", "requests/azure"):
            shutil.copy(os.path.join(self.source, "tests", "fuzz", "corpus", "fuzz_" + name), folder)
        os.symlink(os.path.abspath(samples), folder + "/suite")
        with open(folder + "/job.ini", "w", encoding="ascii") as f:
            f.write("[sweep]\ntrace = a.zst\npolicy = {best-fit,pow2}\ndevice = sim:1GiB\n")
        with open(folder + "/oom.txt", "w", encoding="ascii") as f:
            f.write("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
                    "23.68 GiB of which 1.20 GiB is free. Of the allocated memory 20.00 GiB is allocated by PyTorch, "
                    "and 1.50 GiB is reserved by PyTorch but unallocated.\n")
        with open(folder + "/log.csv", "w", encoding="ascii") as f:
            f.write("op,ptr,size\n" + "".join(f"alloc,{i + 1},512\n" for i in range(3000)))
        with open(folder + "/profile.json", "w", encoding="ascii") as f:
            json.dump({"traceEvents": [{"name": "[memory]", "ts": i, "args": {
                "Device Type": 1, "Device Id": 0, "Addr": 4096 * i, "Bytes": 512, "Total Allocated": 512 * (i + 1),
                "Total Reserved": 2 << 20}} for i in range(200)]}, f)
        shutil.copy(os.path.join(samples, "oom-leak.trace.zst"), folder + "/leak.zst")
        for arguments in (["snapshot", "a.zst", "-o", "a.pickle"], ["plan", "small.zst", "-o", "plan.csv"],
                          ["a.zst", "--policy", "best-fit", "--device", "sim:1GiB", "--json", "a.json"],
                          ["sweep", "a.zst", "--policy", "{best-fit,pow2}", "--device", "sim:1GiB", "-o", "a.db"]):
            subprocess.run([self.replay] + arguments, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        with open(folder + "/a.pickle", "rb") as f:
            pickle = f.read()
        with gzip.open(folder + "/a.pickle.zst", "wb") as f:
            f.write(pickle)
        with open(folder + "/page.html", "w", encoding="ascii") as f:
            f.write(f'<!DOCTYPE html><script>add_local_files([{{"name": "a.pickle", "base64": '
                    f'"{base64.b64encode(pickle).decode()}"}}])')

    def make_program_with_one_case(self, folder):
        """The program looks for its recorded cases in the folder it lies in."""
        case = os.path.join(folder, "tests", "data", "zoo", ONE_CASE)
        os.makedirs(os.path.dirname(case))
        shutil.copy(os.path.join(os.path.dirname(self.replay), "tests", "data", "zoo", ONE_CASE), case)
        self.with_one_case = shutil.copy(self.replay, folder)

    def main(self):
        with tempfile.TemporaryDirectory() as work:
            inputs = work + "/inputs"
            self.make_inputs(inputs)
            self.make_program_with_one_case(work + "/one-case")
            pairs = [(command, kind) for command in COMMANDS for kind in ("memory",) + SYSTEM_KINDS]
            random.Random(SEED).shuffle(pairs)                   # what was stopped is a sample of all
            with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                list(pool.map(lambda pair: self.try_one(inputs, work, *pair), pairs))
        print(f"{self.tried} failures tried, {len(self.messages)} wrong" +
              (f"; {self.left_out} commands and kinds were done before" if self.left_out else ""))
        return len(self.messages) > 0 or self.tried + self.left_out == 0


if __name__ == "__main__":
    sys.exit(Failures(*sys.argv[1:5]).main())
