# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A plan with CP-SAT behind the program's own search: right, and never above the program's own."""
import csv
import random
import subprocess
import sys

import pytest
import vramreplay
from vramreplay import cp_sat

ODD = "id,lower,upper,size\na,0,2,47\nb,0,5,12\nc,1,3,38\nd,2,6,44\ne,3,8,29\nf,3,4,15\ng,5,7,25\nh,7,8,46\n"


def tight(seed, n=90, live=1000):
    """An instance that is full at every moment: what ends is replaced by other pieces of the same sum."""
    chance = random.Random(seed)

    def pieces(whole, parts):
        cuts = sorted(chance.sample(range(1, whole), parts - 1))
        return [b - a for a, b in zip([0] + cuts, cuts + [whole])]

    now, rows, there = 0, [], [(0, size) for size in pieces(live, 16)]
    while len(rows) + len(there) < n:
        now += 1
        chance.shuffle(there)
        ended, there = there[:4], there[4:]
        rows += [(begin, now, size) for begin, size in ended]
        there += [(now, size) for size in pieces(sum(size for _, size in ended), 4)]
    rows += [(begin, now + 1, size) for begin, size in there]
    return "id,lower,upper,size\n" + "".join(f"{i},{b},{e},{s}\n" for i, (b, e, s) in enumerate(rows))


def write(folder, text):
    path = folder / "instance.csv"
    path.write_text(text)
    return str(path)


def test_what_the_own_search_proves_needs_no_solver(tmp_path):
    found = cp_sat.plan(write(tmp_path, ODD))
    assert (found.lower_bound_bytes, found.plan_bytes) == (102, 102)
    assert (found.bound_by, found.plan_by) == ("replay", "replay")
    assert cp_sat.height(found.requests) == 102


def test_requests_that_overlap_are_no_plan():
    one, other = cp_sat.Request("a", 0, 2, 10, 0), cp_sat.Request("b", 1, 3, 10, 9)
    with pytest.raises(ValueError, match="overlap"):
        cp_sat.height([one, other])
    assert cp_sat.height([one, other._replace(offset=10)]) == 20
    assert cp_sat.height([one, other._replace(lower=2)]) == 19


def test_bad_input_is_the_programs_error(tmp_path):
    with pytest.raises(vramreplay.InputError):
        cp_sat.plan(write(tmp_path, "no,columns\n"))


def test_without_the_solver_it_says_what_to_install(tmp_path):
    (tmp_path / "ortools.py").write_text("raise ImportError\n")
    done = subprocess.run([sys.executable, "-m", "vramreplay.cp_sat", write(tmp_path, tight(3)), "--effort", "1"],
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "pip install ortools" in done.stderr


def test_cp_sat_keeps_to_the_proved_bound_and_to_the_plan_it_got(tmp_path):
    pytest.importorskip("ortools", reason="OR-Tools is not installed")
    for seed in (3, 4):
        path, out = write(tmp_path, tight(seed)), tmp_path / "plan.csv"
        own = cp_sat.plan(path, "--effort", "1", seconds=0.01)
        assert own.lower_bound_bytes < own.plan_bytes, "the program's own search is better by now: take a harder one"
        done = subprocess.run([sys.executable, "-m", "vramreplay.cp_sat", path, "-o", str(out), "--effort", "1",
                               "--seconds", "2"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with open(out, newline="") as table:
            rows = [cp_sat.Request(row["id"], *(int(row[k]) for k in cp_sat.Request._fields[1:]))
                    for row in csv.DictReader(table)]
        asked = [(r.id, r.lower, r.upper, r.size) for r in rows]
        assert sorted(asked) == sorted((i, int(b), int(e), int(s)) for i, b, e, s in
                                       (line.split(",") for line in tight(seed).splitlines()[1:]))
        assert 1000 <= cp_sat.height(rows) <= own.plan_bytes
        assert f"plan {cp_sat.height(rows)} bytes" in done.stdout
