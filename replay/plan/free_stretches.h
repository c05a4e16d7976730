/*
 * Free stretches of one line of addresses without end: first fit, in logarithmic time.
 */
#ifndef REPLAY_REPLAY_PLAN_FREE_STRETCHES_H
#define REPLAY_REPLAY_PLAN_FREE_STRETCHES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Stretches lie by address in leaves of a few dozen, the leaves by address in places. A tournament over the places
 * knows the longest stretch, so that the first of a length is found by going down; an address is found by halving. A
 * leaf that is full is split, one that is empty is given up: only then does anything of the length of all places move. */
struct free_stretches {
    struct stretch_leaf *leaves;
    uint64_t *first;                 /* by place: lowest address in its leaf */
    uint64_t *longest;               /* [1] of all, [cap + place] of a leaf, and of each two at twice a number above */
    uint32_t *leaf;                  /* by place; behind n, those that are not in use */
    uint32_t  n, cap;                /* places in use, a power of two that there are */
    uint64_t  height;                /* one more than the highest address ever taken */
};

/* The whole line is free. ERR_HOST_NOMEM. */
MUST_USE enum err free_stretches_open(struct free_stretches *out);
void free_stretches_close(struct free_stretches *s);     /* also of zeros */

/* Takes `bytes` (> 0) at the lowest address where they are free. False where no stretch of 2^64 addresses is. */
bool free_stretches_take(struct free_stretches *s, uint64_t bytes, uint64_t *addr);

/* Gives back what was taken there, or a part of it. ERR_HOST_NOMEM, and then it stays taken. */
MUST_USE enum err free_stretches_give(struct free_stretches *s, uint64_t addr, uint64_t bytes);

#endif
