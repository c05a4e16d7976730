/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A stream is captured, and its graph runs several times. */
#include "said.h"

__global__ void step(float *a)
{
    a[threadIdx.x] += 1;
}

int main(void)
{
    enum { RUNS = 5, BYTES = 4096 };
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    size_t n = 0;
    float *a = take<float>(BYTES / 4), *refused = NULL;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(a, 0, BYTES, stream));
    step<<<1, 128, 0, stream>>>(a);
    OK(cudaGetLastError());
    OK(cudaStreamIsCapturing(stream, &status));
    HOLDS(status == cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &n));
    HOLDS(n == 2);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < RUNS; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&refused, (size_t)1 << 50));
    said("oom", (size_t)1 << 50);
    (void)cudaGetLastError();
    give(a, BYTES / 4);
    return 0;
}
