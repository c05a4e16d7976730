/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The largest of a row of values, such as batch sizes, with which a program still fits.
 *
 *     value    1   2 ...  16 ...  20  21 ...  24 ... 32 ... 256
 *     outcome  ok         ok      ok  -       -      -      -
 *                                 ^   ^       ^
 *                            `fits`   `fails` a further one, against the chance that larger fits again
 */
#ifndef REPLAY_REPLAY_ADVISE_LARGEST_VALUE_H
#define REPLAY_REPLAY_ADVISE_LARGEST_VALUE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* low, low + step, ..., up to high at most. step > 0, low <= high. */
struct value_range { uint64_t low, high, step; };

struct largest_value {
    bool     is_any;                 /* one fits: */
    uint64_t fits;                   /* the largest value known to fit */
    bool     has_failed;             /* one does not fit: */
    uint64_t fails;                  /* the least value known not to fit; above `fits` if is_monotone */
    bool     is_found;               /* nothing lies between the two, or every value of the range fits or none */
    bool     is_monotone;            /* no value was seen to fit above one that does not */
};

/* Tells whether a value fits. */
struct value_trial {
    enum err (*fits)(void *arg, uint64_t value, bool *fits, struct err_detail *err);
    void *arg;
    bool is_rising;                  /* a larger one needs more: none above one that fails is tried */
};

/* Tries the least value, the largest, and bisects. Then tries the next multiple of 8 above, unless is_rising: sizes of
 * 8 take other kernels. No value is tried twice. Stops at an error of the trial and returns it; *out then holds what is
 * known so far. */
MUST_USE enum err largest_value_find(const struct value_range *range, const struct value_trial *trial,
                                     struct largest_value *out, struct err_detail *err);

/* The most trials that the search makes. */
unsigned largest_value_trials_max(const struct value_range *range);

#endif
