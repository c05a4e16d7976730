/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Lowest fit by lifetime: the addresses are those of a list in which all are compared with all. */
#include "replay/plan/placed_requests.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { LIVES = 600 };

struct placed {
    uint64_t addr, bytes;
    uint32_t begin, end;
};

static bool is_free(const struct placed *all, size_t n, const struct placed *p)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].begin < p->end && p->begin < all[i].end && all[i].addr < p->addr + p->bytes &&
            p->addr < all[i].addr + all[i].bytes)
            return false;
    return true;
}

/* The lowest address with room is 0, or the end of another. */
static uint64_t lowest(const struct placed *all, size_t n, struct placed p)
{
    p.addr = 0;
    uint64_t best = is_free(all, n, &p) ? 0 : UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        p.addr = all[i].addr + all[i].bytes;
        if (p.addr < best && is_free(all, n, &p))
            best = p.addr;
    }
    return best;
}

Test(shelves, every_address_is_the_lowest_that_is_free_for_the_whole_life)
{
    static struct placed all[LIVES];
    struct placed_requests s;
    cr_assert_eq(placed_requests_open(LIVES, 2000, &s), ERR_OK);
    for (unsigned seed = 1; seed <= 4; seed++) {
        uint64_t height = 0;
        srand(seed);
        placed_requests_clear(&s);
        for (size_t n = 0; n < LIVES; n++) {
            struct placed *p = &all[n];
            p->bytes = 1 + (uint64_t)rand() % (rand() % 4 == 0 ? 100 : 5);
            p->begin = (uint32_t)rand() % 1000;
            p->end = rand() % 20 == 0 ? UINT32_MAX : p->begin + 1 + (uint32_t)rand() % (rand() % 3 == 0 ? 900 : 30);
            p->addr = lowest(all, n, *p);
            height = p->addr + p->bytes > height ? p->addr + p->bytes : height;
            cr_assert_eq(placed_requests_add(&s, p->bytes, p->begin, p->end), p->addr, "seed %u, request %zu", seed, n);
        }
        cr_expect_eq(s.height, height, "seed %u", seed);
    }
    placed_requests_close(&s);
}

Test(shelves, heights_beyond_all_addresses_stay_at_the_last)
{
    struct placed_requests s;
    cr_assert_eq(placed_requests_open(3, 20, &s), ERR_OK);
    for (uint32_t i = 0; i < 3; i++)
        placed_requests_add(&s, UINT64_C(3) << 62, i, 10);
    cr_expect_eq(s.height, UINT64_MAX);
    placed_requests_close(&s);
}
