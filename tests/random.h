/*
 * Random numbers of a printed seed, for tests of properties.
 */
#ifndef REPLAY_TESTS_RANDOM_H
#define REPLAY_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);      /* splitmix64 (Steele, Lea, Flood 2014) */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

static inline bool random_one_in(uint64_t *state, uint64_t n)
{
    return random_below(state, n) == 0;
}

#endif
