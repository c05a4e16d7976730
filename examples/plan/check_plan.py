#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Checks a plan of `replay plan FILE -o PLAN.csv --json PROOF.json` without any code of replay: no two requests
overlap, the plan is as high as it says, and nothing fits below the lower bound.   check_plan.py PLAN.csv PROOF.json"""
import csv
import json
import sys
from collections import namedtuple

sys.setrecursionlimit(10000)
Request = namedtuple("Request", "lower upper size offset")


def fits(left, low, height, least):
    """Whether the requests `left` fit below `height`. Any plan can be built in order of offsets, each request as low as
    those before it allow (`low`); so no other plans are tried. `least`: the offset of the one before."""
    if not left:
        return True
    for moment in {r.lower for r in left}:               # what still has to lie above
        at = [r for r in left if r.lower <= moment < r.upper]
        if max(least, min(low[r] for r in at)) + sum(r.size for r in at) > height:
            return False
    for r in sorted(left, key=low.get):
        if low[r] < least or low[r] >= min(low[o] + o.size for o in left):
            continue                                     # out of order, or a gap that another request fits into
        rest = [o for o in left if o is not r]
        over = {o: max(low[o], low[r] + r.size) if o.lower < r.upper and r.lower < o.upper else low[o] for o in rest}
        if fits(rest, over, height, low[r]):
            return True
    return False


with open(sys.argv[1], newline="") as f:
    rows = list(csv.DictReader(f))
assert len({row["id"] for row in rows}) == len(rows), "two requests have one id"
plan = [Request(*(int(row[k]) for k in Request._fields)) for row in rows]
with open(sys.argv[2]) as f:
    figures = json.load(f)

live = []
for r in sorted(plan):                                   # in order of time: who is live when r begins?
    live = [o for o in live if o.upper > r.lower]
    for o in live:
        assert r.offset >= o.offset + o.size or o.offset >= r.offset + r.size, f"{r} overlaps {o}"
    live.append(r)
    assert r.offset % figures["align_bytes"] == 0 and r.size % figures["align_bytes"] == 0, f"{r} is not aligned"
assert max((r.offset + r.size for r in plan), default=0) == figures["plan_bytes"], \
    "the plan has another height"

proof, bound = [plan[i] for i in figures["proof"]["requests"]], figures["lower_bound_bytes"]
if figures["proof"]["kind"] == "live":
    assert max((r.lower for r in proof), default=0) < min((r.upper for r in proof), default=1), "not live at once"
    assert sum(r.size for r in proof) == bound, "the live requests are not the bound"
else:
    proof = [r._replace(offset=i) for i, r in enumerate(proof)]                      # equal ones become different
    assert not fits(proof, dict.fromkeys(proof, 0), bound - figures["align_bytes"], 0), "there is a lower plan"
print(f"checked: {len(plan)} requests in {figures['plan_bytes']} bytes; none fit below {bound}")
