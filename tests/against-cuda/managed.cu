/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Managed memory: the host reads and writes it as its own. */
#include "said.h"

__managed__ int counter = 0;

__global__ void touch(int *a)
{
    a[threadIdx.x] += counter;
}

int main(void)
{
    enum { N = 1 << 18 };
    int *a = NULL;
    cudaPointerAttributes facts;
    OK(cudaMallocManaged((void **)&a, N * sizeof *a, cudaMemAttachGlobal));
    counter = 3;
    for (int i = 0; i < N; i++)
        a[i] = i;
    int *own = take<int>(32);
    OK(cudaMemcpy(own, a, 128, cudaMemcpyDefault));
    touch<<<1, 32>>>(a);
    OK(cudaDeviceSynchronize());
    HOLDS(a[N - 1] == N - 1 && counter == 3);
    OK(cudaPointerGetAttributes(&facts, a));
    HOLDS(facts.type == cudaMemoryTypeManaged && facts.hostPointer == a);
    OK(cudaPointerGetAttributes(&facts, &counter));
    HOLDS(facts.type == cudaMemoryTypeManaged);
    OK(cudaFree(a));
    give(own, 32);
    return 0;
}
