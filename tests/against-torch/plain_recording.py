# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Recordings to be kept: as traces, without the paths of the machine that made them."""
import pathlib
import pickle
import subprocess


def keep(replay, recording, trace):
    """Turns a snapshot into a trace in which the program lies in /home/ada, and libraries where Debian has them."""
    snapshot = pickle.loads(recording.read_bytes())
    frames = {id(f): f for history in snapshot["device_traces"] for record in history for f in record.get("frames", ())}
    for frame in frames.values():
        _, part, inside = frame["filename"].rpartition("/site-packages/")
        frame["filename"] = ("/usr/lib/python3/dist-packages/" if part else "/home/ada/") + (
            inside if part else pathlib.Path(inside).name)
    recording.write_bytes(pickle.dumps(snapshot))
    subprocess.run([replay, "import", recording.name, "-o", str(trace)], check=True, cwd=recording.parent)
