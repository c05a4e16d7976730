/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The first high version is found in few tries, in lines and in merges, also where versions cannot be tried. */
#include "base/units.h"
#include "replay/bisect/bisection.h"
#include "replay/bisect/peak_rise.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MANY = 200, PARENTS = 2 };

struct history {
    size_t n, first_parent[MANY + 1], parents[MANY * PARENTS];
    bool is_high[MANY], is_broken[MANY];
};

/* A line, or with merges: each version has one earlier parent or two. `first`: it and its descendants are high. */
static void draw(struct history *h, uint64_t *state, size_t n, bool has_merges, size_t first)
{
    *h = (struct history){ .n = n };
    for (size_t i = 0; i < n; i++) {
        size_t k = h->first_parent[i];
        if (i > 0)
            h->parents[k++] = i - 1 - (has_merges ? (size_t)random_below(state, i < 4 ? i : 4) : 0);
        if (i > 1 && has_merges && random_one_in(state, 3))
            h->parents[k++] = (size_t)random_below(state, i);
        h->first_parent[i + 1] = k;
        h->is_high[i] = i == first;
        for (size_t p = h->first_parent[i]; p < k; p++)
            h->is_high[i] = h->is_high[i] || h->is_high[h->parents[p]];
    }
}

/* Tries until nothing is left to try. Returns how many tries it took. */
static size_t search(const struct history *h, struct bisection *b)
{
    size_t version, tries = 0;
    cr_assert_eq(bisection_open(h->n, h->first_parent, h->parents, b, NULL), ERR_OK);
    for (; bisection_next(b, &version); tries++) {
        cr_assert(b->is_candidate[version] && b->state[version] == VERSION_OPEN);
        bisection_mark(b, version, h->is_broken[version] ? VERSION_SKIPPED
                                   : h->is_high[version] ? VERSION_HIGH : VERSION_LOW);
    }
    return tries;
}

Test(bisection, the_first_high_version_of_a_line_is_found_in_log2_tries)
{
    uint64_t state = 1;
    for (size_t n = 1; n <= MANY; n += n < 20 ? 1 : 45)
        for (size_t first = 0; first < n; first++) {
            static struct history h;
            struct bisection b;
            draw(&h, &state, n, false, first);
            size_t most = 0;
            while (((size_t)1 << most) < n)
                most++;
            const size_t tries = search(&h, &b);
            cr_assert_leq(tries, most, "%zu of %zu: %zu tries", first, n, tries);
            cr_assert(b.n_candidates == 1 && b.high == first);
            bisection_close(&b);
        }
}

Test(bisection, a_version_named_in_a_history_with_merges_is_high_and_has_no_high_parent)
{
    uint64_t state = 7;
    for (int round = 0; round < 2000; round++) {
        static struct history h;
        struct bisection b;
        const size_t n = 2 + (size_t)random_below(&state, 60);
        draw(&h, &state, n, true, (size_t)random_below(&state, n));
        h.is_high[n - 1] = true;
        (void)search(&h, &b);
        cr_assert(b.n_candidates == 1 && h.is_high[b.high], "round %d", round);
        for (size_t p = h.first_parent[b.high]; p < h.first_parent[b.high + 1]; p++)
            cr_assert(!h.is_high[h.parents[p]], "round %d", round);
        bisection_close(&b);
    }
}

Test(bisection, the_first_high_version_is_always_among_the_candidates_where_some_are_skipped)
{
    uint64_t state = 3;
    for (int round = 0; round < 2000; round++) {
        static struct history h;
        struct bisection b;
        const size_t n = 2 + (size_t)random_below(&state, 60), first = (size_t)random_below(&state, n);
        draw(&h, &state, n, false, first);
        for (size_t i = 0; i + 1 < n; i++)
            h.is_broken[i] = random_one_in(&state, 3);
        (void)search(&h, &b);
        cr_assert(b.is_candidate[first]);
        for (size_t i = 0; i < n; i++)                       /* all others were skipped */
            cr_assert(!b.is_candidate[i] || i == b.high || h.is_broken[i]);
        bisection_close(&b);
    }
}

Test(bisection, a_long_stretch_that_does_not_run_is_left_after_few_tries)
{
    static struct history h;
    struct bisection b;
    uint64_t state = 1;
    draw(&h, &state, MANY, false, 150);
    for (size_t i = 80; i < 120; i++)
        h.is_broken[i] = true;
    cr_assert_leq(search(&h, &b), 12);
    cr_assert(b.n_candidates == 1 && b.high == 150);
    bisection_close(&b);
}

Test(bisection, a_threshold_is_a_share_or_bytes)
{
    struct rise_threshold t;
    cr_assert(rise_threshold_read("5%", &t));
    cr_assert_eq(rise_none_above(&t, 1000), 1050);
    cr_assert_eq(rise_low_limit(&t, 1000, 9000), 1050);
    cr_assert(rise_threshold_read("2MiB", &t));
    cr_assert_eq(rise_none_above(&t, 1000), 1000 + 2 * MIB);
    cr_assert(rise_threshold_read("0%", &t));
    cr_assert_eq(rise_none_above(&t, 1000), 1000);
    const char *const wrong[] = { "", "%", "x%", "-1%", "5%%", "1e9%", "5 %", "nan%", "inf%", "200000%" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_assert(!rise_threshold_read(wrong[i], &t), "%s", wrong[i]);
}

Test(bisection, without_a_threshold_a_peak_is_high_if_it_is_nearer_to_the_bad_one)
{
    const struct rise_threshold none = { .is_typed = false };
    cr_assert_eq(rise_none_above(&none, 1000), 1010);
    cr_assert_eq(rise_low_limit(&none, 1000, 2000), 1500);
    cr_assert_eq(rise_none_above(&none, UINT64_MAX), UINT64_MAX);
}
