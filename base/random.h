/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * SplitMix64: pseudorandom numbers that depend on the seed only. Steele, Lea and Flood, "Fast splittable pseudorandom
 * number generators", OOPSLA 2014.
 */
#ifndef REPLAY_BASE_RANDOM_H
#define REPLAY_BASE_RANDOM_H

#include <stdint.h>

#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Scrambles a number. Neighbours are mapped far apart, no two numbers to the same. */
static inline uint64_t random_mix(uint64_t x)
{
    x += RANDOM_STEP;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The next number of a sequence; *state starts as the seed. */
static inline uint64_t random_next(uint64_t *state)
{
    const uint64_t x = random_mix(*state);
    *state += RANDOM_STEP;
    return x;
}

#endif
