/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Variables of kernels: sizes, first values, copies; none of them takes memory by a call. */
#include "said.h"

__device__ float table[1000];
__device__ int ready = 7;
__constant__ double weights[32] = { 0.5 };

__global__ void use(float *out)
{
    out[threadIdx.x] = table[threadIdx.x] * (float)weights[threadIdx.x % 32] + ready;
}

int main(void)
{
    double w[32] = { 1.5, 2.5 }, back[32] = { 0 };
    size_t bytes = 0;
    int first = 0;
    void *addr = NULL;
    OK(cudaGetSymbolSize(&bytes, table));
    HOLDS(bytes == sizeof table);
    OK(cudaMemcpyFromSymbol(&first, ready, sizeof first));
    HOLDS(first == 7);
    OK(cudaMemcpyFromSymbol(back, weights, sizeof back));
    HOLDS(back[0] == 0.5 && back[1] == 0);
    OK(cudaMemcpyToSymbol(weights, w, sizeof w));
    OK(cudaMemcpyFromSymbol(back, weights, 8, 8));
    HOLDS(back[0] == 2.5);
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToSymbol(weights, w, sizeof w, 8));
    EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&addr, *w));
    (void)cudaGetLastError();
    OK(cudaGetSymbolAddress(&addr, table));
    OK(cudaMemset(addr, 0, sizeof table));
    float *out = take<float>(256);
    use<<<1, 256>>>(out);
    OK(cudaDeviceSynchronize());
    give(out, 256);
    return 0;
}
