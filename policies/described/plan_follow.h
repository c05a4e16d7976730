/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which row of a plan is the request that a program makes now?
 *
 *     plan       a b c d e f g h | i j k l m | i j k l m          a recording of some steps
 *     program    a b c d e X f g h i j k l m   i j k l m i j l m i j ...
 *                          |                             | |
 *                          not in the plan: is passed    after the end: back to where the last sizes fit best;
 *                          by                            k is missing: goes on at l
 *
 * Requests are known by their sizes alone. The row after the last one is tried first. If its size is another, all rows
 * of the size are looked at: one fits if enough of the sizes before it are those that the program asked for last, or if
 * it is near. If none fits, the request has no row, and the next request is tried at the same row.
 *
 * A wrong guess costs a place and no more: the arena gives no place that is not free.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_PLAN_FOLLOW_H
#define REPLAY_POLICIES_DESCRIBED_PLAN_FOLLOW_H

#include "policies/described/plan_table.h"

enum { FOLLOW_RECENT = 16 };                /* sizes of the program that are remembered; a power of two */

struct plan_follow {
    const struct plan_table *rows;           /* borrowed */
    uint32_t *by_size;                      /* the rows by size, those of one size by number; owned */
    size_t    next;                         /* the row that is tried first; rows->n: none */
    uint64_t  recent[FOLLOW_RECENT];        /* sizes as rounded; the last at (n_seen - 1) % FOLLOW_RECENT */
    uint64_t  n_seen;
    unsigned  n_missed;                     /* requests without a row since the last that had one */
};

/* Begins at the first row. plan_follow_close accepts zeros. ERR_HOST_NOMEM. */
MUST_USE enum err plan_follow_open(struct plan_follow *f, const struct plan_table *rows);
void plan_follow_close(struct plan_follow *f);

/* The row of the program's next request; NULL: it has none. */
const struct plan_place *plan_follow_request(struct plan_follow *f, uint64_t bytes);

#endif
