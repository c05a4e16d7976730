# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs of several streams, which keep memory from each other; written while that verdict was made."""
import collections
import random

import torch

from parts import dies

MIB = 1 << 20


def buffer_of(mib):
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


@dies("streams", 660, "serving: three streams in turn, whose answers the main stream uses", "max_split_size_mb")
def three_streams_in_turn():
    draw, streams = random.Random(1), [torch.cuda.Stream() for _ in range(3)]
    weights = [buffer_of(32) for _ in range(4)]
    live = collections.deque()
    for i in range(3000):
        with torch.cuda.stream(streams[i % 3]):
            x = buffer_of(draw.choice([3, 5, 9, 14, 22, 31]) * draw.uniform(.8, 1.2))
            y = buffer_of(draw.choice([1.5, 2.5, 4]))
        y.record_stream(torch.cuda.current_stream())
        x.record_stream(torch.cuda.current_stream())
        live.append((x, y))
        del x, y
        while len(live) > 16 or sum(pair[0].numel() for pair in live) > 300 * MIB:
            live.popleft()
    return weights


@dies("streams", 800, "the heavy work goes from stream to stream, results stay", "one stream")
def heavy_work_moves_on():
    draw, streams = random.Random(2), [torch.cuda.Stream() for _ in range(3)]
    weights = [buffer_of(32) for _ in range(4)]
    kept = collections.deque(maxlen=120)
    for turn in range(60):
        with torch.cuda.stream(streams[turn % 3]):
            work = []
            for _ in range(24):
                work.append(buffer_of(12 * draw.uniform(.7, 1.3)))
                kept.append(buffer_of(1.5))
            work[-1].record_stream(torch.cuda.current_stream())
        del work
    return weights


class Worker:
    def __init__(self):
        self.stream, self.cache = torch.cuda.Stream(), collections.deque(maxlen=6)

    def serve(self, mib):
        with torch.cuda.stream(self.stream):
            work = [buffer_of(mib * share) for share in (1, .7, .5)]
            self.cache.append(buffer_of(2.5))
            del work
            return buffer_of(mib * .3)


@dies("streams", 330, "workers with a stream each, long requests go to one after another", "one stream")
def workers_with_streams():
    draw, workers = random.Random(5), [Worker() for _ in range(3)]
    for i in range(600):
        outputs = [workers[i // 20 % 3].serve(draw.uniform(8, 30)) for _ in range(3)]
        for output in outputs:
            output.record_stream(torch.cuda.current_stream())
        del outputs


@dies("leak", 200, "results of a side stream are all kept", "del")
def side_stream_keeps():
    side, kept = torch.cuda.Stream(), []
    for _ in range(300):
        with torch.cuda.stream(side):
            work = buffer_of(6), buffer_of(3)
            kept.append(buffer_of(1.2))  # here
            del work


@dies("fragmented", 330, "one stream is in pieces, another does little", "roundup_power2_divisions")
def other_stream_does_little():
    draw, side, slots = random.Random(9), torch.cuda.Stream(), [None] * 24
    for _ in range(800):
        with torch.cuda.stream(side):
            small = buffer_of(1.5)
        slots[draw.randrange(24)] = buffer_of(draw.uniform(2, 16))
        del small


@dies("streams", 400, "prefetch: batches of a side stream are used late (record_stream), and results stay",
      "wait before it is dropped", late=True)
def batches_are_used_late():
    draw, side, net = random.Random(6), torch.cuda.Stream(), torch.nn.Linear(64, 64).cuda()
    results = collections.deque(maxlen=96)
    for _ in range(400):
        for _ in range(8):
            with torch.cuda.stream(side):
                batch = buffer_of(draw.uniform(12, 20))
                results.append(buffer_of(1.5))
            torch.cuda.current_stream().wait_stream(side)
            net(torch.empty(64, 64, device="cuda"))
            batch.record_stream(torch.cuda.current_stream())
            del batch
        torch.cuda.current_stream().synchronize()
