/* Levenshtein's distance, one row at a time. */
#include "base/nearest.h"

enum { NEAREST_LETTERS = 64 };    /* longer names are compared by their beginning */

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
            const size_t replaced = diagonal + (a[i] != b[j]);
            const size_t shifted = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < shifted ? replaced : shifted;
        }
    }
    return row[n_b];
}

void nearest_offer(struct nearest *nearest, const char *name, size_t n)
{
    const size_t distance = nearest_distance(nearest->typed, nearest->n_typed, name, n);
    if (nearest->name != NULL && distance >= nearest->distance)
        return;
    nearest->name = name;
    nearest->distance = distance;
}
