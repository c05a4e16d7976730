# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""`replay plan` with OR-Tools' CP-SAT behind it, where that is installed.

    pip install ortools
    python -m vramreplay.cp_sat recording.zst -o plan.csv --seconds 60

The program's own search goes first. If a gap is left between its plan and its bound, CP-SAT gets the requests, the plan
and the bound. A lower plan of CP-SAT's is written only if no two of its requests overlap, which is checked here. That
nothing is lower than its bound is CP-SAT's word; the program's own bound comes with a proof (`replay plan --json`).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import sys
import tempfile
from typing import NamedTuple

from .running import run


class Request(NamedTuple):
    """A row of a plan, with its times as they are."""

    id: str
    lower: int
    upper: int
    size: int
    offset: int


class Planned(NamedTuple):
    """A plan: at least lower_bound_bytes are needed, plan_bytes are enough."""

    lower_bound_bytes: int
    plan_bytes: int
    bound_by: str                               # "replay" (proved by its own search), or "cp-sat"
    plan_by: str
    requests: list[Request]


def height(requests: list[Request]) -> int:
    """The end of the highest request. ValueError if two overlap."""
    live: list[Request] = []
    for one in sorted(requests, key=lambda r: (r.lower, r.upper)):
        live = [other for other in live if other.upper > one.lower]
        for other in live:
            if one.offset < other.offset + other.size and other.offset < one.offset + one.size:
                raise ValueError(f"requests {one.id} and {other.id} overlap")
        live.append(one)
    return max((r.offset + r.size for r in requests), default=0)


def ask(requests: list[Request], lower: int, align: int, seconds: float) -> tuple[int, list[Request]]:
    """CP-SAT's lower bound and the best plan that it knows, which is the given one at worst."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    known = height(requests)
    top = model.new_int_var(lower // align, known // align, "height")
    lives, places, offsets = [], [], []
    for r in requests:
        offset = model.new_int_var(0, (known - r.size) // align, "")
        lives.append(model.new_fixed_size_interval_var(r.lower, r.upper - r.lower, ""))
        places.append(model.new_fixed_size_interval_var(offset, r.size // align, ""))
        model.add(offset + r.size // align <= top)
        model.add_hint(offset, r.offset // align)
        offsets.append(offset)
    model.add_no_overlap_2d(lives, places)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return lower, requests
    placed = [r._replace(offset=solver.value(offset) * align) for r, offset in zip(requests, offsets)]
    return max(lower, round(solver.best_objective_bound) * align), placed


def plan(source: str | os.PathLike[str], *options: str, seconds: float = 60) -> Planned:
    """The best plan of the program's own search and CP-SAT's. `options` are those of `replay plan`. ImportError if
    a gap is left and OR-Tools is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        table, said = os.path.join(folder, "plan.csv"), os.path.join(folder, "plan.json")
        run(["plan", os.fspath(source), *options, "-o", table, "--json", said], [os.fspath(source)])
        figures = json.loads(pathlib.Path(said).read_text(encoding="utf-8"))
        with open(table, newline="", encoding="utf-8") as rows:
            requests = [Request(row["id"], *(int(row[k]) for k in Request._fields[1:])) for row in csv.DictReader(rows)]
    lower, own = figures["lower_bound_bytes"], figures["plan_bytes"]
    if lower == own:
        return Planned(lower, own, "replay", "replay", requests)
    bound, placed = ask(requests, lower, figures["align_bytes"], seconds)
    found = height(placed)
    if not lower <= bound <= found:
        raise ValueError(f"CP-SAT contradicts itself: nothing below {bound}, and a plan of {found} bytes")
    return Planned(bound, min(found, own), "cp-sat" if bound > lower else "replay",
                   "cp-sat" if found < own else "replay", placed if found < own else requests)


def main() -> int:
    """`python -m vramreplay.cp_sat`."""
    words = argparse.ArgumentParser(prog="python -m vramreplay.cp_sat", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("source", help="a recording, or an instance of minimalloc")
    words.add_argument("-o", "--out", help="write the plan as CSV, as `replay plan` does")
    words.add_argument("--seconds", type=float, default=60, help="how long CP-SAT may search (default: 60)")
    words.add_argument("--effort", default="10", help="as of `replay plan`, for the search that goes first")
    asked = words.parse_args()
    try:
        found = plan(asked.source, "--effort", asked.effort, seconds=asked.seconds)
    except ImportError:
        sys.stderr.write("needs OR-Tools: pip install ortools\n")
        return 2
    print(f"plan {found.plan_bytes} bytes, found by {found.plan_by}; "
          f"nothing is below {found.lower_bound_bytes} bytes, says {found.bound_by}")
    if asked.out:
        with open(asked.out, "w", newline="", encoding="utf-8") as out:
            table = csv.writer(out, lineterminator="\n")
            table.writerow(Request._fields)
            table.writerows(found.requests)
    return 0


if __name__ == "__main__":
    sys.exit(main())
