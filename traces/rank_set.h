/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A set of small numbers that finds the next member below or above a number in a few steps: a tree of 64-bit words in
 * which each bit says whether the word below it has any bit.
 *
 *     level[1]   [ 1 . . 1 ... ]                one bit for each word of level[0]
 *                  |     |
 *     level[0]   [..1.][    ][    ][1...]       one bit for each number
 */
#ifndef REPLAY_TRACES_RANK_SET_H
#define REPLAY_TRACES_RANK_SET_H

#include <stdbool.h>
#include <stdint.h>

enum { RANK_LEVELS = 6 };             /* 64^6 > 2^32 */
#define RANK_NONE UINT32_MAX

struct rank_set {
    uint64_t *level[RANK_LEVELS];     /* [0] has one bit for each number */
    unsigned  n_levels;
};

/* For numbers below n; false without memory. */
bool rank_set_open(struct rank_set *t, uint32_t n);
void rank_set_close(struct rank_set *t);

void rank_set_add(struct rank_set *t, uint32_t rank);
void rank_set_remove(struct rank_set *t, uint32_t rank);
bool rank_set_has(const struct rank_set *t, uint32_t rank);

/* The largest member below `rank`; the smallest above it. RANK_NONE if there is none. */
uint32_t rank_set_below(const struct rank_set *t, uint32_t rank);
uint32_t rank_set_above(const struct rank_set *t, uint32_t rank);

#endif
