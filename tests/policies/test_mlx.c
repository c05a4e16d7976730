/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* mlx: which cached buffer serves a request, and which are given back first. */
#include "tests/rig.h"

#include <stdlib.h>

enum { PAGE = 16384 };

struct mac {
    struct rig rig;
    struct block blocks[8];
    uint64_t sizes[8];
};

static struct mac *mac_open(const char *policy, uint64_t total_bytes)
{
    struct mac *m = calloc(1, sizeof *m);
    cr_assert_not_null(m);
    rig_open(&m->rig, &(struct rig_config){.policy = policy, .total_bytes = total_bytes});
    return m;
}

static void mac_close(struct mac *m)
{
    rig_check(&m->rig);
    rig_close(&m->rig);
    free(m);
}

static enum err mac_take(struct mac *m, uint32_t slot, uint64_t bytes)
{
    m->sizes[slot] = bytes;
    return rig_alloc(&m->rig, slot, 0, bytes, &m->blocks[slot]);
}

static void mac_free(struct mac *m, uint32_t slot)
{
    rig_free(&m->rig, EVENT_FREE, slot, 0, m->sizes[slot], &m->blocks[slot]);
    rig_check(&m->rig);
}

/* Whether a cached buffer of `cached` bytes serves `asked`. */
static bool serves(uint64_t cached, uint64_t asked)
{
    struct mac *m = mac_open("mlx", 0);
    cr_assert_eq(mac_take(m, 0, cached), ERR_OK);
    mac_free(m, 0);
    cr_assert_eq(mac_take(m, 1, asked), ERR_OK);
    const bool is_hit = m->rig.policy->count.hits == 1;
    mac_close(m);
    return is_hit;
}

Test(mlx, a_buffer_serves_if_it_is_less_than_twice_as_large_and_less_than_two_pages_larger)
{
    cr_expect(serves(10 * PAGE, 10 * PAGE));
    cr_expect(serves(10 * PAGE, 9 * PAGE + 1), "rounded up, it is the same");
    cr_expect(serves(10 * PAGE, 9 * PAGE));
    cr_expect_not(serves(10 * PAGE, 8 * PAGE), "two pages larger");
    cr_expect_not(serves(10 * PAGE, 11 * PAGE), "too small");
    cr_expect(serves(PAGE, PAGE / 2 + 1));
    cr_expect_not(serves(PAGE, PAGE / 2), "twice as large");
}

Test(mlx, of_equal_buffers_the_one_that_was_freed_first_is_taken)
{
    struct mac *m = mac_open("mlx", 0);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(mac_take(m, i, MIB), ERR_OK);
    mac_free(m, 1);
    mac_free(m, 0);
    mac_free(m, 2);
    cr_assert_eq(mac_take(m, 3, MIB), ERR_OK);
    cr_expect_eq(m->blocks[3].addr, m->blocks[1].addr);
    mac_close(m);
}

Test(mlx, below_the_limit_nothing_is_given_back_and_at_it_the_oldest)
{
    struct mac *m = mac_open("mlx", 100 * MIB);
    for (uint32_t i = 0; i < 3; i++)
        cr_assert_eq(mac_take(m, i, (20 + i) * MIB), ERR_OK);
    for (uint32_t i = 0; i < 3; i++)
        mac_free(m, i);
    cr_assert_eq(mac_take(m, 3, 30 * MIB), ERR_OK);          /* 63 cached and 30 are below 95 */
    cr_expect_eq(m->rig.device->usage.reserved_bytes, 93 * MIB);
    cr_assert_eq(mac_take(m, 4, 4 * MIB), ERR_OK);           /* 97 are not: 2 MiB too many cost the buffer of 20 */
    cr_expect_eq(m->rig.device->usage.reserved_bytes, 77 * MIB);
    mac_close(m);
}

Test(mlx, a_cache_that_may_hold_nothing_holds_nothing)
{
    struct mac *m = mac_open("mlx:cache-limit=0", 0);
    cr_assert_eq(mac_take(m, 0, MIB), ERR_OK);
    mac_free(m, 0);
    cr_expect_eq(m->rig.device->usage.reserved_bytes, 0);
    mac_close(m);
}
