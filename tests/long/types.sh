#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The Python in doc/python.md has no error for `mypy --strict` and pyright, and a slip in a call has one: an option that
# is not there, a word that it does not take, a verdict that there is not.
#
#     tests/long/types.sh FOLDER              # of builds; both tools come from PyPI into FOLDER/types, once
set -euo pipefail
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lock=$root/python/type-requirements.lock
cmp -s "$lock" "$build/types/installed.txt" ||
    { python3 -m venv --clear "$build/types" &&
      "$build/types/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$lock" &&
      cp "$lock" "$build/types/installed.txt"; } ||
    { echo "SKIP: needs a wheel: mypy and pyright cannot be had from PyPI" >&2; exit 77; }
echo "$root/python" >"$("$build/types/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tree.pth"

cd "$work"
sed -n '/^```python$/,/^```$/{/^```/d;p}' "$root/doc/python.md" >right.py
mkdir torch && touch torch/__init__.pyi
cat >wrong.py <<'END_OF_WRONG'
import vramreplay

recording = vramreplay.load("snapshot.pickle")
recording.fit(devise="24GiB")
recording.fit(system="linus")
recording.replay(on_oom="halt")
recording.who(by="lines")
recording.why().verdikt
END_OF_WRONG
echo 'print(recording.why().verdict == "fragment")' >>wrong.py           # only mypy looks at this
echo "{\"venvPath\": \"$build\", \"venv\": \"types\"}" >pyrightconfig.json

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }
# errors COMMAND...: the lines of wrong.py that have one, as 4,5
errors() { { "$@" wrong.py || true; } | sed -n 's/.*wrong\.py:\([0-9]*\):.*error.*/\1/p' | sort -un | paste -sd,; }
[[ $(wc -l <right.py) -gt 30 ]] || fail "doc/python.md has only $(wc -l <right.py) lines of Python"
"$build/types/bin/mypy" --strict right.py || fail "mypy"
"$build/types/bin/pyright" right.py || fail "pyright"
seen=$(errors "$build/types/bin/mypy" --strict)
[[ $seen == 4,5,6,7,8,9 ]] || fail "mypy sees an error in the lines $seen"
seen=$(errors "$build/types/bin/pyright")
[[ $seen == 4,5,6,7,8 ]] || fail "pyright sees an error in the lines $seen"
