/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Formulas are tried from the simplest on. Arithmetic is exact: a system of at most three linear equations is solved by
 * Cramer's rule in 128 bits, and the coefficients share one denominator.
 */
#include "replay/extrapolate/formula.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;         /* determinants of three sizes times squares of n */

/* Parameters and sizes beyond these could overflow a determinant. */
#define N_MAX     (UINT64_C(1) << 20)
#define BYTES_MAX (UINT64_C(1) << 50)

static const unsigned char term_sets[] = { 1, 2, 4, 1 | 2, 2 | 4, 1 | 4, 1 | 2 | 4 };
enum { N_TERM_SETS = sizeof term_sets };

static unsigned count_terms(unsigned set)
{
    return (set & 1) + (set >> 1 & 1) + (set >> 2 & 1);
}

static wide power(uint64_t n, unsigned exponent)
{
    wide p = 1;
    while (exponent-- > 0)
        p *= (wide)n;
    return p;
}

static wide determinant(wide m[3][3], unsigned k)
{
    if (k == 1)
        return m[0][0];
    if (k == 2)
        return m[0][0] * m[1][1] - m[0][1] * m[1][0];
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

static wide gcd(wide a, wide b)
{
    while (b != 0) {
        const wide rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* The coefficients of the set's terms, from its first points. False if one is 0 or too large, or negative where that is
 * not allowed. */
static bool solve(unsigned set, const uint64_t *n, const uint64_t *bytes, bool may_be_negative, struct formula *out)
{
    const unsigned k = count_terms(set);
    unsigned exponents[3];
    wide a[3][3], top[3] = { 0 };
    for (unsigned t = 0, i = 0; t < FORMULA_TERMS; t++)
        if ((set >> t & 1) != 0)
            exponents[i++] = t;
    for (unsigned row = 0; row < k; row++)
        for (unsigned col = 0; col < k; col++)
            a[row][col] = power(n[row], exponents[col]);
    wide bottom = determinant(a, k), common = bottom;
    for (unsigned col = 0; col < k; col++) {
        wide b[3][3];
        memcpy(b, a, sizeof b);
        for (unsigned row = 0; row < k; row++)
            b[row][col] = (wide)bytes[row];
        top[col] = determinant(b, k);
        common = gcd(common, top[col]);
    }
    if (bottom == 0 || common == 0)
        return false;
    *out = (struct formula){ .divisor = 1 };
    for (unsigned col = 0; col < k; col++) {
        const wide c = (bottom < 0 ? -top[col] : top[col]) / common;
        if (c == 0 || (c < 0 && !may_be_negative) || c > (wide)INT64_MAX || c < -(wide)INT64_MAX)
            return false;
        out->c[exponents[col]] = (int64_t)c;
    }
    bottom = (bottom < 0 ? -bottom : bottom) / common;
    out->divisor = (uint64_t)bottom;
    return bottom <= (wide)UINT64_MAX;
}

bool formula_at(const struct formula *f, uint64_t n, uint64_t *bytes)
{
    wide sum = 0;
    assert(f->divisor > 0);
    for (unsigned t = 0; t < FORMULA_TERMS; t++) {
        if (n > N_MAX || n < f->least_n)
            return false;
        sum += (wide)f->c[t] * power(n, t);          /* at most 63 and 40 bits: no overflow */
    }
    if (sum <= 0 || sum % (wide)f->divisor != 0)
        return false;
    sum /= (wide)f->divisor;
    *bytes = (uint64_t)sum;
    return sum < (wide)1 << 62;
}

static bool passes(const struct formula *f, const uint64_t *n, const uint64_t *bytes, size_t n_points)
{
    uint64_t at;
    for (size_t i = 0; i < n_points; i++)
        if (!formula_at(f, n[i], &at) || at != bytes[i])
            return false;
    return true;
}

/* Whether the sizes at the two largest n are equal: the formula is then constant from the smaller of these on. */
static bool levels_off(const uint64_t *n, const uint64_t *bytes, size_t n_points, struct formula *out)
{
    size_t last = 0, before = SIZE_MAX;
    for (size_t i = 1; i < n_points; i++)
        last = n[i] > n[last] ? i : last;
    for (size_t i = 0; i < n_points; i++)
        if (i != last && (before == SIZE_MAX || n[i] > n[before]))
            before = i;
    if (bytes[last] != bytes[before])
        return false;
    *out = (struct formula){ .c = { (int64_t)bytes[last] }, .divisor = 1, .least_n = n[before] };
    return true;
}

enum formula_fit formula_find(const uint64_t *n, const uint64_t *bytes, size_t n_points, struct formula *out)
{
    unsigned found_terms = FORMULA_TERMS + 1;
    enum formula_fit fit = FORMULA_NONE;
    assert(n_points >= 2 && n_points <= FORMULA_POINTS_MAX);
    for (size_t i = 0; i < n_points; i++)
        if (n[i] == 0 || n[i] > N_MAX || bytes[i] > BYTES_MAX)
            return FORMULA_NONE;
    for (size_t s = 0; s < N_TERM_SETS; s++) {
        struct formula f;
        const unsigned terms = count_terms(term_sets[s]);
        if (terms > n_points || terms > found_terms || !solve(term_sets[s], n, bytes, terms < n_points, &f) ||
            !passes(&f, n, bytes, n_points))
            continue;
        if (fit == FORMULA_NONE)
            *out = f;
        fit = fit == FORMULA_NONE ? FORMULA_FITS : FORMULA_AMBIGUOUS;
        found_terms = terms;
    }
    return fit != FORMULA_FITS && n_points > 2 && levels_off(n, bytes, n_points, out) ? FORMULA_FITS : fit;
}

const char *formula_text(const struct formula *f, const char *parameter, char buf[static FORMULA_TEXT])
{
    static const char *const powers[FORMULA_TERMS] = { "", " ", " " };
    const bool is_sum = (f->c[0] != 0) + (f->c[1] != 0) + (f->c[2] != 0) > 1;
    size_t used = 0;
    buf[0] = '\0';
    for (unsigned t = FORMULA_TERMS; t-- > 0 && used < FORMULA_TEXT;) {
        if (f->c[t] == 0)
            continue;
        const char *sign = f->c[t] < 0 ? (used > 0 ? " - " : "-") : used > 0 ? " + " : "";
        const int more = snprintf(buf + used, FORMULA_TEXT - used, "%s%s%" PRIu64 "%s%.20s%s",
                                  used == 0 && is_sum && f->divisor > 1 ? "(" : "", sign,
                                  (uint64_t)(f->c[t] < 0 ? -f->c[t] : f->c[t]), powers[t], t > 0 ? parameter : "",
                                  t == 2 ? "^2" : "");
        used += more > 0 ? (size_t)more : 0;
    }
    if (f->divisor > 1 && used < FORMULA_TEXT)
        snprintf(buf + used, FORMULA_TEXT - used, "%s / %" PRIu64, is_sum ? ")" : "", f->divisor);
    return buf;
}
