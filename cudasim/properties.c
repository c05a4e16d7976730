/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The properties of a simulated card, by CUDA's attribute numbers (the same in cudaDeviceAttr and CUdevice_attribute).
 *
 * Memory is the simulated device's. The rest is that of a server card of compute capability 9.0 (CUDA C++ Programming
 * Guide, "Compute Capabilities"), so that libraries take the code paths that they would take there.
 */
#include "cudasim/state.h"

static const struct { int attribute, value; } attributes[] = {
    { 1, 1024 },                     /* max threads per block */
    { 2, 1024 }, { 3, 1024 }, { 4, 64 },             /* max block dimensions */
    { 5, 2147483647 }, { 6, 65535 }, { 7, 65535 },   /* max grid dimensions */
    { 8, 49152 },                    /* shared memory per block */
    { 9, 65536 },                    /* constant memory */
    { 10, 32 },                      /* warp size */
    { 11, 2147483647 },              /* max pitch */
    { 12, 65536 },                   /* registers per block */
    { 13, 1980000 },                 /* clock, kHz */
    { 14, 512 },                     /* texture alignment */
    { 15, 1 },                       /* copies overlap kernels */
    { 16, 132 },                     /* multiprocessors */
    { 19, 1 },                       /* host memory can be mapped */
    { 30, 512 },                     /* surface alignment */
    { 31, 1 },                       /* concurrent kernels */
    { 32, 1 },                       /* ECC */
    { 36, 2619000 },                 /* memory clock, kHz */
    { 37, 5120 },                    /* memory bus, bits */
    { 38, 52428800 },                /* L2 cache */
    { 39, 2048 },                    /* threads per multiprocessor */
    { 40, 3 },                       /* copy engines */
    { 41, 1 },                       /* unified addressing */
    { 51, 32 },                      /* texture pitch alignment */
    { 75, 9 }, { 76, 0 },            /* compute capability */
    { 78, 1 }, { 79, 1 }, { 80, 1 }, /* stream priorities, global and local L1 caching */
    { 81, 233472 },                  /* shared memory per multiprocessor */
    { 82, 65536 },                   /* registers per multiprocessor */
    { 83, 1 },                       /* managed memory */
    { 90, 1 },                       /* compute preemption */
    { 91, 1 },                       /* host pointers of registered memory */
    { 95, 1 },                       /* cooperative launch */
    { 97, 232448 },                  /* shared memory per block, opted in */
    { 99, 1 },                       /* host memory can be registered */
    { 102, 1 },                      /* virtual memory management */
    { 106, 32 },                     /* blocks per multiprocessor */
    { 108, 36700160 },               /* persisting L2 */
    { 109, 134217728 },              /* access policy window */
    { 111, 1024 },                   /* shared memory reserved per block */
    { 115, 1 },                      /* memory pools */
    { 120, 1 },                      /* cluster launch */
    { 121, 1 },                      /* deferred mapping of arrays */
};

enum { N_ATTRIBUTES = sizeof attributes / sizeof attributes[0], ATTRIBUTES_END = 160 };
enum { ATTRIBUTE_PCI_BUS = 33 };

enum cudasim_code cudasim_attribute(int attribute, int device, int *value)
{
    if (device < 0 || device >= cudasim_device_count())
        return CODE_INVALID_DEVICE;
    if (attribute < 1 || attribute >= ATTRIBUTES_END)
        return CODE_INVALID_VALUE;
    *value = attribute == ATTRIBUTE_PCI_BUS ? device + 1 : 0;
    for (int i = 0; i < N_ATTRIBUTES; i++)
        if (attributes[i].attribute == attribute)
            *value = attributes[i].value;
    return CODE_SUCCESS;
}

const char *cudasim_device_name(void)
{
    return "Simulated GPU";
}
