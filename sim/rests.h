/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Rests: stretches of addresses that nobody has, for the lowest one that is large enough.
 *
 * An AVL tree by address (Adelson-Velsky and Landis, 1962). Each node also holds the size of the largest rest below it,
 * so that a search skips what is too small, and each call takes a logarithm of the number of rests. An unlimited card
 * may have as many rests as a recording has segments.
 */
#ifndef REPLAY_SIM_RESTS_H
#define REPLAY_SIM_RESTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct rest {
    uint64_t addr, bytes;
    uint64_t largest;                        /* of this rest and of all below it */
    uint32_t below[2];                       /* lower and higher ones. Of a vacant entry, below[0] is the next one */
    uint32_t height;                         /* 1: nothing is below it */
};

/* All zero: no rests. Entry 0 is no rest. */
struct rests {
    struct rest *at;
    uint32_t root, n, cap, vacant;
};

void rests_close(struct rests *r);

/* Drops all rests, and keeps their memory. */
void rests_clear(struct rests *r);

/* Makes room for one more. ERR_HOST_NOMEM. */
MUST_USE enum err rests_reserve(struct rests *r);

/* Adds a rest, joined with its neighbours. There must be room for one more. */
void rests_add(struct rests *r, uint64_t addr, uint64_t bytes);

/* Takes `bytes` from the start of the lowest rest that has as many. False: none has. */
bool rests_take(struct rests *r, uint64_t bytes, uint64_t *addr);

#endif
