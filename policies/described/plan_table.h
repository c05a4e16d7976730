/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A plan as it is read from a file: minimalloc's CSV with offsets, as `replay plan FILE -o PLAN.csv` writes it.
 *
 *     id,lower,upper,size,offset
 *     id,lower,upper,size,offset,loop          1: after the last row the program goes on with the first row of these
 *
 * The rows are the requests in the program's order. Nothing that the file says is trusted: a row that overlaps another
 * is found when its place is not free.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_PLAN_TABLE_H
#define REPLAY_POLICIES_DESCRIBED_PLAN_TABLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PLAN_ROWS_MAX = 1 << 20,                /* as many requests as `replay plan` plans */
    PLAN_PLACE_UNIT = 512,                  /* requests are alike if they are the same in multiples of it */
};

struct plan_place {
    uint64_t lower, upper;                  /* it lives from `lower` up to before `upper` */
    uint64_t bytes, offset;
};

struct plan_table {
    struct plan_place *at;                    /* owned */
    size_t   n, cap;
    size_t   loop;                          /* the row after the last one; n: the file does not say */
    uint64_t arena_bytes;                   /* up to the end of the highest row */
    uint64_t live_bytes;                    /* most that is live at once: no allocator needs less for these rows */
};

/* Reads the text of a file. `path` and `place` are for the error, which is ERR_USAGE: nothing else was typed.
 * ERR_HOST_NOMEM. plan_table_close accepts zeros. */
MUST_USE enum err plan_table_read(const char *text, size_t n, const char *path, uint64_t place, struct plan_table *out,
                                 struct err_detail *err);
void plan_table_close(struct plan_table *rows);

/* The same for a file. ERR_USAGE too if it cannot be read. */
MUST_USE enum err plan_table_load(const char *path, uint64_t place, struct plan_table *out, struct err_detail *err);

#endif
