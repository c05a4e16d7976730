#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Files from strangers: bombs, databases that are none of ours or never end, names that a terminal would obey.

doc/security.md says what is promised; here each promise meets a file that was made to break it.
"""
import base64
import contextlib
import glob
import gzip
import json
import os
import pickle
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import slow_inputs

MEMORY_MOST = 600 << 20               # of any command on any file here; the bombs asked for 1.6 to 8.2 GB

LIVES = 2_796_000 if os.environ.get("REPLAY_LONG_TESTS") else 200_000

failures = []


def check(is_good, text):
    if not is_good:
        failures.append(text)
        print("FAILED:", text)


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        with open(path, "rb") as f:
            self.is_sanitized = b"__asan_init" in f.read()

    def __call__(self, *arguments):
        """Runs the program; it ends by itself, without a crash and within MEMORY_MOST."""
        limit = None if self.is_sanitized else lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MOST,) * 2)
        done = subprocess.run([self.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                              preexec_fn=limit, check=False)
        said = (done.stdout + done.stderr).decode(errors="surrogateescape")
        check(done.returncode in (0, 1, 2), f"replay {' '.join(arguments)}: status {done.returncode}: {said[-300:]}")
        check("Sanitizer" not in said, f"replay {' '.join(arguments)}: {said[-2000:]}")
        return done.returncode, said


def expect(replay, status, pattern, *arguments):
    got, said = replay(*arguments)
    check(got == status and re.search(pattern, said),
          f"replay {' '.join(arguments)}: status {got}, expected {status} and '{pattern}' in: {said[-400:]}")
    return said


# ---- bombs ----

def bombs(replay):
    with gzip.open("json.gz", "wb", 9) as f:
        f.write(b'{"schema": "replay-sweep/1", "runs": [')
        for _ in range(1500):
            f.write(b"{}," * 30000)
        f.write(b"{}]}")
    expect(replay, 2, "more memory than a JSON of this size", "report", "json.gz", "--md", "o.md")
    with open("runs.json", "wb") as f:
        f.write(slow_inputs.sweep([{}] * 100_000))
    for arguments in (["report", "runs.json", "--md", "o.md"], ["diff", "runs.json", "runs.json"]):
        expect(replay, 2, "its runs take more memory", *arguments)
    with open("text.json", "w", encoding="ascii") as f:
        json.dump({"schema": "replay/1", "trace": {"path": "x" * 100_000}, "runs": [{}] * 3000}, f)
    expect(replay, 2, "its runs take more memory", "report", "text.json", "--md", "o.md")
    expect(replay, 0, "", "report", "text.json", "--md", "o.md", "--memory-limit", "1GiB")
    with gzip.open("number.json.gz", "wb", 9) as f:      # jansson alone would abort
        f.write(b'{"a":' + b"9" * 34_000_000 + b"}")
    expect(replay, 2, "number.json.gz: no JSON, at byte 1005: a number or word of more than 1,000", "report",
           "number.json.gz", "--html", "o.html")
    record = slow_inputs.shared_records(40_000_000)
    with gzip.open("pickle.gz", "wb", 9) as f:
        f.write(record)
    expect(replay, 2, "unpacks to more than|far more records", "info", "pickle.gz")
    expect(replay, 2, "far more records", "info", "--memory-limit", "1GiB", "pickle.gz")
    with gzip.open("twice.gz", "wb") as f, gzip.open("once.gz", "wb") as g:
        g.write(b"\x80\x04" + b"N0" * (50 << 20))       # a pickle that pushes and pops for long
        g.close()
        with open("once.gz", "rb") as once:
            f.write(once.read())
    expect(replay, 2, "unpacks to more than 1,000 times", "info", "twice.gz")
    with open("lives.csv", "wb") as f:
        f.write(b"lower,upper,size\n" + b"0,9,1\n" * LIVES)
    subprocess.run(["zstd", "-q", "-19", "lives.csv"], check=True)          # 1.4 KB or less, of up to 16 MiB
    expect(replay, 0, f"live requests at most +{LIVES}", "info", "lives.csv.zst")
    with open("shared.pb", "wb") as f:
        f.write(slow_inputs.pprof_shared(400_000))
    expect(replay, 2, "far more requests or stack frames than a file of its size", "who", "shared.pb")
    expect(replay, 2, "more memory than --memory-limit allows", "who", "shared.pb", "--memory-limit", "64MiB")
    expect(replay, 0, "", "who", "shared.pb", "--memory-limit", "16GiB")
    expect(replay, 2, "expected a size", "info", "a.zst", "--memory-limit", "much")


# ---- databases ----

def changed(name, *statements):
    shutil.copy("a.db", name)
    db = sqlite3.connect(name)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def database(name, *statements):
    db = sqlite3.connect(name)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def asked(name, question):
    """What a database answers. It is closed before anything else is done with it."""
    with contextlib.closing(sqlite3.connect(name)) as db:
        return db.execute(question).fetchall()


def databases(replay):
    for kind in ("endless_view", "endless_column"):
        slow_inputs.write(kind, 0, kind + ".db")
        for arguments in (["report", kind + ".db", "--md", "o.md"], ["diff", kind + ".db", "a.db"],
                          ["merge", kind + ".db", "-o", kind + "-merged.db"], ["sweep", "a.zst", "--policy", "none",
                                                                               "-o", kind + ".db"]):
            expect(replay, 2, "not a plain table", *arguments)
    # A view of ours that somebody replaced by one without end.
    changed("view.db", "DROP VIEW fits", "CREATE VIEW fits AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
            "FROM r) SELECT 'a' AS trace_path, 'b' AS trace_digest, 'c' AS device, x AS runs, x AS survived, "
            "x AS live_peak_bytes, x AS offline_plan_bytes, 0 AS is_lower_bound FROM r")
    expect(replay, 2, "far more work", "sweep", "a.zst", "--policy", "best-fit", "--device", "sim:1GiB", "-o",
           "view.db")
    expect(replay, 0, "", "report", "view.db", "--md", "o.md")

    # A row whose details are no JSON is not taken, and one that an older version took hurts nobody.
    changed("bad.db", "UPDATE runs SET key = 'x' || key, details = '{'")
    expect(replay, 2, "bad.db: 2 of its runs have details that are no JSON", "merge", "bad.db", "-o", "merged.db")
    check(not os.path.exists("merged.db"), "a merge that took nothing left a database")
    shutil.copy("a.db", "kept.db")
    expect(replay, 2, "bad.db", "merge", "bad.db", "-o", "kept.db")
    expect(replay, 0, "", "report", "kept.db", "--md", "o.md")
    expect(replay, 0, "", "report", "bad.db", "--md", "o.md", "--html", "o.html")
    expect(replay, 0, "", "sweep", "a.zst", "--policy", "none", "-o", "bad.db")

    # A figure that is none is neither shown nor taken.
    for number, value in enumerate(("'9 GB'", "-1", "0.5")):
        name = f"figure{number}.db"
        changed(name, "UPDATE runs SET key = 'x' || key",
                f"UPDATE runs SET peak_reserved_bytes = {value} WHERE rowid = 1")
        for arguments in (["report", name, "--md", "o.md"], ["diff", name, "a.db"], ["merge", name, "-o", "kept.db"],
                          ["sweep", "a.zst", "--policy", "none", "-o", name, "--csv",
                           "o.csv"]):
            expect(replay, 2, f"{name}: of the run with key 'x.{{64}}' the column 'peak_reserved_bytes' is not a whole "
                   "number from 0 on", *arguments)
    expect(replay, 0, "", "report", "kept.db", "--md", "o.md")

    with open("a.db", "rb") as f:
        whole = bytearray(f.read())
    for at in range(4096, min(len(whole), 40960), 4096):
        damaged = whole[:]
        damaged[at:at + 40] = b"\xff" * 40
        with open("damaged.db", "wb") as f:
            f.write(damaged)
        got, said = replay("report", "damaged.db", "--md", "o.md")
        check(got in (0, 2), f"a damaged page at {at}: {got} {said[-200:]}")

    # Runs of a few bytes each, and results of nothing but changed copies.
    database("runs.db", "PRAGMA application_id = 0x52504c59", "PRAGMA user_version = 6",
             "CREATE TABLE runs(key, trace_path, policy, details)",
             "INSERT INTO runs WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 60000) "
             "SELECT NULL, NULL, NULL, NULL FROM r")
    expect(replay, 2, "its runs take more memory", "report", "runs.db", "--md", "o.md")
    with open("copies.json", "wb") as f:
        f.write(slow_inputs.sweep([{"policy": "none", "outcome": "ok", "copy_seed": 1}]))
    expect(replay, 2, "all runs are of changed copies", "report", "copies.json", "--md", "o.md", "--html", "o.html")

    # Names are taken literally, and none goes to nowhere.
    for name in (":memory:", "file:x?mode=memory"):
        expect(replay, 0, "1 runs", "sweep", "a.zst", "--policy", "none", "-o", name)
        check(os.path.exists(name), f"-o {name} made no file")
        expect(replay, 0, "", "report", name, "--md", "o.md")
    expect(replay, 2, "empty name", "sweep", "a.zst", "--policy", "none", "-o", "")
    expect(replay, 2, "", "merge", "a.db", "-o", "")

    # In a folder that nobody may write to. Root may write anywhere, so there the check says nothing.
    os.mkdir("sealed")
    shutil.copy("a.db", "sealed/a #%?.db")
    os.chmod("sealed/a #%?.db", 0o444)
    os.chmod("sealed", 0o555)
    user = [] if os.geteuid() != 0 else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if not user or shutil.which("setpriv"):
        os.chmod(".", 0o755)
        done = subprocess.run(user + [replay.path, "report", "sealed/a #%?.db", "--md", "-"], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        check(done.returncode == 0, f"a database in a sealed folder: {done.stderr.decode()}")
    os.chmod("sealed", 0o755)


def constrained(name, clause):
    """a.db without its row of pow2, and with a clause of a stranger in its table `runs`."""
    db = sqlite3.connect(name)
    db.execute("ATTACH 'a.db' AS ours")
    for (sql,) in db.execute("SELECT sql FROM ours.sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").fetchall():
        db.execute(sql.replace("PRIMARY KEY(key)", clause) if sql.startswith("CREATE TABLE runs") else sql)
    db.execute("INSERT INTO runs SELECT * FROM ours.runs WHERE policy <> 'pow2'")
    db.execute("PRAGMA application_id = 0x52504c59")
    db.execute("PRAGMA user_version = 6")
    db.commit()
    db.close()


def constraints(replay):
    """No constraint of a stranger drops a run, or replaces one, unseen."""
    for number, (clause, said) in enumerate((
            ("PRIMARY KEY(key), UNIQUE(trace_path)", "UNIQUE constraint failed"),
            ("PRIMARY KEY(key), CHECK(policy <> 'pow2')", "CHECK constraint failed"),
            ("PRIMARY KEY(key) ON CONFLICT REPLACE", "by ON CONFLICT"),
            ("PRIMARY KEY(key), UNIQUE(trace_path) on conflict replace", "by ON CONFLICT"),
            ("PRIMARY KEY(key), UNIQUE(trace_path) ON CONFLICT IGNORE", "by ON CONFLICT"),
            ("PRIMARY KEY(key, policy)", "ON CONFLICT clause does not match"))):
        name = f"constraint{number}.db"
        constrained(name, clause)
        before = asked(name, "SELECT * FROM runs")
        check(len(before) == 1, f"{name} holds {len(before)} runs")
        expect(replay, 0, "", "report", name, "--md", "o.md")
        for arguments in (["sweep", "a.zst", "--policy", "pow2", "--device", "sim:1GiB", "-o", name],
                          ["merge", "a.db", "-o", name]):
            expect(replay, 2, said, *arguments)
            check(asked(name, "SELECT * FROM runs") == before,
                  f"{clause}: replay {arguments[0]} changed the runs")


# ---- what lies beside a database ----

def hostile_journal(database, victim):
    """A rollback journal that writes no page and names a super-journal: SQLite deletes that one after a rollback."""
    page, magic, name = 4096, bytes.fromhex("d9d505f920a163d7"), os.path.abspath(victim).encode()
    n_pages = os.path.getsize(database) // page if os.path.exists(database) else 0
    header = (magic + struct.pack(">IIIII", 0, 1, n_pages, 512, page)).ljust(512, b"\0")
    with open(database + "-journal", "wb") as f:
        f.write(header + struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">II", len(name), sum(name)) +
                magic)


def files_of(database):
    """The bytes of a database and of what lies beside it."""
    found = {}
    for name in sorted(name for name in os.listdir(os.path.dirname(os.path.abspath(database)))
                       if name.startswith(os.path.basename(database)) and not name.endswith("-shm")):
        with open(os.path.join(os.path.dirname(database), name), "rb") as f:
            found[name] = f.read()
    return found


def uses_of(database):
    return (["report", database, "--md", "o.md"], ["diff", database, "a.db"], ["diff", "a.db", database],
            ["merge", database, "-o", "of-beside.db"], ["merge", "a.db", "-o", database],
            ["sweep", "a.zst", "--policy", "none", "-o", database])


def beside(replay):
    """No file beside a database makes SQLite delete files, wait, or change the database."""
    os.mkdir("beside")
    shutil.copy("a.db", "beside/r.db")
    database("beside/n.sqlite", *NSYS)
    with open("victim", "w", encoding="ascii") as f:
        f.write("of the user")
    for name, uses in (("beside/r.db", uses_of("beside/r.db")), ("beside/n.sqlite", [["info", "beside/n.sqlite"]]),
                       ("beside/new.db", [["sweep", "a.zst", "--policy", "none", "-o", "beside/new.db"],
                                          ["merge", "a.db", "-o", "beside/new.db"]])):
        hostile_journal(name, "victim")
        before = files_of(name)
        for arguments in uses:
            expect(replay, 2, "-journal: by a journal SQLite changes the database", *arguments)
            check(os.path.exists("victim"), f"replay {' '.join(arguments)} deleted a file that a journal names")
            check(files_of(name) == before, f"replay {' '.join(arguments)} changed what has a hostile journal")
        os.remove(name + "-journal")
        for ending in ("-journal", "-wal", "-shm"):
            os.mkfifo(name + ending)
            for arguments in uses:
                expect(replay, 2, f"{ending}: is not a regular file", *arguments)
            os.remove(name + ending)
    check(not os.path.exists("of-beside.db") and not os.path.exists("beside/new.db"), "what was refused left a file")


def logged(name):
    """A database whose last change, another outcome, is in its log alone."""
    shutil.copy("a.db", "log.db")
    db = sqlite3.connect("log.db")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("UPDATE runs SET policy = 'of the log'")
    db.commit()
    for ending in ("", "-wal"):
        shutil.copy("log.db" + ending, name + ending)
    db.close()


def linked(replay):
    """Through a link a database has the log that lies beside its file."""
    os.mkdir("linked")
    os.mkdir("links")
    logged("linked/r.db")
    os.symlink("../linked/r.db", "links/l.db")
    before = files_of("linked/r.db")
    expect(replay, 0, "of the log", "report", "links/l.db", "--md", "-")
    check(files_of("linked/r.db") == before, "a report through a link changed the database")
    os.chmod("links", 0o555)
    user = [] if os.geteuid() != 0 else ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if not user or shutil.which("setpriv"):
        os.chmod(".", 0o755)
        os.chmod("linked", 0o777)
        for name in os.listdir("linked"):
            os.chmod("linked/" + name, 0o666)
        done = subprocess.run(user + [replay.path, "report", "links/l.db", "--md", "-"], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        check(done.returncode == 0 and b"of the log" in done.stdout,
              f"a link in a sealed folder: {done.returncode} {done.stdout.decode()[:300]} {done.stderr.decode()}")
    os.chmod("links", 0o755)
    os.symlink("made.db", "links/new.db")
    expect(replay, 0, "1 done now", "sweep", "a.zst", "--policy", "none", "-o", "links/new.db")
    check(os.path.getsize("links/made.db") > 0, "a link to a name that was free is not followed")


def no_files(replay):
    """A database is a regular file, and its own files are no outputs."""
    for name in ("/dev/null", "/dev/full", "/dev/zero", "."):
        expect(replay, 2, "is not a regular file", "sweep", "a.zst", "--policy", "none", "-o", name)
        expect(replay, 2, "is not a regular file", "merge", "a.db", "-o", name)
        check(not os.path.exists(name + "-journal"), f"a journal was made beside {name}")
    for ending in ("-wal", "-shm", "-journal"):
        for option in ("--csv", "--json"):
            expect(replay, 2, "belongs to the database", "sweep", "a.zst", "--policy", "none", "-o", "s.db", option,
                   "./s.db" + ending)
    check(not os.path.exists("s.db"), "what was refused made a database")


class Locked:
    """A database that this process keeps others from reading and writing."""

    def __init__(self, name):
        self.db = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE",
                          "UPDATE runs SET trace_path = trace_path WHERE 0", "COMMIT"):
            self.db.execute(statement)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.db.close()


def started(replay, *arguments):
    return subprocess.Popen([replay.path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def said_of(child):
    """What a program says until its end."""
    return child.communicate(timeout=600)[0].decode(errors="surrogateescape")


def wait_for(is_so):
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def beginnings(name):
    return glob.glob(name + "*")


def locked(replay):
    """A database that is locked is waited for, not in silence; what is made meanwhile is not removed."""
    with open("garbage.db", "wb") as f:
        f.write(b"no database")
    shutil.copy("a.db", "in.db")
    for others, status, runs in ((["garbage.db"], 2, 1), ([], 0, 3)):
        with Locked("in.db"):
            child = started(replay, "merge", "in.db", *others, "-o", "race.db")
            check(wait_for(lambda: beginnings("race.db")), "merge makes no file before its inputs can be read")
            expect(replay, 0, "1 done now", "sweep", "a.zst", "--policy", "none", "--device", "sim:1GiB", "-o",
                   "race.db")
        said = said_of(child)
        check(child.returncode == status, f"a merge into what another process made: {child.returncode} {said}")
        ((found,),) = asked("race.db", "SELECT count(*) FROM runs")
        check(found == runs, f"the database holds {found} runs, not {runs}, after a merge meanwhile: {said}")
        check(not beginnings("race.db.replay-"), f"merge leaves {beginnings('race.db.')}")
        os.remove("race.db")

    # A signal leaves nothing of a new database, a kill nothing after the next merge.
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Locked("in.db"):
            child = started(replay, "merge", "a.db", "in.db", "-o", "new.db")
            check(wait_for(lambda: beginnings("new.db")), "merge makes no file before its inputs can be read")
            time.sleep(2)
            child.send_signal(number)
            said = said_of(child)
        killed = number == signal.SIGKILL
        check("replay: in.db: another process has it locked" in said, f"a merge names what it waits for: {said}")
        check(child.returncode == (-number if killed else 128 + number), f"{number}: {child.returncode} {said}")
        check(killed or not beginnings("new.db"), f"a merge that signal {number} ended leaves {beginnings('new.db')}")
        check(not os.path.exists("new.db"), f"a merge that signal {number} ended leaves a partial database")
    expect(replay, 0, "", "merge", "a.db", "-o", "new.db")
    check(beginnings("new.db") == ["new.db"], f"a merge leaves {beginnings('new.db')} of one that was killed")

    with Locked("in.db"):
        children = [started(replay, *arguments) for arguments in (["report", "in.db", "--md", "o1.md"],
                                                                  ["merge", "a.db", "-o", "in.db"])]
        time.sleep(70 if os.environ.get("REPLAY_LONG_TESTS") else 4)
    for child in children:
        said = said_of(child)
        check("in.db: another process has it locked; waiting for it" in said, f"it waits in silence: {said}")
        if os.environ.get("REPLAY_LONG_TESTS"):
            check(child.returncode == 3 and "locked, for a minute" in said, f"locked: {child.returncode} {said}")
        else:
            check(child.returncode == 0, f"after a wait: {child.returncode} {said}")


# ---- text ----

def zeros(replay):
    """A log that lost a page to a crash has zeros there: no line is read as shorter than it is."""
    with open("zeros.csv", "wb") as f:
        f.write(b"op,ptr,size\nalloc,1,8\nalloc,2,16\0\0\0\0,9\n")
    expect(replay, 2, "zeros.csv: line 3 holds a byte 0, which no text has", "info", "zeros.csv")


EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202e\u2066=cmd"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def is_shown(what, raw):
    """Whether nothing in these bytes is obeyed by a terminal."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as e:
        check(False, f"{what}: no UTF-8: {e}")
        return
    found = OBEYED.search(text)
    check(found is None, f"{what}: {found and repr(text[max(0, found.start() - 30):found.end() + 10])}")


