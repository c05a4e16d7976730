/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The longest stretch of a sequence of numbers that repeats, such as the sizes that a program asks for step by step.
 */
#ifndef REPLAY_BASE_REPETITION_H
#define REPLAY_BASE_REPETITION_H

#include <stddef.h>
#include <stdint.h>

/* Each of [begin, end) is equal to the one `period` later, so [begin, end + period) is made of equal rounds. */
struct repetition {
    size_t begin, end, period;
};

/* The numbers that repeat. */
static inline size_t repetition_length(const struct repetition *r)
{
    return r->end - r->begin + r->period;
}

/* The longest repetition of what begins at `i`, of at least two rounds; period 0 if there is none. Looks at most at a
 * few hundred beginnings of a second round. */
struct repetition repetition_from(const uint64_t *at, size_t n, size_t i);

#endif
