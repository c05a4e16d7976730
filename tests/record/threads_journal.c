/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The journal's writer under ThreadSanitizer. Several threads append at once: every record is there, each thread's in
 * its order, even if signals interrupt the taking of room on the disk. This is a plain program, because Criterion does
 * not start under that sanitizer.
 */
#define _GNU_SOURCE                   /* fallocate */
#include "import/call_journal_read.h"
#include "capture/journal_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_THREADS = 4, N_EACH = 20000 };          /* several windows */

/* Replaces the C library's. Every other call is interrupted, as by a profiler's signals on a slow disk. */
int posix_fallocate(int fd, off_t at, off_t bytes)
{
    static atomic_uint n_calls;
    if (atomic_fetch_add(&n_calls, 1) % 2 == 0)
        return EINTR;
    return fallocate(fd, 0, at, bytes) == 0 ? 0 : errno;
}

static void *append(void *arg)
{
    const uint32_t thread = *(const uint32_t *)arg;
    for (uint64_t i = 0; i < N_EACH; i++) {
        const struct call_record r = {.kind = CALL_ALLOC, .thread = thread, .addr = i + 1, .bytes = 1};
        if (journal_file_put(&r) == JOURNAL_FILE_LOST)
            return NULL;
    }
    return arg;
}

static struct call_journal *read_journal(const char *folder)
{
    char path[512];
    struct input *in = NULL;
    struct call_journal *log = NULL;
    struct err_detail err = {.text = ""};
    snprintf(path, sizeof path, "%s/%d.0.calls", folder, (int)getpid());
    if (input_open(path, &in, &err) != ERR_OK || call_journal_read(in, &log, &err) != ERR_OK)
        fprintf(stderr, "%s\n", err.text);
    input_close(in);
    unlink(path);
    return log;
}

/* Each device is first once, from the lowest number to the highest. */
static bool is_first_once(void)
{
    bool is_good = true;
    for (unsigned device = 0; device <= UINT8_MAX; device++)
        is_good = journal_file_first_of((uint8_t)device) && !journal_file_first_of((uint8_t)device) && is_good;
    return is_good;
}

int main(void)
{
    char folder[] = "/tmp/replay-threads-XXXXXX";
    pthread_t threads[N_THREADS];
    uint32_t numbers[N_THREADS];
    uint64_t seen[N_THREADS] = {0};
    bool is_good = mkdtemp(folder) != NULL;
    journal_file_begin(folder, CALL_CARD_REAL, false, NULL);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        is_good = pthread_create(&threads[i], NULL, append, &numbers[i]) == 0 && is_good;
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        void *result = NULL;
        is_good = pthread_join(threads[i], &result) == 0 && result != NULL && is_good;
    }
    struct call_journal *log = read_journal(folder);
    rmdir(folder);
    is_good = is_good && log != NULL && log->n == N_THREADS * N_EACH && log->n_torn == 0;
    for (uint32_t i = 0; is_good && i < log->n; i++)
        is_good = log->records[i].addr == ++seen[log->records[i].thread];
    call_journal_free(log);
    if (!is_first_once())
        is_good = false, printf("devices are TAKEN FOR EACH OTHER\n");
    printf("%d threads' records are %s\n", N_THREADS, is_good ? "all there, in order" : "NOT WHAT THEY PUT");
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
