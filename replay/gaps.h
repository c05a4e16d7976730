/*
 * Free stretches of one line of addresses without end: first fit, in logarithmic time.
 */
#ifndef REPLAY_REPLAY_GAPS_H
#define REPLAY_REPLAY_GAPS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* A tree by address, in which each node also knows the longest stretch below it; a treap (Seidel and Aragon, "Randomized
 * Search Trees", 1996), whose priorities come from a fixed seed: the same calls make the same tree. */
struct gaps {
    struct gap *at;                  /* [0] stands for none */
    uint32_t    n, cap, root, free;  /* free: head of the nodes that are not in use, linked by `left` */
    uint64_t    random;
    uint64_t    height;              /* one more than the highest address ever taken */
};

/* The whole line is free. ERR_HOST_NOMEM. */
MUST_USE enum err gaps_open(struct gaps *out);
void gaps_close(struct gaps *g);     /* also of zeros */

/* Takes `bytes` (> 0) at the lowest address where they are free. False where no stretch of 2^64 addresses is. */
bool gaps_take(struct gaps *g, uint64_t bytes, uint64_t *addr);

/* Gives back what was taken there, or a part of it. ERR_HOST_NOMEM, and then it stays taken. */
MUST_USE enum err gaps_give(struct gaps *g, uint64_t addr, uint64_t bytes);

#endif
