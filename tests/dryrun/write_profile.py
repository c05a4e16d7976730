#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""write_profile.py OUT BYTES: a profile as JAX's, of one request of so many bytes to the allocator of card 0."""
import sys


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, value):                            # a text, message or number of protobuf
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def name(number, text):
    return field(1, number) + field(2, field(2, text))


size = int(sys.argv[2])
names = [b"allocator_name", b"requested_bytes", b"allocation_bytes", b"addr", b"GPU_0_bfc"]
stats = [(1, 7, 5), (2, 4, size), (3, 4, size + 255 & ~255), (4, 4, 4096)]
event = field(1, 1) + b"".join(field(4, field(1, key) + field(kind, value)) for key, kind, value in stats)
plane = field(2, b"/host:CPU") + field(3, field(4, event)) + field(4, name(1, b"MemoryAllocation"))
plane += b"".join(field(5, name(i + 1, text)) for i, text in enumerate(names))
with open(sys.argv[1], "wb") as f:
    f.write(field(1, plane))