# ---- profiles of Nsight Systems ----

NSYS = ("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INT, deviceId INT, address INT, bytes INT, memKind INT, "
        "memoryOperationType INT)", "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 0, 4096, 512, 2, 0)")


def profiles(replay):
    database("good.sqlite", *NSYS)
    expect(replay, 0, "nsys", "info", "good.sqlite")
    # One long text that all marks share.
    database("marks.sqlite", *NSYS, "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)",
                    "INSERT INTO StringIds VALUES (1, replace(hex(zeroblob(250000)), '0', 'ab'))",
                    "CREATE TABLE NVTX_EVENTS(start INT, eventType INT, text TEXT, textId INT)",
                    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 90000) "
                    "INSERT INTO NVTX_EVENTS SELECT x, 34, NULL, 1 FROM r")
    expect(replay, 2, "far more work", "import", "marks.sqlite", "-o", "o.zst")
    # Columns that are computed: each takes more work than SQLite's steps tell.
    costly = " + ".join(["length(hex(zeroblob(500000)))"] * 100)
    database("computed.sqlite", NSYS[0].replace("bytes INT", f"bytes GENERATED ALWAYS AS ({costly})"),
                    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 9000) INSERT INTO "
                    "CUDA_GPU_MEMORY_USAGE_EVENTS(start, deviceId, address, memKind, memoryOperationType) "
                    "SELECT x, 0, 512 * x, 2, 0 FROM r")
    expect(replay, 2, "without the table", "import", "computed.sqlite", "-o", "o.zst")
    database("view.sqlite", NSYS[0].replace("EVENTS", "KEPT"),
                    "CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS SELECT * FROM CUDA_GPU_MEMORY_USAGE_KEPT")
    expect(replay, 2, "without the table", "import", "view.sqlite", "-o", "o.zst")


