/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Bisection over a row of values, counted from 0. */
#include "replay/advise/largest_value.h"

#include "base/units.h"

enum { PROBE_MULTIPLE = 8 };

static uint64_t value_count(const struct value_range *r)
{
    return (r->high - r->low) / r->step + 1;
}

static uint64_t value_at(const struct value_range *r, uint64_t i)
{
    return r->low + r->step * i;
}

static enum err try_value(const struct value_trial *trial, uint64_t value, struct largest_value *out, bool *fits,
                          struct err_detail *err)
{
    const enum err e = trial->fits(trial->arg, value, fits, err);
    if (e != ERR_OK)
        return e;
    if (*fits) {
        out->is_monotone = out->is_monotone && !(out->has_failed && out->fails < value);
        out->is_any = true;
        out->fits = value;
    } else {
        out->has_failed = true;
        out->fails = value;
    }
    return ERR_OK;
}

/* Between `low`, which fits, and `high`, which does not. */
static enum err bisect(const struct value_range *r, const struct value_trial *trial, uint64_t low, uint64_t high,
                       struct largest_value *out, struct err_detail *err)
{
    bool fits;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        const enum err e = try_value(trial, value_at(r, middle), out, &fits, err);
        if (e != ERR_OK)
            return e;
        if (fits)
            low = middle;
        else
            high = middle;
    }
    return ERR_OK;
}

/* A value above the least that fails; if it fits, it is the answer. */
static enum err probe_above(const struct value_range *r, const struct value_trial *trial, struct largest_value *out,
                            struct err_detail *err)
{
    const uint64_t first_failing = out->fails;
    bool fits;
    for (uint64_t i = (first_failing - r->low) / r->step + 1; i < value_count(r); i++)
        if (value_at(r, i) % PROBE_MULTIPLE == 0) {
            const enum err e = try_value(trial, value_at(r, i), out, &fits, err);
            if (e == ERR_OK && !fits)
                out->fails = first_failing;
            return e;
        }
    return ERR_OK;
}

enum err largest_value_find(const struct value_range *range, const struct value_trial *trial,
                            struct largest_value *out, struct err_detail *err)
{
    const uint64_t n = value_count(range);
    bool fits;
    *out = (struct largest_value){ .is_monotone = true };
    enum err e = try_value(trial, range->low, out, &fits, err);
    if (e == ERR_OK && fits && n > 1)
        e = try_value(trial, value_at(range, n - 1), out, &fits, err);
    if (e == ERR_OK && out->is_any && out->has_failed)
        e = bisect(range, trial, 0, n - 1, out, err);
    if (e == ERR_OK && out->is_any && out->has_failed)
        e = probe_above(range, trial, out, err);
    out->is_found = e == ERR_OK;
    return e;
}

unsigned largest_value_trials_max(const struct value_range *range)
{
    const uint64_t n = value_count(range);
    return n == 1 ? 1 : 3 + log2_floor(n - 1) + !is_power_of_two(n - 1);
}
