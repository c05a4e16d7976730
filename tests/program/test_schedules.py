#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Whatever fails at whichever call, what was reported as done is there, nothing is half, and the same command then does
the rest.

test_schedules.py REPLAY BUILD SOURCE [COUNT [FIRST]]: a schedule is a number. It draws a scene (one or two commands at
work in a folder, and what they write), and for one or two stages what goes wrong: calls that fail, are interrupted or
do half of what they were asked to, a disk that is full from some call on, SIGKILL between any two calls, power that
goes, clocks that are set, and the order in which two commands make their calls. tests/faults/schedule_calls.c runs it,
so the same number is the same run. After each stage:

  a file that was to be written is the old or the whole new one, and the new one if its command ended well
  a database is sound; it has all rows that it had, all rows of a command that ended well, and none but whole ones
  a command that did not end well said so, and only one whose own or whose fellow's calls failed does not end well
  a journal has each call that had returned

Then the commands run once more, undisturbed. Files, rows and the folder's names are those of a run that nothing ever
disturbed. After a cut of power a part of what was not synced is lost, writes also in their middle.
"""
import collections
import concurrent.futures
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile

COUNT = 20000 if os.environ.get("REPLAY_LONG_TESTS") else 100
SWEEP = ["sweep", "a.zst", "--device", "sim:2GiB", "--threads", "1", "-o"]
REPLAY = ["a.zst", "--policy", "none", "--threads", "1", "--json", "o.json", "--csv", "o.csv"]
SOFT = ("error", "full", "interrupt", "short")
CLOCKS = ("back", "ahead", "zero")                       # no command may fail because of these

# Name; arguments of the commands that run at once; outputs; the database, if there is one; names that are there before.
Scene = collections.namedtuple("Scene", "name commands files database old", defaults=((), None, ()))
SCENES = [
    Scene("a new database", [SWEEP + ["o.db", "--policy", "{best-fit,none}", "--csv", "o.csv"]], ["o.csv"], "o.db"),
    Scene("a database with more runs", [SWEEP + ["o.db", "--policy", "{best-fit,none,pow2}", "--csv", "o.csv"]],
          ["o.csv"], "o.db", ["o.db", "o.csv"]),
    Scene("a merge into a new one", [["merge", "a.db", "b.db", "-o", "o.db", "--csv", "o.csv"]], ["o.csv"], "o.db"),
    Scene("a merge into an old one", [["merge", "b.db", "-o", "o.db", "--json", "o.json"]], ["o.json"], "o.db",
          ["o.db"]),
    Scene("new files", [REPLAY], ["o.json", "o.csv"]),
    Scene("files replaced", [REPLAY], ["o.json", "o.csv"], None, ["o.json", "o.csv"]),
    Scene("a trace replaced", [["trace", "cut", "a.zst", "--events", "1..5", "-o", "o.zst"]], ["o.zst"], None,
          ["o.zst"]),
    Scene("a page", [["report", "a.db", "--md", "o.md", "--csv", "o.csv"]], ["o.md", "o.csv"], None, ["o.csv"]),
    Scene("two sweeps on a new database", [SWEEP + ["o.db", "--policy", "{best-fit,none}"],
                                           SWEEP + ["o.db", "--policy", "{none,pow2}"]], [], "o.db"),
    Scene("a sweep and a merge", [SWEEP + ["o.db", "--policy", "{none,pow2}"], ["merge", "b.db", "-o", "o.db"]], [],
          "o.db"),
    Scene("a merge beside the sweep that it reads", [SWEEP + ["o.db", "--policy", "pow2"],
                                                     ["merge", "o.db", "-o", "m.db"]], [], "o.db", ["o.db"]),
    Scene("two merges into a new one", [["merge", "b.db", "-o", "o.db"], ["merge", "a.db", "b.db", "-o", "o.db"]], [],
          "o.db"),
    Scene("two writers of a file", [["trace", "cut", "a.zst", "--events", "1..5", "-o", "o.zst"]] * 2, ["o.zst"]),
    Scene("a journal", [["PROGRAM", "stacks", "log"]]),
]


def load(source, name):
    """A test whose functions are of use here: another one's way to read what a command left."""
    spec = importlib.util.spec_from_file_location(os.path.basename(name), os.path.join(source, "tests", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contents(folder):
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = f.read()
    return found


class Wrong(Exception):
    pass


class Schedules:
    def __init__(self, replay, build, source):
        self.replay, self.build = os.path.abspath(replay), os.path.abspath(build)
        self.runner = os.path.join(self.build, "tests", "faults", "schedule_calls")
        self.power, self.kills = load(source, "traces/test_power_loss"), load(source, "record/test_record_kills")
        self.source = source
        # What scenes are compared with: names, files and rows in the end, rows of each command alone, statuses, calls.
        self.whole = {}

    def words(self, command, folder):
        if command[0] != "PROGRAM":
            return [self.replay] + command
        record = os.path.join(self.build, "tests", "record")
        return ["/usr/bin/env", "LD_PRELOAD=" + os.path.join(self.build, "record", "libreplay-record.so"),
                "LD_LIBRARY_PATH=" + os.path.join(record, "fake"), "REPLAY_RECORD_DIR=" + folder,
                os.path.join(record, "record_program")] + command[1:]

    def run(self, scene, folder, plan):
        """Runs a scene's commands by a plan: the statuses, the calls that each made, what they said, and the log."""
        log = folder + ".log"
        words = [word for command in scene.commands for word in ["--"] + self.words(command, folder)]
        done = subprocess.run([self.runner, plan, log, folder] + words, capture_output=True, stdin=subprocess.DEVNULL,
                              check=False)
        if done.returncode != 0:
            raise Wrong(f"the runner: {done.returncode} {done.stderr.decode(errors='replace')}")
        with open(log, encoding="utf-8") as f:
            lines = [line.rstrip("\n").split(" ") for line in f]
        ends = [line for line in lines if line[0] == "end"]
        return [int(e[2]) for e in ends], [int(e[3]) for e in ends], done.stderr.decode(errors="replace"), lines

    def quietly(self, command, folder):
        return subprocess.run(self.words(command, folder), cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                              check=False)

    def rows(self, folder, name):
        """The rows of a database, read from a copy: to open it is to change it."""
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            return set()
        with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as copy:
            for ending in ("", "-wal"):
                if os.path.exists(path + ending):
                    shutil.copy(path + ending, os.path.join(copy, name + ending))
            rows = self.power.rows_of(os.path.join(copy, name))
        if rows is None:
            raise Wrong(f"{name} is damaged")
        return rows

    def fresh(self, scene, folder):
        shutil.copytree(self.inputs, folder)
        for name in scene.old:
            if name.endswith(".db"):
                shutil.copy(os.path.join(folder, "a.db"), os.path.join(folder, name))
            else:
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(b"of old " * 300)

    def learn(self, scene, place):
        """What a scene's commands do when nothing disturbs them."""
        alone, statuses = [], []
        for i, command in enumerate(scene.commands):
            folder = f"{place}.{i}"
            self.fresh(scene, folder)
            self.quietly(command, folder)
            alone.append(self.rows(folder, scene.database) if scene.database else set())
        folder = place + ".all"
        self.fresh(scene, folder)
        for command in scene.commands:
            statuses.append(self.quietly(command, folder).returncode)
        end = contents(folder)
        self.fresh(scene, place + ".counted")
        _, calls, said, _ = self.run(scene, place + ".counted", "seed=0")
        if not all(calls):
            raise Wrong(f"{scene.name}: no calls: {said}")
        self.whole[scene.name] = (set(end), {name: end[name] for name in scene.files},
                                  self.rows(folder, scene.database) if scene.database else set(), alone, statuses,
                                  calls)

    # ---- what is asked of it ----

    def check_journal(self, folder, is_disturbed):
        recorded, lost = collections.defaultdict(list), 0
        for name in os.listdir(folder):
            if not name.endswith(".calls"):
                continue
            path = os.path.join(folder, name)
            for thread, calls in (self.kills.calls_of(path) or {}).items():
                recorded[thread] += calls
            with open(path, "rb") as f:
                lost += int.from_bytes(f.read()[56:64], sys.byteorder)
        log = os.path.join(folder, "log")
        for thread, calls in (self.kills.logged(log) if os.path.exists(log) else {}).items():
            if not is_disturbed and recorded[thread][:len(calls)] != calls:
                raise Wrong("what returned is not what is recorded")
            left = iter(recorded[thread])
            n_there = sum(call in left for call in calls)
            if recorded[thread] and n_there + lost < len(calls):
                raise Wrong(f"{len(calls)} calls returned, {n_there} are recorded, {lost} are counted as lost")

    def check(self, scene, folder, before, outcome):
        statuses, said, is_hurt = outcome
        _, files, rows_in_end, alone, good, _ = self.whole[scene.name]
        is_done = [status == well for status, well in zip(statuses, good)]
        for status, well in zip(statuses, good):
            if status not in ((well, 2, 3, 5, 137) if is_hurt else (well, 137)):
                raise Wrong(f"status {status}: {said[-300:]}")
        if any(status in (2, 3, 5) for status in statuses) and "replay: " not in said:
            raise Wrong(f"statuses {statuses} without a word: {said}")
        for name, whole in files.items():
            got = contents(folder).get(name)
            if "left out" in said and got is not None and set(got.split(b"\n")) <= set(whole.split(b"\n")):
                continue                                 # a sweep tells what it has, and what it has not
            if got != whole and (any(is_done) or got != before[0].get(name)):
                raise Wrong(f"{name} is neither the old nor the whole new one, {is_done}: "
                            f"{'none' if got is None else len(got)} bytes")
        if scene.database is None:
            return
        rows = self.rows(folder, scene.database)
        if not before[1] <= rows <= rows_in_end:
            raise Wrong(f"{len(before[1] - rows)} rows are gone, {len(rows - rows_in_end)} are other rows")
        for done, own in zip(is_done, alone):
            if done and not own <= rows:
                raise Wrong(f"a command ended well, and {len(own - rows)} of its rows are missing")

    # ---- what goes wrong ----

    @staticmethod
    def draw_plan(draws, calls):
        """What happens to these commands, which make so many calls: (plan, whether power goes, whether one is hurt)."""
        words, is_hurt = [f"seed={draws.getrandbits(32)}"], False
        clocks = random.Random("clocks " + words[0])
        for _ in range(draws.choice((0, 0, 1, 1, 2, 3))):
            program = draws.randrange(len(calls))
            words.append(f"{program}:{draws.randint(1, calls[program])}:{draws.choice(SOFT)}")
            is_hurt = True
        end = draws.choice(("kill", "kill", "kill", "cut", "cut", "cut after", "none"))
        if end in ("kill", "cut"):
            program = draws.randrange(len(calls))
            words.append(f"{program}:{draws.randint(1, calls[program])}:{end}")
        if end.startswith("cut"):
            words.append("data")
        for _ in range(clocks.choice((0, 0, 1, 2))):
            program = clocks.randrange(len(calls))
            words.append(f"{program}:{clocks.randint(1, calls[program])}:{clocks.choice(CLOCKS)}")
        return ",".join(words), end.startswith("cut"), is_hurt

    def operations(self, lines, numbers):
        """A log in the form of test_power_loss. `numbers`: of the files that are there, by inode."""
        ops = []
        for line in lines:
            kind = line[0]
            if kind in ("unnamed", "new"):
                numbers[line[1]] = len(numbers) + 1000 * (line[1] in numbers)
            if kind in ("new", "name"):
                ops.append(("name", line[2], numbers[line[1]]))
            elif kind == "write":
                ops.append(("write", numbers[line[1]], int(line[2]), bytes.fromhex(line[3])))
            elif kind == "size":
                ops.append(("size", numbers[line[1]], int(line[2])))
            elif kind == "sync":
                ops.append(("sync", numbers[line[1]]))
            elif kind == "sync-names":
                ops.append(("sync-names",))
            elif kind == "gone":
                ops.append(("gone", line[1]))
            elif kind == "rename":
                ops.append(("rename", line[2], line[3], numbers[line[1]]))
        return ops

    def lose_power(self, folder, before, inodes, lines, draws):
        """Makes the folder what a disk may hold when the power went after these calls."""
        ops = self.operations(lines, inodes)
        left = self.power.pending(ops, True)
        share = draws.choice((0, 0.1, 0.5, 0.9, 1))
        lost = {i for i in left if draws.random() < share}
        kept = [i for i in left if i not in lost and ops[i][0] == "write" and len(ops[i][3]) > self.power.SECTOR]
        cut = (-1, 0)
        if kept and draws.random() < 0.3:
            i = draws.choice(kept)
            cut = (i, self.power.SECTOR * draws.randrange(len(ops[i][3]) // self.power.SECTOR))
        state = self.power.on_disk(before, ops, lost, cut)
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        for name, content in state.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(content)

    def disturb(self, scene, folder, draws, plans):
        """One stage. Whether calls were made to fail."""
        before = contents(folder)
        numbers = {name: i for i, name in enumerate(sorted(before))}             # as on_disk counts them
        inodes = {str(os.lstat(os.path.join(folder, name)).st_ino): i for name, i in numbers.items()}
        rows = self.rows(folder, scene.database) if scene.database else set()
        plan, is_cut, is_hurt = self.draw_plan(draws, self.whole[scene.name][5])
        is_cut = is_cut and scene.name != "a journal"                            # nothing there is synced
        plans.append(plan)
        statuses, _, said, lines = self.run(scene, folder, plan)
        if is_cut:
            self.lose_power(folder, before, inodes, lines, draws)
        if scene.name == "a journal":
            self.check_journal(folder, is_hurt)
        else:
            self.check(scene, folder, (before, rows), (statuses, said, is_hurt))

    def try_schedule(self, seed, work):
        """Runs a schedule; what is wrong, or None."""
        draws, plans, folder = random.Random(f"schedule {seed}"), [], f"{work}/{seed}"
        scene = draws.choice(SCENES)
        names, files, rows, _, _, _ = self.whole[scene.name]
        self.fresh(scene, folder)
        try:
            for _ in range(1 if scene.name == "a journal" else draws.choice((1, 1, 1, 2))):
                self.disturb(scene, folder, draws, plans)
            for command in scene.commands if scene.name != "a journal" else ():
                done = self.quietly(command, folder)
                if done.returncode not in self.whole[scene.name][4]:
                    raise Wrong(f"undisturbed it ends with {done.returncode}: {done.stderr.decode()[-300:]}")
            if scene.name != "a journal":
                got = contents(folder)
                if set(got) != names:
                    raise Wrong(f"in the end there are other names: {sorted(set(got) ^ names)}")
                if any(got[name] != whole for name, whole in files.items()):
                    raise Wrong("in the end a file differs")
                if scene.database and self.rows(folder, scene.database) != rows:
                    raise Wrong("in the end the rows differ")
            return None
        except Wrong as e:
            return f"schedule {seed}: {scene.name}: {' then '.join(plans)}: {e}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def make_inputs(self, folder):
        os.mkdir(folder)
        shutil.copy(os.path.join(self.source, "samples", "530-270.trace.zst"), folder + "/a.zst")
        for name, policies in (("a.db", "best-fit"), ("b.db", "{best-fit,pow2}")):
            self.quietly(SWEEP + [name, "--policy", policies], folder)
        self.inputs = folder

    def main(self, count, first):
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as work:
            self.make_inputs(work + "/inputs")
            for i, scene in enumerate(SCENES):
                self.learn(scene, f"{work}/scene{i}")
            with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                wrong = [text for text in pool.map(lambda seed: self.try_schedule(seed, work),
                                                   range(first, first + count)) if text is not None]
        for text in wrong:
            print("FAILED:", text)
        print(f"{count} schedules from {first} on, {len(wrong)} wrong")
        return len(wrong) > 0 or count == 0


if __name__ == "__main__":
    sys.exit(Schedules(*sys.argv[1:4]).main(int(sys.argv[4]) if len(sys.argv) > 4 else COUNT,
                                            int(sys.argv[5]) if len(sys.argv) > 5 else 1))
