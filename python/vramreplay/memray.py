# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The host memory that memray captured, as a log of requests that replay reads.

    python -m memray run --output capture.bin train.py
    python -m vramreplay.memray capture.bin requests.csv
    replay info requests.csv

memray's own reader decodes the capture, so memray must be installed. A capture has no times; call stacks are left out.
"""

from __future__ import annotations

import os
import pathlib
import sys
from typing import TextIO


def write_requests(capture: str, out: TextIO) -> int:
    """Write a line for each request and each end of one; return how many there are."""
    from memray import AllocatorType, FileReader

    ends = {kind for kind in AllocatorType if "FREE" in kind.name or kind is AllocatorType.MUNMAP}
    live: set[int] = set()
    out.write("op,ptr,size\n")
    n = 0
    for record in FileReader(capture).get_allocation_records():
        address = record.address
        if address in live:                     # freed, or resized where it is
            live.remove(address)
            out.write(f"free,{address:#x},0\n")
            n += 1
        if AllocatorType(record.allocator) not in ends and record.size > 0:
            live.add(address)
            out.write(f"alloc,{address:#x},{record.size}\n")
            n += 1
    return n


def main() -> int:
    """Run the command line; return its exit status."""
    if len(sys.argv) != 3:
        print("usage: python -m vramreplay.memray CAPTURE OUT.csv", file=sys.stderr)
        return 2
    part = pathlib.Path(f"{sys.argv[2]}.{os.getpid()}.part")     # a capture that cannot be read leaves no file
    is_ours = False
    try:
        with part.open("x", encoding="ascii") as out:            # and harms none, nor follows a link
            is_ours = True
            n = write_requests(sys.argv[1], out)
        part.replace(sys.argv[2])
    except ImportError:
        reason = "memray is not installed: pip install memray"
    except NotImplementedError:
        reason = f"{sys.argv[1]} holds sums only; run memray without --aggregate"
    except OSError as error:
        reason = str(error)
    else:
        print(f"{sys.argv[2]}: {n} requests and ends")
        return 0
    if is_ours:
        part.unlink(missing_ok=True)
    print(f"vramreplay.memray: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
