#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Runs programs that strangers published under `replay run-sim`, and compares with what they recorded on a card.

usage: run.py --sources FOLDER --torch FOLDER [--replay build/replay] [--keep FOLDER] [--list] [ROW ...]

FOLDER of --sources holds clones of the repositories as OWNER+NAME (or OWNER+NAME/repo); --torch holds the unpacked
wheels as VERSION, and in deps the packages that PyTorch needs beside it. Libraries of the rows come from PyPI by pip,
once, into --torch/libraries. Their code and recordings are read from the clones and nothing of them stays, unless
--keep names a folder. ROW is a name or a pattern ('niu-*').

Given for a row are PyTorch's release, the card or its compute capability, the operating system, the arguments, and the
edits of rows.py. Exit status: 0 if all requests and peaks are equal, 1 if not, 2 for wrong usage.
"""
import argparse
import fnmatch
import io
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time

import rows

TEXT = (".py", ".ipynb", ".toml", ".json", ".yaml", ".yml", ".txt", ".md", ".cfg")
REQUESTS = ("alloc", "free_requested", "free_completed")
FREES = REQUESTS[1:]
# Frames of Python only: naming those of C++ takes most of the time, and no allocation depends on it.
HISTORY = """import torch.cuda.memory as memory
def history(*arguments, start=memory._record_memory_history, **options):
    return start(*arguments, **{**options, "stacks": "python"})
memory._record_memory_history = history
"""


def git(repository, *arguments, **options):
    return subprocess.run(["git", "--git-dir", repository, *arguments], capture_output=True, **options)


def find_repository(sources, name):
    folder = os.path.join(sources, name.replace("/", "+"))
    for path in (folder + "/repo/.git", folder + "/.git", folder + "/repo", folder):
        if os.path.exists(os.path.join(path, "HEAD")):
            return path
    return None


def extract(repository, commit, folder):
    """Writes the text files of a commit. Files that the clone lacks are passed over."""
    listing = git(repository, "ls-tree", "-r", "-l", "-z", commit, check=True).stdout.decode()
    for record in filter(None, listing.split("\0")):
        meta, path = record.split("\t", 1)
        _, kind, blob, size = meta.split()
        if kind == "blob" and path.endswith(TEXT) and size.isdigit() and int(size) < 2_000_000:
            content = git(repository, "cat-file", "blob", blob)
            if content.returncode == 0:
                write(os.path.join(folder, path), content.stdout)


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)


class Plain(pickle.Unpickler):
    """Snapshots need no classes."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError("%s.%s" % (module, name))



class Recording:
    """A snapshot's records of device 0, and the most that was reserved."""

    def __init__(self, data):
        snapshot = Plain(io.BytesIO(data)).load()
        trace = snapshot["device_traces"][0]
        self.records = [(r["action"], r["size"]) for r in trace]
        self.requests = [r for r in self.records if r[0] in REQUESTS]
        reserved = sum(s["total_size"] for s in snapshot["segments"] if s["device"] == 0)
        signs = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
        change = [signs.get(action, 0) * size for action, size in self.records]
        self.peak = reserved = reserved - sum(change)
        for bytes_ in change:
            reserved += bytes_
            self.peak = max(self.peak, reserved)


def frees_sorted(records):
    """Frees that follow one another, by size: torch.autocast drops its cache in the order of host addresses."""
    out, run = [], []
    for record in records:
        if record[0] in FREES:
            run.append(record)
        else:
            out += sorted(run) + [record]
            run = []
    return out + sorted(run)


def agreement(real, simulated):
    if real == simulated:
        return "all"
    if frees_sorted(real) == frees_sorted(simulated):
        return "all but the order of frees"
    n = 0
    while n < min(len(real), len(simulated)) and real[n] == simulated[n]:
        n += 1
    return "%s of %s" % (format(n, ","), format(len(real), ","))


def libraries(o, version):
    folder = os.path.join(o.torch, "libraries", version)
    if not os.path.isdir(folder):
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder + ".part",
                        *rows.LIBRARIES[version]], check=True)
        os.rename(folder + ".part", folder)
    return folder


def find_torch(o, version):
    for name in (version, "x" + version):
        if os.path.isdir(os.path.join(o.torch, name, "torch")):
            return os.path.join(o.torch, name)
    sys.exit("run.py: %s: no PyTorch %s is unpacked there" % (o.torch, version))


