/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Byte arithmetic and text: sizes that cannot wrap silently, "24GiB" and "1.5s" in, "22.50 GiB" out.
 */
#ifndef REPLAY_BASE_UNITS_H
#define REPLAY_BASE_UNITS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static inline bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* Smallest multiple of `unit` (a power of two) that is >= bytes; UINT64_MAX on overflow. */
static inline uint64_t align_up(uint64_t bytes, uint64_t unit)
{
    assert(is_power_of_two(unit));
    const uint64_t up = bytes + (unit - 1);
    return up < bytes ? UINT64_MAX : up & ~(unit - 1);
}

/* Smallest multiple of `unit` (> 0, any) that is >= bytes; UINT64_MAX on overflow. */
static inline uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    assert(unit > 0);
    const uint64_t rest = bytes % unit;
    if (rest == 0)
        return bytes;
    return bytes > UINT64_MAX - (unit - rest) ? UINT64_MAX : bytes + (unit - rest);
}

/* a + b, or UINT64_MAX if the sum would wrap. */
static inline uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* a / b, rounded up; b > 0, and a + b does not wrap. */
static inline uint64_t divide_up(uint64_t a, uint64_t b)
{
    assert(b > 0);
    return (a + b - 1) / b;
}

/* floor(log2(n)) of n > 0. */
static inline unsigned log2_floor(uint64_t n)
{
    assert(n > 0);
    return 63u - (unsigned)__builtin_clzll(n);
}

/* Parses text[0, n) as a whole number in decimal digits. False, with *out untouched, if there is anything else,
 * nothing, or more than fits. */
bool units_parse_number(const char *text, size_t n, uint64_t *out);

/* Parses text[0, n) as a size: a decimal number, fraction allowed, and an optional unit (B, K/KB/KiB, M..., G..., T...,
 * P..., E..., all powers of 1024, in any case; none: bytes). False, with *out untouched, if a part of the text is left
 * over or the size does not fit 64 bits. */
bool units_parse_bytes(const char *text, size_t n, uint64_t *out);

/* Nanoseconds of the unit of time text[0, n): ns, us, ms, s or min. 0: it is none of them. */
uint64_t units_time_ns(const char *text, size_t n);

/* Parses text[0, n) as a time with its unit, such as "1.5s" or "-20ms", of at most 285 years either way: a number of
 * nanoseconds holds it. False, with *ns untouched, for anything else. */
bool units_parse_time(const char *text, size_t n, double *ns);

enum { UNITS_TEXT = 24 };

/* Formats a size as "512 B", "24 GiB" or "22.50 GiB": the largest unit that leaves at least 1, two decimals unless it
 * is whole. Returns `buf`. */
const char *units_format_bytes(uint64_t bytes, char buf[UNITS_TEXT]);

#endif
