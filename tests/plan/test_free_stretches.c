/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* First fit on a line: the addresses are those that a plain map of cells gives. */
#include "replay/plan/free_stretches.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 8192, BLOCKS = 1500 };

struct cells {
    bool is_taken[CELLS];
};

static uint64_t cells_take(struct cells *c, uint64_t n)
{
    for (uint64_t at = 0, free_from = 0; at < CELLS; at++) {
        if (c->is_taken[at])
            free_from = at + 1;
        else if (at + 1 - free_from == n) {
            memset(&c->is_taken[free_from], true, n);
            return free_from;
        }
    }
    return UINT64_MAX;
}

Test(gaps, every_address_is_the_lowest_with_room)
{
    for (unsigned seed = 1; seed <= 4; seed++) {
        struct { uint64_t addr, bytes; } live[BLOCKS];
        size_t n = 0;
        struct cells cells = { .is_taken = { false } };
        struct free_stretches g;
        srand(seed);
        cr_assert_eq(free_stretches_open(&g), ERR_OK);
        for (int step = 0; step < 20000; step++) {
            const bool grows = step / 5000 % 2 == 0;         /* leaves are split, then given up */
            if (n < BLOCKS && (n == 0 || rand() % 5 < (grows ? 3 : 2))) {
                const uint64_t bytes = 1 + (uint64_t)rand() % (rand() % 4 == 0 ? 20 : 3);
                live[n].bytes = bytes;
                cr_assert(free_stretches_take(&g, bytes, &live[n].addr));
                cr_assert_eq(live[n].addr, cells_take(&cells, bytes), "seed %u step %d", seed, step);
                n++;
            } else {
                const size_t i = (size_t)rand() % n;
                cr_assert_eq(free_stretches_give(&g, live[i].addr, live[i].bytes), ERR_OK);
                memset(&cells.is_taken[live[i].addr], false, live[i].bytes);
                live[i] = live[--n];
            }
        }
        free_stretches_close(&g);
    }
}

Test(gaps, the_height_stays_at_the_highest_address_ever_taken)
{
    struct free_stretches g;
    uint64_t first, second;
    cr_assert_eq(free_stretches_open(&g), ERR_OK);
    cr_assert(free_stretches_take(&g, 100, &first));
    cr_assert(free_stretches_take(&g, 50, &second));
    cr_assert_eq(free_stretches_give(&g, second, 50), ERR_OK);
    cr_expect_eq(g.height, 150);
    cr_assert(free_stretches_take(&g, 60, &second));
    cr_expect_eq(second, 100);
    cr_expect_eq(g.height, 160);
    free_stretches_close(&g);
}

Test(gaps, a_stretch_that_no_address_space_has_is_refused_and_changes_nothing)
{
    struct free_stretches g;
    uint64_t addr = 7;
    cr_assert_eq(free_stretches_open(&g), ERR_OK);
    cr_assert(free_stretches_take(&g, 1, &addr));
    cr_expect_not(free_stretches_take(&g, UINT64_MAX, &addr));
    cr_expect_eq(addr, 0);
    cr_assert_eq(free_stretches_give(&g, addr, 1), ERR_OK);
    cr_expect(free_stretches_take(&g, UINT64_MAX, &addr));
    cr_expect_not(free_stretches_take(&g, 1, &addr));
    free_stretches_close(&g);
}
