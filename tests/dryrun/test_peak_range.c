/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The range of a peak: its ends, and what made them. */
#include "dryrun/peak_range.h"

#include "base/units.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>

/* An answer, and bounds that hold it. */
static struct card_answer answer_draw(uint64_t *seed, struct card_bounds *bounds)
{
    const uint64_t least = random_below(seed, 64 * GIB), bytes = least + random_below(seed, GIB);
    *bounds = (struct card_bounds){ .least_bytes = least, .most_bytes = bytes + random_below(seed, GIB) };
    return (struct card_answer){ .card_peak_bytes = bytes };
}

Test(peak_range, low_is_never_above_expected_nor_that_above_high)
{
    uint64_t seed = 55;
    fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 10000; i++) {
        struct card_bounds bounds;
        const struct card_answer expected = answer_draw(&seed, &bounds);
        struct peak_range r = peak_range_of(&expected, &bounds);
        for (int source = 0; source < RANGE_SOURCES; source++) {
            const struct card_answer other = answer_draw(&seed, &bounds);
            peak_range_widen(&r, (enum range_source)source, &other, &bounds);
            cr_assert_leq(r.low_bytes, bounds.least_bytes);
            cr_assert_geq(r.high_bytes, bounds.most_bytes);
            cr_assert(r.below_bytes[source] <= r.expected_bytes - r.low_bytes);
            cr_assert(r.above_bytes[source] <= r.high_bytes - r.expected_bytes);
        }
        cr_assert(r.low_bytes <= r.expected_bytes && r.expected_bytes <= r.high_bytes);
        cr_assert_eq(r.expected_bytes, expected.card_peak_bytes);
    }
}

Test(peak_range, without_anything_open_there_is_no_word)
{
    const struct card_answer expected = { .card_peak_bytes = GIB };
    const struct card_bounds bounds = { .least_bytes = GIB, .most_bytes = GIB };
    const struct peak_range r = peak_range_of(&expected, &bounds);
    struct words w = { .n = 0 };
    peak_range_say(&w, &r);
    cr_expect_eq(w.n, 0);
    cr_expect(!peak_range_is_open(&r));
    cr_expect(!peak_range_shows(&r));
}

Test(peak_range, each_source_is_named_with_what_it_takes_off_and_adds)
{
    const struct card_answer expected = { .card_peak_bytes = GIB }, none = { .card_peak_bytes = GIB - 100 * MIB },
                             most = { .card_peak_bytes = GIB + 200 * MIB };
    const struct card_bounds near = { .least_bytes = GIB - 2 * MIB, .most_bytes = GIB },
                             low = { .least_bytes = GIB - 100 * MIB, .most_bytes = GIB - 100 * MIB },
                             high = { .least_bytes = GIB + 200 * MIB, .most_bytes = GIB + 200 * MIB };
    struct peak_range r = peak_range_of(&expected, &near);
    struct words w = { .n = 0 };
    peak_range_widen(&r, RANGE_WORKSPACES, &most, &high);
    peak_range_widen(&r, RANGE_WORKSPACES, &none, &low);
    peak_range_say(&w, &r);
    cr_expect_str_eq(w.text, "between 924 MiB and 1.20 GiB: the order of addresses (-2 MiB), workspaces of "
                             "libraries (-100 MiB, +200 MiB)");
}

Test(peak_range, without_an_end_it_is_at_least_so_much)
{
    const struct peak_range r = { .low_bytes = GIB, .expected_bytes = GIB, .high_bytes = GIB, .is_endless = true };
    struct words w = { .n = 0 };
    peak_range_say(&w, &r);
    cr_expect_str_eq(w.text, "at 1 GiB or more: what follows the steps was not seen");
    cr_expect(peak_range_is_open(&r));
    cr_expect(peak_range_has(&r, RANGE_UNSEEN));
    cr_expect(!peak_range_has(&r, RANGE_CUT));
}

Test(peak_range, ends_that_read_alike_are_open_and_not_shown)
{
    const struct peak_range r = { .low_bytes = 1394 * MIB, .expected_bytes = 1395 * MIB,
                                  .high_bytes = 1397 * MIB };
    cr_expect(peak_range_is_open(&r));
    cr_expect(!peak_range_shows(&r));
}
