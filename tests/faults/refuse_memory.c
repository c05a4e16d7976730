/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Preloaded into a program: its REFUSE_MEMORY-th call for memory fails, every library's included. 0: none does. "N+":
 * from the N-th on, all do. At the end the number of calls, and how many of the pieces were never given back, are
 * written to the file REFUSE_MEMORY_COUNTS. A file REFUSE_MEMORY_PLACES gets a number of eight bytes for each call:
 * equal numbers are calls from the same place, by the same way through the program.
 *
 * It also tells refuse_calls that the program is loaded, by a call of sched_yield.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t align, size_t n);
void  __libc_free(void *p);

enum { FRAMES_MAX = 32, PLACES_MAX = 1 << 20 };

static atomic_ulong calls, given, taken_back;
static unsigned long refused_from;
static bool is_lasting, has_begun;
static const char *places_path;
static uint64_t places[PLACES_MAX];     /* only what is written to takes memory */

/* The return addresses on the stack as one number (FNV-1a by words). */
static uint64_t place_of_call(void)
{
    void *frames[FRAMES_MAX];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const int n = backtrace(frames, FRAMES_MAX);
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_refused(void)
{
    if (!has_begun)
        return false;
    const unsigned long n = atomic_fetch_add(&calls, 1) + 1;
    if (places_path != NULL && n <= PLACES_MAX)
        places[n - 1] = place_of_call();
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

void *aligned_alloc(size_t align, size_t n)
{
    return is_refused() ? NULL : count(__libc_memalign(align, n));
}

int posix_memalign(void **out, size_t align, size_t n)
{
    void *const p = aligned_alloc(align, n);
    if (p != NULL)
        *out = p;
    return p == NULL ? ENOMEM : 0;
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
    places_path = getenv("REFUSE_MEMORY_PLACES");
    place_of_call();                                     /* the first time it opens a library, which asks for memory */
    sched_yield();
    has_begun = true;
}

static void write_whole(const char *path, const void *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0 && write(fd, bytes, n) == (ssize_t)n)
        close(fd);
}

__attribute__((destructor)) static void end(void)
{
    char text[64];
    const char *path = getenv("REFUSE_MEMORY_COUNTS");
    const unsigned long n_calls = atomic_load(&calls);
    has_begun = false;
    const int n = snprintf(text, sizeof text, "%lu %ld\n", n_calls,
                           (long)(atomic_load(&given) - atomic_load(&taken_back)));
    if (path != NULL)
        write_whole(path, text, (size_t)n);
    if (places_path != NULL)
        write_whole(places_path, places, sizeof places[0] * (n_calls < PLACES_MAX ? n_calls : PLACES_MAX));
}
