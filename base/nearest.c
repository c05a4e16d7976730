/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Levenshtein's distance, one row at a time, ignoring the case of letters. */
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

enum { NEAREST_LETTERS = 64 };    /* of longer names the beginning is compared */

static size_t nearest_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t row[NEAREST_LETTERS + 1];
    n_a = n_a < NEAREST_LETTERS ? n_a : NEAREST_LETTERS;
    n_b = n_b < NEAREST_LETTERS ? n_b : NEAREST_LETTERS;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (size_t i = 0; i < n_a; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n_b; j++) {
            const size_t replaced = diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            const size_t shifted = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < shifted ? replaced : shifted;
        }
    }
    return row[n_b];
}

void nearest_offer(struct nearest *nearest, const char *name, size_t n)
{
    const size_t n_compared = n < NEAREST_LETTERS ? n : NEAREST_LETTERS;
    size_t distance = nearest_distance(nearest->typed, nearest->n_typed, name, n);
    if (distance == 0 && memcmp(nearest->typed, name, n_compared) != 0)
        distance = 1;                            /* 0 is for equal names: these differ in case */
    if (nearest->name != NULL && distance >= nearest->distance)
        return;
    nearest->name = name;
    nearest->distance = distance;
}
