/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The free stretches of one endless line of addresses: first fit in logarithmic time.
 *
 *     addresses   [free][taken][free ][taken][free][taken][free ...
 *     stretches     4            7             5             endless
 *     leaves      |-- leaf at place 0 --|  |-- leaf at place 1 --|      some dozens in a leaf, by address
 *     longest             7                      endless                of each leaf
 *
 *     max-tree in heap order          [1]                    node 1 is the maximum of all,
 *                                  [2]   [3]                 2i and 2i+1 are i's children,
 *                                [4][5] [6][7]               the leaf at place p is node cap + p
 *
 * free_stretches_take finds the first stretch that is long enough by going down the tree, left child first.
 * free_stretches_give finds the neighbours of an address by binary search over the places. A full leaf is split, an
 * empty one is dropped: only then do places move, which takes time in proportion to their number.
 */
#ifndef REPLAY_REPLAY_PLAN_FREE_STRETCHES_H
#define REPLAY_REPLAY_PLAN_FREE_STRETCHES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct free_stretches {
    struct stretch_leaf *leaves;
    uint64_t *first;                 /* by place: lowest address in its leaf */
    uint64_t *longest;               /* the max-tree, of 2 * cap nodes; node 0 is unused */
    uint32_t *leaf;                  /* by place: its number in `leaves`; from n on the numbers of unused leaves */
    uint32_t  n, cap;                /* places in use; places in all, a power of two */
    uint64_t  height;                /* end of the highest stretch ever taken, 0 at first */
};

/* Begins with the whole line free: 2^64 - 1 addresses. ERR_HOST_NOMEM. */
MUST_USE enum err free_stretches_open(struct free_stretches *out);

/* Accepts zeros. */
void free_stretches_close(struct free_stretches *s);

/* Takes `bytes` (> 0) at the lowest address where they are free. False if no stretch is that long. */
bool free_stretches_take(struct free_stretches *s, uint64_t bytes, uint64_t *addr);

/* Gives back a taken range, or a part of one. ERR_HOST_NOMEM, and then it stays taken. */
MUST_USE enum err free_stretches_give(struct free_stretches *s, uint64_t addr, uint64_t bytes);

#endif
