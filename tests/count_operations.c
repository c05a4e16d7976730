/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Counts what a program does, in a unit that no other load on the machine changes: each basic block that runs, by a
 * call that the compiler inserts (-fsanitize-coverage=trace-pc), and each 16 bytes that a loop of the C library goes
 * over, by functions that stand in front of it (--wrap). At its end the program appends the sum to the file that
 * REPLAY_OPERATIONS names.
 */
#define _GNU_SOURCE                          /* memmem, memrchr */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t operations;

static void count(uint64_t n)
{
    atomic_fetch_add_explicit(&operations, n, memory_order_relaxed);
}

static void count_bytes(size_t n)
{
    count(1 + n / 16);
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    count(1);
}

/* A function that goes over `length` bytes: its type, name, parameters and arguments. */
#define WRAP(type, name, parameters, arguments, length) \
    type __real_##name parameters;                      \
    type __wrap_##name parameters;                      \
    type __wrap_##name parameters                       \
    {                                                   \
        count_bytes(length);                            \
        return __real_##name arguments;                 \
    }

WRAP(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memmove, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memset, (void *to, int c, size_t n), (to, c, n), n)
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), n)
WRAP(void *, realloc, (void *old, size_t n), (old, n), n)

/* Of texts the length is not known beforehand: what a call returns, or the text itself, tells how far it went. */
size_t __real_strlen(const char *s);
size_t __wrap_strlen(const char *s);
size_t __wrap_strlen(const char *s)
{
    const size_t n = __real_strlen(s);
    count_bytes(n);
    return n;
}

static size_t common(const char *a, const char *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

WRAP(int, strcmp, (const char *a, const char *b), (a, b), common(a, b, SIZE_MAX))
WRAP(int, strncmp, (const char *a, const char *b, size_t n), (a, b, n), common(a, b, n))
WRAP(char *, strdup, (const char *s), (s), __real_strlen(s))

WRAP(char *, strrchr, (const char *s, int c), (s, c), __real_strlen(s))
WRAP(void *, memmem, (const void *s, size_t n, const void *word, size_t n_word), (s, n, word, n_word), n)

void *__real_memchr(const void *s, int c, size_t n);
void *__wrap_memchr(const void *s, int c, size_t n);
void *__wrap_memchr(const void *s, int c, size_t n)
{
    const char *const found = __real_memchr(s, c, n);
    count_bytes(found == NULL ? n : (size_t)(found - (const char *)s));
    return (void *)found;
}

char *__real_strstr(const char *s, const char *word);
char *__wrap_strstr(const char *s, const char *word);
char *__wrap_strstr(const char *s, const char *word)
{
    char *const found = __real_strstr(s, word);
    count_bytes(found == NULL ? __real_strlen(s) : (size_t)(found - s));
    return found;
}

__attribute__((destructor)) static void operations_tell(void)
{
    const char *path = getenv("REPLAY_OPERATIONS");
    FILE *out = path == NULL ? NULL : fopen(path, "a");
    if (out == NULL)
        return;
    fprintf(out, "%llu\n", (unsigned long long)atomic_load(&operations));
    fclose(out);
}
