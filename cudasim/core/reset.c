/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cudaDeviceReset. Each part of the core frees what it keeps of a device. This file knows the parts, and no part knows
 * it, so core.c stays below them all.
 */
#include "cudasim/core/state.h"

/* In this order: when the pools have given back theirs, what is left of the device's memory are segments. */
static void (*const resets[])(int device) = {
    cudasim_pools_reset, cudasim_segments_reset, cudasim_ipc_reset, cudasim_graph_memory_reset, cudasim_arrays_reset,
};

enum { N_RESETS = sizeof resets / sizeof resets[0] };

enum cudasim_code cudasim_reset(int device)
{
    const enum cudasim_code code = cudasim_begin_device(device);
    if (code != CODE_SUCCESS)
        return code;
    for (size_t i = 0; i < N_RESETS; i++)
        resets[i](device);
    return cudasim_end(CODE_SUCCESS);
}
