/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The search for a plan, beside one that tries all orders; and bounds that rest on it. */
#include "replay/plan/best_plan.h"
#include "replay/plan/plan_pairs.h"
#include "replay/plan/plan_search.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ITEMS_MAX = 7, SECTIONS = 5, LIFETIMES = 24, LAST = 32, FULL_BYTES = 200 };

static bool meet(const struct plan_item *a, const struct plan_item *b)
{
    return a->first < b->last && b->first < a->last;
}

/* The least height of all plans: in some order, each item at the lowest offset where it overlaps none before it. */
static uint64_t naive_height(const struct plan_item *items, uint32_t n, uint32_t *order, uint64_t *at, uint32_t done)
{
    uint64_t best = UINT64_MAX;
    if (done == n) {
        best = 0;
        for (uint32_t i = 0; i < n; i++)
            best = at[i] + items[i].bytes > best ? at[i] + items[i].bytes : best;
        return best;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool is_placed = false;
        uint64_t low = 0;
        for (uint32_t k = 0; k < done; k++)
            is_placed = is_placed || order[k] == i;
        for (bool moved = true; moved && !is_placed;) {
            moved = false;
            for (uint32_t k = 0; k < done; k++)
                if (meet(&items[order[k]], &items[i]) && at[order[k]] < low + items[i].bytes &&
                    low < at[order[k]] + items[order[k]].bytes) {
                    low = at[order[k]] + items[order[k]].bytes;
                    moved = true;
                }
        }
        if (is_placed)
            continue;
        order[done] = i;
        at[i] = low;
        const uint64_t height = naive_height(items, n, order, at, done + 1);
        best = height < best ? height : best;
    }
    return best;
}

static uint32_t draw_items(uint64_t *state, struct plan_item *items)
{
    const uint32_t n = 2 + (uint32_t)random_below(state, ITEMS_MAX - 1);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t first = (uint32_t)random_below(state, SECTIONS);
        const uint32_t last = first + 1 + (uint32_t)random_below(state, SECTIONS - first);
        items[i] = (struct plan_item){ .bytes = 1 + random_below(state, 9), .first = first, .last = last,
                                       .width = last - first };
    }
    return n;
}

static void expect_valid(const struct plan_item *items, uint32_t n, const uint64_t *offsets, uint64_t height,
                         uint64_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_leq(offsets[i] + items[i].bytes, height, "seed %" PRIu64, seed);
        for (uint32_t k = 0; k < i; k++)
            cr_assert(!meet(&items[i], &items[k]) || offsets[i] >= offsets[k] + items[k].bytes ||
                      offsets[k] >= offsets[i] + items[i].bytes, "seed %" PRIu64 ": %u overlaps %u", seed, i, k);
    }
}

Test(plan_search, finds_a_plan_of_the_least_height_and_proves_that_none_is_lower)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct plan_item items[ITEMS_MAX];
        uint64_t state = seed, offsets[ITEMS_MAX], at[ITEMS_MAX], work = 1000000;
        uint32_t order[ITEMS_MAX];
        struct plan_search *s;
        enum plan_verdict verdict;
        const uint32_t n = draw_items(&state, items);
        const uint64_t height = naive_height(items, n, order, at, 0);
        cr_assert_eq(plan_search_open(items, n, NULL, &s), ERR_OK);
        cr_assert_eq(plan_search_run(s, height, &work, offsets, &verdict), ERR_OK);
        cr_expect_eq(verdict, PLAN_FOUND, "seed %" PRIu64, seed);
        expect_valid(items, n, offsets, height, seed);
        cr_assert_eq(plan_search_run(s, height - 1, &work, offsets, &verdict), ERR_OK);
        cr_expect_eq(verdict, PLAN_IMPOSSIBLE, "seed %" PRIu64, seed);
        plan_search_close(s);
    }
}

Test(pair_search, finds_a_plan_of_the_least_height_and_proves_that_none_is_lower)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct plan_item items[ITEMS_MAX];
        uint64_t state = seed, offsets[ITEMS_MAX], at[ITEMS_MAX], work = 1000000;
        uint32_t order[ITEMS_MAX];
        struct pair_search *s;
        const uint32_t n = draw_items(&state, items);
        const uint64_t height = naive_height(items, n, order, at, 0);
        cr_assert_eq(pair_search_open(items, n, NULL, &s), ERR_OK);
        cr_assert_not_null(s);
        cr_expect_eq(pair_search_run(s, height - 1, &work, offsets), PLAN_IMPOSSIBLE, "seed %" PRIu64, seed);
        cr_expect_eq(pair_search_run(s, height, &work, offsets), PLAN_FOUND, "seed %" PRIu64, seed);
        expect_valid(items, n, offsets, height, seed);
        pair_search_close(s);
    }
}

