/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The functions of NVIDIA's driver, runtime and NVML that we call, as one table with our own types.
 *
 * cuda_library_open fills the table from the host's libraries at run time; a test fills it with functions of its own.
 * The types have the layout of those in cuda.h and nvml.h; tests/check_cuda_decls.c compares them with the headers.
 */
#ifndef REPLAY_SIM_CUDA_API_H
#define REPLAY_SIM_CUDA_API_H

#include "base/err.h"
#include "sim/cuda_calls.h"

#include <stddef.h>
#include <stdint.h>

/* The results that we distinguish; runtime and driver number them alike. */
enum cuda_result {
    CUDA_DONE = 0,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_STUB_LIBRARY = 34,
    CUDA_NO_DEVICE = 100,
};

enum {
    CUDA_ATTRIBUTE_VIRTUAL_MEMORY = 102,     /* CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    CUDA_ALLOCATION_PINNED = 1,              /* CU_MEM_ALLOCATION_TYPE_PINNED */
    CUDA_LOCATION_DEVICE = 1,                /* CU_MEM_LOCATION_TYPE_DEVICE */
    CUDA_ACCESS_READ_WRITE = 3,              /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    CUDA_GRANULARITY_MINIMUM = 0,            /* CU_MEM_ALLOC_GRANULARITY_MINIMUM */
};

struct cuda_location {
    int type, id;
};

struct cuda_allocation {                     /* CUmemAllocationProp */
    int   type, handle_types;
    struct cuda_location location;
    void *win32;
    struct {
        unsigned char  compression, rdma;
        unsigned short usage;
        unsigned char  reserved[4];
    } flags;
};

struct cuda_access {                         /* CUmemAccessDesc */
    struct cuda_location location;
    int flags;
};

#define NVML_MEMORY_VERSION_2 (sizeof(struct nvml_memory_v2) | 2U << 24)
#define NVML_UNKNOWN          UINT64_MAX     /* NVML_VALUE_NOT_AVAILABLE, of a process's memory */

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {                      /* used: excludes what the driver reserves, as in nvidia-smi */
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

/* The functions of the three libraries. */
#define CUDA_ERROR     int
#define CU_RESULT      int
#define CU_DEVICE      int
#define CU_ATTRIBUTE   int
#define CU_CONTEXT     void *
#define CU_PTR         uint64_t
#define CU_HANDLE      uint64_t
#define CU_PROP        struct cuda_allocation
#define CU_ACCESS      struct cuda_access
#define CU_GRANULARITY int
#define NVML_RESULT    int
#define NVML_DEVICE    void *
#define NVML_MEMORY    struct nvml_memory
#define NVML_MEMORY_V2 struct nvml_memory_v2
#define NVML_PROCESS   struct nvml_process

#define CUDA_MEMBER(result, name, parameters) result (*name) parameters;

/* NULL where a library lacks a function. Of the runtime all are there or none; of CUDA_DRIVER_CALLS all; of the virtual
 * memory calls all or none. Without the runtime, cuMemAlloc_v2 and its like are there. */
struct cuda_api {
    CUDA_RUNTIME_CALLS(CUDA_MEMBER)
    CUDA_DRIVER_CALLS(CUDA_MEMBER)
    CUDA_DRIVER_EXTRAS(CUDA_MEMBER)
    CUDA_VIRTUAL_CALLS(CUDA_MEMBER)
    CUDA_NVML_CALLS(CUDA_MEMBER)
    char runtime[32];                        /* "libcudart.so.12"; "" if there is none */
};
#undef CUDA_MEMBER

/* Opens what the host has. ERR_UNSUPPORTED, with what is missing. The libraries stay loaded: they must not be unloaded
 * while a context exists, and opening them again finds the same. */
MUST_USE enum err cuda_library_open(struct cuda_api *out, struct err_detail *err);

#endif
