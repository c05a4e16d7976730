/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A stream is captured, and its graph runs several times; so does a graph whose nodes are added one by one. */
#include "said.h"

__global__ void step(float *a)
{
    a[threadIdx.x] += 1;
}

static void CUDART_CB count(void *n)
{
    ++*(int *)n;
}

static void add_by_hand(float *a, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t set, run, copy, call;
    float back[128];
    int n_called = 0;
    void *arguments[] = { &a };
    cudaMemsetParams zeros = {};
    zeros.dst = a;
    zeros.elementSize = 4;
    zeros.width = 128;
    zeros.height = 1;
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)step;
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(128);
    kernel.kernelParams = arguments;
    cudaHostNodeParams host = { count, &n_called };
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &zeros));
    OK(cudaGraphAddKernelNode(&run, graph, &set, 1, &kernel));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &run, 1, back, a, sizeof back, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddHostNode(&call, graph, &copy, 1, &host));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    HOLDS(n_called == 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
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
    add_by_hand(a, stream);
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&refused, (size_t)1 << 50));
    said("oom", (size_t)1 << 50);
    (void)cudaGetLastError();
    give(a, BYTES / 4);
    return 0;
}
