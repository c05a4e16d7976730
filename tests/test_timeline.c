/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A run over time in few buckets has the extremes of the whole; a map that is cut has its bytes. */
#include "report/block_map.h"
#include "report/timeline.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MOMENTS = 5000, SEED = 17 };

/* A random walk of the gauges; the meter's peaks follow. */
static void step(struct meter *m)
{
    m->now.requested = (uint64_t)(rand() % 1000);
    m->now.allocated = m->now.requested + (uint64_t)(rand() % 100);
    m->now.active = m->now.allocated + (uint64_t)(rand() % 50);
    m->now.reserved = m->now.active + (uint64_t)(rand() % 500);
    meter_raise(&m->peak.requested, m->now.requested);
    meter_raise(&m->peak.allocated, m->now.allocated);
    meter_raise(&m->peak.active, m->now.active);
    meter_raise(&m->peak.reserved, m->now.reserved);
}

Test(timeline, buckets_of_any_number_hold_the_exact_extremes_of_their_moments)
{
    for (size_t cap = 2; cap <= 64; cap *= 2) {
        struct timeline t;
        struct meter m = { .segments = NULL };
        uint64_t reserved[MOMENTS], unallocated[MOMENTS];
        srand(SEED);
        cr_assert_eq(timeline_open(&t, cap), ERR_OK);
        for (uint64_t i = 0; i < MOMENTS; i++) {
            step(&m);
            reserved[i] = m.now.reserved;
            unallocated[i] = m.now.reserved - m.now.allocated;
            timeline_take(&t, &m, i, i * 10);
        }
        cr_assert(t.n <= cap && t.n >= cap / 2);
        uint64_t seen = 0;
        for (size_t b = 0; b < t.n; b++) {
            uint64_t least = UINT64_MAX, most = 0, most_unallocated = 0;
            cr_assert_eq(t.buckets[b].event, seen, "buckets join without a gap");
            cr_assert_eq(t.buckets[b].time_ns, seen * 10);
            for (uint64_t i = 0; i < t.buckets[b].n_moments; i++, seen++) {
                least = reserved[seen] < least ? reserved[seen] : least;
                most = reserved[seen] > most ? reserved[seen] : most;
                most_unallocated = unallocated[seen] > most_unallocated ? unallocated[seen] : most_unallocated;
            }
            cr_expect_eq(t.buckets[b].least[TIMELINE_reserved], least, "seed %d, cap %zu, bucket %zu", SEED, cap, b);
            cr_expect_eq(t.buckets[b].most[TIMELINE_reserved], most, "seed %d, cap %zu, bucket %zu", SEED, cap, b);
            cr_expect_eq(t.buckets[b].most[TIMELINE_unallocated], most_unallocated);
        }
        cr_expect_eq(seen, MOMENTS);
        timeline_close(&t);
    }
}

Test(timeline, a_peak_within_an_event_is_not_lost)
{
    struct timeline t;
    struct meter m = { .now = { .reserved = 10 }, .peak = { .reserved = 10 } };
    cr_assert_eq(timeline_open(&t, 4), ERR_OK);
    timeline_take(&t, &m, 0, 0);
    m.peak.reserved = 90;                /* it rose and fell before the event ended */
    timeline_take(&t, &m, 1, 0);
    timeline_take(&t, &m, 2, 0);
    cr_expect_eq(t.buckets[1].most[TIMELINE_reserved], 90);
    cr_expect_eq(t.buckets[2].most[TIMELINE_reserved], 10, "and it is not seen again");
    timeline_close(&t);
}

/* ---- maps ---- */

static const struct block_view *shown;
static size_t n_shown;

static enum err walk(const struct policy *p, block_visit visit, void *arg)
{
    (void)p;
    for (size_t i = 0; i < n_shown; i++)
        visit(arg, &shown[i]);
    return ERR_OK;
}

static struct block_map map_of(const struct block_view *blocks, size_t n)
{
    const struct policy_ops ops = { .walk = walk };
    const struct policy p = { .ops = &ops };
    struct block_map map;
    shown = blocks;
    n_shown = n;
    cr_assert_eq(block_map_take(&p, &map), ERR_OK);
    return map;
}

