#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay bisect` on repositories and packages made here, whose first bad version is known, with a program of ours that
# asks the simulated runtime for so many MiB.
set -u
replay=$1
build=$2
. "$3/tests/programs.sh"
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=$work
command -v git >/dev/null || { echo "skipped: no git"; exit 0; }
python=$(python3 -c 'import sys; print(sys.executable)')

# train: takes as many MiB as the file mib says, after a wait of so many ms.
cat >train.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int mib;
    void *p, *l = dlopen("libcudart.so.12", RTLD_NOW);
    FILE *f = fopen("mib", "r");
    if (argc > 1)
        usleep((unsigned)atoi(argv[1]) * 1000);
    if (f == NULL || fscanf(f, "%d", &mib) != 1) {
        fprintf(stderr, "this commit is broken\n");
        return 1;
    }
    return ((int (*)(void **, size_t))dlsym(l, "cudaMalloc"))(&p, (size_t)mib << 20);
}
C
cc -w -o train train.c -ldl || exit 1

# commit MIB [FILE]: the next commit of the repository here takes so many MiB. Each has a tag: c1, c2, ...
n=0
commit() {
    n=$((n + 1))
    echo "$1" >"${2:-mib}"
    git add -A && git commit -q --allow-empty -m "Commit $n" && git tag "c$n"
}

# repository NAME MIB...: goes into a new one with a commit for each.
repository() {
    n=0
    git init -q "$work/$1" && cd "$work/$1" || exit 1
    shift
    for mib in "$@"; do commit "$mib"; done
}

ask() {
    "$replay" bisect --device 8GiB --json "$work/a.json" "$@" -- "$work/train"
}

# is KEY VALUE: in the JSON of the last answer.
is() {
    expect "$1 is $2" 0 "$2" "$python" -c "import json, sys; print(json.load(open('$work/a.json'))$1)"
}

# lines COMMAND...: how many lines it prints.
lines() {
    "$@" 2>/dev/null | wc -l
}

repository line 400 400 402 402 900 890 890
echo 7000 >mib
expect 'the first bad commit of a line is named' 0 'raised the peak: 900 MiB with it, 402 MiB before (+123.9%).' \
    ask --good c1
is "['named']['subject']" 'Commit 5'
is "['before']['subject']" 'Commit 4'
is "['grew']['after_bytes']" $((900 << 20))
is "['has_changes']" True
expect 'what is not committed stays' 0 7000 cat mib
expect 'and git has one worktree' 0 1 lines git worktree list
git checkout -q mib
expect 'a threshold names an earlier one' 0 'raised the peak: 402 MiB with it, 400 MiB before' \
    ask --good c1 --bad c4 --more-than 0%
expect 'nothing rises' 1 'The peak did not rise: 400 MiB at' ask --good c1 --bad c2
expect 'by no more than counts' 1 '--more-than 0% looks for any rise' ask --good c2 --bad c3
is "['end']" 'not higher'
expect 'good is worse than bad' 1 'The peak did not rise, it fell: 900 MiB at' ask --good c5 --bad c6
expect 'good is bad' 2 'are one commit: there is nothing between them' ask --good c3 --bad c3
expect 'good comes after bad' 2 'the good commit is the older one' ask --good c5 --bad c2
expect 'no commit' 2 "--bad 'nosuch': names no commit" ask --good c1 --bad nosuch
expect 'no option of git' 2 "--good '--all': names no commit" ask --good=--all
expect 'a threshold that is none' 2 "--more-than '5x': expected a share" ask --good c1 --more-than 5x
expect 'a program that is not there' 2 'did not run at --good' \
    "$replay" bisect --good c1 --device 8GiB -- ./nosuch
mkdir -p below/here && cd below/here || exit 1
expect 'a folder that no commit has' 2 'the folder below/here' ask --good c1
cd ../.. || exit 1

# The peak rises twice: the larger rise is named, and where the other is.
repository twice 100 120 120 200
expect 'of two rises the larger is named, and how to find the other' 0 'The peak had risen by 20 MiB before: --good' \
    ask --good c1
is "['named']['subject']" 'Commit 4'
is "['rose_before_bytes']" $((20 << 20))
is "['rises_after_bytes']" 0
expect 'with a threshold the first' 0 'It rises by 80 MiB again after it' ask --good c1 --more-than 5%
is "['named']['subject']" 'Commit 2'

# What predict says of a commit names it.
repository unused 100 100
expect 'a program that asks for no memory is told with its commit' 2 \
    "replay predict: $(git rev-parse --short=12 c1): no calls for CUDA memory were recorded" \
    "$replay" bisect --good c1 --device 8GiB -- true

# Commits that do not run are left out; if the answer is among them, it is open.
repository broken 100 broken 100 300 broken 500
expect 'one that does not run is no obstacle' 0 'raised the peak: 300 MiB with it, 100 MiB before' \
    ask --good c1 --bad c4
is "['named']['subject']" 'Commit 4'
expect 'one of several' 4 'One of 2 commits raised the peak; which one is not known' ask --good c4 --bad c6
is "['candidates'][0]['reason']" 'this commit is broken'
expect 'a good one that does not run' 2 'did not run at --good' ask --good c2
expect 'a bad one that does not run' 2 'did not run at --bad' ask --good c1 --bad c5

