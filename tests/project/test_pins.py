#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What is installed from elsewhere is pinned. Each requirement is in the lock beside its list, with the same version.
Each package in a lock has a hash. The Action installs the version that its tag is of."""
import os
import re
import sys


def read(*names):
    with open(os.path.join(*names), encoding="utf-8") as f:
        return f.read()


def main():
    source, wrong = sys.argv[3], []
    for name in ("python/build", "python/test", "python/type", "packaging/lint", "packaging/site/site"):
        lock = read(source, name + "-requirements.lock")
        locked = set(re.findall(r"^(\S+==\S+)", lock, re.MULTILINE))
        asked = {re.sub(r"\[.*\]", "", one)
                 for one in re.findall(r"^([^#\s]\S*)", read(source, name + "-requirements.txt"), re.MULTILINE)}
        wrong += [f"{name}-requirements.lock lacks {one}: make it anew" for one in sorted(asked - locked)]
        wrong += [f"{name}-requirements.lock has no hash of {entry.split()[0]}"
                  for entry in re.split(r"^(?=[^\s#])", lock, flags=re.MULTILINE)
                  if entry[:1] not in ("", "#") and "--hash=sha256:" not in entry]
    version = re.search(r"^project\(replay VERSION (\S+)", read(source, "CMakeLists.txt"), re.MULTILINE).group(1)
    if f"default: vramreplay=={version}\n" not in read(source, "python/action/action.yml"):
        wrong.append(f"python/action/action.yml does not install version {version}")
    for text in wrong:
        print("FAILED:", text)
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
