/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Random numbers of a printed seed, for tests of properties.
 */
#ifndef REPLAY_TESTS_RANDOM_DRAWS_H
#define REPLAY_TESTS_RANDOM_DRAWS_H

#include "base/random.h"

#include <stdbool.h>

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

static inline bool random_one_in(uint64_t *state, uint64_t n)
{
    return random_below(state, n) == 0;
}

#endif
