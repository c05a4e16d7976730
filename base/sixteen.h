/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Sixteen numbers compared at once, without a branch.
 *
 * The vectors are an extension of gcc and clang, which translate them for every processor. On x86-64 a comparison takes
 * some twenty instructions, and a loop eighty.
 */
#ifndef REPLAY_BASE_SIXTEEN_H
#define REPLAY_BASE_SIXTEEN_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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
#if defined(__SSE2__)
    const __m128i low = _mm_packs_epi32((__m128i)a, (__m128i)b), high = _mm_packs_epi32((__m128i)c, (__m128i)d);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
    const four bits = (a & (four){1 << 0, 1 << 1, 1 << 2, 1 << 3}) | (b & (four){1 << 4, 1 << 5, 1 << 6, 1 << 7}) |
                      (c & (four){1 << 8, 1 << 9, 1 << 10, 1 << 11}) |
                      (d & (four){1 << 12, 1 << 13, 1 << 14, 1 << 15});
    return (uint32_t)(bits[0] | bits[1] | bits[2] | bits[3]);
#endif
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

static inline int32_t four_largest_of(four a, four b, four c, four d)
{
    const four m = four_larger(four_larger(a, b), four_larger(c, d));
    const int32_t even = m[0] > m[2] ? m[0] : m[2], odd = m[1] > m[3] ? m[1] : m[3];
    return even > odd ? even : odd;
}

static inline int32_t sixteen_largest(const int32_t *at)
{
    return four_largest_of(four_of(at, 0), four_of(at, 1), four_of(at, 2), four_of(at, 3));
}

/* The largest of all but at[i]; not below 0. */
static inline int32_t sixteen_largest_but(const int32_t *at, int32_t i)
{
    const four k = {i, i, i, i};
    return four_largest_of(
        four_of(at, 0) & ((four){0, 1, 2, 3} != k), four_of(at, 1) & ((four){4, 5, 6, 7} != k),
        four_of(at, 2) & ((four){8, 9, 10, 11} != k), four_of(at, 3) & ((four){12, 13, 14, 15} != k));
}

#endif
