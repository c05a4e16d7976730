/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A strict driver in memory: NVIDIA's calls as functions of the test, which notice every wrong use and fail on demand.
 *
 * It knows what is held, so that a test can show that nothing is left, and refuses what the real driver refuses. Its
 * state is global: each test case is a process of its own.
 */
#ifndef REPLAY_TESTS_FAKE_CUDA_H
#define REPLAY_TESTS_FAKE_CUDA_H

#include "base/units.h"
#include "sim/cuda_api.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_PAGE          (2 * MIB)
#define FAKE_INVALID       1
#define FAKE_ILLEGAL       700
#define FAKE_HANDLE_BASE   UINT64_C(0x1000)
enum { FAKE_THINGS_MAX = 1 << 15 };

enum fake_kind { FAKE_SEGMENT, FAKE_RANGE, FAKE_PHYS, FAKE_MAPPING };
struct fake_thing {
    enum fake_kind kind;
    uint64_t addr, bytes;            /* addr: the handle, if the memory has no address */
    bool     is_accessible;          /* of a mapping */
    bool     is_waited;              /* of a mapping: the host has waited for the card since it was made */
};

struct fake_cuda {
    uint64_t total_bytes, others_bytes, context_bytes;
    uint64_t used_bytes;             /* by segments and physical memory, in whole pages */
    unsigned contexts;               /* retained */
    int      n_cards;
    uint64_t next_addr, next_handle;
    struct fake_thing *things;
    size_t   n_things;
    uint64_t calls, touched_bytes;
    uint64_t fail_at;                /* the n-th call fails, from 1; 0: none */
    int      fail_with;
    uint64_t interrupt_at;           /* the n-th call is interrupted by a signal */
    volatile sig_atomic_t interrupted;
    uint64_t wrong_uses;
    bool     hides_process;          /* NVML gives this process another number, as in a container */
    bool     has_no_ranges;
};
static struct fake_cuda fake;

static inline void fake_reset(uint64_t total_bytes)
{
    free(fake.things);
    fake = (struct fake_cuda){.total_bytes = total_bytes, .n_cards = 1, .next_addr = UINT64_C(0x7f4000000000),
                              .next_handle = FAKE_HANDLE_BASE};
    fake.things = calloc(FAKE_THINGS_MAX, sizeof *fake.things);
}

/* ---- inside ---- */

/* 0, or the code with which this call must fail. */
static inline int fake_call(void)
{
    fake.calls++;
    if (fake.interrupt_at == fake.calls)
        fake.interrupted = SIGINT;
    return fake.fail_at == fake.calls ? fake.fail_with : CUDA_DONE;
}

static inline int fake_wrong(void)
{
    fake.wrong_uses++;
    return FAKE_INVALID;
}

static inline struct fake_thing *fake_find(enum fake_kind kind, uint64_t addr)
{
    for (size_t i = fake.n_things; i-- > 0;)
        if (fake.things[i].kind == kind && fake.things[i].addr == addr)
            return &fake.things[i];
    return NULL;
}

/* The thing of a kind that holds all of [addr, addr + bytes). */
static inline struct fake_thing *fake_around(enum fake_kind kind, uint64_t addr, uint64_t bytes)
{
    for (size_t i = 0; i < fake.n_things; i++) {
        struct fake_thing *t = &fake.things[i];
        if (t->kind == kind && addr >= t->addr && bytes <= t->bytes && addr - t->addr <= t->bytes - bytes)
            return t;
    }
    return NULL;
}

static inline bool fake_overlaps(enum fake_kind kind, uint64_t addr, uint64_t bytes)
{
    for (size_t i = 0; i < fake.n_things; i++) {
        const struct fake_thing *t = &fake.things[i];
        if (t->kind == kind && addr < t->addr + t->bytes && t->addr < addr + bytes)
            return true;
    }
    return false;
}

static inline void fake_add(enum fake_kind kind, uint64_t addr, uint64_t bytes)
{
    if (fake.n_things == FAKE_THINGS_MAX)
        abort();
    fake.things[fake.n_things++] = (struct fake_thing){.kind = kind, .addr = addr, .bytes = bytes};
}

