/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Sixteen numbers compared at once, without a branch.
 *
 * The vectors are an extension of gcc and clang, which translate them for every processor: to some thirty instructions
 * on x86-64, where a loop takes eighty.
 */
#ifndef REPLAY_BASE_SIXTEEN_H
#define REPLAY_BASE_SIXTEEN_H

#include <stdint.h>
#include <string.h>

typedef int32_t four __attribute__((vector_size(16)));

/* Numbers 4 i to 4 i + 3. */
static inline four four_of(const int32_t *at, int i)
{
    four v;
    memcpy(&v, at + 4 * i, sizeof v);
    return v;
}

/* Bit i: number i of the sixteen in a to d, each of which is 0 or all ones. */
static inline uint32_t sixteen_bits(four a, four b, four c, four d)
{
    const four bits = (a & (four){1 << 0, 1 << 1, 1 << 2, 1 << 3}) | (b & (four){1 << 4, 1 << 5, 1 << 6, 1 << 7}) |
                      (c & (four){1 << 8, 1 << 9, 1 << 10, 1 << 11}) |
                      (d & (four){1 << 12, 1 << 13, 1 << 14, 1 << 15});
    return (uint32_t)(bits[0] | bits[1] | bits[2] | bits[3]);
}

/* Bit i: at[i] >= least. */
static inline uint32_t sixteen_at_least(const int32_t *at, int32_t least)
{
    const four l = {least, least, least, least};
    return sixteen_bits(four_of(at, 0) >= l, four_of(at, 1) >= l, four_of(at, 2) >= l, four_of(at, 3) >= l);
}

/* Bit i: at[i] == number. */
static inline uint32_t sixteen_equal(const int32_t *at, int32_t number)
{
    const four n = {number, number, number, number};
    return sixteen_bits(four_of(at, 0) == n, four_of(at, 1) == n, four_of(at, 2) == n, four_of(at, 3) == n);
}

static inline four four_larger(four a, four b)
{
    const four is_a = a > b;
    return (a & is_a) | (b & ~is_a);
}

static inline int32_t sixteen_largest(const int32_t *at)
{
    const four m = four_larger(four_larger(four_of(at, 0), four_of(at, 1)), four_larger(four_of(at, 2), four_of(at, 3)));
    const int32_t a = m[0] > m[1] ? m[0] : m[1], b = m[2] > m[3] ? m[2] : m[3];
    return a > b ? a : b;
}

#endif
