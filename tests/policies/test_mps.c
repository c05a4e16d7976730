/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* mps: which heap a buffer gets, which cached buffer serves a request, and what the watermarks do. */
#include "tests/rig.h"

#include <stdlib.h>

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

static uint64_t mac_reserved(const struct mac *m)
{
    return m->rig.device->usage.reserved_bytes;
}

Test(mps, each_size_has_its_heap)
{
    static const struct { uint64_t asked, heap; } cases[] = {
        { 1, 8 * MIB }, { MIB, 8 * MIB }, { MIB + 1, 32 * MIB }, { 10 * MIB - 256, 32 * MIB }, { 10 * MIB, GIB },
        { 512 * MIB - 256, GIB }, { 512 * MIB, 512 * MIB }, { 601 * MIB, 602 * MIB }, { 2 * GIB, 2 * GIB },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mac *m = mac_open("mps", 0);
        cr_assert_eq(mac_take(m, 0, cases[i].asked), ERR_OK);
        cr_expect_eq(mac_reserved(m), cases[i].heap, "case %zu", i);
        mac_close(m);
    }
}

Test(mps, buffers_of_a_pool_share_heaps_and_small_ones_have_their_own)
{
    struct mac *m = mac_open("mps", 0);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(mac_take(m, i, 8 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), 32 * MIB);
    cr_assert_eq(mac_take(m, 4, 4096), ERR_OK);
    cr_expect_eq(mac_reserved(m), 40 * MIB);
    mac_close(m);
}

/* Whether a cached buffer of `cached` bytes serves `asked`, whole. */
static bool serves(uint64_t cached, uint64_t asked)
{
    struct mac *m = mac_open("mps", 0);
    cr_assert_eq(mac_take(m, 0, cached), ERR_OK);
    mac_free(m, 0);
    cr_assert_eq(mac_take(m, 1, asked), ERR_OK);
    const bool is_hit = m->rig.policy->count.hits == 1;
    cr_expect(!is_hit || m->blocks[1].bytes == cached);
    mac_close(m);
    return is_hit;
}

Test(mps, a_cached_buffer_serves_whole_if_it_is_at_most_32_mib_larger_and_of_the_pool)
{
    cr_expect(serves(40 * MIB, 40 * MIB));
    cr_expect(serves(40 * MIB, 8 * MIB));
    cr_expect_not(serves(40 * MIB, 8 * MIB - 256));
    cr_expect_not(serves(40 * MIB, 41 * MIB));
    cr_expect_not(serves(2 * MIB, MIB), "the small pool has its own");
    cr_expect(serves(MIB, 256));
}

Test(mps, a_buffer_that_is_too_large_becomes_room_if_no_heap_has_any)
{
    struct mac *m = mac_open("mps", 0);
    cr_assert_eq(mac_take(m, 0, 512 * MIB), ERR_OK);         /* all of its heap */
    mac_free(m, 0);
    cr_assert_eq(mac_take(m, 1, 100 * MIB), ERR_OK);
    cr_expect(m->rig.policy->count.hits == 0 && mac_reserved(m) == 512 * MIB);
    mac_close(m);
}

Test(mps, under_pressure_a_large_buffer_gets_a_heap_of_its_own_and_cached_ones_go_first)
{
    struct mac *m = mac_open("mps:low=0", 0);
    cr_assert_eq(mac_take(m, 0, 20 * MIB), ERR_OK);
    cr_assert_eq(mac_take(m, 1, 22 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), 42 * MIB);
    mac_free(m, 0);
    mac_free(m, 1);
    cr_assert_eq(mac_take(m, 2, 30 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), 30 * MIB);
    mac_close(m);
}

Test(mps, above_the_high_limit_not_even_a_cached_buffer_serves)
{
    struct mac *m = mac_open("mps:high=33MiB", 0);
    cr_assert_eq(mac_take(m, 0, 2 * MIB), ERR_OK);
    mac_free(m, 0);
    cr_assert_eq(mac_take(m, 1, 2 * MIB), ERR_OK);           /* after its heap was given back */
    cr_expect(m->rig.policy->count.hits == 0 && m->rig.policy->count.retries > 0);
    cr_expect_eq(mac_reserved(m), 32 * MIB);
    cr_expect_eq(mac_take(m, 2, 2 * MIB), ERR_DEVICE_OOM);
    mac_close(m);
}

Test(mps, the_high_limit_counts_a_request_and_not_the_heap_made_for_it)
{
    struct mac *m = mac_open("mps:high=120MiB", 0);
    cr_expect_eq(mac_take(m, 0, 120 * MIB + 256), ERR_DEVICE_OOM);
    cr_expect_eq(mac_reserved(m), 0);
    cr_assert_eq(mac_take(m, 1, 120 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), GIB);
    cr_expect_eq(mac_take(m, 2, 256), ERR_DEVICE_OOM);
    mac_close(m);
}

/* Six buffers of two heaps are made room under pressure. No flush gives the heaps back; they serve what comes. */
Test(mps, a_heap_that_was_emptied_by_making_room_stays_until_it_served)
{
    struct mac *m = mac_open("mps:low=0", 0);
    for (uint32_t i = 0; i < 6; i++)
        cr_assert_eq(mac_take(m, i, 9 * MIB), ERR_OK);
    for (uint32_t i = 0; i < 6; i++)
        mac_free(m, i);
    cr_assert_eq(mac_take(m, 6, 40 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), (32 + 32 + 40) * MIB);
    rig_flush(&m->rig);
    cr_expect_eq(mac_reserved(m), (32 + 32 + 40) * MIB);
    cr_assert_eq(mac_take(m, 0, 32 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), (32 + 32 + 40) * MIB);
    mac_free(m, 0);
    rig_flush(&m->rig);
    cr_expect_eq(mac_reserved(m), (32 + 40) * MIB);
    mac_close(m);
}

Test(mps, a_card_that_refuses_a_heap_gets_cached_ones_back)
{
    struct mac *m = mac_open("mps:high=4TiB,low=4TiB", 1100 * MIB);
    cr_assert_eq(mac_take(m, 0, 600 * MIB), ERR_OK);
    mac_free(m, 0);
    cr_assert_eq(mac_take(m, 1, 700 * MIB), ERR_OK);
    cr_expect_eq(mac_reserved(m), 700 * MIB);
    mac_close(m);
}
