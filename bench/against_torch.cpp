/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Runs PyTorch's own allocator on the events that bench_engine wrote: against_torch CASE EVENTS. Prints lines as
 * bench_engine does. No Python runs here: bench/run --torch builds and starts it with the libraries of a PyTorch wheel
 * and the simulated CUDA of this tree.
 */
#include "base/event.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/cuda/PeerToPeerAccess.h>

#include <cstdio>
#include <ctime>
#include <vector>

namespace allocator = c10::cuda::CUDACachingAllocator;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

static std::vector<struct event> read_events(const char *path)
{
    std::vector<struct event> events;
    std::FILE *file = std::fopen(path, "rb");
    struct event chunk[4096];
    size_t n;
    while (file != nullptr && (n = std::fread(chunk, sizeof chunk[0], 4096, file)) > 0)
        events.insert(events.end(), chunk, chunk + n);
    if (file != nullptr)
        std::fclose(file);
    return events;
}

/* The trace's stream 0 is the default stream; the others are taken from PyTorch's pool as they appear. */
static cudaStream_t stream_of(std::vector<cudaStream_t> &streams, uint16_t stream)
{
    while (streams.size() <= stream)
        streams.push_back(c10::cuda::getStreamFromPool(false, 0).stream());
    return streams[stream];
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const std::vector<struct event> events = read_events(argv[2]);
    uint32_t n_slots = 0;
    std::vector<cudaStream_t> streams(1, nullptr);
    allocator::init(1);
    c10::cuda::detail::init_p2p_access_cache(1);           /* asked for by expandable segments */
    for (const struct event &e : events) {
        n_slots = e.slot >= n_slots ? e.slot + 1 : n_slots;
        stream_of(streams, e.stream);
    }
    std::vector<void *> live(n_slots, nullptr);
    const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), clock = seconds(CLOCK_MONOTONIC);
    for (const struct event &e : events)
        if (e.kind == EVENT_ALLOC)
            live[e.slot] = allocator::raw_alloc_with_stream(e.bytes, streams[e.stream]);
        else
            allocator::raw_delete(live[e.slot]);
    const double cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, clock_s = seconds(CLOCK_MONOTONIC) - clock;
    std::printf("torch,%s,torch_ns,%.6g\n", argv[1], cpu_s * 1e9 / static_cast<double>(events.size()));
    std::printf("torch,%s,cpu_share,%.6g\n", argv[1], cpu_s / clock_s);
    std::fflush(stdout);
    std::_Exit(events.empty() ? 2 : 0);                   /* without the destructors of a device that is not there */
}
