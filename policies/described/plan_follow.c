/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "policies/described/plan_follow.h"

#include "base/array.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    FOLLOW_NEAR = 8,                 /* rows this far from the next one need no sizes before them that agree */
    FOLLOW_SURE = 8,                 /* sizes before a row that agree, for a row that is far away */
    FOLLOW_LOST = 4,                 /* after so many requests without a row ... */
    FOLLOW_LIKELY = 3,               /* ... fewer are enough */
    FOLLOW_TRIED_MAX = 256,          /* rows of one size that are looked at */
};

static uint64_t size_of(const struct plan_follow *f, size_t row)
{
    return align_up(f->rows->at[row].bytes, PLAN_PLACE_UNIT);
}

/* ---- the rows by size ---- */

struct sized_row {
    uint64_t bytes;
    uint32_t row;
};

static int sized_compare(const void *a, const void *b)
{
    const struct sized_row *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes) : (x->row > y->row) - (x->row < y->row);
}

enum err plan_follow_open(struct plan_follow *f, const struct plan_table *rows)
{
    struct sized_row *sized = malloc(array_bytes(rows->n + 1, sizeof *sized));
    *f = (struct plan_follow){.rows = rows, .by_size = malloc(array_bytes(rows->n + 1, sizeof *f->by_size))};
    if (sized == NULL || f->by_size == NULL) {
        free(sized);
        return ERR_HOST_NOMEM;
    }
    for (size_t i = 0; i < rows->n; i++)
        sized[i] = (struct sized_row){.bytes = size_of(f, i), .row = (uint32_t)i};
    qsort(sized, rows->n, sizeof *sized, sized_compare);
    for (size_t i = 0; i < rows->n; i++)
        f->by_size[i] = sized[i].row;
    free(sized);
    return ERR_OK;
}

void plan_follow_close(struct plan_follow *f)
{
    free(f->by_size);
    f->by_size = NULL;
}

/* Where in by_size the rows of a size are that have at least this number. */
static size_t find_sized(const struct plan_follow *f, uint64_t bytes, size_t row)
{
    size_t low = 0, high = f->rows->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2, at = f->by_size[middle];
        if (size_of(f, at) < bytes || (size_of(f, at) == bytes && at < row))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- which row fits ---- */

/* How many sizes before a row are those that the program asked for last. */
static unsigned agreement(const struct plan_follow *f, size_t row)
{
    unsigned n = 0;
    while (n < FOLLOW_RECENT && n < row && n < f->n_seen &&
           f->recent[(f->n_seen - 1 - n) % FOLLOW_RECENT] == size_of(f, row - 1 - n))
        n++;
    return n;
}

static size_t distance(const struct plan_follow *f, size_t row)
{
    return row > f->next ? row - f->next : f->next - row;
}

/* The better of two rows, `best` the nearer one; `none` is worse than all. */
static void offer(const struct plan_follow *f, size_t row, size_t *best, unsigned *best_score)
{
    const unsigned score = agreement(f, row) + (distance(f, row) <= FOLLOW_NEAR ? FOLLOW_SURE : 0);
    if (score > *best_score) {
        *best = row;
        *best_score = score;
    }
}

/* The row of the size that fits best, the nearest of equals; rows->n: none fits. */
static size_t find_row(const struct plan_follow *f, uint64_t bytes)
{
    size_t best = f->rows->n, after = find_sized(f, bytes, f->next), before = after;
    unsigned best_score = (f->n_missed < FOLLOW_LOST ? FOLLOW_SURE : FOLLOW_LIKELY) - 1;
    const size_t end = f->rows->n;
    for (unsigned i = 0; i < FOLLOW_TRIED_MAX; i++) {
        const bool has_after = after < end && size_of(f, f->by_size[after]) == bytes;
        const bool has_before = before > 0 && size_of(f, f->by_size[before - 1]) == bytes;
        if (!has_after && !has_before)
            break;
        if (has_after && (!has_before || distance(f, f->by_size[after]) <= distance(f, f->by_size[before - 1])))
            offer(f, f->by_size[after++], &best, &best_score);
        else
            offer(f, f->by_size[--before], &best, &best_score);
    }
    return best;
}

const struct plan_place *plan_follow_request(struct plan_follow *f, uint64_t bytes)
{
    const uint64_t rounded = align_up(bytes, PLAN_PLACE_UNIT);
    const bool is_next = f->next < f->rows->n && size_of(f, f->next) == rounded;
    const size_t row = is_next ? f->next : find_row(f, rounded);
    f->recent[f->n_seen++ % FOLLOW_RECENT] = rounded;
    if (row == f->rows->n) {
        f->n_missed++;
        return NULL;
    }
    f->n_missed = 0;
    f->next = row + 1 < f->rows->n ? row + 1 : f->rows->loop;
    return &f->rows->at[row];
}
