/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The set of segments: no overlap, lookup by address, ranges joined and cut. */
#include "base/units.h"
#include "import/pytorch/segment_set.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct reserved_segment segment(uint64_t addr, uint64_t bytes)
{
    return (struct reserved_segment){.addr = addr, .bytes = bytes};
}

static struct reserved_segment range(uint64_t addr, uint64_t bytes)
{
    return (struct reserved_segment){.addr = addr, .bytes = bytes, .is_range = true};
}

static enum segment_change add(struct segment_map *t, struct reserved_segment s)
{
    return segment_map_add(t, &s);
}

static uint64_t bytes_of(const struct segment_map *t)
{
    struct segment_set all;
    cr_assert(segment_map_list(t, &all));
    const uint64_t bytes = segment_set_bytes(&all);
    segment_set_free(&all);
    return bytes;
}

static struct reserved_segment nth(const struct segment_map *t, size_t i)
{
    struct segment_set all;
    cr_assert(segment_map_list(t, &all) && i < all.n);
    const struct reserved_segment s = all.at[i];
    segment_set_free(&all);
    return s;
}

Test(segment_set, an_overlap_is_a_conflict_and_changes_nothing)
{
    struct segment_map t = {.n = 0};
    cr_expect_eq(add(&t, segment(100, 50)), CHANGE_DONE);
    cr_expect_eq(add(&t, segment(150, 50)), CHANGE_DONE);
    cr_expect_eq(t.n, 2, "segments that touch stay two");
    cr_expect_eq(add(&t, segment(120, 1)), CHANGE_CONFLICT);
    cr_expect_eq(add(&t, segment(90, 11)), CHANGE_CONFLICT);
    cr_expect_eq(add(&t, segment(199, 10)), CHANGE_CONFLICT);
    cr_expect_eq(add(&t, segment(50, 200)), CHANGE_CONFLICT);
    cr_expect_eq(add(&t, segment(UINT64_MAX - 5, 10)), CHANGE_CONFLICT);
    cr_expect_eq(bytes_of(&t), 100);
    segment_map_free(&t);
}

Test(segment_set, ranges_join_where_they_touch)
{
    struct segment_map t = {.n = 0};
    struct reserved_segment other = range(300, 100);
    other.stream = 1;
    add(&t, range(0, 100));
    add(&t, range(200, 100));
    add(&t, other);
    cr_expect_eq(t.n, 3, "another stream's range does not join");
    add(&t, range(100, 100));
    cr_assert_eq(t.n, 2);
    cr_expect(nth(&t, 0).addr == 0 && nth(&t, 0).bytes == 300);
    segment_map_free(&t);
}

Test(segment_set, a_stretch_is_cut_out_of_a_range_but_not_of_a_segment)
{
    struct segment_map t = {.n = 0};
    struct reserved_segment was;
    add(&t, range(0, 300));
    add(&t, segment(1000, 300));
    cr_expect_eq(segment_map_take(&t, 100, 100, &was), CHANGE_DONE);
    cr_assert_eq(t.n, 3);
    cr_expect(nth(&t, 0).addr == 0 && nth(&t, 0).bytes == 100 && nth(&t, 1).addr == 200 && nth(&t, 1).bytes == 100);
    cr_expect_eq(segment_map_take(&t, 0, 50, &was), CHANGE_DONE);
    cr_expect_eq(segment_map_take(&t, 250, 50, &was), CHANGE_DONE);
    cr_expect(nth(&t, 0).addr == 50 && nth(&t, 0).bytes == 50 && nth(&t, 1).addr == 200 && nth(&t, 1).bytes == 50);
    cr_expect_eq(segment_map_take(&t, 40, 20, &was), CHANGE_CONFLICT);
    cr_expect_eq(segment_map_take(&t, 1000, 100, &was), CHANGE_CONFLICT);
    cr_expect_eq(segment_map_take(&t, 1000, 300, &was), CHANGE_DONE);
    cr_expect_eq(t.n, 2);
    segment_map_free(&t);
}

/* Compares with one flag per byte. */
Test(segment_set, random_changes_match_a_map_of_bytes)
{
    enum { BYTES = 4000 };
    const unsigned seed = 7;
    bool taken[BYTES] = {false};
    struct segment_map t = {.n = 0};
    srand(seed);
    for (int i = 0; i < 40000; i++) {
        const uint64_t addr = (uint64_t)(rand() % BYTES), bytes = (uint64_t)(1 + rand() % 6);
        struct reserved_segment was;
        bool all = addr + bytes <= BYTES, none = all;
        for (uint64_t k = addr; k < addr + bytes && k < BYTES; k++) {
            all &= taken[k];
            none &= !taken[k];
        }
        if (addr + bytes > BYTES)
            continue;
        const bool adds = rand() % 2 == 0;
        const enum segment_change c = adds ? add(&t, range(addr, bytes)) : segment_map_take(&t, addr, bytes, &was);
        cr_assert_eq(c, (adds ? none : all) ? CHANGE_DONE : CHANGE_CONFLICT, "seed %u step %d", seed, i);
        for (uint64_t k = addr; c == CHANGE_DONE && k < addr + bytes; k++)
            taken[k] = adds;
        for (uint64_t k = 0; i % 500 == 0 && k < BYTES; k++)
            cr_assert_eq(segment_map_find(&t, k, 1) != NULL, taken[k], "seed %u step %d byte %llu", seed, i,
                         (unsigned long long)k);
    }
    segment_map_free(&t);
}
