/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the card tells of kernels: registers, shared memory, blocks at once. How many blocks fit follows from the card's
 * limits, which this program reads from its attributes, and from what cudaFuncGetAttributes says.
 */
#include "said.h"

__global__ void shared_sum(const float *a, float *sum)
{
    __shared__ float part[1024];
    part[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < 1024; i++)
            *sum += part[i];
}

__global__ void __launch_bounds__(64) few_threads(float *a, int n)
{
    float own[16];
    for (int i = 0; i < 16; i++)
        own[i] = a[i * n] * a[i];
    for (int i = 0; i < 16; i++)
        a[i] = own[(i * n) % 16];
}

static int attribute(cudaDeviceAttr which)
{
    int value = 0;
    OK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

template <class K> static void check(K kernel, int threads, size_t dynamic)
{
    cudaFuncAttributes f;
    int blocks = -1;
    OK(cudaFuncGetAttributes(&f, kernel));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic));
    const int warps = (threads + 31) / 32, per_warp = (f.numRegs * 32 + 255) / 256 * 256;
    const int by_registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor) / 4 / per_warp * 4 / warps;
    const int by_threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / (warps * 32);
    const size_t bytes = f.sharedSizeBytes + dynamic + attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    const int by_shared = bytes == 0 ? 1 << 20 : (int)(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) /
                                                       ((bytes + 127) / 128 * 128));
    const int wanted = least(least(attribute(cudaDevAttrMaxBlocksPerMultiprocessor), by_threads),
                             least(by_registers, by_shared));
    EXPECT(wanted, blocks);                          /* launch bounds play no part */
}

int main(void)
{
    cudaFuncAttributes f;
    int grid = 0, block = 0;
    OK(cudaFuncGetAttributes(&f, shared_sum));
    HOLDS(f.sharedSizeBytes == 4096 && f.numRegs > 0 && f.numRegs < 256 && f.maxThreadsPerBlock == 1024);
    OK(cudaFuncGetAttributes(&f, few_threads));
    HOLDS(f.maxThreadsPerBlock == 64 && f.localSizeBytes >= 64 && f.sharedSizeBytes == 0);
    for (int threads = 32; threads <= 1024; threads += 96) {
        check(shared_sum, threads, 0);
        check(shared_sum, threads, 20000);
        check(few_threads, threads, 0);
    }
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, few_threads, 0, 0));
    HOLDS(block == 64 && grid > 0);
    float *partial = take<float>(grid);              /* as reductions size their temporary storage */
    give(partial, grid);
    return 0;
}
