/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* gmlake: what is stitched when, its three limits, and that no page serves two requests. */
#include "tests/model.h"

#include <stdlib.h>

/* ---- which memory stands behind an address ---- */

enum { MAPPINGS = 1 << 14 };

struct shadow {
    struct { uint64_t addr; uint32_t phys; } at[MAPPINGS];
    size_t n;
};

static void shadow_call(void *arg, const struct device_call *c)
{
    struct shadow *s = arg;
    if (c->kind == DEVICE_CALL_MAP) {
        cr_assert_lt(s->n, MAPPINGS);
        s->at[s->n].addr = c->addr;
        s->at[s->n++].phys = c->phys;
    }
    for (size_t i = 0; c->kind == DEVICE_CALL_UNMAP && i < s->n; i++)
        if (s->at[i].addr == c->addr) {
            s->at[i] = s->at[--s->n];
            return;
        }
    for (size_t i = 0; c->kind == DEVICE_CALL_RELEASE && i < s->n; i++)
        cr_assert_neq(s->at[i].phys, c->phys, "memory was given back while it had an address");
}

static uint32_t shadow_phys(const struct shadow *s, uint64_t addr)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].addr == addr)
            return s->at[i].phys;
    cr_assert_fail("no memory behind a block");
    return 0;
}

/* Each page of each live block, and no page twice. */
static void expect_pages_apart(const struct shadow *s, const struct model *m)
{
    static bool is_taken[1 << 20];
    memset(is_taken, 0, sizeof is_taken);
    for (uint32_t slot = 0; slot < RIG_SLOTS; slot++) {
        const struct block *b = &m->slots[slot].block;
        if (m->slots[slot].state == MODEL_VACANT || b->bytes < DEVICE_PAGE_BYTES)
            continue;
        for (uint64_t at = 0; at < b->bytes; at += DEVICE_PAGE_BYTES) {
            const uint32_t phys = shadow_phys(s, b->addr + at);
            cr_assert_lt(phys, 1 << 20);
            cr_assert_not(is_taken[phys], "two requests share a page");
            is_taken[phys] = true;
        }
    }
}

/* ---- one after another ---- */

struct lake {
    struct rig    rig;
    struct block  blocks[16];
    struct shadow shadow;
    struct device_log log;
};

static struct lake *lake_open(const char *policy, uint64_t total_bytes)
{
    struct lake *l = calloc(1, sizeof *l);
    cr_assert_not_null(l);
    rig_open(&l->rig, &(struct rig_config){.policy = policy, .total_bytes = total_bytes});
    l->log = (struct device_log){.call = shadow_call, .arg = &l->shadow};
    l->rig.device->log = &l->log;
    return l;
}

static void lake_close(struct lake *l)
{
    rig_check(&l->rig);
    rig_close(&l->rig);
    free(l);
}

static enum err lake_take(struct lake *l, uint32_t slot, uint64_t mib)
{
    return rig_alloc(&l->rig, slot, 0, mib * MIB, &l->blocks[slot]);
}

static void lake_free(struct lake *l, uint32_t slot, uint64_t mib)
{
    rig_free(&l->rig, EVENT_FREE, slot, 0, mib * MIB, &l->blocks[slot]);
    rig_check(&l->rig);
}

/* Blocks of 40 MiB that are free, each between two that are not. */
static void lake_make_holes(struct lake *l, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(lake_take(l, i, 40), ERR_OK);
    for (uint32_t i = 0; i < n; i++)
        lake_free(l, i, 40);
}

static uint64_t reserved_mib(const struct lake *l)
{
    return l->rig.device->usage.reserved_bytes / MIB;
}

Test(gmlake, free_blocks_are_stitched_and_counted_once)
{
    struct lake *l = lake_open("gmlake:frag-limit=64MiB", 0);
    const struct device_usage *u = &l->rig.device->usage;
    lake_make_holes(l, 3);
    cr_assert_eq(reserved_mib(l), 120);
    const uint64_t maps = u->maps, time_ns = u->time_ns, card = u->page_bytes;
    cr_assert_eq(lake_take(l, 5, 80), ERR_OK);
    cr_expect_eq(reserved_mib(l), 120, "stitching takes no memory");
    cr_expect_eq(u->page_bytes, card);
    cr_expect_eq(u->maps - maps, 40, "each of the 40 pages is mapped once more");
    cr_expect_eq(u->time_ns - time_ns, 40 * l->rig.device->cfg.map_ns, "and charged");
    lake_free(l, 5, 80);
    const uint64_t calls = u->calls;
    cr_assert_eq(lake_take(l, 5, 80), ERR_OK);
    cr_expect_eq(u->calls, calls, "the stitched range serves the next request of its size without a call");
    lake_close(l);
}

Test(gmlake, smaller_requests_than_the_limit_are_not_stitched)
{
    struct lake *l = lake_open("gmlake:frag-limit=81MiB", 0);
    lake_make_holes(l, 2);
    cr_assert_eq(lake_take(l, 5, 80), ERR_OK);
    cr_expect_eq(reserved_mib(l), 160);
    lake_close(l);
}

