#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Writes inputs that were made to be slow: `slow_inputs.py KIND BYTES FILE` writes one of about BYTES bytes.

Each kind aims at one loop that could run over the whole file again for each part of it. test_slow_inputs.py runs them
with a budget of operations; a kind whose operations grow faster than n log n fails.
"""
import hashlib
import json
import sqlite3
import struct
import subprocess
import sys

BASE = 0x7F0000000000
MIB = 1 << 20


# ---- native traces, without an index as if their writer had been killed ----

def varint(value):
    low = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes(part | 0x80 for part in low[:-1]) + bytes(low[-1:])


def section(tag, rows, content):
    """As traces/FORMAT.md has it; zstd writes the size of the content and a checksum."""
    packed = subprocess.run(["zstd", "-q", "-c", "--check", "--stream-size=%d" % len(content)], input=content,
                            capture_output=True, check=True).stdout
    return struct.pack("<II4sII", 0x184D2A5D, 12, tag, rows, len(packed)) + packed


def facts(n):
    """Sections of 1,024 facts, each of a name of its own."""
    def one(i):
        names = (hashlib.sha256(b"%d %d" % (i, k)).hexdigest()[:12] for k in range(1024))
        return section(b"meta", 1, varint(0) * 3 + varint(1024) + b"".join(b"%s\0\0" % name.encode() for name in names))
    return struct.pack("<II12sI", 0x184D2A5E, 16, b"replay trace", 4) + b"".join(fill(n, one))


# ---- pickles, written opcode by opcode ----

WORDS = ("action", "addr", "size", "stream", "frames", "name", "filename", "line", "pool_id", "device", "total_size",
         "address", "segments", "device_traces", "allocator_settings", "PYTORCH_CUDA_ALLOC_CONF", "max_split_size",
         "garbage_collection_threshold", "alloc", "free_completed", "segment_alloc", "segment_free", "segment_map",
         "other", "", "f", "g", "state", "active_allocated", "inactive", "segment_type", "is_expandable", "small",
         "blocks")


class Pickle:
    """The parts of a snapshot as opcodes. The words of all records are memoised first, so that a record takes few bytes
    and parts may be made in any order."""

    def __init__(self):
        self.memo = {word: i for i, word in enumerate(WORDS)}

    @staticmethod
    def raw(text):
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    def text(self, text):
        return self.get(text) if text in self.memo else self.raw(text)

    def get(self, name):
        return b"h" + bytes([self.memo[name]])

    def put(self, name):
        """Memoises the value on top of the stack under a name."""
        self.memo[name] = len(self.memo)
        return b"q" + bytes([self.memo[name]])

    @staticmethod
    def number(n):
        if 0 <= n < 256:
            return b"K" + bytes([n])
        size = (n.bit_length() + 8) // 8
        return b"\x8a" + bytes([size]) + n.to_bytes(size, "little")

    def dict(self, **items):
        parts = (self.text(key) + (value if isinstance(value, bytes) else
                                   self.text(value) if isinstance(value, str) else self.number(value))
                 for key, value in items.items())
        return b"}(" + b"".join(parts) + b"u"

    def record(self, action, addr, size, **more):
        return self.dict(action=action, addr=addr, size=size, **more)

    @staticmethod
    def list(items):
        return b"](" + b"".join(items) + b"e"

    def snapshot(self, records, segments=(), devices=None, **more):
        traces = [self.list(records)] if devices is None else devices
        words = b"".join(self.raw(word) + b"q" + bytes([i]) + b"0" for i, word in enumerate(WORDS))
        top = self.dict(segments=self.list(segments), device_traces=self.list(traces), **more)
        return b"\x80\x04" + words + top + b"."


def fill(n_bytes, make):
    """make(i) until these are about n_bytes."""
    parts, size, i = [], 0, 0
    while size < n_bytes:
        parts.append(make(i))
        size += len(parts[-1])
        i += 1
    return parts


def collide(n):
    """Distinct texts of eight bytes that share the first four, pushed and popped."""
    texts = fill(n, lambda i: b"\x8c\x08" + b"same" + struct.pack(">I", i).translate(PRINTABLE) + b"0")
    p = Pickle()
    return p.snapshot([]).replace(b"\x80\x04", b"\x80\x04" + b"".join(texts), 1)


# Every byte becomes one that UTF-8 takes alone; the first 128 stay distinct, so texts differ until 128**4.
PRINTABLE = bytes(i % 128 for i in range(256))


def numbers(n):
    """Frames whose names, files and lines are all multiples of a large power of two."""
    p = Pickle()
    frames = fill(n, lambda i: p.dict(name="f", filename="g", line=(i << 20) & 0xFFFFFFFF))
    return p.snapshot([p.record("alloc", BASE, 512, frames=p.list(frames))])


def deep_stack(n):
    """One stack of 4,096 frames with a long name, shared by runs of segments that are given back."""
    p = Pickle()
    name = p.raw("x" * min(60000, n // 4)) + p.put("name of all")
    frames = [p.dict(name=name if i == 0 else p.get("name of all"), filename="f", line=i) for i in range(n // 100)]
    stack = p.list(frames[:4096])
    first = p.record("segment_free", BASE, 2 * MIB, frames=stack + p.put("stack"))
    rest = fill(n - len(first), lambda i: p.record("segment_free", BASE + (i + 1) * 2 * MIB, 2 * MIB,
                                                   frames=p.get("stack")) +
                p.record("other", 0, 0))
    return p.snapshot([first] + rest)


def shared_stack(n):
    """One stack of thousands of frames with a long name, of as many captured requests as fit."""
    p = Pickle()
    name = p.raw("x" * min(60000, n // 4)) + p.put("name of all")
    frames = [p.dict(name=name if i == 0 else p.get("name of all"), filename="f.py", line=i) for i in range(n // 100)]
    pool = p.number(1) + p.number(1) + b"\x86"
    first = p.record("alloc", BASE, 512, frames=p.list(frames[:4096]) + p.put("stack"), pool_id=pool)
    rest = fill(n - len(first), lambda i: p.record("alloc", BASE + (i + 1) * 512, 512, frames=p.get("stack"),
                                                   pool_id=pool))
    return p.snapshot([first] + rest)


def nested_stacks(n):
    """Many stacks of frames with a long name, each a frame shorter than the one before it: they share all frames."""
    p = Pickle()
    frame = p.dict(name=p.raw("x" * min(60000, n // 4)), filename="f.py", line=1) + p.put("frame")
    more = fill(n - len(frame), lambda i: p.record("alloc", BASE + (i + 1) * 512, 512,
                                                   frames=p.list([p.get("frame")] * max(2000 - i, 1))))
    return p.snapshot([p.record("alloc", BASE, 512, frames=p.list([frame]))] + more)


def long_names(n):
    """Many frames of one long name: each is a text of its own in the trace."""
    p = Pickle()
    name = p.raw("x" * min(60000, n // 4)) + p.put("name of all")
    frames = fill(n - len(name), lambda i: p.dict(name=p.get("name of all") if i > 0 else name, filename="f", line=i))
    return p.snapshot([p.record("alloc", BASE, 512, frames=p.list(frames)),
                       p.record("free_completed", BASE, 512)])


def devices(n):
    """As many devices as are allowed, and segments of the last of them."""
    p = Pickle()
    segments = fill(n - 3 * 4096, lambda i: p.dict(device=4095, total_size=2 * MIB, address=BASE + i * 2 * MIB))
    return p.snapshot([], segments, [b"]"] * 4096)


def too_many_devices(n):
    """One empty list for each of far too many devices."""
    p = Pickle()
    return p.snapshot([], [], [b"]"] * n)


def shared_segments(n):
    """One segment that is in the list over and over."""
    p = Pickle()
    one = p.dict(device=4095, total_size=2 * MIB, address=BASE) + p.put("one")
    return p.snapshot([], [one] + [p.get("one")] * (n // 2), [b"]"] * 4096)


def shared_records(n):
    """One record that is in the list over and over."""
    p = Pickle()
    one = p.record("segment_alloc", BASE, 2 * MIB) + p.put("one")
    return p.snapshot([one] + [p.get("one")] * (n // 2))


def pools(n):
    """One run that gives back segments of as many private pools as there are records."""
    p = Pickle()
    return p.snapshot(fill(n, lambda i: p.record("segment_free", BASE + i * 2 * MIB, 2 * MIB,
                                                 pool_id=p.number(1) + p.number(i + 1) + b"\x86")))


def long_run(n):
    """A long run of segments given back, while as many stay, each with a live block."""
    p = Pickle()
    stay = fill(n // 2, lambda i: p.record("segment_alloc", BASE + i * 4 * MIB, 2 * MIB) +
                p.record("alloc", BASE + i * 4 * MIB, 512))
    gone = fill(n // 2, lambda i: p.record("segment_free", BASE + i * 4 * MIB + 2 * MIB, 2 * MIB))
    return p.snapshot(stay + gone)


def short_runs(n):
    """Many runs of one segment each, while many stay, each with a live block."""
    p = Pickle()
    stay = fill(n // 2, lambda i: p.record("segment_alloc", BASE + i * 4 * MIB, 2 * MIB) +
                p.record("alloc", BASE + i * 4 * MIB, 512))
    gone = fill(n // 2, lambda i: p.record("segment_free", BASE + i * 4 * MIB + 2 * MIB, 2 * MIB) +
                p.record("other", 0, 0))
    return p.snapshot(stay + gone)


def collected(n):
    """Segment after segment under garbage collection; none of them is ever idle."""
    p = Pickle()
    settings = p.dict(PYTORCH_CUDA_ALLOC_CONF="", garbage_collection_threshold=b"G" + struct.pack(">d", 0.5),
                      max_split_size=b"J" + struct.pack("<i", -1))
    return p.snapshot(fill(n, lambda i: p.record("segment_alloc", BASE + i * 32 * MIB, 20 * MIB) +
                           p.record("alloc", BASE + i * 32 * MIB, 2 * MIB)), allocator_settings=settings)


def descending(n):
    """Each segment lies below all others, so that a sorted array moves for each."""
    p = Pickle()
    return p.snapshot(fill(n, lambda i: p.record("segment_alloc", BASE - i * 4 * MIB, 2 * MIB)))


def ranges(n):
    """As many expandable ranges as there are streams, mapped and unmapped by turns."""
    p = Pickle()
    return p.snapshot(fill(n, lambda i: p.record("segment_map", BASE + i * 4 * MIB, 2 * MIB, stream=i + 1) +
                           p.record("alloc", BASE + i * 4 * MIB, 512, stream=i + 1)))


def start_ranges(n):
    """A recording that begins with a range of each stream, and a live block in each."""
    p = Pickle()

    def segment(i):
        addr = BASE + i * 4 * MIB
        blocks = [p.dict(size=512, state="active_allocated", address=addr),
                  p.dict(size=2 * MIB - 512, state="inactive", address=addr + 512)]
        return p.dict(device=0, address=addr, total_size=2 * MIB, stream=4096 * i, segment_type="small",
                      is_expandable=b"\x88", blocks=p.list(blocks))

    count = min(n // len(segment(1)), 60000)
    return p.snapshot([p.record("alloc", BASE + 512, 512), p.record("free_completed", BASE + 512, 512)],
                      [segment(i) for i in range(count)])


def waits(n):
    """Frees that were waited for, before each segment that is given back."""
    p = Pickle()
    live = fill(n // 3, lambda i: p.record("alloc", BASE + i * 512, 512, stream=i % 7))
    count = len(live)
    done = [p.record("free_completed", BASE + i * 512, 512, stream=i % 7) for i in range(count)]
    gone = fill(n // 3, lambda i: p.record("segment_free", BASE - (i + 1) * 2 * MIB, 2 * MIB))
    return p.snapshot(live + done + gone + [p.record("segment_alloc", BASE + (1 << 40), 20 * MIB),
                                            p.record("alloc", BASE + (1 << 40), 20 * MIB)])


# ---- what is read beside the events: stacks, captures, the course of a training ----

def frames_of(p, name, file, key):
    """A stack of two frames, memoised under a key."""
    stack = [p.dict(name=p.raw(name), filename=p.raw(file), line=9),
             p.dict(name=p.raw("main"), filename=p.raw("/a/train.py"), line=3)]
    return p.list(stack) + p.put(key)


def freed_by_turns(n):
    """Requests of an optimizer; first every other one is freed, then the rest, so that neighbours end far apart."""
    p = Pickle()
    stack = frames_of(p, "step", "/u/torch/optim/adam.py", "stack")
    first = p.record("alloc", BASE - 512, 512, frames=stack)
    born = fill(n // 3, lambda i: p.record("alloc", BASE + i * 512, 512, frames=p.get("stack")))
    gone = [p.record(action, BASE + i * 512, 512, frames=p.get("stack")) for start in (0, 1)
            for i in range(start, len(born), 2) for action in ("free_requested", "free_completed")]
    return p.snapshot([first] + born + gone)


def capture(p, stream, requests):
    pool = p.number(1) + p.number(0) + b"\x86"
    ends = [p.dict(action=p.raw(action), addr=0, size=0, stream=stream, pool_id=pool)
            for action in ("capture_begin", "capture_end")]
    made = b"".join(p.record("alloc", BASE + i * 512, 512, stream=stream, pool_id=pool, **more)
                    for i, more in requests)
    return ends[0] + made + ends[1]


def captures(n):
    """Captures of one request each."""
    p = Pickle()
    return p.snapshot(fill(n, lambda i: capture(p, 7, [(i, {})])))


def capture_streams(n):
    """The same, each on a stream of its own."""
    p = Pickle()
    return p.snapshot(fill(n, lambda i: capture(p, 1 + i % 60000, [(i, {})])))


def unlike_captures(n):
    """A first capture that is like none of those after it, which are as large as may be compared with it."""
    p = Pickle()
    count = n // 90                                                  # requests of 45 bytes
    later = max(1, (1 << 24) // (count + 1) - 2)
    stacks = frames_of(p, "f", "/a/t.py", "one"), frames_of(p, "g", "/a/t.py", "two")
    before = [p.record("alloc", BASE - 512 * (k + 1), 512, frames=stacks[k]) for k in (0, 1)]
    first = capture(p, 7, [(i, {"frames": p.get("one")}) for i in range(count)])
    rest = fill(n // 2, lambda k: capture(p, 7, [(count + k * later + i, {"frames": p.get("two")})
                                                 for i in range(min(later, count))]))
    return p.snapshot(before + [first] + rest)


def steps_of_sizes(n):
    """As many steps of a training as it has parameters, all of different sizes."""
    p = Pickle()
    parts = [frames_of(p, "__init__", "/u/torch/nn/modules/module.py", "set up"),
             frames_of(p, "_call_impl", "/u/torch/nn/modules/module.py", "forward"),
             frames_of(p, "_engine_run_backward", "/u/torch/autograd/graph.py", "backward"),
             frames_of(p, "step", "/u/torch/optim/adam.py", "step")]
    before = [p.record("alloc", BASE - 512 * (k + 1), 512, frames=part) for k, part in enumerate(parts)]
    count = n // 700

    def event(action, place, size, part):
        return p.record(action, BASE + (place << 32), size, frames=p.get(part))

    def freed(place, size):
        return event("free_requested", place, size, "step") + p.record("free_completed", BASE + (place << 32), size)

    def step(i):
        at, size = count + 3 * i, 512 + 512 * i
        return (event("alloc", at, 512, "forward") + event("alloc", at + 1, size, "backward") +
                event("alloc", at + 2, 512, "step") + freed(at + 2, 512) + freed(at, 512) + freed(at + 1, size))

    return p.snapshot(before + [event("alloc", i, 512 + 512 * i, "set up") for i in range(count)] +
                      [step(i) for i in range(count)])


# ---- results ----

def warnings(n):
    """Distinct warnings of one run."""
    run = {"policy": "best-fit", "warnings": [f"warning {i}" for i in range(n // 16)], "assumptions": []}
    return json.dumps({"schema": "replay-sweep/1", "runs": [run]}).encode()


def result_runs(n):
    """Runs that share trace and card, each with a policy of its own."""
    runs = [{"trace_path": "t", "trace_digest": "d", "device": "sim:1GiB", "policy": f"p{i}", "outcome": "ok",
             "peak_reserved_bytes": i} for i in range(n // 130)]
    return json.dumps({"schema": "replay-sweep/1", "runs": runs}).encode()


def nested(n):
    """Objects inside one another, by names that are the beginning of a column's."""
    run = {"peak": {f"x{i}": {"reserved": 1} for i in range(n // 26)}}
    return json.dumps({"schema": "replay-sweep/1", "runs": [run]}).encode()


def sweep(runs):
    return json.dumps({"schema": "replay-sweep/1", "runs": runs}).encode()


def shared_members(n):
    """A replay of many runs, whose trace has as many members."""
    return json.dumps({"schema": "replay/1", "trace": {f"x{i}": 0 for i in range(n // 26)},
                       "runs": [{"policy": "p"}] * (n // 36)}).encode()


def policies(n, is_reversed=False):
    """Runs with nothing but a policy of their own."""
    runs = [{"policy": f"p{i}"} for i in range(n // 36)]
    return sweep(runs[::-1] if is_reversed else runs)


def null_settings(n):
    """Settings that a value which only some of the runs have does not tell apart."""
    return sweep([{"policy": f"p{i}", **({"start": "fresh"} if i % 50 == 0 else {})} for i in range(n // 22)])


def null_cases(n):
    """The same of cases. None has a refusal."""
    return sweep([{"trace_path": f"p{i}", **({"format": "csv"} if i % 50 == 0 else {})} for i in range(n // 26)])


def refused_cases(n):
    """Cases on two devices, each with a refusal."""
    return sweep([{"trace_path": f"p{i}", "outcome": "oom", "device": f"d{i % 2}"} for i in range(n // 62)])


# ---- logs and profiles ----

def csv_ends(n):
    """Ends of requests that the log does not begin."""
    return b"op,ptr,size\n" + b"".join(fill(n, lambda i: b"free,%d,512\n" % (i << 20)))


def stream_of(i):
    return 4096 * (i * 40503 % 65536)                    # in no order


def csv_streams(n):
    """A stream for each request: first all come and go, then each asks for what only others have."""
    count = min(n // 64, 60000)
    come = [b"alloc,%d,512,%d\nfree,%d,512,%d\n" % (i + 1, stream_of(i), i + 1, stream_of(i)) for i in range(count)]
    more = [b"alloc,%d,%d,%d\n" % (i + 1, 512 + 512 * (i % 64), stream_of(i)) for i in range(count)]
    return b"op,ptr,size,stream\n" + b"".join(come + more)


def csv_retries(n):
    """Free blocks between live ones, and then requests that no card holds: for each a policy gives back what it can."""
    come = fill(n // 2, lambda i: b"alloc,%d,%d\nalloc,%d,512\n" % (2 * i + 1, 512 + 512 * (i % 7), 2 * i + 2))
    count = len(come)
    gone = [b"free,%d,0\n" % (2 * i + 1) for i in range(count)]
    refused = [b"alloc,%d,%d\n" % (i + 1, 1 << 38) for i in range(2 * count, 3 * count)]
    return b"op,ptr,size\n" + b"".join(come + gone + refused)


def csv_long_lines(n):
    """Few requests, and blanks up to the longest line that is taken."""
    return b"op,ptr,size\n" + b"".join(fill(n, lambda i: b"alloc,%d,512%s\n" % (i + 1, b" " * 16000)))


def csv_days(n):
    """Times of day that fall back, so that each line begins another day."""
    times = (b"23:00:00.0", b"01:00:00.0")
    return b"op,ptr,size,time\n" + b"".join(fill(n, lambda i: b"alloc,%d,512,%s\n" % (i + 1, times[i % 2])))


def csv_sizes(n, step=512):
    """Requests that all have other sizes. With step 0: as many of one size."""
    return b"op,ptr,size\n" + b"".join(b"alloc,%d,%d\n" % (i + 1, 512 + step * i) for i in range(n // 20))


def one_size(n):
    """Requests of one size that all stay: any number of them repeats, and none is a step. A log of malloc lab."""
    return b"1\n" + b"".join(fill(n, lambda i: b"a %d 9\n" % i))


def spans(n):
    """Segments that each leave a rest of 14 MiB, in which no other fits. A log of malloc lab."""
    return b"1\n" + b"".join(fill(n, lambda i: b"a %d %d\n" % (i, 18 * MIB)))


def csv_lives(n):
    """Lives inside one another, in descending order of their beginnings."""
    return b"id,lower,upper,size\n" + b"".join(fill(n, lambda i: b"%d,%d,%d,512\n" % (i, n - i, n + i + 1)))


def profile(n, item):
    return b'{"schemaVersion": 1, "traceEvents": [' + b",".join(fill(n, item)) + b"]}"


def profile_ends(n):
    """Ends of requests that were live before the profile began: each is a block of the start."""
    return profile(n, lambda i: b'{"name":"[memory]","ts":1,"args":{"Device Type":1,"Device Id":0,"Addr":%d,'
                                b'"Bytes":-512,"Total Allocated":9,"Total Reserved":9}}' % (4096 + 512 * i))


def profile_objects(n):
    """As many events as fit, none of memory."""
    return profile(n, lambda i: b"{}")


# ---- profiles of pprof: fields of a protocol buffer ----

def varint(n):
    return bytes([n]) if n < 128 else bytes([n % 128 + 128]) + varint(n // 128)


def field_number(field, n):
    return varint(field << 3) + varint(n)


def field_bytes(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def pprof(texts, parts):
    """A profile of live objects and bytes, whose samples have one of each. `texts` count from 5."""
    kinds = b"".join(field_bytes(1, field_number(1, i) + field_number(2, i + 1)) for i in (1, 3))
    words = [b"", b"inuse_objects", b"count", b"inuse_space", b"bytes"] + texts
    return kinds + parts + b"".join(field_bytes(6, word) for word in words)


def pprof_location(function):
    """Samples of one location that has many lines, of a function with long names or of none."""
    def make(n):
        lines = b"".join(field_bytes(4, field_number(1, function) + field_number(2, i + 1)) for i in range(4096))
        parts = field_bytes(5, field_number(1, 1) + field_number(2, 5) + field_number(4, 6)) + \
            field_bytes(4, field_number(1, 1) + lines)
        sample = field_bytes(2, field_bytes(1, b"\1") + field_bytes(2, b"\1\1"))
        return pprof([b"n" * 400, b"f" * 500], parts + sample * max(1, (n - len(parts)) // len(sample)))
    return make


def pprof_lines(n):
    return pprof_location(1)(n)


def pprof_no_lines(n):
    return pprof_location(2)(n)


def pprof_shared(n):
    """Stacks of thousands of frames each, which all share those of one location."""
    lines = field_bytes(4, field_number(1, 1) + field_number(2, 1)) * 4096
    parts = field_bytes(5, field_number(1, 1) + field_number(2, 5) + field_number(4, 6)) + \
        field_bytes(4, field_number(1, 1) + lines)

    def own(i):
        line = field_bytes(4, field_number(1, 1) + field_number(2, i))
        return field_bytes(4, field_number(1, i) + line) + \
            field_bytes(2, field_bytes(1, varint(i) + b"\1") + field_bytes(2, b"\1\1"))
    return pprof([b"n" * 400, b"f" * 500], parts + b"".join(fill(n, lambda i: own(i + 2))))


def pprof_devices(n):
    """Samples on a device whose name is as many digits as fit."""
    sample = field_bytes(2, field_bytes(1, b"\1") + field_bytes(2, b"\1\1") +
                         field_bytes(3, field_number(1, 5) + field_number(2, 6)))
    return pprof([b"device", b"1" * min(60000, n // 4)], sample * (n * 3 // 4 // len(sample)))


def refusals(n):
    """A log in which every word begins a refusal."""
    return b"CUDA out of memory. Tried to allocate 1.00 GiB. " * (n // 48)


def nearly_refusals(n):
    """The same, but none goes on."""
    return b"out of memory" * (n // 13)


def endless_view(path, _):
    """A database whose runs are a view that never ends."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 0x52504c59")
    db.execute("PRAGMA user_version = 6")
    db.execute("CREATE VIEW runs AS WITH RECURSIVE r(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM r)"
               " SELECT key, 'a' AS trace_path, 'b' AS trace_digest, 'c' AS policy, '{}' AS details FROM r")
    db.commit()
    db.close()


def endless_column(path, _):
    """A table of runs with a column that is computed for ever."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 0x52504c59")
    db.execute("PRAGMA user_version = 6")
    db.execute("CREATE TABLE runs(key, trace_path, policy, details, x GENERATED ALWAYS AS"
               " (length(replace(hex(zeroblob(1000000)), '0', 'aaaaaaaaaa'))), device GENERATED ALWAYS AS"
               " (length(replace(hex(zeroblob(1000000)), '0', 'aaaaaaaaaa'))))")
    db.execute("INSERT INTO runs(key, trace_path, policy, details) VALUES ('k', 't', 'p', '{}')")
    db.commit()
    db.close()


KINDS = {f.__name__: f for f in (
    facts, collide, numbers, deep_stack, shared_stack, nested_stacks, long_names, devices, too_many_devices,
    shared_segments, shared_records, pools, long_run, short_runs, collected, descending, ranges, start_ranges,
    waits, warnings, result_runs, nested, shared_members, policies, null_settings, null_cases, refused_cases,
    csv_ends, csv_sizes, one_size, spans, csv_streams, csv_retries, csv_long_lines, csv_days, csv_lives, profile_ends,
    freed_by_turns, captures, capture_streams, unlike_captures, steps_of_sizes,
    profile_objects, pprof_lines, pprof_no_lines, pprof_shared, pprof_devices, refusals, nearly_refusals, endless_view,
    endless_column)}


def write(kind, n_bytes, path):
    if kind.startswith("endless"):
        KINDS[kind](path, n_bytes)
        return
    with open(path, "wb") as out:
        out.write(KINDS[kind](n_bytes))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])
