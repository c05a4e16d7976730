/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Which mappings began a range is what a list of ranges tells that is read from its first one on. */
#include "replay/recording/mapped_ranges.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>
#include <inttypes.h>

enum { PIECES = 300, REACH = 1000, CASES = 200 };

/* ---- the model ---- */

struct listed_range {
    uint64_t addr, mapped, home;
    bool     is_gone;
};

struct range_list {
    struct listed_range at[PIECES];
    size_t n;
};

static bool list_map(struct range_list *l, const struct mapped_piece *piece)
{
    for (size_t i = 0; i < l->n; i++) {
        struct listed_range *g = &l->at[i];
        if (!g->is_gone && g->home == piece->home && piece->addr >= g->addr && piece->addr - g->addr < REACH) {
            g->mapped += piece->bytes;
            return false;
        }
    }
    l->at[l->n++] = (struct listed_range){ .addr = piece->addr, .mapped = piece->bytes, .home = piece->home };
    return true;
}

static void list_unmap(struct range_list *l, uint64_t addr, uint64_t bytes)
{
    struct listed_range *found = NULL;
    for (size_t i = 0; i < l->n; i++)
        if (!l->at[i].is_gone && l->at[i].addr <= addr && (found == NULL || l->at[i].addr > found->addr))
            found = &l->at[i];
    if (found == NULL)
        return;
    found->mapped -= bytes < found->mapped ? bytes : found->mapped;
    found->is_gone = found->mapped == 0;
}

/* ---- the comparison ---- */

static void expect_like_the_list(uint64_t seed)
{
    static struct mapped_piece pieces[PIECES];
    static struct range_list list;
    struct mapped_ranges ranges;
    uint64_t state = seed;
    const uint64_t n_addresses = 20 + random_below(&state, 4000), n_homes = 1 + random_below(&state, 5);
    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = (struct mapped_piece){ .addr = random_below(&state, n_addresses),
                                           .bytes = random_below(&state, 4), .home = random_below(&state, n_homes) };
    list.n = 0;
    cr_assert_eq(mapped_ranges_open(&ranges, pieces, PIECES, REACH), ERR_OK);
    for (uint32_t i = 0; i < PIECES; i++) {
        cr_assert_eq(mapped_ranges_map(&ranges, i), list_map(&list, &pieces[i]), "seed %" PRIu64 ", mapping %u", seed,
                     i);
        for (uint64_t k = random_below(&state, 3); k > 0; k--) {
            const uint64_t addr = random_below(&state, n_addresses), bytes = 1 + random_below(&state, 3);
            mapped_ranges_unmap(&ranges, addr, bytes);
            list_unmap(&list, addr, bytes);
        }
    }
    mapped_ranges_close(&ranges);
}

Test(mapped_ranges, began_where_a_list_says_so)
{
    for (uint64_t seed = 1; seed <= CASES; seed++)
        expect_like_the_list(seed);
}

Test(mapped_ranges, there_may_be_none)
{
    struct mapped_ranges ranges;
    cr_assert_eq(mapped_ranges_open(&ranges, NULL, 0, REACH), ERR_OK);
    mapped_ranges_unmap(&ranges, 5, 1);
    mapped_ranges_close(&ranges);
}
