#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Writes a huge PyTorch snapshot, nine tenths of it stack frames, to show that importing one takes little memory.

distinct  every frame is a dictionary of its own, its texts are shared (the most objects per byte)
texts     every frame is a dictionary of its own, and so are its texts
shared    the stacks are lists of references to a few frames

The opcodes are those of Python's own pickler, protocol 4. They are written directly, because building the objects
would take tens of gigabytes. The device's life repeats every 1000 records, so that the records make sense.
"""
import argparse
import struct

DEPTH = 40
PER_CHUNK = 1000

KEYS = ["action", "addr", "size", "stream", "time_us", "frames", "name", "filename", "line", "alloc",
        "free_requested", "free_completed", "segment_alloc"]


class Writer:
    def __init__(self, out):
        self.out, self.memo, self.names = out, 0, {}

    def text(self, text):
        """A string, memoised at its first use."""
        if text in self.names:
            return self.get(self.names[text])
        self.names[text] = self.memo
        return self.new_text(text)

    def new_text(self, text):
        self.memo += 1
        raw = text.encode()
        return b"\x8c" + bytes([len(raw)]) + raw + b"\x94"

    @staticmethod
    def get(n):
        return b"h" + bytes([n]) if n < 256 else b"j" + struct.pack("<I", n)

    @staticmethod
    def number(n):
        if n < 256:
            return b"K" + bytes([n])
        if n < 65536:
            return b"M" + struct.pack("<H", n)
        if n < 1 << 31:
            return b"J" + struct.pack("<i", n)
        size = (n.bit_length() + 8) // 8
        return b"\x8a" + bytes([size]) + n.to_bytes(size, "little")

    def frame(self, i, kind):
        name, filename = f"function_{i}", f"/usr/lib/python3/dist-packages/torch/module_{i % 7}.py"
        text = self.new_text if kind == "texts" else self.text
        self.memo += 1
        return (b"}\x94(" + self.text("name") + text(name) + self.text("filename") + text(filename) +
                self.text("line") + self.number(10 + i) + b"u")

    def stack(self, kind, shared):
        self.memo += 1
        if kind == "shared":
            body = b"".join(self.get(n) for n in shared)
        else:
            body = b"".join(self.frame(i, kind) for i in range(DEPTH))
        return b"]\x94(" + body + b"e"

    def record(self, action, addr, size, stack):
        self.memo += 1
        return (b"}\x94(" + self.text("action") + self.text(action) + self.text("addr") + self.number(addr) +
                self.text("size") + self.number(size) + self.text("stream") + self.number(0) + self.text("time_us") +
                self.number(1_700_000_000_000_000) + self.text("frames") + stack() + b"u")


def write(path, megabytes, kind):
    base = 0x7F0000000000
    with open(path, "wb") as out:
        w = Writer(out)
        head = b"\x80\x04}\x94("
        w.memo = 1
        head += w.text("device_traces") + b"]\x94]\x94"
        w.memo += 2
        shared = []
        first = b"("
        for text in KEYS:
            first_use = w.text(text)                     # dropped again: only to be in the memo
            first += first_use + b"0"
        if kind == "shared":
            for i in range(DEPTH):
                shared.append(w.memo)
                first += w.frame(i, kind) + b"0"
        first += w.record("segment_alloc", base, 2 << 20, lambda: w.stack(kind, shared)) + b"e"
        out.write(head + first)

        def records():
            for i in range(PER_CHUNK // 4):
                addr, size = base + 512 * i, 100 + i % 400
                yield "alloc", addr, size
                yield "free_requested", addr, size
                yield "free_completed", addr, size
        stack = lambda: w.stack(kind, shared)
        chunk = b"(" + b"".join(w.record(a, addr, size, stack) for a, addr, size in records()) + b"e"
        while out.tell() < megabytes * 1000 * 1000:
            out.write(chunk)
        # the inner list goes into the outer one; then the final segment
        tail = b"a" + w.text("segments") + b"]\x94}\x94("
        segment = {"device": 0, "address": base, "total_size": 2 << 20, "stream": 0}
        for key, value in segment.items():
            tail += w.new_text(key) + w.number(value)
        tail += w.new_text("segment_type") + w.new_text("small") + w.new_text("blocks") + b"]\x94"
        tail += b"ua" + b"u."
        out.write(tail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="OUT")
    parser.add_argument("megabytes", metavar="MEGABYTES", nargs="?", type=int, default=1000)
    parser.add_argument("kind", nargs="?", choices=["distinct", "texts", "shared"], default="distinct")
    args = parser.parse_args()
    write(args.path, args.megabytes, args.kind)


if __name__ == "__main__":
    main()