static inline void fake_remove(struct fake_thing *t)
{
    *t = fake.things[--fake.n_things];
}

static inline uint64_t fake_room(void)
{
    const uint64_t taken = fake.used_bytes + fake.others_bytes + (fake.contexts > 0 ? fake.context_bytes : 0);
    return taken > fake.total_bytes ? 0 : fake.total_bytes - taken;
}

/* ---- memory ---- */

static inline int fake_alloc(uint64_t *addr, size_t bytes)
{
    const int result = fake_call();
    const uint64_t pages = align_up(bytes, FAKE_PAGE);
    if (result != CUDA_DONE)
        return result;
    if (fake.contexts == 0 || bytes == 0)
        return fake_wrong();
    if (pages > fake_room())
        return CUDA_OUT_OF_MEMORY;
    *addr = fake.next_addr;
    fake.next_addr += pages;
    fake.used_bytes += pages;
    fake_add(FAKE_SEGMENT, *addr, pages);
    return CUDA_DONE;
}

static inline int fake_free(uint64_t addr)
{
    const int result = fake_call();
    struct fake_thing *t = fake_find(FAKE_SEGMENT, addr);
    if (t == NULL)
        return fake_wrong();
    fake.used_bytes -= t->bytes;     /* even if the call fails: the context is broken then, and its memory gone */
    fake_remove(t);
    return result;
}

static inline int fake_cudaMalloc(void **p, size_t bytes)
{
    uint64_t addr = 0;
    const int result = fake_alloc(&addr, bytes);
    if (result == CUDA_DONE)
        *p = (void *)(uintptr_t)addr;
    return result;
}

static inline int fake_cudaFree(void *p)
{
    return fake_free((uint64_t)(uintptr_t)p);
}

static inline int fake_memory_info(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = (size_t)fake_room();
    *total_bytes = (size_t)fake.total_bytes;
    return CUDA_DONE;
}

static inline int fake_memset(uint64_t addr, size_t bytes)
{
    const int result = fake_call();
    const struct fake_thing *m = fake_around(FAKE_MAPPING, addr, bytes);
    if (result != CUDA_DONE)
        return result;
    if (fake_around(FAKE_SEGMENT, addr, bytes) == NULL && (m == NULL || !m->is_accessible))
        return fake_wrong();
    fake.touched_bytes += bytes;
    return CUDA_DONE;
}

static inline int fake_cudaMemset(void *p, int value, size_t bytes)
{
    (void)value;
    return fake_memset((uint64_t)(uintptr_t)p, bytes);
}

static inline int fake_cuMemsetD8(uint64_t addr, unsigned char value, size_t bytes)
{
    (void)value;
    return fake_memset(addr, bytes);
}

static inline int fake_done(void)
{
    return CUDA_DONE;
}

static inline int fake_version(int *version)
{
    *version = 12080;
    return CUDA_DONE;
}

/* ---- the card ---- */

static inline int fake_cuInit(unsigned flags)
{
    (void)flags;
    const int result = fake_call();
    return result != CUDA_DONE ? result : fake.n_cards == 0 ? CUDA_NO_DEVICE : CUDA_DONE;
}

static inline int fake_count(int *n)
{
    *n = fake.n_cards;
    return fake_call();
}

static inline int fake_cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return fake_call();
}

static inline int fake_attribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == CUDA_ATTRIBUTE_VIRTUAL_MEMORY && !fake.has_no_ranges;
    return fake_call();
}

static inline int fake_retain(void **context, int device)
{
    const int result = fake_call();
    (void)device;
    if (result != CUDA_DONE)
        return result;
    if (fake.contexts == 0 && fake.context_bytes > fake_room())
        return CUDA_OUT_OF_MEMORY;
    fake.contexts++;
    *context = &fake;
    return CUDA_DONE;
}

static inline int fake_release_context(int device)
{
    (void)device;
    if (fake.contexts == 0)
        return fake_wrong();
    fake.contexts--;
    return CUDA_DONE;
}

static inline int fake_set_current(void *context)
{
    const int result = fake_call();
    return context == &fake ? result : fake_wrong();
}

