/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Places and intervals: who can be told apart, and who cannot. */
#include "base/random.h"
#include "replay/contest/standings.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

enum { TRACES = 60, STRATA = 3, POLICIES = 4 };

/* A cost for each trace that varies a lot between traces, times a factor for the policy and some noise of its own. */
static void costs_make(double *costs, size_t *strata, const double factors[POLICIES], double noise, uint64_t seed)
{
    for (size_t t = 0; t < TRACES; t++) {
        const double program = 1 + (double)(random_next(&seed) % 1000) / 100;
        strata[t] = t % STRATA;
        for (size_t p = 0; p < POLICIES; p++)
            costs[t * POLICIES + p] = program * factors[p] * (1 + noise * (double)(random_next(&seed) % 100) / 100);
    }
}

static void find(const double *costs, const size_t *strata, struct standing out[POLICIES])
{
    struct err_detail err = { .text = "" };
    const struct standings_input in = { costs, strata, TRACES, POLICIES, STRATA };
    cr_assert_eq(standings_find(&in, out, &err), ERR_OK, "%s", err.text);
}

Test(standings, a_small_difference_on_every_trace_separates_however_much_traces_differ)
{
    double costs[TRACES * POLICIES];
    size_t strata[TRACES];
    struct standing rows[POLICIES];
    costs_make(costs, strata, (const double[]){ 1.06, 1, 1.02, 1.5 }, 0.01, 1);
    find(costs, strata, rows);
    const size_t order[POLICIES] = { 1, 2, 0, 3 };
    for (size_t i = 0; i < POLICIES; i++) {
        cr_expect_eq(rows[i].policy, order[i]);
        cr_expect_eq(rows[i].place_from, i + 1);
        cr_expect_eq(rows[i].place_to, i + 1);
    }
    cr_expect(rows[3].low < 1.5 && rows[3].high > 1.49, "%g to %g", rows[3].low, rows[3].high);
    cr_expect_float_eq(rows[0].over_first, 1, 1e-12);
}

/* All intervals together hold at 95 %, so of 40 seeds about two may tell some apart. */
Test(standings, policies_that_differ_by_chance_share_their_places)
{
    double costs[TRACES * POLICIES];
    size_t strata[TRACES], n_told_apart = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct standing rows[POLICIES];
        costs_make(costs, strata, (const double[]){ 1, 1, 1, 1 }, 0.5, seed);
        find(costs, strata, rows);
        bool are_alike = true;
        for (size_t i = 0; i < POLICIES; i++)
            are_alike &= rows[i].place_from == 1 && rows[i].place_to == POLICIES;
        n_told_apart += !are_alike;
    }
    cr_expect(n_told_apart <= 4, "%zu of 40", n_told_apart);
}

Test(standings, strata_weigh_the_same_however_many_traces_they_have)
{
    double costs[4] = { 1, 1, 1, 4 };
    const size_t strata[4] = { 0, 0, 0, 1 };
    struct standing row;
    struct err_detail err = { .text = "" };
    const struct standings_input in = { costs, strata, 4, 1, 2 };
    cr_assert_eq(standings_find(&in, &row, &err), ERR_OK, "%s", err.text);
    cr_expect_float_eq(row.mean, 2, 1e-12, "the mean of 1 and 4 is 2, not %g", row.mean);
    cr_expect_float_eq(row.by_stratum[1], 4, 1e-12);
}

Test(standings, a_policy_that_is_refused_has_no_place_and_says_how_many_it_got_through)
{
    double costs[TRACES * POLICIES];
    size_t strata[TRACES];
    struct standing rows[POLICIES];
    costs_make(costs, strata, (const double[]){ 0.1, 1, 2, 3 }, 0.01, 1);
    costs[7 * POLICIES] = NAN;
    find(costs, strata, rows);
    cr_expect_eq(rows[POLICIES - 1].policy, 0);
    cr_expect_eq(rows[POLICIES - 1].place_from, 0);
    cr_expect_eq(rows[POLICIES - 1].n, TRACES - 1);
    cr_expect(isnan(rows[POLICIES - 1].mean));
    cr_expect_eq(rows[0].place_to, 1);
}

Test(standings, all_pairs_hold_together)
{
    cr_expect_float_eq(standings_width(2), 1.959964, 1e-5);
    cr_expect_float_eq(standings_width(5), 2.807034, 1e-5);          /* 10 pairs: 0.5 % */
}
