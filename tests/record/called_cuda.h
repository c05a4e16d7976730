/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The functions of the runtime and of the driver that the recorded programs call; CUDA's headers are not needed to
 * build the tests. An address or a handle is a number here.
 */
#ifndef REPLAY_TESTS_RECORD_CALLED_CUDA_H
#define REPLAY_TESTS_RECORD_CALLED_CUDA_H

#include <stddef.h>
#include <stdint.h>

int cudaMalloc(uint64_t *out, size_t bytes);
int cudaFree(uint64_t addr);
int cudaMallocAsync(uint64_t *out, size_t bytes, uintptr_t stream);
int cudaFreeAsync(uint64_t addr, uintptr_t stream);
int cudaMallocHost(uint64_t *out, size_t bytes);
int cudaFreeHost(uint64_t addr);
int cudaSetDevice(int device);
int cudaDeviceReset(void);
int cuDevicePrimaryCtxReset_v2(int device);
struct extent { size_t width, height, depth; };
int cudaMallocArray(uint64_t *out, const int *format, size_t width, size_t height, unsigned flags);
int cudaMalloc3DArray(uint64_t *out, const int *format, struct extent extent, unsigned flags);
int cudaMallocMipmappedArray(uint64_t *out, const int *format, struct extent extent, unsigned n, unsigned flags);
int cudaFreeArray(uint64_t array);
int cudaFreeMipmappedArray(uint64_t array);
int cuArrayCreate_v2(uint64_t *out, const void *descriptor);
int cuArrayDestroy(uint64_t array);
int fakeInternalMalloc(uint64_t *out, size_t bytes);
int cuCtxCreate_v2(uintptr_t *context, unsigned flags, int device);
int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemFree_v2(uint64_t addr);
int cuMemAllocManaged(uint64_t *out, size_t bytes, unsigned flags);
int cuMemAllocPitch_v2(uint64_t *out, size_t *pitch, size_t width, size_t height, unsigned element);
int cuMemCreate(uint64_t *handle, size_t bytes, const void *prop, unsigned long long flags);
int cuMemRelease(uint64_t handle);
int cuMemMap(uint64_t addr, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags);
int cuMemUnmap(uint64_t addr, size_t bytes);

#endif