Test(gmlake, a_stitched_range_too_large_is_not_used_again)
{
    const struct { const char *policy; uint64_t reserved_mib; } cases[] = {
        {"gmlake:frag-limit=64MiB,reuse-limit=2", 80}, {"gmlake:frag-limit=64MiB,reuse-limit=1", 122},
    };
    for (size_t i = 0; i < 2; i++) {
        struct lake *l = lake_open(cases[i].policy, 0);
        lake_make_holes(l, 2);
        cr_assert_eq(lake_take(l, 5, 80), ERR_OK);
        lake_free(l, 5, 80);
        cr_assert_eq(lake_take(l, 6, 42), ERR_OK);       /* no block is so large; the range is */
        cr_expect_eq(reserved_mib(l), cases[i].reserved_mib, "%s: %llu MiB", cases[i].policy,
                     (unsigned long long)reserved_mib(l));
        lake_close(l);
    }
}

Test(gmlake, idle_ranges_are_given_up_above_the_limit)
{
    const struct { const char *policy; uint64_t calls; } cases[] = {
        {"gmlake:frag-limit=64MiB,reuse-limit=1,auto-gc=1GiB", 0},
        {"gmlake:frag-limit=64MiB,reuse-limit=1,auto-gc=150MiB", 1},
    };
    for (size_t i = 0; i < 2; i++) {
        struct lake *l = lake_open(cases[i].policy, 0);
        lake_make_holes(l, 4);
        for (uint64_t mib = 80; mib <= 120; mib += 40) {
            cr_assert_eq(lake_take(l, 5, mib), ERR_OK);
            lake_free(l, 5, mib);
        }
        cr_assert_eq(lake_take(l, 6, 100), ERR_OK);
        lake_free(l, 6, 100);
        const uint64_t calls = l->rig.device->usage.calls;
        cr_assert_eq(lake_take(l, 7, 80), ERR_OK);
        cr_expect_eq(l->rig.device->usage.calls > calls, cases[i].calls, "%s", cases[i].policy);
        lake_close(l);
    }
}

Test(gmlake, new_memory_fills_up_what_is_free)
{
    struct lake *l = lake_open("gmlake:frag-limit=64MiB", 0), *off = lake_open("gmlake:frag-limit=64MiB,fill=off", 0);
    lake_make_holes(l, 2);
    lake_make_holes(off, 2);
    cr_assert_eq(lake_take(l, 5, 100), ERR_OK);
    cr_assert_eq(lake_take(off, 5, 100), ERR_OK);
    cr_expect_eq(reserved_mib(l), 100);
    cr_expect_eq(reserved_mib(off), 180);
    lake_close(l);
    lake_close(off);
}

Test(gmlake, level_1_stitches_only_after_a_refusal)
{
    struct lake *l = lake_open("gmlake:frag-limit=64MiB,defrag-level=1", 200 * MIB);
    lake_make_holes(l, 2);
    cr_assert_eq(lake_take(l, 5, 80), ERR_OK);
    cr_expect_eq(reserved_mib(l), 160, "there was room");
    cr_assert_eq(lake_take(l, 6, 80), ERR_OK);
    cr_expect_eq(reserved_mib(l), 160, "there was none");
    lake_close(l);
}

Test(gmlake, no_page_serves_two_requests)
{
    const char *const policies[] = {"gmlake:frag-limit=4MiB", "gmlake:frag-limit=0,auto-gc=64MiB",
                                    "gmlake:frag-limit=0,defrag-level=1,reuse-limit=3"};
    for (size_t i = 0; i < 3; i++) {
        struct lake *l = lake_open(policies[i], 512 * MIB);
        struct model m = {0};
        uint64_t random = 7;
        for (int step = 0; step < 3000; step++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const uint32_t slot = (uint32_t)(random >> 33) % 40;
            const uint64_t bytes = ((random >> 40) % 48 + 1) * MIB;
            if (m.slots[slot].state == MODEL_LIVE) {
                rig_free(&l->rig, EVENT_FREE, slot, m.slots[slot].stream, m.slots[slot].requested,
                         &m.slots[slot].block);
                m.slots[slot].state = MODEL_VACANT;
            } else if (rig_alloc(&l->rig, slot, (uint16_t)(random >> 60 & 1), bytes, &m.slots[slot].block) == ERR_OK) {
                m.slots[slot].state = MODEL_LIVE;
                m.slots[slot].requested = bytes;
                m.slots[slot].stream = (uint16_t)(random >> 60 & 1);
                model_expect_placed(&m, l->rig.device, slot);
            }
            rig_check(&l->rig);
            expect_pages_apart(&l->shadow, &m);
        }
        cr_expect_gt(l->rig.device->usage.maps, 1000, "%s: nothing was stitched", policies[i]);
        lake_close(l);
    }
}
