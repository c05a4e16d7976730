#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How fast files of other tools are read, and in how much memory: the tables of bench/formats.md.

    bench/formats.py build/replay [--gigabytes 10] [--python ENVIRONMENT/bin/python] [--write]

Each format is made at two sizes, so that memory which grows with the file shows. Beside ours: what a person would load
the smaller file with, as far as the Python has it (pip install torch-tb-profiler HolisticTraceAnalysis pandas pyarrow).
Files lie in TMPDIR and are removed.
"""
import argparse
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
JSON = ("json.load", "import json, sys; json.load(open(sys.argv[1]))")
READERS = {                              # a name, and a program; the name of a package's is the package
    "json": [JSON],
    "profiler": [
        JSON,
        ("torch-tb-profiler", "import sys, tempfile\nfrom torch_tb_profiler.profiler.data import RunProfileData\n"
                              "RunProfileData.parse('w', '1', sys.argv[1], tempfile.mkdtemp())"),
        ("HolisticTraceAnalysis", "import sys\nfrom hta.common.trace_parser import parse_trace_dataframe\n"
                                  "from hta.configs.parser_config import ParserConfig\n"
                                  "parse_trace_dataframe(sys.argv[1], ParserConfig.get_default_cfg())"),
    ],
    "csv": [
        ("csv.reader", "import csv, sys\nfor row in csv.reader(open(sys.argv[1])): pass"),
        ("pandas", "import pandas, sys; pandas.read_csv(sys.argv[1])"),
        ("pyarrow", "import pyarrow.csv, sys; pyarrow.csv.read_csv(sys.argv[1])"),
    ],
    "sqlite": [
        ("sqlite3", "import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute("
                    "'SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start'): pass"),
    ],
}


def requests(n_live):
    """Requests without end: (time in ns, slot, bytes, is an end); n_live are live at most."""
    sizes, at = [0] * n_live, 1
    seed = 88172645463325252
    while True:
        seed ^= seed << 13 & 0xFFFFFFFFFFFFFFFF
        seed ^= seed >> 7
        seed ^= seed << 17 & 0xFFFFFFFFFFFFFFFF
        slot, at = seed % n_live, at + 1000
        is_end = sizes[slot] > 0
        size = sizes[slot] if is_end else 512 * (1 + (seed >> 32) % 8192)
        sizes[slot] = 0 if is_end else size
        yield at, slot, size, is_end


def write_until(path, size, head, line, tail):
    """Write lines until the file has `size` bytes; return how many."""
    n, live = 0, 0
    with open(path, "w", buffering=MIB) as out:
        written = out.write(head)
        for at, slot, size_of, is_end in requests(5000):
            live += -size_of if is_end else size_of
            written += out.write(line(n, at, slot, size_of, is_end, live))
            n += 1
            if written >= size:
                break
        out.write(tail)
    return n


def make_profiler(path, size):
    def line(n, at, slot, bytes_, is_end, live):
        time_us = "%d.%03d" % (at // 1000, at % 1000)
        call = ('{"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": %s, "dur": 1}' % time_us)
        return (',\n' if n else '') + call + (
            ',\n{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": %s, "args": {"Device Type": 1, '
            '"Device Id": 0, "Addr": %d, "Bytes": %d, "Total Allocated": %d, "Total Reserved": %d}}') % (
                time_us, (1 << 40) + slot * (1 << 24), -bytes_ if is_end else bytes_, live, 1 << 36)
    return write_until(path, size, '{"schemaVersion": 1, "traceEvents": [\n', line, "\n]}\n")


def make_timeline(path, size):
    def line(n, at, _slot, bytes_, is_end, _live):
        return "%s[%d, %d, %d, %d]" % (", " if n else "", at, 4 if is_end else 2, -bytes_ if is_end else bytes_, 7)
    return write_until(path, size, "[", line, "]")


def make_csv(path, size):
    def line(_n, at, slot, bytes_, is_end, _live):
        return "%d,%s,0x%x,%d,0\n" % (at, "free" if is_end else "alloc", (1 << 40) + slot * (1 << 24), bytes_)
    return write_until(path, size, "time,op,ptr,size,stream\n", line, "")


def make_nsys(path, size):
    db = sqlite3.connect(path)
    columns = ("start", "globalPid", "deviceId", "contextId", "address", "bytes", "memKind", "memoryOperationType",
               "correlationId", "streamId")
    db.execute(f"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS ({', '.join(c + ' INTEGER' for c in columns)})")
    n, rows = size // 45, requests(5000)
    db.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?,1,0,1,?,?,2,?,1,7)",
                   ((at, (1 << 40) + slot * (1 << 24), bytes_, int(is_end))
                    for at, slot, bytes_, is_end in (next(rows) for _ in range(n))))
    db.commit()
    db.close()
    return n


FORMATS = [("torch.profiler, JSON", make_profiler, "profiler"), ("memory timeline, JSON", make_timeline, "json"),
           ("requests as CSV", make_csv, "csv"), ("nsys, SQLite", make_nsys, "sqlite")]


def measure(command, **options):
    """Seconds of CPU time, and the most memory in MiB, of a command that must succeed."""
    process = subprocess.Popen(command, **options)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"formats: {command} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def version_of(python, package):
    """The version of a package, "" for what is Python's own; None if it is not there."""
    if package in ("json.load", "csv.reader", "sqlite3"):
        return ""
    done = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def row(name, path, n, seconds, memory):
    size = os.path.getsize(path)
    return f"| {name} | {size / 1e9:.2f} GB, {n:,} | {size / 1e6 / seconds:,.0f} | {memory:,.0f} |"


