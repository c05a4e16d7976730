/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A library between PyTorch and libreplay-alloc.so (REPLAY_ALLOC names it): writes what PyTorch asks for to the file
 * LOG as tests/compare_calls.c reads it, "A thread addr bytes stream device",
 * "O" where it was refused, "F thread addr".
 */
#define _GNU_SOURCE                   /* SYS_gettid */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

void *replay_alloc(ssize_t size, int device, void *stream);
void replay_free(void *ptr, ssize_t size, int device, void *stream);

static struct {
    pthread_mutex_t lock;             /* held over the call: lines stand in the order of the calls */
    FILE *log;
    void *(*alloc)(ssize_t, int, void *);
    void (*release)(void *, ssize_t, int, void *);
} to = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((constructor)) static void begin(void)
{
    void *library = dlopen(getenv("REPLAY_ALLOC"), RTLD_NOW | RTLD_LOCAL);
    void *symbols[2] = {library == NULL ? NULL : dlsym(library, "replay_alloc"),
                        library == NULL ? NULL : dlsym(library, "replay_free")};
    memcpy(&to.alloc, &symbols[0], sizeof to.alloc);
    memcpy(&to.release, &symbols[1], sizeof to.release);
    to.log = fopen(getenv("LOG"), "w");
    if (to.log == NULL || to.alloc == NULL || to.release == NULL)
        abort();
    setvbuf(to.log, NULL, _IOLBF, BUFSIZ);
}

void *replay_alloc(ssize_t size, int device, void *stream)
{
    pthread_mutex_lock(&to.lock);
    void *ptr = to.alloc(size, device, stream);
    if (size > 0)
        fprintf(to.log, "%c %ld %llx %zd %llu %d\n", ptr == NULL ? 'O' : 'A', syscall(SYS_gettid),
                (unsigned long long)(size_t)ptr, size, (unsigned long long)(size_t)stream, device);
    pthread_mutex_unlock(&to.lock);
    return ptr;
}

void replay_free(void *ptr, ssize_t size, int device, void *stream)
{
    pthread_mutex_lock(&to.lock);
    if (ptr != NULL)
        fprintf(to.log, "F %ld %llx\n", syscall(SYS_gettid), (unsigned long long)(size_t)ptr);
    to.release(ptr, size, device, stream);
    pthread_mutex_unlock(&to.lock);
}
