# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What memray captured of a program comes out as replay's requests: memray's own peak, to the byte."""
import subprocess
import sys

import pytest
import vramreplay

memray = pytest.importorskip("memray", reason="memray is not installed")

PROGRAM = """
import json, mmap
held = [bytearray(1000 * i) for i in range(1, 400)]
del held[::3]
numbers = json.loads("[" + ",".join(str(i) for i in range(100000)) + "]")
page = mmap.mmap(-1, 1 << 22)
page.close()
grown = bytearray()
for i in range(20000):
    grown += b"x" * 97
held += [bytearray(5000) for _ in range(100)]
"""


def capture(folder, *options):
    program = folder / "program.py"
    program.write_text(PROGRAM)
    path = folder / "capture.bin"
    subprocess.run([sys.executable, "-m", "memray", "run", "-q", *options, "--output", str(path), str(program)],
                   check=True)
    return path


def convert(path, out):
    return subprocess.run([sys.executable, "-m", "vramreplay.memray", str(path), str(out)], capture_output=True,
                          text=True, check=False)


def test_the_peak_is_the_one_that_memray_saw(tmp_path):
    path, out = capture(tmp_path), tmp_path / "requests.csv"
    done = convert(path, out)
    assert done.returncode == 0, done.stderr
    seen = memray.FileReader(path).metadata
    info = vramreplay.info(str(out))
    assert info.peak_requested_bytes == seen.peak_memory > 79e6
    assert info.events > 1000 and f"{info.events} requests and ends" in done.stdout


def test_memory_that_is_not_given_back_is_live_at_the_end(tmp_path):
    out = tmp_path / "requests.csv"
    convert(capture(tmp_path), out)
    live = {}
    for op, ptr, size in (line.split(",") for line in out.read_text().splitlines()[1:]):
        if op == "alloc":
            assert ptr not in live
            live[ptr] = int(size)
        else:
            live.pop(ptr)
    leaked = memray.FileReader(tmp_path / "capture.bin").get_leaked_allocation_records()
    assert sum(live.values()) == sum(record.size for record in leaked) > 0


def test_no_file_of_others_is_touched(tmp_path):
    path = capture(tmp_path)
    path.write_bytes(b"no capture")
    (tmp_path / "requests.csv.part").write_text("kept")
    assert convert(path, tmp_path / "requests.csv").returncode == 2
    assert (tmp_path / "requests.csv.part").read_text() == "kept"


@pytest.mark.parametrize("options, reason", [(["--aggregate"], "without --aggregate"), (None, "does not look like")])
def test_what_cannot_be_read_is_refused_and_leaves_no_file(options, reason, tmp_path):
    path = capture(tmp_path, *(options or []))
    if options is None:
        path.write_bytes(b"no capture")
    done = convert(path, tmp_path / "requests.csv")
    assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.glob("requests.csv*"))