static inline int fake_name(char *out, int n, int device)
{
    snprintf(out, (size_t)n, "Fake %d", device);
    return CUDA_DONE;
}

static inline int fake_bus(char *out, int n, int device)
{
    snprintf(out, (size_t)n, "0000:%02x:00.0", device + 1);
    return CUDA_DONE;
}

static inline int fake_error_name(int result, const char **out)
{
    *out = result == FAKE_ILLEGAL ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_INVALID_VALUE";
    return CUDA_DONE;
}

/* ---- virtual memory ---- */

static inline int fake_granularity(size_t *out, const struct cuda_allocation *prop, int which)
{
    (void)which;
    *out = FAKE_PAGE;
    return prop->location.type == CUDA_LOCATION_DEVICE ? fake_call() : fake_wrong();
}

static inline int fake_reserve(uint64_t *addr, size_t bytes, size_t alignment, uint64_t wish, unsigned long long flags)
{
    const int result = fake_call();
    (void)alignment, (void)wish, (void)flags;
    if (result != CUDA_DONE)
        return result;
    if (bytes == 0 || bytes % FAKE_PAGE != 0)
        return fake_wrong();
    *addr = fake.next_addr;
    fake.next_addr += bytes;
    fake_add(FAKE_RANGE, *addr, bytes);
    return CUDA_DONE;
}

static inline int fake_unreserve(uint64_t addr, size_t bytes)
{
    const int result = fake_call();
    struct fake_thing *t = fake_find(FAKE_RANGE, addr);
    if (t == NULL || t->bytes != bytes || fake_overlaps(FAKE_MAPPING, addr, bytes))
        return fake_wrong();
    fake_remove(t);
    return result;
}

static inline int fake_create(uint64_t *handle, size_t bytes, const struct cuda_allocation *prop,
                              unsigned long long flags)
{
    const int result = fake_call();
    (void)flags;
    if (result != CUDA_DONE)
        return result;
    if (prop->type != CUDA_ALLOCATION_PINNED || bytes % FAKE_PAGE != 0)
        return fake_wrong();
    if (bytes > fake_room())
        return CUDA_OUT_OF_MEMORY;
    fake.used_bytes += bytes;
    *handle = fake.next_handle++;
    fake_add(FAKE_PHYS, *handle, bytes);
    return CUDA_DONE;
}

static inline int fake_release(uint64_t handle)
{
    const int result = fake_call();
    struct fake_thing *t = fake_find(FAKE_PHYS, handle);
    if (t == NULL)
        return fake_wrong();
    fake.used_bytes -= t->bytes;
    fake_remove(t);
    return result;
}

static inline int fake_map(uint64_t addr, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags)
{
    const int result = fake_call();
    const struct fake_thing *memory = fake_find(FAKE_PHYS, handle);
    (void)flags;
    if (result != CUDA_DONE)
        return result;
    if (memory == NULL || offset != 0 || bytes > memory->bytes || fake_around(FAKE_RANGE, addr, bytes) == NULL ||
        fake_overlaps(FAKE_MAPPING, addr, bytes))
        return fake_wrong();
    fake_add(FAKE_MAPPING, addr, bytes);
    return CUDA_DONE;
}

/* Kernels that use what is mapped until then have ended. */
static inline int fake_wait(void)
{
    for (size_t i = 0; i < fake.n_things; i++)
        fake.things[i].is_waited = true;
    return fake_call();
}

/* A kernel may still use what is mapped: the driver does not wait. */
static inline int fake_unmap(uint64_t addr, size_t bytes)
{
    const int result = fake_call();
    struct fake_thing *t = fake_find(FAKE_MAPPING, addr);
    if (t == NULL || t->bytes != bytes || (t->is_accessible && !t->is_waited))
        return fake_wrong();
    fake_remove(t);
    return result;
}

static inline int fake_set_access(uint64_t addr, size_t bytes, const struct cuda_access *access, size_t n)
{
    const int result = fake_call();
    struct fake_thing *t = fake_find(FAKE_MAPPING, addr);
    if (result != CUDA_DONE)
        return result;
    if (t == NULL || t->bytes != bytes || n != 1 || access->flags != CUDA_ACCESS_READ_WRITE)
        return fake_wrong();
    t->is_accessible = true;
    return CUDA_DONE;
}

