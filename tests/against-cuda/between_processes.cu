/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A process gives its memory and an event to another one, which opens them by handles; the memory is counted once. */
#include "said.h"

#include <sys/wait.h>
#include <unistd.h>

struct shared {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

enum { N = 1 << 20 };

__global__ void touch(int *a)
{
    a[threadIdx.x] += 1;
}

static void open_them(const struct shared *s)
{
    int *a = NULL, *b = NULL;
    cudaEvent_t event;
    size_t before = 0, after = 0, total = 0;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaIpcOpenMemHandle((void **)&a, s->memory, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle((void **)&b, s->memory, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaMemGetInfo(&after, &total));
    HOLDS(a == b && before == after);
    OK(cudaIpcOpenEventHandle(&event, s->event));
    OK(cudaStreamWaitEvent(0, event, 0));
    touch<<<1, 32>>>(a);
    OK(cudaDeviceSynchronize());
    EXPECT(cudaErrorInvalidValue, cudaFree(a));
    OK(cudaEventDestroy(event));
    OK(cudaIpcCloseMemHandle(a));
    OK(cudaIpcCloseMemHandle(b));
    EXPECT(cudaErrorInvalidValue, cudaIpcCloseMemHandle(b));
    exit(0);
}

int main(void)
{
    struct shared s;
    int ends[2], status = -1;
    void *none = NULL;
    cudaEvent_t event;
    HOLDS(pipe(ends) == 0);
    const pid_t child = fork();                      /* before CUDA is used, which does not survive a fork */
    if (child == 0) {
        HOLDS(read(ends[0], &s, sizeof s) == (ssize_t)sizeof s);
        open_them(&s);
    }
    int *a = take<int>(N);
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    OK(cudaIpcGetMemHandle(&s.memory, a));
    OK(cudaIpcGetEventHandle(&s.event, event));
    OK(cudaEventRecord(event, 0));
    EXPECT(cudaErrorDeviceUninitialized, cudaIpcOpenMemHandle(&none, s.memory, cudaIpcMemLazyEnablePeerAccess));
    HOLDS(write(ends[1], &s, sizeof s) == (ssize_t)sizeof s);
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cudaEventDestroy(event));
    give(a, N);
    return 0;
}
