/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Memory in stream order: of the default pool, of a pool of the program's, and what the pool counts. */
#include "said.h"

int main(void)
{
    cudaStream_t stream;
    cudaMemPool_t pool, own;
    cudaMemPoolProps props = {};
    unsigned long long used = 0, threshold = ~0ull;
    int has_pools = 0;
    OK(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, 0));
    HOLDS(has_pools);
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    float *a = take_async<float>(1 << 20, stream);
    float *b = take_async<float>(1000, stream);
    OK(cudaMemsetAsync(a, 0, 1 << 20, stream));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    HOLDS(used >= (4 << 20) + 4000);
    give_async(a, 1 << 20, stream);
    OK(cudaStreamSynchronize(stream));
    float *c = take_async<float>(1 << 20, stream);
    give_async(b, 1000, stream);
    give_async(c, 1 << 20, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    HOLDS(used == 0);
    OK(cudaMemPoolTrimTo(pool, 0));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&own, &props));
    OK(cudaMallocFromPoolAsync((void **)&a, 12344, own, stream));
    said("alloc", 12344);
    give_async(a, 12344 / sizeof *a, stream);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolDestroy(own));
    OK(cudaStreamDestroy(stream));
    return 0;
}
