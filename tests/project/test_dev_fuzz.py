#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How ./dev fuzz gives out its time, and how it adds up what the targets did.

Turns go on with what was found, until the hours are over, until Ctrl-C, or until no target finds an edge any more.
Scripts that print what libFuzzer prints stand in for the targets.

    test_dev_fuzz.py PROGRAM BUILD SOURCE
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TARGET = """#!/usr/bin/env python3
import os, signal, sys, time
def end(executions, status):
    print("stat::number_of_executed_units:", executions, flush=True)
    os._exit(status)
signal.signal(signal.SIGINT, lambda *_: end(10, 72))
if "-crash-" in sys.argv[1]:
    print("made.c:1: Assertion `0' failed.", flush=True)
    os._exit(1)
folder, *more = [word for word in sys.argv[1:] if os.path.isdir(word)]
if "-merge=1" in sys.argv:
    for name in os.listdir(more[0]):
        os.link(f"{more[0]}/{name}", f"{folder}/{name}")
    os._exit(0)
seconds = [int(word.partition("=")[2]) for word in sys.argv if word.startswith("-max_total_time=")][0]
already = len(os.listdir(folder))
print("INFO: Loaded 1 modules   (", EDGES, " inline 8-bit counters): ", EDGES, sep="")
print("#5 INITED cov:", 20 + already, "ft: 1", flush=True)
print("#6 NEW    cov:", 21 + already, "ft: 1", flush=True)
open(f"{folder}/{already}", "w").close()
time.sleep(seconds)
if STATUS:
    prefix = [word.partition("=")[2] for word in sys.argv if word.startswith("-artifact_prefix=")][0]
    open(prefix + "crash-1", "w").close()
    print("ERROR: libFuzzer: deadly signal", flush=True)
end(100, STATUS)
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.found = os.path.join(self.root, "build/fuzz/found")
        self.targets = os.path.join(self.root, "build/fuzz/tests/fuzz")
        for folder in (self.found, self.targets, os.path.join(self.root, "tests/fuzz/dictionaries")):
            os.makedirs(folder)
        with open(os.path.join(self.root, "tests/fuzz/dictionaries/targets"), "w", encoding="utf-8"):
            pass
        shutil.copy(os.path.join(sys.argv[3], "dev"), self.root)

    def target(self, name, status=0, edges=100):
        path = os.path.join(self.targets, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(TARGET.replace("STATUS", str(status)).replace("EDGES", str(edges)))
        os.chmod(path, 0o755)

    def turns(self, name, *lines):
        with open(os.path.join(self.found, name + ".turns"), "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)

    def has_begun(self, name):
        return os.path.exists(os.path.join(self.found, name, "0"))

    def start(self, *words):
        """Calls a function of ./dev, in a process group of its own, as a shell does."""
        call = 'dev=$1 words=("${@:2}"); set -- help; source "$dev" >/dev/null; "${words[@]}"'
        return subprocess.Popen(["bash", "-c", call, "_", os.path.join(self.root, "dev"), *words],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                env={**os.environ, "LC_ALL": "C"})

    def said(self, *words):
        """The lines that a function of ./dev prints, every number of seconds as T."""
        text, _ = self.start(*words).communicate(timeout=100)
        return re.sub(r"\b\d+ s\b", "T", text).splitlines()

    def test_a_turn_goes_on_with_what_the_one_before_found(self):
        self.target("fuzz_a")
        self.assertEqual(self.said("fuzz_targets", "1", "fuzz_a"),
                         ["ok      fuzz_a: 100 executions in T, edges 20 to 21, none new for the last T"])
        self.assertEqual(self.said("fuzz_targets", "1", "fuzz_a"),
                         ["ok      fuzz_a: 100 executions in T, edges 21 to 22, none new for the last T"])
        self.assertRegex(self.said("fuzz_table")[-1], r"^\| `fuzz_a` \| 200 \| \d+ \| 20 \| 22 \| \d+ \|$")

    def test_seconds_are_those_of_a_core(self):
        self.target("fuzz_a")                           # it sleeps: to wait is not to fuzz
        self.said("fuzz_targets", "4", "fuzz_a")
        seconds, flat = (int(figure) for figure in re.findall(r" \d+ ", self.said("fuzz_table")[-1])[1::3])
        self.assertLess(seconds, 3)
        self.assertLess(flat, 3)

    def test_the_table_adds_up_all_turns(self):
        self.target("fuzz_a")
        self.turns("fuzz_a", "700 1200 500 900 100", "300 2400 880 890 2300", "1 60 900 901 30", "1 240 901 901 240")
        self.assertEqual(self.said("fuzz_table")[-1], "| `fuzz_a` | 1002 | 3900 | 500 | 901 | 270 |")

    def test_another_build_begins_with_the_edges_that_the_inputs_reach_there(self):
        self.target("fuzz_a")
        self.turns("fuzz_a", "700 1200 500 900 100 5000", "300 2400 880 890 2300 4000", "1 60 890 890 60 4000")
        self.assertEqual(self.said("fuzz_table")[-1], "| `fuzz_a` | 1001 | 3660 | 500 | 890 | 2360 |")

    def test_the_next_goes_on_with_what_was_kept(self):
        self.target("fuzz_a")
        corpus = os.path.join(self.root, "tests/fuzz/corpus/fuzz_a")
        os.makedirs(corpus)
        with open(os.path.join(corpus, "by-hand"), "w", encoding="utf-8"):
            pass
        self.said("fuzz_targets", "1", "fuzz_a")
        self.assertEqual(self.said("fuzz_keep"), ["ok      fuzz_a: what it found is kept"])
        shutil.rmtree(self.found)
        os.mkdir(self.found)
        self.assertEqual(self.said("fuzz_targets", "1", "fuzz_a"),
                         ["ok      fuzz_a: 100 executions in T, edges 21 to 22, none new for the last T"])
        self.assertEqual(sorted(os.listdir(os.path.join(self.found, "fuzz_a"))), ["0", "1"])
        self.assertRegex(self.said("fuzz_table")[-1], r"^\| `fuzz_a` \| 200 \| \d+ \| 20 \| 22 \| \d+ \|$")

    def test_a_crash_fails_with_its_words_and_the_others_go_on(self):
        self.target("fuzz_a")
        self.target("fuzz_b", status=1)
        said = self.said("fuzz_all", "1")
        self.assertTrue(any(line.startswith("ok      fuzz_a: ") for line in said), said)
        self.assertTrue(any(line.startswith("FAILED  fuzz_b: ") for line in said), said)
        self.assertIn("made.c:1: Assertion `0' failed.", said)              # mute while it fuzzed
        self.assertTrue(any(line.endswith("ERROR: libFuzzer: deadly signal") for line in said), said)
        self.assertFalse(any("NEW" in line for line in said), said)

    def test_hours_may_be_a_fraction(self):
        self.target("fuzz_a")
        began = time.monotonic()
        self.assertRegex(self.said("fuzz_hours", ".0003")[0], "^ok ")
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(self.said("fuzz_hours", "1h"), ["dev: --hours takes a number, as 8 or 0.5, not '1h'"])

    def test_seconds_are_whole(self):
        self.target("fuzz_a")
        for seconds in ("0", "0.1", "1m"):
            self.assertEqual(self.said("fuzz_all", seconds), [f"dev: fuzz takes whole seconds, as 60, not '{seconds}'"])

    def test_no_turn_for_a_target_that_had_an_hour_without_a_new_edge(self):
        self.target("fuzz_a")
        self.target("fuzz_b")
        self.turns("fuzz_a", "9 5000 5 6 3000", "9 600 6 6 600")
        self.assertEqual(self.said("fuzz_growing", "fuzz_a", "fuzz_b"), ["fuzz_b"])
        self.turns("fuzz_b", "9 5000 5 6 3599")
        self.turns("fuzz_a", "9 5000 5 6 3600")
        self.assertEqual(self.said("fuzz_growing", "fuzz_a", "fuzz_b"), ["fuzz_b"])
        self.turns("fuzz_b", "9 5000 5 6 3600")
        self.assertEqual(self.said("fuzz_hours", "1"), ["No target has found a new edge in its last hour."])

    def test_hours_of_named_targets(self):
        self.target("fuzz_a")
        self.target("fuzz_b")
        self.assertEqual(self.said("fuzz_hours", ".0003", "fuzz_b")[0].split()[:2], ["ok", "fuzz_b:"])
        self.assertFalse(self.has_begun("fuzz_a"))
        self.assertEqual(self.said("fuzz_hours", "1", "fuzz_c"),
                         ["dev: there is no fuzz target 'fuzz_c'; there are: fuzz_a fuzz_b"])

    def test_ctrl_c_ends_all_and_loses_nothing(self):
        names = [f"fuzz_{i}" for i in range(2 * len(os.sched_getaffinity(0)))]
        for name in names:
            self.target(name)
        dev = self.start("fuzz_hours", "1")
        while sum(self.has_begun(name) for name in names) < len(os.sched_getaffinity(0)):
            time.sleep(0.05)
        os.killpg(dev.pid, signal.SIGINT)
        text, _ = dev.communicate(timeout=60)
        for name in filter(self.has_begun, names):
            self.assertRegex(text, f"ok      {name}: 10 executions in [0-9]+ s, edges 20 to 21")
        self.assertEqual(text.count("ok "), len(os.sched_getaffinity(0)), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