def prepare(row, repository, source):
    extract(repository, row["commit"], source)
    for path, text in row.get("write", {}).items():
        write(os.path.join(source, path), text.encode())
    for path, pattern, replacement in row.get("edits", []):
        with open(os.path.join(source, path)) as f:
            text, n = re.subn(pattern, replacement, f.read())
        if n == 0:
            raise ValueError("%s: nothing matches %s" % (path, pattern))
        write(os.path.join(source, path), text.encode())
    folder = os.path.join(source, row.get("folder", "."))
    for name in row.get("folders", []):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    return folder


def run_program(o, row, source, folder):
    """Runs it; returns what it and run-sim printed."""
    paths = [find_torch(o, row["torch"])] + [os.path.join(source, p) for p in row.get("path", ["."])]
    paths += [libraries(o, row["torch"]), os.path.join(o.torch, "deps")]
    environment = {**os.environ, **row.get("environment", {}), "PYTHONPATH": ":".join(paths),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("CUBLAS_WORKSPACE_CONFIG", None)
    start = "%s%s\nimport runpy, sys\nsys.argv = %r\nrunpy.run_path(%r, run_name='__main__')" % (
        HISTORY, row.get("before", ""), row["argv"], row["argv"][0])
    done = subprocess.run([o.replay, "run-sim", "--device", row["device"], "--", sys.executable, "-c", start],
                          cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
    return done.stdout + done.stderr


def compare(row, repository, folder, printed):
    """One line of the table for each recording; yields (line, whether requests and peak are equal)."""
    lists = lambda x: x if isinstance(x, list) else [x]
    for label, out, blob in zip(row.get("labels", [""]), lists(row["out"]), lists(row["recording"])):
        name, path = row["name"] + label, os.path.join(folder, out)
        recorded = git(repository, "cat-file", "blob", blob)
        if recorded.returncode != 0:
            yield "| %s | the recording %s is not in the clone |" % (name, blob), False
        elif not os.path.exists(path):
            error = [line for line in printed.splitlines() if "Error" in line] or [printed[-200:]]
            yield "| %s | failed: %s |" % (name, error[-1].strip()[:200]), False
        else:
            with open(path, "rb") as f:
                simulated = Recording(f.read())
            real = Recording(recorded.stdout)
            requests = agreement(real.requests, simulated.requests)
            yield "| %s | %s | %s | %s | %s | %s | %+d |" % (
                name, format(len(real.records), ","), agreement(real.records, simulated.records), requests,
                format(real.peak, ","), format(simulated.peak, ","), simulated.peak - real.peak,
            ), requests.startswith("all") and real.peak == simulated.peak


def run(o, row, work):
    repository = find_repository(o.sources, row["repository"])
    if repository is None:
        yield "| %s | %s is not in %s |" % (row["name"], row["repository"], o.sources), False
        return
    source = os.path.join(work, row["name"])
    try:
        folder = prepare(row, repository, source)
        printed = run_program(o, row, source, folder)
        if o.keep:
            write(os.path.join(work, row["name"] + ".log"), printed.encode())
        yield from compare(row, repository, folder, printed)
    finally:
        if not o.keep:
            shutil.rmtree(source, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--sources")
    parser.add_argument("--torch")
    parser.add_argument("--replay", default="build/replay")
    parser.add_argument("--keep")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("rows", nargs="*", default=["*"])
    o = parser.parse_args()
    chosen = [r for r in rows.ROWS if any(fnmatch.fnmatch(r["name"], p) for p in o.rows)]
    if o.list:
        for r in chosen:
            print(r["name"], r["repository"], r["commit"], "torch", r["torch"], "on", r["device"], " ".join(r["argv"]))
        return
    if o.sources is None or o.torch is None or not chosen:
        parser.error("--sources and --torch are needed, and a row")
    o.sources, o.torch, o.replay = (os.path.abspath(p) for p in (o.sources, o.torch, o.replay))
    work = os.path.abspath(o.keep) if o.keep else tempfile.mkdtemp(prefix="replay-programs-")
    os.makedirs(work, exist_ok=True)
    n = n_equal = 0
    print("| row | records | equal | requests equal | peak reserved, recorded | run-sim | difference |\n|" + "---|" * 7)
    for row in chosen:
        began = time.time()
        for line, is_equal in run(o, row, work):
            n += 1
            n_equal += is_equal
            print(line, flush=True)
        print("%s: %.0f s" % (row["name"], time.time() - began), file=sys.stderr)
    print("\n%d of %d recordings equal in all requests and in peak reserved" % (n_equal, n))
    if not o.keep:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(n_equal < n)


if __name__ == "__main__":
    main()