/* Two are alike, and a third may have to lie between them: what is upside down is another plan. */
Test(pair_search, finds_plans_in_which_one_lies_between_two_that_are_alike)
{
    const struct plan_item items[] = {
        { .bytes = 4, .first = 0, .last = 3, .width = 3 }, { .bytes = 4, .first = 0, .last = 3, .width = 3 },
        { .bytes = 3, .first = 0, .last = 3, .width = 3 }, { .bytes = 7, .first = 3, .last = 4, .width = 1 },
    };
    for (uint64_t height = 11; height <= 13; height++) {
        uint64_t offsets[4], work = 1000000;
        struct pair_search *s;
        cr_assert_eq(pair_search_open(items, 4, NULL, &s), ERR_OK);
        cr_expect_eq(pair_search_run(s, height, &work, offsets), PLAN_FOUND);
        expect_valid(items, 4, offsets, height, height);
        pair_search_close(s);
    }
}

Test(pair_search, leaves_more_items_to_the_other_search)
{
    static struct plan_item items[PAIR_ITEMS + 1];
    struct pair_search *s;
    for (uint32_t i = 0; i <= PAIR_ITEMS; i++)
        items[i] = (struct plan_item){ .bytes = 1 + i % 7, .first = i, .last = i + PAIR_STACKED, .width = 1 };
    cr_assert_eq(pair_search_open(items, PAIR_ITEMS, NULL, &s), ERR_OK);
    cr_expect_not_null(s);
    pair_search_close(s);
    cr_assert_eq(pair_search_open(items, PAIR_ITEMS + 1, NULL, &s), ERR_OK);
    cr_expect_null(s, "too many in all");
    for (uint32_t i = 0; i < PAIR_ITEMS; i++)
        items[i].last++;
    cr_assert_eq(pair_search_open(items, PAIR_ITEMS, NULL, &s), ERR_OK);
    cr_expect_null(s, "too many at once");
}

Test(plan_search, says_when_its_work_is_spent)
{
    struct plan_item items[64];
    uint64_t offsets[64], work = 1;
    struct plan_search *s;
    enum plan_verdict verdict;
    for (uint32_t i = 0; i < 64; i++)
        items[i] = (struct plan_item){ .bytes = 3 + i, .first = i, .last = i + 8, .width = 8 };
    cr_assert_eq(plan_search_open(items, 64, NULL, &s), ERR_OK);
    cr_assert_eq(plan_search_run(s, 10000, &work, offsets, &verdict), ERR_OK);
    cr_expect_eq(verdict, PLAN_UNKNOWN);
    cr_expect_eq(work, 0);
    plan_search_close(s);
}

/* ---- the whole plan ---- */

/* Lifetimes with the overlaps of the items: sections one after the other, in each first the frees, then the allocs. */
static struct lifetimes lifetimes_of(const struct plan_item *items, uint32_t n)
{
    struct lifetimes l = { .at = NULL };
    size_t request[LIFETIMES];
    for (uint32_t section = 0; section <= LAST; section++) {
        for (uint32_t i = 0; i < n; i++)
            if (items[i].last == section)
                cr_assert(lifetimes_end(&l, request[i], section));
        for (uint32_t i = 0; i < n; i++)
            if (items[i].first == section) {
                request[i] = l.n;
                cr_assert(lifetimes_begin(&l, items[i].bytes, section));
            }
    }
    return l;
}

Test(best_plan, meets_its_bound_in_small_problems)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct plan_item items[ITEMS_MAX];
        struct err_detail err;
        struct best_plan plan;
        uint64_t state = seed, at[ITEMS_MAX];
        uint32_t order[ITEMS_MAX];
        const uint32_t n = draw_items(&state, items);
        struct lifetimes l = lifetimes_of(items, n);
        const struct plan_limits limits = { .align_bytes = 1, .work = 1000000 };
        const uint64_t height = naive_height(items, n, order, at, 0);
        cr_assert_eq(best_plan_find(&l, &limits, &plan, &err), ERR_OK);
        cr_expect_eq(plan.plan_bytes, height, "seed %" PRIu64 ": %" PRIu64 ", the least is %" PRIu64, seed,
                     plan.plan_bytes, height);
        cr_expect_eq(plan.lower_bytes, height, "seed %" PRIu64, seed);
        cr_expect_eq(plan.proof == PROOF_SEARCH, plan.lower_bytes > plan.live_bytes, "seed %" PRIu64, seed);
        best_plan_close(&plan);
        lifetimes_close(&l);
    }
}

/* Random lifetimes, half of which end. */
static struct lifetimes draw_lifetimes(uint64_t seed, size_t n)
{
    struct lifetimes l = { .at = NULL };
    for (size_t i = 0; i < n; i++) {
        cr_assert(lifetimes_begin(&l, 512 * (1 + random_below(&seed, 50)), i));
        const size_t ended = random_below(&seed, l.n);
        if (l.at[ended].end == UINT32_MAX)
            cr_assert(lifetimes_end(&l, ended, i));
    }
    return l;
}

static bool overlap(const struct lifetimes *l, const uint64_t *offsets, size_t a, size_t b)
{
    return l->at[a].begin < l->at[b].end && l->at[b].begin < l->at[a].end &&
           offsets[a] < offsets[b] + l->at[b].bytes && offsets[b] < offsets[a] + l->at[a].bytes;
}

/* A limits.progress that counts what is done after all work is spent. */
static void count_late(void *arg, uint64_t done, uint64_t total)
{
    *(size_t *)arg += done == total;
}

