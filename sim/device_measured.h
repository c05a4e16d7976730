/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a real device took in time and memory. It varies from run to run, so it is reported apart.
 */
#ifndef REPLAY_SIM_DEVICE_MEASURED_H
#define REPLAY_SIM_DEVICE_MEASURED_H

#include "sim/call_times.h"

#define MEASURED_UNKNOWN UINT64_MAX

/* X(NAME, name, meaning): the driver's calls, by what they were for. */
#define MEASURED_CALLS(X)                                                                                   \
    X(MALLOC, "malloc", "cudaMalloc, or cuMemAlloc")                                                        \
    X(FREE, "free", "cudaFree, or cuMemFree")                                                               \
    X(RESERVE, "reserve", "cuMemAddressReserve")                                                            \
    X(UNRESERVE, "unreserve", "cuMemAddressFree")                                                           \
    X(CREATE, "create", "cuMemCreate")                                                                      \
    X(RELEASE, "release", "cuMemRelease")                                                                   \
    X(MAP, "map", "cuMemMap")                                                                               \
    X(ACCESS, "access", "cuMemSetAccess")                                                                   \
    X(UNMAP, "unmap", "cuMemUnmap")                                                                         \
    X(TOUCH, "touch", "cudaMemset and cudaDeviceSynchronize, with --touch")                                 \
    X(REFUSED, "refused", "any of these that found no memory")

#define MEASURED_ENUM(name, text, meaning) MEASURED_##name,
enum measured_call { MEASURED_CALLS(MEASURED_ENUM) MEASURED_CALL_KINDS };
#undef MEASURED_ENUM

/* One look at the card, plus what we held at that moment. MEASURED_UNKNOWN if nobody can tell. */
struct measured_memory {
    uint64_t reserved_bytes, page_bytes;     /* ours, as in struct device_usage */
    uint64_t free_bytes, total_bytes;        /* cudaMemGetInfo */
    uint64_t card_bytes, process_bytes;      /* in use on the card, and by this process: from NVML, as nvidia-smi shows
                                              * it */
};

struct device_measured {
    char     card[96];                       /* "NVIDIA H100 80GB HBM3"; "" without a name */
    char     software[96];                   /* "driver 570.86.15, CUDA 12.8, libcudart.so.12" */
    struct call_times calls[MEASURED_CALL_KINDS];
    struct measured_memory idle;             /* with the context, before anything is held */
    struct measured_memory peak;             /* when the most was held, or at most 0.2 % below that */
    struct measured_memory end;              /* after everything was given back */
    uint64_t context_bytes;                  /* of this process while nothing was held */
    uint64_t others_bytes;                   /* of the rest of the card at that time */
    uint64_t refusals;                       /* calls that the card refused although there should have been room */
    uint64_t refused_free_bytes;             /* what cudaMemGetInfo said at the first of them */
};

#endif
