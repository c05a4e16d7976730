# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The jobs that CONTRIBUTING.md describes, each done once in the smallest real way, for test_contributing.py.

A job names the files that it adds and the edits that it makes. An edit is a pattern and its replacement, as re.sub
takes them, so that it survives changes around it. The pattern must match exactly once, or at least once if the edit
ends in EVERY.
"""
import contextlib
import csv
import json
import sqlite3
import subprocess

EVERY = "every"


class Job:
    def __init__(self, heading, name, new, edits, targets, works):
        self.heading = heading      # in CONTRIBUTING.md, after "## "
        self.name = name            # what stands for <name> in its list
        self.new = new              # path in the tree: path below tests/contributing
        self.edits = edits          # [(path in the tree, pattern, replacement[, EVERY])]
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
    output_of(build / "tests/policies/test_policies")
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


def column_works(tree, build):
    """It stands in JSON, CSV and database, and the tests that compare these agree."""
    sample, work = tree / "samples/cnn.trace.zst", build / "column"
    work.mkdir(exist_ok=True)
    output_of(build / "replay", sample, "--policy", "best-fit", "--json", work / "a.json", "--csv", work / "a.csv")
    hits = json.loads((work / "a.json").read_text())["runs"][0]["hits"]
    with open(work / "a.csv", newline="") as rows:
        assert next(csv.DictReader(rows))["hits"] == str(hits) != "0", "JSON and CSV differ"
    output_of(build / "replay", "sweep", sample, "--policy", "best-fit", "-o", work / "a.db")
    with contextlib.closing(sqlite3.connect(work / "a.db")) as db:
        assert db.execute("SELECT hits FROM runs").fetchall() == [(hits,)], "the database has another figure"
    output_of(build / "tests/engine/test_results_agree")


def release_works(tree, build):
    """A made-up 2.16 behaves as 2.15, except that it has one option more."""
    sample = tree / "samples/gpt-varlen-default.trace.zst"

    def figures(policy):
        (line,) = [text for text in output_of(build / "replay", sample, "--policy", policy, "--csv", "-").splitlines()
                   if policy in text]
        return line.replace(policy, "")

    def conf_status(release):
        return subprocess.run([build / "replay", "conf", "pinned_made_up:True", "--version", release],
                              capture_output=True).returncode

    assert figures("pytorch:version=2.16") == figures("pytorch:version=2.15")
    assert (conf_status("2.15"), conf_status("2.16")) == (1, 0), "the option is not that of 2.16 alone"


def subcommand_works(tree, build):
    """It runs, and help and exit statuses come by themselves."""
    sample = tree / "samples/cnn.trace.zst"
    info = json.loads(output_of(build / "replay", "info", sample, "--json", "-"))
    assert output_of(build / "replay", "peak", sample) == f"{info['peak_requested_bytes']} bytes\n"
    assert "peak FILE" in output_of(build / "replay", "peak", "--help")
    assert "peak FILE" in output_of(build / "replay", "--help", "all")
    assert subprocess.run([build / "replay", "peak"], capture_output=True).returncode == 2


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
    Job("Add a report column", "hits", {},
        [("report/rows/result_columns.def", r"(?m)^RUN_COLUMN\(retries,",
          'RUN_COLUMN(hits, "hits", "number", number(run->count->hits), NONE, "", NULL, '
          '"requests served from the cache")\n'
          r"\g<0>")],
        ["replay", "test_results_agree"], column_works),
    Job("Add a PyTorch release", "2.16", {},
        [("base/torch_releases.def", r"(?m)^TORCH_RELEASE\(2, 15\)\n", r"\g<0>TORCH_RELEASE(2, 16)\n"),
         ("policies/pytorch/pytorch_rules.def", r"(?m)^OPTION\(pinned_max_cached_size_mb,",
          r"OPTION(pinned_made_up, 2_16, CONF_CUDA, conf_host_switch, CONF_HOST)\n\g<0>")],
        ["replay"], release_works),
    Job("Add a sub-command", "peak", {"replay/program/cmd_peak.c": "subcommand/cmd_peak.c"},
        [("replay/program/commands.def", r"(?m)^COMMAND\(info\)\n", r"\g<0>COMMAND(peak)\n"),
         ("replay/program/CMakeLists.txt", r"\bcmd_info\.c\b", "cmd_info.c cmd_peak.c")],
        ["replay"], subcommand_works),
]