def texts(replay):
    with open("a.pickle", "rb") as f:
        snapshot = pickle.load(f)
    for record in snapshot["device_traces"][0]:
        record["frames"] = [{"name": EVIL + "name", "filename": EVIL + "file", "line": 1}]
    snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:20" + EVIL
    snapshot["allocator_settings"]["max_split_size"] = 20 << 20
    with open(EVIL + ".pickle", "wb") as f:
        pickle.dump(snapshot, f)
    trace = EVIL + ".zst"
    shutil.copy("a.zst", trace)
    changed(EVIL + ".db", f"UPDATE runs SET trace_path = '{EVIL}', policy = '{EVIL}'",
            "UPDATE runs SET details = '{\"warnings\": [" + json.dumps(EVIL).replace("'", "''") + "]}'")
    for arguments in (["info", EVIL + ".pickle"], ["import", EVIL + ".pickle", "-o", "evil.zst"], ["info", "evil.zst"],
                      ["verify", EVIL + ".pickle"], ["who", "evil.zst"], ["why", "evil.zst"], [trace],
                      ["stats", trace], ["summary", trace], ["fit", trace], ["diff", trace, "evil.zst"],
                      ["sweep", trace, "--policy", "none", "-o", "o.db"], ["merge", EVIL + ".db", "-o", "m.db"],
                      ["report", EVIL + ".db", "--md", "-"], ["report", EVIL + ".db", "--csv", "-"],
                      ["report", EVIL + ".db", "--html", "o.html", "--md", "o.md", "--csv", "o.csv"],
                      ["diff", EVIL + ".db", "a.db"], ["diff", trace, "evil.zst", "--html", "o.diff.html"],
                      [trace, "--policy", EVIL], [trace, "--json", "-"],
                      ["info", "no" + EVIL], ["no-such" + EVIL], ["snapshot", trace, "-o", "no/" + EVIL],
                      ["who", "evil.zst", "--json", "-"], ["--help", EVIL], ["who", "evil.zst", "--by", "category"],
                      ["who", "evil.zst", "--folded", "o.folded", "--speedscope", "o.scope"],
                      ["evil.zst", "--policy", "none", "--perfetto", "o.perfetto", "--samples", "o.samples"],
                      ["export", "evil.zst", "--to", "chrome", "-o", "o.chrome"], ["plan", "evil.zst", "-o", "o.plan"],
                      ["technique", "evil.zst", "--optimizer", "sgd"], ["graphs", "evil.zst"], ["tune", "evil.zst"],
                      ["extrapolate", "evil.zst:batch=1", trace + ":batch=2", "--to", "batch=4"],
                      ["conf", "max_split_size_mb:20" + EVIL]):
        done = subprocess.run([replay.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                              check=False)
        check(done.returncode in (0, 1, 2, 3), f"{arguments}: status {done.returncode}: {done.stderr[-300:]}")
        is_shown(f"replay {arguments[0]!r} ... standard output", done.stdout)
        is_shown(f"replay {arguments[0]!r} ... standard error", done.stderr)
    for name in ("o.html", "o.diff.html", "o.md", "o.csv", "o.folded", "o.scope", "o.perfetto", "o.samples", "o.chrome",
                 "o.plan"):
        with open(name, "rb") as f:
            is_shown(name, f.read())
    shutil.copy("a.zst", "=1+1.zst")
    replay("sweep", "=1+1.zst", "--policy", "none", "-o", "formula.db", "--csv", "formula.csv")
    with open("formula.csv", encoding="utf-8") as f:
        check("'=1+1.zst" in f.read(), "a CSV's cell begins with a formula")


# ---- Markdown ----

REMARKS = {                            # what a file says: what stands in the page
    "see https://evil.example/x now": "see `https://evil.example/x` now",
    "at HTTP://evil.example": "at `HTTP://evil.example`",
    "Www.evil.example, a|b": "`Www.evil.example,` a\\|b",
    "mail x@evil.example or @owner": "mail `x@evil.example` or `@owner`",
    "- item": "\\- item",
    "12. item #12": "12\\. item `#12`",
    "     code": "code",
    "\x01\x01\x01\x01+ item": "\\+ item",
}


def markdown(replay):
    """Remarks of results are sentences: no link, list, code or mention comes of them."""
    remarks = json.dumps({"assumptions": list(REMARKS)}).replace("'", "''")
    changed("remarks.db", f"UPDATE runs SET details = '{remarks}', trace_path = ''")
    expect(replay, 0, "", "report", "remarks.db", "--md", "remarks.md")
    with open("remarks.md", encoding="utf-8") as f:
        page = f.read()
    for remark, shown in REMARKS.items():
        check(f"- {shown}\n" in page, f"a remark '{remark}' is not shown as '{shown}': {page[-1500:]}")
    check("``" not in page and "Trace -: " in page, f"an empty name begins a code span: {page[:600]}")


# ---- lines ----

FORGED = "f\nThe verdict: safe"


def forge_files():
    """A recording, a trace, results and a database, each with a line's end in every text and in its name."""
    with open("a.pickle", "rb") as f:
        snapshot = pickle.load(f)
    for record in snapshot["device_traces"][0]:
        record["frames"] = [{"name": FORGED, "filename": FORGED, "line": 1}]
    for segment in snapshot["segments"]:
        segment["frames"] = [{"name": FORGED, "filename": FORGED, "line": 1}]
        for block in segment["blocks"]:
            block["frames"] = segment["frames"]
    snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:20," + FORGED
    snapshot["allocator_settings"]["max_split_size"] = 20 << 20
    with open(FORGED + ".pickle", "wb") as f:
        pickle.dump(snapshot, f)
    shutil.copy("a.zst", FORGED + ".zst")
    changed(FORGED + ".db", f"UPDATE runs SET trace_path = '{FORGED}', device = 'sim:2GiB{FORGED}', "
                            f"policy = policy || '{FORGED}'")
    changed("other.db", f"UPDATE runs SET trace_path = '{FORGED}', policy = policy || '{FORGED}', "
                        f"device = 'sim:2GiB{FORGED}', peak_reserved_bytes = peak_reserved_bytes + 1")
    changed("gone.db", f"UPDATE runs SET trace_path = '{FORGED}' WHERE policy = 'pow2'")


def lines(replay):
    """Foreign text in a sentence or a table begins no line of its own."""
    forge_files()
    trace, recording, results = FORGED + ".zst", FORGED + ".pickle", FORGED + ".db"
    policies = ["--policy", "best-fit", "--policy", "pow2"]
    for arguments in (["info", recording], ["info", trace], [recording], [trace], ["verify", recording],
                      ["import", recording, "-o", "forged.zst"], ["info", "forged.zst"],
                      ["diff", "a.zst", "forged.zst"], ["diff", recording, "a.zst"],
                      ["diff", "forged.zst", *policies], ["diff", recording, *policies],
                      ["diff", results, "other.db"], ["diff", "a.db", results], ["diff", "a.db", "gone.db"],
                      ["who", "forged.zst"], ["who", "forged.zst", "--by", "stack"], ["why", "forged.zst"],
                      ["why", recording], ["fit", recording], ["tune", recording], ["stats", recording],
                      ["summary", recording], ["technique", recording, "--optimizer", "sgd"], ["graphs", recording],
                      ["snapshot", recording, "-o", "o.pickle"], ["plan", recording, "-o", "o.plan"],
                      ["extrapolate", recording + ":batch=1", trace + ":batch=2", "--to", "batch=4"],
                      ["sweep", trace, "--policy", "none", "--device", "sim:1GiB", "-o", FORGED + "2.db"],
                      ["merge", results, "-o", "forged-merged.db"], ["report", results, "--md", "o.md"],
                      ["report", trace, "--policy", "none", "--html", "o.html"], ["conf", FORGED],
                      ["info", "no" + FORGED], ["no-such" + FORGED], [trace, "--policy", "best-fit" + FORGED],
                      ["trace", "anonymise", recording, "-o", FORGED + "3.zst"], ["trace", "cut", trace, "--step", "-o",
                                                                                  FORGED + "4.zst"],
                      [trace, "--device", "sim:1GiB" + FORGED], ["conform", FORGED], [trace, "--fail-if", FORGED],
                      ["fit", trace, "--policy", "pytorch:" + FORGED], ["sweep", FORGED + ".ini"]):
        done = subprocess.run([replay.path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                              check=False)
        check(done.returncode in (0, 1, 2, 3), f"{arguments}: status {done.returncode}: {done.stderr[-300:]}")
        for kind, raw in (("output", done.stdout), ("error", done.stderr)):          # facts of several lines: 23 blanks
            forged = [line for line in raw.decode().splitlines() if re.match(" {0,8}The verdict: safe", line)]
            check(not forged, f"replay {arguments}: standard {kind} has the line {forged[:1]}")


# ---- pages ----

def pages(replay):
    with open("a.pickle", "rb") as f:
        payload = base64.b64encode(f.read()).decode()
    item = '{"name": "snapshot.pickle", "base64": "%s"}' % payload
    for n, text in ((1, None), (3, "2 more snapshots; only the first is read")):
        with open("page.html", "w", encoding="ascii") as f:
            f.write("<!DOCTYPE html>\n<script>const x = [" + ", ".join([item] * n) + "]</script>\n" + " " * 100000)
        for command in (["info", "page.html"], ["import", "page.html", "-o", "page.zst"]):
            got, said = replay(*command)
            check(got == 0, f"{command} of a page with {n} snapshots: {said[-300:]}")
        got, said = replay("info", "page.html")
        check((text in said) if text else "more snapshots" not in said,
              f"info of a page with {n} snapshots: {said[-600:]}")


# ---- pipes ----

def piped(replay, name, *arguments, **env):
    """Runs a command whose /dev/stdin is a pipe that yields this file."""
    with open(name, "rb") as f:
        return subprocess.run([replay.path, *arguments], input=f.read(), capture_output=True, timeout=600, check=False,
                              env=dict(os.environ, **env))


def pipes(replay):
    """What a person names is opened whatever it is, and read once: a pipe says what the file says."""
    replay("snapshot", "a.zst", "-o", "b.pickle")
    for name in ("a.zst", "b.pickle"):
        for command in (["info"], [], ["who"], ["why"], ["stats"], ["summary"], ["verify"], ["tune"]):
            from_pipe, from_stdin = (piped(replay, name, *command, at) for at in ("/dev/stdin", "-"))
            check(from_pipe.returncode == 0, f"{command} of a pipe: {from_pipe.stderr[-300:]}")
            words = [re.sub(rb"(?m)^path .*|/dev/stdin", b"-", run.stdout).split() for run in (from_pipe, from_stdin)]
            check([word for word in words[0] if word != b"-"] == [word for word in words[1] if word != b"-"],
                  f"{command} of a pipe with {name} and of standard input differ")
    got = piped(replay, "a.zst", "diff", "/dev/stdin", "a.zst")
    check(got.returncode == 2 and b"can be read only once" in got.stderr, f"diff of a pipe: {got.stderr[-300:]}")
    got = piped(replay, "a.zst", "diff", "-", "a.zst")
    check(got.returncode == 0, f"diff of standard input: {got.stderr[-300:]}")
    # What is spooled lies where TMPDIR says.
    os.mkdir("spooled")
    for command in (["why", "-"], ["a.zst", "--policy", "none", "--perfetto", "o.perfetto"],
                    ["snapshot", "a.zst", "-o", "o.pickle"]):
        got = piped(replay, "a.zst", *command, TMPDIR="no-such-folder")
        check(got.returncode == 3 and b"no-such-folder" in got.stderr, f"{command} without TMPDIR: {got.stderr[-300:]}")
        got = piped(replay, "a.zst", *command, TMPDIR="spooled")
        check(got.returncode == 0 and not os.listdir("spooled"), f"{command} with TMPDIR: {got.stderr[-300:]}")


def has_open(pid, name):
    try:
        fds = f"/proc/{pid}/fd/"
        return any(os.path.basename(os.readlink(fds + fd)) == name for fd in os.listdir(fds))
    except OSError:
        return False


def swaps(replay):
    """A file that becomes a pipe once it was opened: no second open waits for the other end."""
    database("swapped.sqlite", *NSYS)
    for i in range(60):
        shutil.copy(("swapped.sqlite", "a.pickle")[i % 2], "swapped")
        os.mkfifo("fifo")
        with subprocess.Popen([replay.path, "info", "swapped"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as program:
            while program.poll() is None and not has_open(program.pid, "swapped"):
                pass
            os.rename("fifo", "swapped")
            try:
                program.wait(120)
            except subprocess.TimeoutExpired:
                check(False, f"info waits for a pipe that replaced its file, at try {i}")
                program.kill()
                break
        os.unlink("swapped")


def main():
    replay = Program(sys.argv[1])
    samples = os.path.join(os.path.abspath(sys.argv[3]), "samples")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copy(os.path.join(samples, "mlp-adam.trace.zst"), "a.zst")
        replay("snapshot", "a.zst", "-o", "a.pickle")
        replay("sweep", "a.zst", "--policy", "{best-fit,pow2}", "--device", "sim:1GiB", "-o", "a.db")
        for part in (bombs, databases, constraints, beside, linked, no_files, locked, profiles, zeros, texts, markdown,
                     lines, pages, pipes, swaps):
            part(replay)
        os.chdir("/")
    return len(failures) > 0


if __name__ == "__main__":
    sys.exit(main())
