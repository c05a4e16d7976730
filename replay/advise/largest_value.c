/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Bisection over a row of values, counted from 0. */
#include "replay/advise/largest_value.h"

#include "base/units.h"

enum { PROBE_MULTIPLE = 8, FAILED_MAX = 68 };        /* a bisection of 2^64 values, and both ends */

static uint64_t value_count(const struct value_range *r)
{
    return (r->high - r->low) / r->step + 1;
}

static uint64_t value_at(const struct value_range *r, uint64_t i)
{
    return r->low + r->step * i;
}

struct search {
    const struct value_range *range;
    const struct value_trial *trial;
    struct largest_value *out;
    uint64_t failed[FAILED_MAX];
    size_t n_failed;
    struct err_detail *err;
};

static enum err try_value(struct search *s, uint64_t value, bool *fits)
{
    struct largest_value *out = s->out;
    const enum err e = s->trial->fits(s->trial->arg, value, fits, s->err);
    if (e != ERR_OK)
        return e;
    if (*fits) {
        out->is_monotone = out->is_monotone && !(out->has_failed && out->fails < value);
        out->is_any = true;
        out->fits = value;
    } else {
        out->has_failed = true;
        out->fails = s->failed[s->n_failed++] = value;
    }
    return ERR_OK;
}

static bool has_failed(const struct search *s, uint64_t value)
{
    for (size_t i = 0; i < s->n_failed; i++)
        if (s->failed[i] == value)
            return true;
    return false;
}

/* Between `low`, which fits, and `high`, which does not. */
static enum err bisect(struct search *s, uint64_t low, uint64_t high)
{
    bool fits;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        const enum err e = try_value(s, value_at(s->range, middle), &fits);
        if (e != ERR_OK)
            return e;
        if (fits)
            low = middle;
        else
            high = middle;
    }
    return ERR_OK;
}

/* A value above the least that fails; if it fits, it is the answer. All that were tried there have failed. */
static enum err probe_above(struct search *s)
{
    const struct value_range *r = s->range;
    const uint64_t first_failing = s->out->fails;
    uint64_t i = (first_failing - r->low) / r->step + 1;
    bool fits;
    while (i < value_count(r) && value_at(r, i) % PROBE_MULTIPLE != 0)
        i++;
    if (i >= value_count(r) || has_failed(s, value_at(r, i)))
        return ERR_OK;
    const enum err e = try_value(s, value_at(r, i), &fits);
    if (e == ERR_OK && !fits)
        s->out->fails = first_failing;
    return e;
}

enum err largest_value_find(const struct value_range *range, const struct value_trial *trial,
                            struct largest_value *out, struct err_detail *err)
{
    const uint64_t n = value_count(range);
    struct search s = { .range = range, .trial = trial, .out = out, .err = err };
    bool fits;
    *out = (struct largest_value){ .is_monotone = true };
    enum err e = try_value(&s, range->low, &fits);
    if (e == ERR_OK && fits && n > 1)
        e = try_value(&s, value_at(range, n - 1), &fits);
    if (e == ERR_OK && out->is_any && out->has_failed)
        e = bisect(&s, 0, n - 1);
    if (e == ERR_OK && out->is_any && out->has_failed && !trial->is_rising)
        e = probe_above(&s);
    out->is_found = e == ERR_OK;
    return e;
}

unsigned largest_value_trials_max(const struct value_range *range)
{
    const uint64_t n = value_count(range);
    return n == 1 ? 1 : 3 + log2_floor(n - 1) + !is_power_of_two(n - 1);
}
