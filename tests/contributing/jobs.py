"""The jobs that CONTRIBUTING.md describes, each done once in the smallest real way, for tests/test_contributing.py.

A job names the files that it adds and the edits that it makes. An edit is a pattern that must match exactly once, and
its replacement (as re.sub takes them), so that it survives changes around it.
"""
import csv
import json
import subprocess


class Job:
    def __init__(self, heading, name, new, edits, targets, works):
        self.heading = heading      # in CONTRIBUTING.md, after "## "
        self.name = name            # what stands for <name> in its list
        self.new = new              # path in the tree: path below tests/contributing
        self.edits = edits          # [(path in the tree, pattern, replacement)]
        self.targets = targets      # what to build
        self.works = works          # called with (tree, build); raises if the new thing does not work


def output_of(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def policy_works(tree, build):
    """It is listed, passes the contract of all policies, and gets through an audited replay."""
    assert "\nkeep " in "\n" + output_of(build / "replay", "--list").replace("\n  ", "\n"), "--list does not name it"
    output_of(build / "tests/test_policies")
    output_of(build / "replay", tree / "samples/gpt-varlen-default.trace.zst", "--policy", "keep", "--audit")


def importer_works(tree, build):
    """It reads every log that RMM wrote: one request a row, except rows of no bytes."""
    logs = sorted((build / "tests/data/zoo/rmm-logs").glob("*.csv"))
    assert len(logs) == 12, f"{len(logs)} logs"
    for log in logs:
        with open(log, newline="") as rows:
            wanted = sum(row["Action"] == "allocate" and row["Size"] != "0" for row in csv.DictReader(rows))
        info = json.loads(output_of(build / "replay", "info", log, "--json", "-"))
        requests = info["events_by_kind"]["alloc"]
        assert info["meta"]["source"] == "pool-log", f"{log.name}: taken for {info['meta']['source']}"
        assert requests == wanted, f"{log.name}: {requests} requests, not {wanted}"
        output_of(build / "replay", log, "--policy", "none", "--on-oom", "skip", "--audit")


JOBS = [
    Job("Add a policy", "keep", {"policies/keep.c": "policy/keep.c"},
        [("policies/policies.def", r"\Z", "POLICY(keep)\n"),
         ("policies/CMakeLists.txt", r"\bnone\.c\b", "none.c keep.c")],
        ["replay", "test_policies"], policy_works),
    Job("Add an importer", "pool_log", {"import/import_pool_log.c": "importer/import_pool_log.c"},
        [("import/import.h", r"(extern const struct importer [^;]*);", r"\1, importer_pool_log;"),
         ("import/import.c", r"&importer_calls\b", "&importer_calls, &importer_pool_log"),
         ("import/CMakeLists.txt", r"\bimport_calls\.c\b", "import_calls.c import_pool_log.c")],
        ["replay"], importer_works),
]
