/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A program for the tests of recording that is not linked against CUDA. It opens the runtime by name, for itself only,
 * and writes the calls that have returned to a file, as program.c does.
 */
#define _GNU_SOURCE                   /* SYS_gettid */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 10 };

int main(int argc, char **argv)
{
    int (*alloc)(uint64_t *, size_t), (*give_back)(uint64_t);
    uint64_t addr;
    FILE *log = argc < 3 ? NULL : fopen(argv[2], "a");
    void *library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
    void *symbols[2] = {library == NULL ? NULL : dlsym(library, "cudaMalloc"),
                        library == NULL ? NULL : dlsym(library, "cudaFree")};
    if (log == NULL || symbols[0] == NULL || symbols[1] == NULL || dlsym(library, "cudaNothing") != NULL)
        return 8;
    memcpy(&alloc, &symbols[0], sizeof alloc);
    memcpy(&give_back, &symbols[1], sizeof give_back);
    for (int i = 0; i < CALLS; i++) {
        if (alloc(&addr, 4096) != 0 || give_back(addr) != 0)
            return 9;
        fprintf(log, "A %u %llx 4096 0 0\nF %u %llx\n", (unsigned)syscall(SYS_gettid), (unsigned long long)addr,
                (unsigned)syscall(SYS_gettid), (unsigned long long)addr);
    }
    return fclose(log) == 0 ? 0 : 9;
}
