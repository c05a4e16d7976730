/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The program of the live allocator's tests: `live_program LIBRARY LOG [MIB]` asks libreplay-alloc.so for memory and
 * gives it back, from a fixed seed, and writes each request to LOG as program.c does. "O" marks a refused request. MIB
 * is the largest request.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { CALLS = 4000, LIVE_MAX = 60, SEED = 11, STREAM_FIRST = 4096 };

int main(int argc, char **argv)
{
    void *(*alloc)(ssize_t, int, void *);
    void (*give_back)(void *, ssize_t, int, void *);
    struct { void *ptr; size_t bytes; uintptr_t stream; } live[LIVE_MAX];
    int n_live = 0;
    unsigned seed = SEED;
    FILE *log = argc < 3 ? NULL : fopen(argv[2], "w");
    const size_t largest = (size_t)(argc > 3 ? atoi(argv[3]) : 40) << 20;
    void *library = argc < 3 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *symbols[2] = {library == NULL ? NULL : dlsym(library, "replay_alloc"),
                        library == NULL ? NULL : dlsym(library, "replay_free")};
    if (log == NULL || symbols[0] == NULL || symbols[1] == NULL) {
        fprintf(stderr, "live_program: %s\n", library == NULL ? dlerror() : "no such functions");
        return 8;
    }
    memcpy(&alloc, &symbols[0], sizeof alloc);
    memcpy(&give_back, &symbols[1], sizeof give_back);
    if (alloc(0, 0, NULL) != NULL)
        return 9;
    for (int i = 0; i < CALLS; i++) {
        const int at = rand_r(&seed) % LIVE_MAX;
        if (at < n_live) {
            give_back(live[at].ptr, (ssize_t)live[at].bytes, 0, (void *)live[at].stream);
            fprintf(log, "F 1 %llx\n", (unsigned long long)(uintptr_t)live[at].ptr);
            live[at] = live[--n_live];
            continue;
        }
        const size_t most = largest >> rand_r(&seed) % 18, bytes = 1 + (size_t)rand_r(&seed) % most;
        const uintptr_t stream = (uintptr_t)(rand_r(&seed) % 3) * STREAM_FIRST;
        void *ptr = alloc((ssize_t)bytes, 0, (void *)stream);
        fprintf(log, "%c 1 %llx %zu %llu 0\n", ptr == NULL ? 'O' : 'A', (unsigned long long)(uintptr_t)ptr, bytes,
                (unsigned long long)stream);
        if (ptr == NULL)
            continue;
        live[n_live].ptr = ptr;
        live[n_live].bytes = bytes;
        live[n_live++].stream = stream;
    }
    return fclose(log) == 0 ? 0 : 9;
}
