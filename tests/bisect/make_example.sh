#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Makes the repository of doc/bisect.md in the working folder: a training whose peak a commit raises. Its commits have
# the same names wherever it is made.
set -eu
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
commit() {
    export GIT_AUTHOR_DATE="2026-11-0$1T10:00:00Z" GIT_COMMITTER_DATE="2026-11-0$1T10:00:00Z"
    git add -A
    git commit -q -m "$2"
}
git init -q -b main .
cp "$(dirname "$0")/torch_standin.py" .
cat >model.py <<'PY'
from torch_standin import take


def attention(heads):
    scores = take(16 * heads)
    return scores
PY
cat >train.py <<'PY'
from torch_standin import take
from model import attention

weights = take(256)
step = attention(heads=8)
PY
commit 1 "Train a small model"
git tag v1
sed -i 's/^weights.*/&  # of a checkpoint/' train.py
commit 2 "Say where the weights come from"
sed -i 's/^from model.*/from modell import attention/' train.py
commit 3 "Rename the model, halfway"
git mv model.py modell.py
commit 4 "Rename the model"
sed -i 's/^    return.*/    weights = take(12 * heads)  # for the plot\n    return scores, weights/' modell.py
sed -i 's/^    scores/\n&/' modell.py
commit 5 "Plot the attention"
sed -i 's/heads=8/heads=8 + 0/' train.py
commit 6 "Leave room for more heads"
