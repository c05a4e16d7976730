/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Words and numbers of a log. */
#define _GNU_SOURCE                  /* memmem */
#include "dryrun/log_rest.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

bool rest_skip(struct rest *r, const char *words)
{
    const size_t n = strlen(words);
    const char *found = r->at == NULL ? NULL : memmem(r->at, (size_t)(r->end - r->at), words, n);
    r->at = found == NULL ? r->end : found + n;
    return found != NULL;
}

bool rest_has(struct rest r, const char *words)
{
    return rest_skip(&r, words);
}

struct rest rest_line(const struct rest *r)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    return (struct rest){ .at = r->at, .end = end == NULL ? r->end : end };
}

/* A comma is of a number between two of its digits: "9,188,288", not "0.92, 72.85". */
static bool is_of_number(const char *at, const char *end)
{
    const bool is_digit_next = at + 1 < end && at[1] >= '0' && at[1] <= '9';
    return *at == ',' ? is_digit_next : *at != '\0' && strchr("+-.0123456789", *at) != NULL;
}

bool rest_number(struct rest *r, double *out)
{
    char digits[32], *stop;
    size_t n = 0;
    const char *at = r->at;
    for (; at < r->end && n + 1 < sizeof digits && is_of_number(at, r->end); at++)
        if (*at != ',')
            digits[n++] = *at;
    digits[n] = '\0';
    *out = strtod(digits, &stop);
    if (stop == digits || *out < -1e9 || *out > 1e12)
        return false;
    r->at = at;
    return true;
}

int64_t rest_bytes_of_gib(double gib)
{
    const double most = 1 << 28;
    return (int64_t)((gib > most ? most : gib < -most ? -most : gib) * (double)GIB);
}

bool rest_gib(struct rest line, const char *words, int64_t *bytes)
{
    double gib;
    if (!rest_skip(&line, words) || !rest_number(&line, &gib))
        return false;
    *bytes = rest_bytes_of_gib(gib);
    return true;
}

bool rest_gib_before(struct rest line, const char *words, int64_t *bytes)
{
    const char *begin = line.at;
    double gib;
    if (!rest_skip(&line, words))
        return false;
    const char *at = line.at - strlen(words);
    while (at > begin && strchr("+-.0123456789", at[-1]) != NULL && at[-1] != '\0')
        at--;
    struct rest number = { .at = at, .end = line.end };
    if (!rest_number(&number, &gib))
        return false;
    *bytes = rest_bytes_of_gib(gib);
    return true;
}

bool rest_count(struct rest line, const char *words, int64_t *count)
{
    double number;
    if (!rest_skip(&line, words) || !rest_number(&line, &number) || number < 0)
        return false;
    *count = (int64_t)number;
    return true;
}

void rest_keep_most(int64_t *kept, int64_t value)
{
    *kept = value > *kept ? value : *kept;           /* INT64_MIN is below all */
}

void rest_keep_least(int64_t *kept, int64_t value)
{
    *kept = *kept == INT64_MIN || value < *kept ? value : *kept;
}
