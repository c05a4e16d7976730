/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A runtime for the tests of recording, as libcudart.so.12, and as a part of linked.c. Each call ends in a call of the
 * driver. Like NVIDIA's, it opens the driver and looks its functions up by name.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifndef API
#define API __attribute__((visibility("default")))
#endif
#define ENTRY(name, ...)             \
    API int name(__VA_ARGS__);       \
    API int name(__VA_ARGS__)

static struct {
    int (*alloc)(uint64_t *, size_t), (*free)(uint64_t);
    int (*alloc_async)(uint64_t *, size_t, uintptr_t), (*free_async)(uint64_t, uintptr_t);
    int (*host_alloc)(uint64_t *, size_t, unsigned), (*host_free)(uint64_t);
    int (*set_current)(uintptr_t), (*get_device)(int *), (*reset)(int);
} driver;
static pthread_once_t is_started = PTHREAD_ONCE_INIT;

static void start(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "cuGetProcAddress_v2");
    int (*look_up)(const char *, void **, int, uint64_t, int *);
    memcpy(&look_up, &symbol, sizeof look_up);
    if (symbol == NULL)
        abort();
    look_up("cuMemAlloc", (void **)&driver.alloc, 12000, 0, NULL);
    look_up("cuMemFree", (void **)&driver.free, 12000, 0, NULL);
    look_up("cuMemAllocAsync", (void **)&driver.alloc_async, 12000, 0, NULL);
    look_up("cuMemFreeAsync", (void **)&driver.free_async, 12000, 0, NULL);
    look_up("cuMemHostAlloc", (void **)&driver.host_alloc, 12000, 0, NULL);
    look_up("cuMemFreeHost", (void **)&driver.host_free, 12000, 0, NULL);
    symbol = dlsym(library, "cuCtxSetCurrent");
    memcpy(&driver.set_current, &symbol, sizeof driver.set_current);
    symbol = dlsym(library, "cuCtxGetDevice");
    memcpy(&driver.get_device, &symbol, sizeof driver.get_device);
    symbol = dlsym(library, "cuDevicePrimaryCtxReset_v2");
    memcpy(&driver.reset, &symbol, sizeof driver.reset);
}

ENTRY(cudaMalloc, uint64_t *out, size_t bytes)
{
    pthread_once(&is_started, start);
    return driver.alloc(out, bytes);
}
ENTRY(cudaFree, uint64_t addr)
{
    pthread_once(&is_started, start);
    return addr == 0 ? 0 : driver.free(addr);
}
ENTRY(cudaMallocAsync, uint64_t *out, size_t bytes, uintptr_t stream)
{
    pthread_once(&is_started, start);
    return driver.alloc_async(out, bytes, stream);
}
ENTRY(cudaFreeAsync, uint64_t addr, uintptr_t stream) { return driver.free_async(addr, stream); }
ENTRY(cudaMallocHost, uint64_t *out, size_t bytes)
{
    pthread_once(&is_started, start);
    return driver.host_alloc(out, bytes, 0);
}
ENTRY(cudaFreeHost, uint64_t addr) { return driver.host_free(addr); }
ENTRY(cudaSetDevice, int device)
{
    pthread_once(&is_started, start);
    return driver.set_current((uintptr_t)device);
}

/* Every array takes 1 KiB, whatever is asked for. */
struct extent { size_t width, height, depth; };
ENTRY(cudaMallocArray, uint64_t *out, const int *format, size_t width, size_t height, unsigned flags)
{
    (void)format, (void)width, (void)height, (void)flags;
    return cudaMalloc(out, 1024);
}
ENTRY(cudaMalloc3DArray, uint64_t *out, const int *format, struct extent extent, unsigned flags)
{
    (void)format, (void)extent, (void)flags;
    return cudaMalloc(out, 1024);
}
ENTRY(cudaMallocMipmappedArray, uint64_t *out, const int *format, struct extent extent, unsigned n, unsigned flags)
{
    (void)format, (void)extent, (void)n, (void)flags;
    return cudaMalloc(out, 1024);
}
ENTRY(cudaFreeArray, uint64_t array) { return cudaFree(array); }
ENTRY(cudaFreeMipmappedArray, uint64_t array) { return cudaFree(array); }
ENTRY(cudaGetDevice, int *out)
{
    pthread_once(&is_started, start);
    return driver.get_device(out);
}
ENTRY(cudaDeviceReset, void)
{
    int device = 0;
    return cudaGetDevice(&device) == 0 ? driver.reset(device) : 1;
}

/* A program's own copy of the runtime calls the driver outside of any recorded runtime call. */
ENTRY(fakeInternalMalloc, uint64_t *out, size_t bytes)
{
    pthread_once(&is_started, start);
    return driver.alloc(out, bytes);
}
