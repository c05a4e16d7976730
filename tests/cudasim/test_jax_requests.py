#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How a recording of JAX's requests says how it ended (cudasim/python/replay_jax.py), without JAX.

    test_jax_requests.py REPLAY BUILD SOURCE

A program with a stand-in for JAX's profiler ends in each way that there is. PID.xplane.pb is a whole recording,
PID.cut.xplane.pb one whose program would have gone on."""
import os
import pathlib
import subprocess
import sys
import tempfile

HOOKS = pathlib.Path(sys.argv[3]) / "cudasim" / "python"
START = """
import os, signal, sys, types
sys.path.insert(0, %r)
import replay_jax
class Session:
    def __init__(self, options): pass
    def stop(self): return b"a profile"
profiler = types.ModuleType("jax._src.profiler")
profiler.ProfileOptions = types.SimpleNamespace
profiler._profiler = types.SimpleNamespace(ProfilerSession=Session)
sys.modules["jax._src.profiler"] = profiler
plugin = types.SimpleNamespace(initialize=lambda: None)
replay_jax.record(plugin, lambda first, then: lambda *args: (first(), then(*args)))
plugin.initialize()
""" % str(HOOKS)
ENDS = [
    ("pass", False, "at its end"),
    ("sys.exit(3)", False, "at an exit with a status"),
    ("os._exit(0)", False, "at an exit that runs nothing else"),
    ("raise ValueError('a mistake')", False, "in an error of its own"),
    ("raise RuntimeError('RESOURCE_EXHAUSTED: Out of memory')", True, "where memory was refused"),
    ("os.kill(os.getpid(), signal.SIGTERM); signal.pause()", True, "by a signal"),
    ("os.kill(os.getpid(), signal.SIGINT); signal.pause()", True, "by an interrupt"),
    ("profiler._profiler.ProfilerSession(None)", True, "where a profile of its own begins"),
]
failures = 0
for program, is_cut, what in ENDS:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", START + program], capture_output=True, timeout=60,
                       env=dict(os.environ, REPLAY_TORCH_RECORD=folder))
        found = [name.partition(".")[2] for name in os.listdir(folder)]
        if found != ["cut.xplane.pb" if is_cut else "xplane.pb"]:
            failures += 1
            print("FAILED: a recording that ends %s: %s" % (what, found), file=sys.stderr)

# XLA's profiler ends a program whose parts of JAX are of different releases: none is begun, and the versions are named.
for versions, is_mixed in (("0.11.2", "0.11.2"), False), (("0.12.0", "0.12.0.1"), False), (("0.10.2", "0.12.0"), True):
    with tempfile.TemporaryDirectory() as folder:
        for part, version in zip(("jaxlib", "jax-cuda13-pjrt"), versions):
            info = pathlib.Path(folder) / ("%s-%s.dist-info" % (part.replace("-", "_"), version))
            info.mkdir()
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (part, version))
        said = subprocess.run([sys.executable, "-c", START + "replay_jax.say_mixed(%r)" % folder], capture_output=True,
                              text=True, timeout=60, env=dict(os.environ, REPLAY_TORCH_RECORD=folder,
                                                              PYTHONPATH=folder))
        made = {name.partition(".")[2] or name for name in os.listdir(folder) if "dist-info" not in name}
        named = "jaxlib %s, jax-cuda13-pjrt %s" % versions
        if made != ({"jax-mixed"} if is_mixed else {"xplane.pb"}) or is_mixed != (named in said.stderr):
            failures += 1
            print("FAILED: of %s: %s, %s" % (named, made, said.stderr), file=sys.stderr)

# What guards an error holds, though no kernel computed it.
CHECKS = """
import sys, types
sys.path.insert(0, %r)
import replay_jax
class Array:
    def __init__(self, value, platform="gpu"): self.value, self.platform = value, platform
    def __bool__(self): return self.value
    def devices(self): return [self]
replay_jax.pass_checks(Array)
no, on_host = Array(False), Array(False, "cpu")
def checked():
    if not no: raise ValueError("what JAX computes is taken to be wrong")
    assert no
    assert not no
    if no: raise ValueError("or right where that is an error")
    return "branch" if no else "no branch"
if checked() != "no branch":
    sys.exit("what guards no error stays as it was read")
try:
    assert on_host
    sys.exit("what the host has is known")
except AssertionError:
    pass
""" % str(HOOKS)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checks.py")
    pathlib.Path(path).write_text(CHECKS)
    said = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    if said.returncode != 0:
        failures += 1
        print("FAILED: checks: %s" % said.stderr, file=sys.stderr)
print("%d failures" % failures)
sys.exit(1 if failures else 0)
