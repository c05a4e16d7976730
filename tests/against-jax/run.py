#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""JAX as it comes from PyPI under `replay run-sim`, without a GPU and with no variable set.

    tests/against-jax/run.py [--replay build/replay] [--python PYTHON] [NAME...]

PYTHON has jax, jaxlib, a plugin for CUDA and its -pjrt (pip install --no-deps, about 300 MB), flax, optax, equinox.
Each program of programs.py runs twice. It must end by itself, use the card, and hold the same in both runs. The first
run is recorded, the second is not: the recording must have as many requests as JAX counted, and its peak. Prints a row
of a table for each. Exit status: 0 all ended and were equal, 1 not, 2 no such JAX.
"""
import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs.py")
HAS_PLUGIN = ("import importlib.util as u; raise SystemExit(not (u.find_spec('jax') and "
              "(u.find_spec('jax_cuda13_plugin') or u.find_spec('jax_cuda12_plugin'))))")


def programs():
    """Names and what they do, without importing JAX."""
    with open(PROGRAMS) as f:
        tree = ast.parse(f.read())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name: ast.get_docstring(f) for f in functions
            if any(getattr(d, "id", "") == "program" for d in f.decorator_list)}


def cards(name):
    return {"two_cards": 2, "four_cards": 4}.get(name, 1)


def run(replay, python, name, record=()):
    card = "sim:24GiB,count=%d" % cards(name) if cards(name) > 1 else "24GiB"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("XLA_", "JAX_"))}
    ran = subprocess.run([replay, "run-sim", "--device", card, *record, "--", python, PROGRAMS, name], env=env,
                         capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if ran.returncode != 0 or not lines or "null" in lines[-1]:
        sys.stderr.write(ran.stderr)
        return None
    return lines


def is_recorded(replay, name, path, last):
    """Whether the first card's recording has what JAX counted there."""
    path = path if cards(name) == 1 else path.replace(".zst", ".gpu0.zst")
    said = subprocess.run([replay, "info", path, "--json", "-"], capture_output=True, text=True)
    if said.returncode != 0:
        return False
    info, counted = json.loads(said.stdout), json.loads(last)
    recorded = info["events_by_kind"]["alloc"], info["recorded"]["peak_allocated_bytes"]
    return recorded == (counted["num_allocs"], counted["peak_bytes_in_use"])


def row(replay, python, name, what):
    """Whether both runs ended and held the same, and the first one's recording has all of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.zst")
        first = run(replay, python, name, ("-o", path))
        is_whole = first is not None and is_recorded(replay, name, path, first[-1])
    second = run(replay, python, name) if first else None
    said = "stops" if not first or not second else "differs: %s, %s" % (first[-1], second[-1]) if first != second else \
        "equal" if is_whole else "equal, but its recording is not whole"
    peak = "{:,}".format(json.loads(first[-1])["peak_bytes_in_use"]) if first else "-"
    print("| %s | %s | %s | %s |" % (name, what.rstrip("."), peak, said), flush=True)
    return said == "equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replay", default=os.path.join(HERE, "..", "..", "build", "replay"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if subprocess.run([args.python, "-c", HAS_PLUGIN]).returncode != 0:
        print("against-jax: %s has no jax with a plugin for CUDA: pip install jax jaxlib flax optax equinox, and "
              "pip install --no-deps jax-cuda13-plugin jax-cuda13-pjrt" % args.python, file=sys.stderr)
        return 2
    known = programs()
    results = [row(args.replay, args.python, name, known[name]) for name in args.names or known]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