/* ---- NVML ---- */

static inline int fake_driver_version(char *out, unsigned n)
{
    snprintf(out, n, "570.86");
    return CUDA_DONE;
}

static inline int fake_handle(const char *bus, void **out)
{
    *out = &fake;
    return strcmp(bus, "0000:01:00.0") == 0 ? CUDA_DONE : FAKE_INVALID;
}

static inline int fake_nvml_memory(void *device, struct nvml_memory_v2 *out)
{
    if (device != &fake || out->version != NVML_MEMORY_VERSION_2)
        return fake_wrong();
    out->total = fake.total_bytes;
    out->used = fake.total_bytes - fake_room();
    return CUDA_DONE;
}

static inline int fake_processes(void *device, unsigned *n, struct nvml_process *out)
{
    if (device != &fake)
        return fake_wrong();
    *n = 0;
    if (fake.others_bytes > 0)
        out[(*n)++] = (struct nvml_process){.pid = 1, .used = fake.others_bytes};
    if (fake.contexts > 0)
        out[(*n)++] = (struct nvml_process){.pid = fake.hides_process ? 4000000 : (unsigned)getpid(),
                                            .used = fake.context_bytes + fake.used_bytes};
    return CUDA_DONE;
}

/* ---- the table ---- */

/* All functions. */
static inline struct cuda_api fake_api(void)
{
    return (struct cuda_api){
        .runtime = "libcudart.so.12",
        .cudaGetDeviceCount = fake_count,               .cudaMalloc = fake_cudaMalloc,
        .cudaFree = fake_cudaFree,                      .cudaMemGetInfo = fake_memory_info,
        .cudaGetLastError = fake_done,                  .cudaRuntimeGetVersion = fake_version,
        .cudaMemset = fake_cudaMemset,                  .cudaDeviceSynchronize = fake_wait,
        .cuInit = fake_cuInit,                          .cuDeviceGetCount = fake_count,
        .cuDeviceGet = fake_cuDeviceGet,                .cuDeviceGetAttribute = fake_attribute,
        .cuDevicePrimaryCtxRetain = fake_retain,        .cuCtxSetCurrent = fake_set_current,
        .cuDevicePrimaryCtxRelease_v2 = fake_release_context,
        .cuDriverGetVersion = fake_version,             .cuDeviceGetName = fake_name,
        .cuDeviceGetPCIBusId = fake_bus,                .cuGetErrorName = fake_error_name,
        .cuMemAlloc_v2 = fake_alloc,                    .cuMemFree_v2 = fake_free,
        .cuMemGetInfo_v2 = fake_memory_info,            .cuMemsetD8_v2 = fake_cuMemsetD8,
        .cuCtxSynchronize = fake_wait,
        .cuMemGetAllocationGranularity = fake_granularity,
        .cuMemAddressReserve = fake_reserve,            .cuMemAddressFree = fake_unreserve,
        .cuMemCreate = fake_create,                     .cuMemRelease = fake_release,
        .cuMemMap = fake_map,                           .cuMemUnmap = fake_unmap,
        .cuMemSetAccess = fake_set_access,
        .nvmlInit_v2 = fake_done,                       .nvmlShutdown = fake_done,
        .nvmlSystemGetDriverVersion = fake_driver_version,
        .nvmlDeviceGetHandleByPciBusId_v2 = fake_handle,
        .nvmlDeviceGetMemoryInfo_v2 = fake_nvml_memory,
        .nvmlDeviceGetComputeRunningProcesses_v3 = fake_processes,
    };
}

/* The functions of the driver, without the runtime's. */
static inline struct cuda_api fake_api_of_driver(void)
{
    struct cuda_api api = fake_api();
    api.cudaGetDeviceCount = NULL;
    api.cudaMalloc = NULL;
    api.cudaFree = NULL;
    api.cudaMemGetInfo = NULL;
    api.cudaGetLastError = NULL;
    api.cudaRuntimeGetVersion = NULL;
    api.cudaMemset = NULL;
    api.cudaDeviceSynchronize = NULL;
    api.runtime[0] = '\0';
    return api;
}

#endif