Test(best_plan, ends_with_its_work_and_still_places_every_request)
{
    enum { N = 1000 };
    static const uint64_t works[] = { 0, 1, 1000, 300000, 1000000, 10000000 };
    struct lifetimes l = draw_lifetimes(1, N);
    for (size_t k = 0; k < sizeof works / sizeof works[0]; k++) {
        size_t late = 0;
        struct err_detail err;
        struct best_plan plan;
        const struct plan_limits limits = { .align_bytes = 512, .work = works[k], .progress = count_late,
                                            .progress_arg = &late };
        cr_assert_eq(best_plan_find(&l, &limits, &plan, &err), ERR_OK);
        cr_expect_leq(late, 8, "%" PRIu64 " of work: %zu pieces of work came too late", works[k], late);
        cr_expect_leq(plan.work, works[k]);
        for (size_t a = 0; a < N; a++) {
            cr_expect_leq(plan.offsets[a] + l.at[a].bytes, plan.plan_bytes);
            for (size_t b = 0; b < a; b++)
                cr_expect_not(overlap(&l, plan.offsets, a, b), "%" PRIu64 " of work: %zu and %zu", works[k], a, b);
        }
        best_plan_close(&plan);
    }
    lifetimes_close(&l);
}

Test(best_plan, says_that_no_address_is_left_for_a_request)
{
    struct lifetimes l = { .at = NULL };
    struct err_detail err;
    struct best_plan plan;
    const struct plan_limits limits = { .align_bytes = 1, .work = 1000 };
    for (int i = 0; i < 4; i++)
        cr_assert(lifetimes_begin(&l, UINT64_C(1) << 62, 0));
    cr_expect_eq(best_plan_find(&l, &limits, &plan, &err), ERR_UNSUPPORTED);
    lifetimes_close(&l);
}

/* Requests that fill FULL_BYTES at every moment but the last: where one ends, others take its room. */
static void draw_full(uint64_t *state, struct plan_item *items)
{
    uint64_t room = FULL_BYTES;
    for (uint32_t n = 0, section = 0; n < LIFETIMES;) {
        const uint64_t drawn = 1 + random_below(state, FULL_BYTES / 3), bytes = drawn < room ? drawn : room;
        items[n++] = (struct plan_item){ .bytes = bytes, .first = section, .last = LAST, .width = 1 };
        room -= bytes;
        section += room == 0;
        const uint64_t until = room == 0 ? 1 + random_below(state, FULL_BYTES / 2) : 0;
        while (room < until) {
            struct plan_item *ended = &items[random_below(state, n)];
            if (ended->last != LAST)
                continue;
            ended->last = section;
            room += ended->bytes;
        }
    }
}

Test(best_plan, is_proved_to_be_the_best_where_memory_is_full_at_every_moment)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct plan_item items[LIFETIMES];
        struct err_detail err;
        struct best_plan plan;
        uint64_t state = seed;
        draw_full(&state, items);
        struct lifetimes l = lifetimes_of(items, LIFETIMES);
        const struct plan_limits limits = { .align_bytes = 1, .work = 10 * PLAN_WORK_SECOND };
        cr_assert_eq(best_plan_find(&l, &limits, &plan, &err), ERR_OK);
        cr_expect_geq(plan.lower_bytes, FULL_BYTES);
        cr_expect_eq(plan.plan_bytes, plan.lower_bytes, "seed %" PRIu64 ": %" PRIu64 " to %" PRIu64, seed,
                     plan.lower_bytes, plan.plan_bytes);
        best_plan_close(&plan);
        lifetimes_close(&l);
    }
}

/* They fit around each other at every moment, but not over all of time. */
Test(best_plan, proves_a_bound_above_the_live_peak)
{
    static const struct plan_item items[] = {
        { .bytes = 47, .first = 0, .last = 2 },
        { .bytes = 12, .first = 0, .last = 5 },
        { .bytes = 38, .first = 1, .last = 3 },
        { .bytes = 44, .first = 2, .last = 6 },
        { .bytes = 29, .first = 3, .last = 8 },
        { .bytes = 15, .first = 3, .last = 4 },
        { .bytes = 25, .first = 5, .last = 7 },
        { .bytes = 46, .first = 7, .last = 8 },
    };
    enum { N = sizeof items / sizeof items[0] };
    struct err_detail err;
    struct best_plan plan;
    struct lifetimes l = lifetimes_of(items, N);
    const struct plan_limits limits = { .align_bytes = 1, .work = 1000000 };
    cr_assert_eq(best_plan_find(&l, &limits, &plan, &err), ERR_OK);
    cr_expect_eq(plan.live_bytes, 100);
    cr_expect_eq(plan.lower_bytes, 102, "%" PRIu64, plan.lower_bytes);
    cr_expect_eq(plan.plan_bytes, 102, "%" PRIu64, plan.plan_bytes);
    cr_expect_eq(plan.n_proof, N, "the proof needs %zu of %d", plan.n_proof, N);
    best_plan_close(&plan);
    lifetimes_close(&l);
}