static uint64_t bytes_of(const struct block_map *map)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < map->n_pieces; i++)
        bytes += map->pieces[i].bytes;
    return bytes;
}

Test(block_map, a_free_block_alone_in_its_segment_is_cached_and_beside_a_live_one_split)
{
    static const struct block_view blocks[] = {
        { .addr = 1000, .bytes = 100, .requested = 90, .segment_addr = 1000, .segment = 0, .state = BLOCK_ALLOCATED },
        { .addr = 1100, .bytes = 50, .segment_addr = 1000, .segment = 0, .state = BLOCK_FREE },
        { .addr = 1150, .bytes = 850, .segment_addr = 1000, .segment = 0, .state = BLOCK_UNMAPPED },
        { .addr = 5000, .bytes = 70, .segment_addr = 5000, .segment = 1, .state = BLOCK_FREE },
        { .addr = 9000, .bytes = 30, .segment_addr = 9000, .segment = 2, .state = BLOCK_PENDING },
        { .addr = 9030, .bytes = 10, .segment_addr = 9000, .segment = 2, .state = BLOCK_FREE },
    };
    struct block_map map = map_of(blocks, 6);
    const enum block_map_state want[] = { BLOCK_MAP_LIVE, BLOCK_MAP_SPLIT, BLOCK_MAP_CACHED, BLOCK_MAP_PENDING,
                                          BLOCK_MAP_SPLIT };
    cr_assert_eq(map.n_segments, 3);
    cr_assert_eq(map.n_pieces, 5, "what has no memory behind it is not drawn");
    for (size_t i = 0; i < 5; i++)
        cr_expect_eq(map.pieces[i].state, want[i], "piece %zu", i);
    cr_expect_eq(map.segments[0].bytes, 150);
    block_map_close(&map);
}

Test(block_map, cutting_keeps_every_byte_or_says_how_many_it_left_out)
{
    enum { SEGMENTS = 40, BLOCKS = 100 };
    static struct block_view blocks[SEGMENTS * BLOCKS];
    srand(SEED);
    for (uint32_t s = 0; s < SEGMENTS; s++) {
        uint64_t addr = (uint64_t)(s + 1) << 24;
        for (size_t i = 0; i < BLOCKS; i++) {
            const uint64_t bytes = 512 * (uint64_t)(1 + rand() % 64);
            blocks[s * BLOCKS + i] = (struct block_view){ .addr = addr, .bytes = bytes, .requested = bytes,
                .segment_addr = (uint64_t)(s + 1) << 24, .segment = s,
                .state = rand() % 2 == 0 ? BLOCK_ALLOCATED : BLOCK_FREE };
            addr += bytes;
        }
    }
    struct block_map whole = map_of(blocks, SEGMENTS * BLOCKS), map = map_of(blocks, SEGMENTS * BLOCKS);
    block_map_cut(&map, 10, 200);
    uint64_t n_blocks = 0, live = 0, least_kept = UINT64_MAX;
    for (size_t i = 0; i < map.n_pieces; i++) {
        n_blocks += map.pieces[i].n_blocks;
        live += map.pieces[i].live_bytes;
        cr_assert(map.pieces[i].segment < map.n_segments);
        cr_expect(map.pieces[i].live_bytes <= map.pieces[i].bytes);
    }
    for (size_t i = 0; i < map.n_segments; i++)
        least_kept = map.segments[i].bytes < least_kept ? map.segments[i].bytes : least_kept;
    uint64_t smaller = 0;
    for (size_t i = 0; i < whole.n_segments; i++)
        smaller += whole.segments[i].bytes < least_kept;
    cr_expect_eq(map.n_segments, 10);
    cr_expect_eq(map.left_out_segments, SEGMENTS - 10);
    cr_expect_leq(smaller, SEGMENTS - 10, "the largest segments stay");
    cr_expect_leq(map.n_pieces, 200, "seed %d", SEED);
    cr_expect_eq(bytes_of(&map) + map.left_out_bytes, bytes_of(&whole));
    cr_expect_eq(n_blocks, 10 * BLOCKS);
    cr_expect(live > 0);
    block_map_close(&map);
    block_map_close(&whole);
}
