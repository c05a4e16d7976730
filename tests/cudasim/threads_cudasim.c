/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The simulated CUDA under ThreadSanitizer: four threads allocate, copy, record events and launch at once, on two
 * devices, and everything is given back. Two more copy what a third one frees meanwhile.
 *
 * This is a plain program, because Criterion does not start under that sanitizer. It is built and run without it, too.
 */
#include "cudasim/core/core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_THREADS = 4, N_ROUNDS = 400, N_HELD = 8, N_COPIERS = 2, N_FREED = 60000 };
enum { COPIED_BYTES = 1 << 16 };

static struct {
    int (*cudaSetDevice)(int);
    int (*cudaMalloc)(void **, size_t);
    int (*cudaFree)(void *);
    int (*cudaMallocAsync)(void **, size_t, uint64_t);
    int (*cudaFreeAsync)(void *, uint64_t);
    int (*cudaMemcpy)(void *, const void *, size_t, int);
    int (*cudaStreamCreate)(uint64_t *);
    int (*cudaStreamDestroy)(uint64_t);
    int (*cudaStreamSynchronize)(uint64_t);
    int (*cudaEventCreate)(uint64_t *);
    int (*cudaEventRecord)(uint64_t, uint64_t);
    int (*cudaEventSynchronize)(uint64_t);
    int (*cudaEventDestroy)(uint64_t);
    int (*cudaMemGetInfo)(size_t *, size_t *);
    int (*cudaProfilerStart)(void);
} cuda;

static void find(void *library, const char *name, void *member)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s is missing\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(member, &found, sizeof found);
}

static void *open_library(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", CUDASIM_DIR, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    return library;
}

/* Returns how many calls failed. */
static void *work(void *arg)
{
    static char host[4096];
    const size_t number = *(const size_t *)arg;
    size_t failed = 0;
    uint64_t stream, event;
    void *held[N_HELD] = { NULL }, *p = NULL;
    failed += cuda.cudaSetDevice((int)(number % 2)) != 0;
    failed += cuda.cudaStreamCreate(&stream) != 0;
    for (int i = 0; i < N_ROUNDS; i++) {
        void **slot = &held[i % N_HELD];
        failed += cuda.cudaFree(*slot) != 0;
        failed += cuda.cudaMalloc(slot, (size_t)(1 + i % 5) << 20) != 0;
        failed += cuda.cudaMemcpy(*slot, host, sizeof host, 1) != 0;
        failed += cuda.cudaMallocAsync(&p, 1 << 20, stream) != 0;
        failed += cuda.cudaFreeAsync(p, stream) != 0;
        failed += cuda.cudaEventCreate(&event) != 0;
        failed += cuda.cudaEventRecord(event, stream) != 0;
        failed += cuda.cudaEventSynchronize(event) != 0;
        failed += cuda.cudaEventDestroy(event) != 0;
        failed += cuda.cudaProfilerStart() != 0;
    }
    for (int i = 0; i < N_HELD; i++)
        failed += cuda.cudaFree(held[i]) != 0;
    failed += cuda.cudaStreamSynchronize(stream) != 0;
    failed += cuda.cudaStreamDestroy(stream) != 0;
    return failed == 0 ? NULL : arg;
}

static void *_Atomic shared;         /* NULL: no more of it */

/* Copies what may be freed at any moment. Each copy is done or refused. */
static void *copy_shared(void *arg)
{
    char *host = malloc(COPIED_BYTES);
    size_t failed = host == NULL;
    for (const void *p = shared; failed == 0 && p != NULL; p = shared) {
        const int code = cuda.cudaMemcpy(host, p, COPIED_BYTES, 4);
        failed += code != 0 && code != CODE_INVALID_VALUE;
    }
    free(host);
    return failed == 0 ? NULL : arg;
}

/* Returns false if a call failed. */
static bool free_while_others_copy(void)
{
    pthread_t threads[N_COPIERS];
    void *p = NULL;
    bool is_right = cuda.cudaMalloc(&p, COPIED_BYTES) == 0;
    shared = p;
    for (size_t i = 0; i < N_COPIERS; i++)
        pthread_create(&threads[i], NULL, copy_shared, &threads);
    for (int i = 0; i < N_FREED && is_right; i++) {
        is_right = cuda.cudaFree(p) == 0 && cuda.cudaMalloc(&p, COPIED_BYTES) == 0;
        shared = p;
    }
    shared = NULL;
    for (size_t i = 0; i < N_COPIERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        is_right = failed == NULL && is_right;
    }
    return cuda.cudaFree(p) == 0 && is_right;
}

int main(void)
{
    pthread_t threads[N_THREADS];
    size_t numbers[N_THREADS], free_bytes, total_bytes;
    int status = EXIT_SUCCESS;
    setenv(CUDASIM_ENV_DEVICE, "sim:2GiB,count=2", 1);
    open_library("libreplay-cudasim.so");
    open_library("libcuda.so.1");
    void *library = open_library("libcudart.so.12");
#define FIND(name) find(library, #name, &cuda.name)
    FIND(cudaSetDevice), FIND(cudaMalloc), FIND(cudaFree), FIND(cudaMallocAsync), FIND(cudaFreeAsync);
    FIND(cudaMemcpy), FIND(cudaStreamCreate), FIND(cudaStreamDestroy), FIND(cudaStreamSynchronize);
    FIND(cudaEventCreate), FIND(cudaEventRecord), FIND(cudaEventSynchronize), FIND(cudaEventDestroy);
    FIND(cudaMemGetInfo), FIND(cudaProfilerStart);
    for (size_t i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        if (failed != NULL)
            status = EXIT_FAILURE;
    }
    if (!free_while_others_copy())
        status = EXIT_FAILURE;
    for (int i = 0; i < 2; i++)
        if (cuda.cudaSetDevice(i) != 0 || cuda.cudaMemGetInfo(&free_bytes, &total_bytes) != 0 ||
            free_bytes != total_bytes)
            status = EXIT_FAILURE;
    printf("%s\n", status == EXIT_SUCCESS ? "ok" : "FAILED: a call failed, or memory was not given back");
    return status;
}
