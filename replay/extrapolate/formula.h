/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How a request's size grows with a parameter n, such as the batch: c, c n, c n^2, or a sum of two or three of these.
 *
 * A formula with fewer terms than there are points is confirmed by the points left over. One with as many terms as
 * points passes through them whatever they are, so it counts only if all its coefficients are positive and no other
 * fits. Workspaces often level off: if the two points of largest n have equal sizes, the size stays so above them.
 */
#ifndef REPLAY_REPLAY_EXTRAPOLATE_FORMULA_H
#define REPLAY_REPLAY_EXTRAPOLATE_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMULA_POINTS_MAX = 3, FORMULA_TERMS = 3, FORMULA_TEXT = 96 };

/* (c[0] + c[1] n + c[2] n^2) / divisor for n >= least_n; divisor >= 1. */
struct formula {
    int64_t  c[FORMULA_TERMS];
    uint64_t divisor;
    uint64_t least_n;
};

enum formula_fit {
    FORMULA_FITS,                    /* one formula, the simplest that fits; others with more terms do not count */
    FORMULA_AMBIGUOUS,               /* several with equally many terms fit: another point would decide */
    FORMULA_NONE,                    /* none fits */
};

/* The formula through (n[i], bytes[i]), 2 or 3 points with different n >= 1. */
enum formula_fit formula_find(const uint64_t *n, const uint64_t *bytes, size_t n_points, struct formula *out);

/* The size at n. False if n is below least_n, or the size is no whole number of bytes, not positive,
 * or 2^62 and more. */
bool formula_at(const struct formula *f, uint64_t n, uint64_t *bytes);

/* "2 batch^2 + 512 batch + 4096". */
const char *formula_text(const struct formula *f, const char *parameter, char buf[static FORMULA_TEXT]);

#endif
