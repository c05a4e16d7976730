# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""`python -m vramreplay` and the console scripts: the program itself, in this process's place. `vramreplay mcp` is the
server for assistants, because the registry's clients start a package by its own name."""
import sys

from vramreplay import running


def main() -> None:
    if sys.argv[1:2] == ["mcp"]:
        from vramreplay import mcp
        del sys.argv[1]
        return mcp.main()
    running.replace_process()


if __name__ == "__main__":
    main()
