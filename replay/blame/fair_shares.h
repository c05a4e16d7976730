/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Shares of a whole among those who cause it together: Shapley's values.
 *
 * What one causes depends on who has left before. Its share is what its leaving saves, on average over all orders in
 * which all can leave. Source: Shapley, "A value for n-person games", 1953.
 */
#ifndef REPLAY_REPLAY_BLAME_FAIR_SHARES_H
#define REPLAY_REPLAY_BLAME_FAIR_SHARES_H

#include <stddef.h>
#include <stdint.h>

enum { FAIR_SHARES_MAX = 9 };

/* left[S]: what remains once those in the set of bits S have left, 2^n values below 2^55. shares[i], below 0 if leaving
 * costs more than it saves, sum to left[0] - left[2^n - 1]. A share is exact up to less than 1, and what is 1 to be
 * shared goes where most is left over. */
void fair_shares(const uint64_t *left, unsigned n, int64_t shares[FAIR_SHARES_MAX]);

#endif
