/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Preloaded into a program: its REFUSE_MEMORY-th call for memory fails, every library's included. 0: none does. "N+":
 * from the N-th on, all do. At the end the number of calls, and how many of the pieces were never given back, are
 * written to the file REFUSE_MEMORY_COUNTS.
 *
 * It also tells refuse_calls that the program is loaded, by a call of sched_yield.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void  __libc_free(void *p);

static atomic_ulong calls, given, taken_back;
static unsigned long refused_from;
static bool is_lasting, has_begun;

static bool is_refused(void)
{
    if (!has_begun)
        return false;
    const unsigned long n = atomic_fetch_add(&calls, 1) + 1;
    const bool is = refused_from > 0 && (is_lasting ? n >= refused_from : n == refused_from);
    if (is)
        errno = ENOMEM;
    return is;
}

static void *count(void *p)
{
    if (p != NULL && has_begun)
        atomic_fetch_add(&given, 1);
    return p;
}

void *malloc(size_t n)
{
    return is_refused() ? NULL : count(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return is_refused() ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *old, size_t n)
{
    if (is_refused())
        return NULL;
    void *const p = __libc_realloc(old, n);
    return old == NULL ? count(p) : p;
}

void free(void *p)
{
    if (p != NULL && has_begun)
        atomic_fetch_add(&taken_back, 1);
    __libc_free(p);
}

__attribute__((constructor)) static void begin(void)
{
    const char *which = getenv("REFUSE_MEMORY");
    char *after = NULL;
    if (which != NULL)
        refused_from = strtoul(which, &after, 10);
    is_lasting = after != NULL && *after == '+';
    unsetenv("LD_PRELOAD");                              /* not for programs that this one starts */
    sched_yield();
    has_begun = true;
}

__attribute__((destructor)) static void end(void)
{
    char text[64];
    const char *path = getenv("REFUSE_MEMORY_COUNTS");
    has_begun = false;
    if (path == NULL)
        return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int n = snprintf(text, sizeof text, "%lu %ld\n", atomic_load(&calls),
                           (long)(atomic_load(&given) - atomic_load(&taken_back)));
    if (fd >= 0 && write(fd, text, (size_t)n) == n)
        close(fd);
}
