/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Graphs whose nodes take memory and give it back: made by hand, and captured from a stream. */
#include "said.h"

enum { N = 8 << 20 };

__global__ void touch(char *a)
{
    a[threadIdx.x] = 1;
}

static unsigned long long reserved(void)
{
    unsigned long long bytes = 0;
    OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes));
    return bytes;
}

static void launch(cudaGraphExec_t exec, cudaStream_t stream, int times, bool is_freed)
{
    for (int i = 0; i < times; i++) {
        OK(cudaGraphLaunch(exec, stream));
        said("alloc", N);
        if (is_freed)
            said("free", N);
    }
    OK(cudaStreamSynchronize(stream));
}

static cudaGraph_t captured(cudaStream_t stream)
{
    char *a = NULL;
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)&a, N, stream));
    touch<<<1, 32, 0, stream>>>(a);
    OK(cudaFreeAsync(a, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

int main(void)
{
    cudaStream_t stream;
    cudaGraph_t by_hand, unused = NULL;
    cudaGraphExec_t first, second, third;
    cudaGraphNode_t node;
    cudaMemAllocNodeParams params = {};
    OK(cudaStreamCreate(&stream));
    cudaGraph_t graph = captured(stream);
    OK(cudaGraphInstantiate(&first, graph, 0));
    HOLDS(reserved() == 0);
    launch(first, stream, 3, true);
    const unsigned long long bytes = reserved();
    HOLDS(bytes >= N);
    EXPECT(cudaErrorNotSupported, cudaGraphInstantiate(&second, graph, 0));
    EXPECT(cudaErrorNotSupported, cudaGraphClone(&unused, graph));
    (void)cudaGetLastError();
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = N;
    OK(cudaGraphCreate(&by_hand, 0));
    OK(cudaGraphAddMemAllocNode(&node, by_hand, NULL, 0, &params));
    OK(cudaGraphInstantiate(&second, by_hand, 0));
    launch(second, stream, 1, false);
    HOLDS(reserved() == bytes);                      /* what the first graph gave back */
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(second, stream));
    (void)cudaGetLastError();
    OK(cudaFreeAsync(params.dptr, stream));
    said("free", N);
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphInstantiate(&third, by_hand, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    launch(third, stream, 1, false);
    OK(cudaGraphLaunch(third, stream));
    said("free", N);
    said("alloc", N);
    OK(cudaFree(params.dptr));
    said("free", N);
    OK(cudaGraphExecDestroy(first));
    OK(cudaGraphExecDestroy(third));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(by_hand));
    HOLDS(reserved() == bytes);
    OK(cudaDeviceGraphMemTrim(0));
    HOLDS(reserved() == 0);
    OK(cudaStreamDestroy(stream));
    return 0;
}
