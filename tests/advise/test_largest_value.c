/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The search for the largest value that fits, against programs whose limit is known. */
#include "replay/advise/largest_value.h"

#include <criterion/criterion.h>

/* Fits up to `limit`; multiples of 8 fit up to `limit_of_eights` too. Fails at the trial `fails_at`, counted from 1. */
struct program {
    uint64_t limit, limit_of_eights;
    unsigned n_trials, fails_at;
    bool is_rising;
    uint64_t tried[80], least_failed;
};

static enum err program_fits(void *arg, uint64_t value, bool *fits, struct err_detail *err)
{
    struct program *p = arg;
    if (++p->n_trials == p->fails_at)
        return err_set(err, ERR_INTERRUPTED, 0, "interrupted");
    for (unsigned i = 0; i < p->n_trials - 1; i++)
        cr_assert_neq(p->tried[i], value, "%lu is tried twice", (unsigned long)value);
    p->tried[p->n_trials - 1] = value;
    cr_assert(!p->is_rising || p->least_failed == 0 || value < p->least_failed, "%lu cannot fit", (unsigned long)value);
    *fits = value <= p->limit || (value % 8 == 0 && value <= p->limit_of_eights);
    if (!*fits && (p->least_failed == 0 || value < p->least_failed))
        p->least_failed = value;
    return ERR_OK;
}

static enum err find(const struct value_range *r, struct program *p, struct largest_value *out)
{
    struct err_detail err;
    const struct value_trial trial = { .fits = program_fits, .arg = p, .is_rising = p->is_rising };
    return largest_value_find(r, &trial, out, &err);
}

Test(largest_value, is_found_for_every_limit_within_the_stated_trials)
{
    static const struct value_range ranges[] = { { 1, 1, 1 }, { 1, 2, 1 }, { 3, 64, 1 }, { 1, 65, 1 }, { 8, 200, 8 } };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        for (uint64_t limit = 0; limit < 210; limit++) {
            const struct value_range *r = &ranges[i];
            struct program p = { .limit = limit };
            struct largest_value l;
            cr_assert_eq(find(r, &p, &l), ERR_OK);
            const uint64_t top = limit < r->high ? limit : r->high;
            cr_assert_eq(l.is_any, limit >= r->low);
            if (l.is_any)
                cr_assert_eq(l.fits, r->low + (top - r->low) / r->step * r->step);
            if (l.is_any && l.has_failed)
                cr_assert_eq(l.fails, l.fits + r->step);
            cr_assert(l.is_found && l.is_monotone && p.n_trials <= largest_value_trials_max(r));
        }
}

Test(largest_value, that_fits_above_one_that_does_not_is_said)
{
    struct program p = { .limit = 12, .limit_of_eights = 16 };
    struct largest_value l;
    cr_assert_eq(find(&(struct value_range){ 1, 25, 1 }, &p, &l), ERR_OK);
    cr_assert(!l.is_monotone);
    cr_assert_eq(l.fits, 16);
    cr_assert_eq(l.fails, 13);
}

/* Where a larger value needs more, each trial is below all that failed; and none is made twice anywhere. */
Test(largest_value, tries_nothing_above_one_that_fails_if_larger_ones_need_more)
{
    const struct value_range r = { 8192, 131072, 4096 };
    struct program p = { .limit = 44880, .is_rising = true };
    struct largest_value l;
    cr_assert_eq(find(&r, &p, &l), ERR_OK);
    cr_assert_eq(l.fits, 40960);
    cr_assert_eq(l.fails, 45056);
    for (uint64_t limit = 1; limit < 257; limit++)
        cr_assert_eq(find(&(struct value_range){ 1, 256, 1 }, &(struct program){ .limit = limit }, &l), ERR_OK);
}

Test(largest_value, keeps_what_is_known_when_it_is_interrupted)
{
    struct program p = { .limit = 100, .fails_at = 4 };
    struct largest_value l;
    cr_assert_eq(find(&(struct value_range){ 1, 256, 1 }, &p, &l), ERR_INTERRUPTED);
    cr_assert(l.is_any && l.has_failed && !l.is_found);
    cr_assert(l.fits <= 100 && l.fails > 100);
}