# A merge: the branch brought the rise.
repository merged 100 100
git checkout -q -b side c1 && commit 250 && commit 250
git checkout -q -b main c2 && commit 100 other
git merge -q --no-commit -X theirs side >/dev/null && commit 250
expect 'a commit of a branch is named, not its merge' 0 'raised the peak: 250 MiB with it, 100 MiB before' \
    ask --good c1 --bad c6
is "['named']['subject']" 'Commit 3'

# What Python imports from the tree is the worktree's; a tree that it takes in another way is refused.
repository imported 100
cat >train.py <<'PY'
import ctypes, taken
ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(taken.MIB << 20))
PY
mkdir lib && commit 'MIB = 100' lib/taken.py && commit 'MIB = 400' lib/taken.py
PYTHONPATH=$PWD/lib expect 'a path of the tree is one of the worktree' 0 'raised the peak: 400 MiB with it' \
    "$replay" bisect --good c2 --device 8GiB -- "$python" "$PWD/train.py"
is "['named']['subject']" 'Commit 3'

# The lines that grew, also if the file and the line have other names before.
mkdir "$work/example" && cd "$work/example" && "$3/tests/bisect/make_example.sh" || exit 1
expect 'the line that grew is named' 0 '+96 MiB' \
    "$replay" bisect --good v1 --device 8GiB --json ../a.json -- "$python" train.py
is "['named']['subject']" 'Plot the attention'
is "['grew']['lines'][0]" "{'name': 'modell.py:7 attention', 'before_bytes': 0, 'after_bytes': 100663296}"
is "['grew']['after_bytes']" $((480 << 20))
is "['not_run']" 1

# The folder of ours may lie in the repository: what runs there is the commit's all the same.
mkdir within && ln -s within/ link
for place in "$PWD/within" "$PWD/link"; do
    expect "a TMPDIR in the repository: $place" 0 '+96 MiB' \
        env TMPDIR="$place" "$replay" bisect --good v1 --device 8GiB --json ../a.json -- "$python" train.py
    is "['grew']['lines'][0]['name']" 'modell.py:7 attention'
done

# Interrupted, and killed.
repository slow 100 100
for signal in INT KILL; do
    rm -f "$work/out"
    (trap - INT; exec "$replay" bisect --good c1 --device 8GiB -- "$work/train" 60000) >"$work/out" 2>&1 &
    asked=$!
    for _ in $(seq 600); do [ "$(lines git worktree list)" = 2 ] && break; sleep 0.05; done
    sleep 0.2
    kill -s "$signal" "$asked"
    wait "$asked"
    status=$?
    [ "$signal" = KILL ] && break
    expect 'an interrupt has its status' 0 130 echo "$status"
    expect 'and leaves no worktree' 0 1 lines git worktree list
    expect 'and no folder' 0 0 lines ls -d "$TMPDIR"/replay-bisect-*
done 2>/dev/null
# What the killed one had started ends a moment after it.
for _ in $(seq 600); do flock -n "$TMPDIR"/replay-bisect-* true && break; sleep 0.05; done
expect 'what a kill left is gone after the next' 1 'did not rise' ask --good c1 --bad c2
expect 'git has one worktree again' 0 1 lines git worktree list
expect 'and no folder is left' 0 0 lines ls -d "$TMPDIR"/replay-bisect-*

mkdir "$work/nowhere" && cd "$work/nowhere" || exit 1
expect 'no repository' 2 'is in no git repository' env GIT_CEILING_DIRECTORIES="$work" \
    "$replay" bisect --good c1 -- true
mkdir "$work/bin"
expect 'no git' 2 'git cannot be started' env PATH="$work/bin" "$replay" bisect --good c1 -- true
expect 'no good one' 2 '--good: name a commit' "$replay" bisect -- true

# ---- releases of a package ----
expect 'a package without its Python' 2 'begin the program with it' \
    "$replay" bisect --package toy --good 1.0 --bad 1.5 -- ./train.sh
expect 'a package that is none' 2 "--package '-r': expected the name" \
    "$replay" bisect --package=-r --good 1.0 --bad 1.5 -- "$python" train.py
export PYTHONPATH=$3/tests/bisect            # pip is the one that lies there
printf '%s\n' 'import ctypes, toy' \
    'ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(toy.MIB << 20))' \
    >train.py
ask_package() {
    "$replay" bisect --device 8GiB --json "$work/a.json" --package "$@" -- "$python" train.py
}
expect 'a release is named' 0 'toy 1.4.0rc1 raised the peak: 260 MiB with it, 100 MiB before (+160.0%).' \
    ask_package toy --good 1.0 --bad 1.4.0rc1
is "['tried'][0]['reason']" 'it needs another PyTorch (0.0.1)'
expect 'good is newer' 2 'the good release is the older one' ask_package toy --good 2 --bad 1.0
expect 'no such release' 2 'pip finds no release 1.9 of toy' ask_package toy --good 1.0 --bad 1.9
expect 'no such package' 2 'pip does not list the releases of nosuchpackage' \
    ask_package nosuchpackage --good 1.0 --bad 1.9
expect 'and no folder is left' 0 0 lines ls -d "$TMPDIR"/replay-bisect-*
exit "$failed"
