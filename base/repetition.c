/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/repetition.h"

enum {
    ALIKE = 8,                       /* numbers that must be equal for a repetition to be looked at, and the shortest
                                      * round; fewer in sequences of fewer than four times as many */
    TRIED_MAX = 256,
};

/* The stretch around number `i` that repeats after `period`. */
static struct repetition extend(const uint64_t *at, size_t n, size_t i, size_t period)
{
    struct repetition r = { .begin = i, .end = i, .period = period };
    while (r.begin > 0 && at[r.begin - 1] == at[r.begin - 1 + period])
        r.begin--;
    while (r.end + period < n && at[r.end] == at[r.end + period])
        r.end++;
    return r;
}

struct repetition repetition_from(const uint64_t *at, size_t n, size_t i)
{
    const size_t wanted = n / 4 < ALIKE ? n / 4 : ALIKE;
    struct repetition best = { .period = 0 };
    unsigned n_tried = 0;
    for (size_t k = i + wanted; k + wanted <= n && n_tried < TRIED_MAX; k++) {
        size_t same = 0;
        while (same < wanted && at[i + same] == at[k + same])
            same++;
        if (same < wanted)
            continue;
        n_tried++;
        const struct repetition r = extend(at, n, i, k - i);
        if (r.end - r.begin >= r.period && repetition_length(&r) > repetition_length(&best))
            best = r;
    }
    return best;
}
