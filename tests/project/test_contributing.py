#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The lists of files in CONTRIBUTING.md are true: these files, and no others, are what each job touches.

    test_contributing.py REPLAY BUILD SOURCE

1. Under each heading "## Add a ..." the first list names files, one a bullet: `path`, and "(new)" after a file that
   the job makes. A file that is not new must exist; a new one must not, and its folder must.
2. tests/contributing/jobs.py does each job for real.
   The files that such a job adds and edits must be those of its list.
3. With REPLAY_LONG_TESTS in the environment the jobs are done in a copy of the tree, one after the other. The copy is
   built, and what was added must work. (The build takes minutes.)
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HEADINGS = ["Add a policy", "Add an importer", "Add a report column", "Add a PyTorch release", "Add a sub-command"]
BULLET = re.compile(r"- `([^`]+)`( \(new\))?$")


def listed(text):
    """{heading: {path: is it new}} of the first list under each heading."""
    lists = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        lines = part.splitlines()
        heading, files = lines[0].strip(), {}
        if not re.match(r"Add an? ", heading):
            continue
        for line in lines[1:]:
            bullet = BULLET.match(line)
            if bullet:
                files[bullet.group(1)] = bullet.group(2) is not None
            elif line.strip() and not files:
                raise AssertionError(f"'{heading}': a list of files must come first, not: {line}")
            elif files:
                break
        lists[heading] = files
    return lists


def check_list(source, heading, files):
    assert files, f"'{heading}': no list of files"
    for path, is_new in files.items():
        there = source / path
        if is_new:
            assert there.parent.is_dir(), f"'{heading}': {path}: its folder does not exist"
            assert not there.exists(), f"'{heading}': {path} is called new, but exists"
        else:
            assert there.is_file(), f"'{heading}': {path} does not exist"


def check_job(job, files):
    """The files of the job are those of its list."""
    want = {path.replace("<name>", job.name): is_new for path, is_new in files.items()}
    got = {path: True for path in job.new} | {edit[0]: False for edit in job.edits}
    assert got == want, f"'{job.heading}': the list says {sorted(want)}, the job touches {sorted(got)}"


def do_job(job, here, tree):
    """Does the job in the tree. Returns its size in words."""
    added = changed = 0
    for path, source in job.new.items():
        shutil.copyfile(here / source, tree / path)
        added += (tree / path).read_text().count("\n")
    for path, pattern, replacement, *every in job.edits:
        old = (tree / path).read_text()
        n = len(re.findall(pattern, old))
        assert n == 1 or (every and n > 1), f"'{job.heading}': {pattern} matches {n} times in {path}"
        new = re.sub(pattern, replacement, old)
        (tree / path).write_text(new)
        changed += sum(line.startswith("+ ") for line in difflib.ndiff(old.splitlines(), new.splitlines()))
    edited = len({edit[0] for edit in job.edits})
    return f"{len(job.new)} new file(s) with {added} lines, {changed} lines in {edited} files"


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout[-8000:]}"


def build_jobs(jobs, source, scratch):
    tree = scratch / "tree"
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(source, tree, ignore=shutil.ignore_patterns(".git", "build", "build-*"), symlinks=True)
    for job in jobs:
        size = do_job(job, source / "tests/contributing", tree)
        run("cmake", "-S", tree, "-B", scratch / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_C_FLAGS=-O1", "-DREPLAY_WERROR=ON", "-DREPLAY_MPI=OFF")
        run("cmake", "--build", scratch / "build", "--target", *job.targets)
        job.works(tree, scratch / "build")
        print(f"{job.heading}: {size}; it works")
    shutil.rmtree(scratch)


def main():
    _, build, source = map(pathlib.Path, sys.argv[1:4])
    build, source = build.resolve(), source.resolve()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source / "tests/contributing"))
    from jobs import JOBS

    lists = listed((source / "CONTRIBUTING.md").read_text())
    assert list(lists) == HEADINGS, f"the headings are {list(lists)}, not {HEADINGS}"
    for heading, files in lists.items():
        check_list(source, heading, files)
    assert [job.heading for job in JOBS] == HEADINGS, "tests/contributing/jobs.py does not do every job"
    for job in JOBS:
        check_job(job, lists[job.heading])
    print(f"{len(lists)} lists are true, and each job touches exactly the files of its list")
    if "REPLAY_LONG_TESTS" in os.environ:
        build_jobs(JOBS, source, build / "contributing")


try:
    main()
except AssertionError as failure:
    sys.exit(f"FAILED: {failure}")
