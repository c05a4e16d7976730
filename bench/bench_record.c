/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Measures what recording costs. bench_record CASE THREADS CALLS makes CALLS calls, half cudaMalloc and half cudaFree,
 * on a runtime that does nothing (null_cudart.c). Prints `record,CASE,call_ns,NS`, by CPU time of the process.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int cudaMalloc(uint64_t *out, size_t bytes);
int cudaFree(uint64_t addr);

enum { THREADS_MAX = 64 };

static void *make_calls(void *n)
{
    for (long i = *(const long *)n; i > 0; i -= 2) {
        uint64_t addr;
        if (cudaMalloc(&addr, 4096) != 0 || cudaFree(addr) != 0)
            return NULL;
    }
    return n;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    struct timespec before, after;
    const long n_threads = argc == 4 ? atol(argv[2]) : 0;
    long n_each = argc == 4 && n_threads > 0 ? atol(argv[3]) / n_threads : 0;
    if (n_threads < 1 || n_threads > THREADS_MAX || n_each < 2)
        return 2;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (long i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, make_calls, &n_each) != 0)
            return 3;
    for (long i = 0; i < n_threads; i++)
        if (pthread_join(threads[i], NULL) != 0)
            return 3;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double ns = 1e9 * (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec);
    printf("record,%s,call_ns,%.2f\n", argv[1], ns / (double)(n_threads * n_each));
    return 0;
}