def beside(o, kind, name, path, n):
    """Rows for the readers that a person would use."""
    for reader, program in READERS[kind]:
        version = version_of(o.python, reader)
        if version is not None:
            used = measure([o.python, "-c", program, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            yield row(f"{name}, by `{reader}` {version}".rstrip(), path, n, *used)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("replay")
    parser.add_argument("--gigabytes", type=float, default=10, help="size of the largest profile (default: 10)")
    parser.add_argument("--others", type=float, default=2.5, help="size of the largest file of the other formats")
    parser.add_argument("--beside", type=float, default=0.2, help="size of the file that other readers load, in GB")
    parser.add_argument("--python", default=sys.executable, help="a Python that has other readers")
    parser.add_argument("--write", action="store_true", help="write bench/formats.md")
    o = parser.parse_args()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, make, kind in FORMATS:
            for gigabytes in (o.beside, o.gigabytes if make is make_profiler else o.others):
                path = os.path.join(folder, "file.json")
                n = make(path, int(gigabytes * 1e9))
                command = [o.replay, "import", path, "-o", os.path.join(folder, "out.zst")]
                ours.append(row(name, path, n, *measure(command)))
                print(ours[-1], flush=True)
                for line in beside(o, kind, name, path, n) if gigabytes == o.beside else []:
                    theirs.append(line)
                    print(line, flush=True)
                os.remove(path)
    if o.write:
        write_page(ours, theirs)


def write_page(ours, theirs):
    page = pathlib.Path(__file__).with_name("formats.md")
    today = time.strftime("%Y-%m-%d")
    head = ["| file | size, events | MB a second | MiB of memory |", "|---|---|---|---|"]
    page.write_text("\n".join([
        "# Files of other tools, measured", "",
        f"Written by `bench/formats.py build/replay --write` on {today}. Each file was made for this,",
        "at two sizes, so that memory which grows with the file shows. Speeds are by CPU time; on a busy machine they",
        "are lower bounds. `replay import` also checks the file, puts it in order of time and writes a native trace.",
        "", *head, *ours, "",
        "What a person would load the smaller file with, in Python. Most hold the whole file, so that their memory",
        "grows with it.", "",
        *head, *theirs, ""]))


if __name__ == "__main__":
    main()
