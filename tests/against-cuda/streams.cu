/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Work on several streams, with page-locked memory, events between them, and a callback. */
#include "said.h"

__global__ void scale(float *a, float by)
{
    a[threadIdx.x] *= by;
}

static void count(void *n)
{
    ++*(int *)n;
}

int main(void)
{
    enum { STREAMS = 4, N = 1 << 16 };
    cudaStream_t streams[STREAMS];
    cudaEvent_t begin, end;
    float *host = NULL, *parts[STREAMS], ms = -1;
    int n_called = 0;
    OK(cudaMallocHost((void **)&host, N * sizeof *host));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
    for (int i = 0; i < STREAMS; i++) {
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        parts[i] = take<float>(N / STREAMS);
    }
    OK(cudaEventRecord(begin, streams[0]));
    for (int i = 0; i < STREAMS; i++) {
        OK(cudaMemcpyAsync(parts[i], host + i * N / STREAMS, N / STREAMS * sizeof *host, cudaMemcpyHostToDevice,
                           streams[i]));
        scale<<<N / STREAMS / 256, 256, 0, streams[i]>>>(parts[i], 2.0f);
        OK(cudaGetLastError());
        if (i > 0)
            OK(cudaStreamWaitEvent(streams[i], begin, 0));
    }
    OK(cudaLaunchHostFunc(streams[1], count, &n_called));
    OK(cudaEventRecord(end, streams[STREAMS - 1]));
    OK(cudaEventSynchronize(end));
    OK(cudaDeviceSynchronize());
    OK(cudaEventElapsedTime(&ms, begin, end));
    HOLDS(ms >= 0 && n_called == 1);
    for (int i = 0; i < STREAMS; i++) {
        OK(cudaStreamQuery(streams[i]));
        OK(cudaStreamDestroy(streams[i]));
        give(parts[i], N / STREAMS);
    }
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaFreeHost(host));
    return 0;
}
