/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two vectors are added; what the host copied to the card comes back until a kernel runs. */
#include "said.h"

__global__ void add(const float *a, const float *b, float *sum, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
}

int main(void)
{
    const int n = 50000;
    static float host[n], back[n];
    for (int i = 0; i < n; i++)
        host[i] = (float)i;
    float *a = take<float>(n), *b = take<float>(n), *sum = take<float>(n);
    OK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, b, sizeof host, cudaMemcpyDeviceToHost));
    HOLDS(back[n - 1] == host[n - 1]);
    add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(back, sum, sizeof back, cudaMemcpyDeviceToHost));
    add<<<1, 0>>>(a, b, sum, n);
    EXPECT(CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration, cudaGetLastError());
    give(b, n);
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(b, host, sizeof host, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(back, b, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(a, host, sizeof host + 4, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaFree(b));
    (void)cudaGetLastError();
    give(sum, n);
    give(a, n);
    return 0;
}
