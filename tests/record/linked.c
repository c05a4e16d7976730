/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A program for the tests of recording with the runtime linked in, as nvcc does it: fake_cudart.c is a part of it, its
 * functions are not exported, and only the driver is a library. It writes the calls that have returned to a file.
 */
#define _GNU_SOURCE                   /* SYS_gettid */
#include "tests/record/called_cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { BYTES = 4096, STREAM = 7 };
    uint64_t plain, in_order, pinned;
    FILE *log = argc < 3 ? NULL : fopen(argv[2], "a");
    const unsigned thread = (unsigned)syscall(SYS_gettid);
    if (log == NULL || cudaMalloc(&plain, BYTES) != 0 || cudaMallocAsync(&in_order, BYTES, STREAM) != 0 ||
        cudaMallocHost(&pinned, BYTES) != 0 || cudaFree(plain) != 0 || cudaFreeAsync(in_order, STREAM) != 0 ||
        cudaFreeHost(pinned) != 0)
        return 9;
    fprintf(log, "A %u %llx %d 0 0\nA %u %llx %d %d 0\nA %u %llx %d 0 0\n", thread, (unsigned long long)plain, BYTES,
            thread, (unsigned long long)in_order, BYTES, STREAM, thread, (unsigned long long)pinned, BYTES);
    fprintf(log, "F %u %llx\nF %u %llx\nF %u %llx\n", thread, (unsigned long long)plain, thread,
            (unsigned long long)in_order, thread, (unsigned long long)pinned);
    return fclose(log) == 0 ? 0 : 9;
}
