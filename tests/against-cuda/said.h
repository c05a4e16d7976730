/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Programs of this folder say on standard output what they ask of the card's memory, in the order in which they ask:
 * "alloc 4096", "free 4096", "oom 4096". Memory of the host, managed too, takes none of it. `run` compares that with
 * what was recorded. A call that fails unexpectedly ends the program with status 1.
 */
#ifndef REPLAY_TESTS_AGAINST_CUDA_SAID_H
#define REPLAY_TESTS_AGAINST_CUDA_SAID_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define EXPECT(wanted, call)                                                                                        \
    do {                                                                                                            \
        const int got_ = (int)(call);                                                                               \
        if (got_ != (int)(wanted)) {                                                                                \
            fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __FILE__, __LINE__, #call, got_, (int)(wanted));         \
            exit(1);                                                                                                \
        }                                                                                                           \
    } while (0)

#define OK(call) EXPECT(cudaSuccess, call)
#define HOLDS(condition) EXPECT(1, (condition) ? 1 : 0)

static inline void said(const char *what, size_t bytes)
{
    printf("%s %zu\n", what, bytes);
}

template <class T> static T *take(size_t n)
{
    T *p = NULL;
    OK(cudaMalloc(&p, n * sizeof(T)));
    said("alloc", n * sizeof(T));
    return p;
}

template <class T> static void give(T *p, size_t n)
{
    OK(cudaFree(p));
    said("free", n * sizeof(T));
}

template <class T> static T *take_async(size_t n, cudaStream_t stream)
{
    T *p = NULL;
    OK(cudaMallocAsync((void **)&p, n * sizeof(T), stream));
    said("alloc", n * sizeof(T));
    return p;
}

template <class T> static void give_async(T *p, size_t n, cudaStream_t stream)
{
    OK(cudaFreeAsync(p, stream));
    said("free", n * sizeof(T));
}

#endif
