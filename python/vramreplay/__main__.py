# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""`python -m vramreplay` and the console scripts: the program itself, in this process's place."""
from vramreplay.running import replace_process as main

if __name__ == "__main__":
    main()
