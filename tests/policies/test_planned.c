/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Policies that follow a plan: what they owe to it, and what becomes of requests that are not in it. */
#include "tests/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 6, EACH = 5 };

static int64_t stat_value;
static const char *stat_name;

static void take_stat(void *arg, const char *key, int64_t value)
{
    (void)arg;
    if (strcmp(key, stat_name) == 0)
        stat_value = value;
}

static int64_t stat_of(const struct rig *r, const char *name)
{
    stat_name = name;
    stat_value = -1;
    r->policy->ops->stats(r->policy, take_stat, NULL);
    return stat_value;
}

/* A plan of three requests, of which the third lies where the first was. */
static void open_plan(struct rig *r, uint64_t total_bytes)
{
    char path[] = "/tmp/replay-plan-XXXXXX.csv", spec[RIG_SPEC_MAX];
    const int fd = mkstemps(path, 4);
    FILE *file = fdopen(fd, "w");
    cr_assert_not_null(file);
    fprintf(file, "id,lower,upper,size,offset\n0,0,2,1048576,0\n1,1,5,512,1048576\n2,3,4,524288,0\n");
    fclose(file);
    snprintf(spec, sizeof spec, "plan:%s", path);
    rig_open(r, &(struct rig_config){.policy = spec, .total_bytes = total_bytes});
    unlink(path);
}

Test(planned, requests_lie_where_the_plan_says)
{
    struct rig r;
    struct block a, b, c;
    open_plan(&r, 0);
    cr_expect_eq(r.device->usage.reserved_bytes, 1048576 + 512);
    cr_assert_eq(rig_alloc(&r, 0, 0, 1048576, &a), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 1, 0, 100, &b), ERR_OK);
    rig_free(&r, EVENT_FREE, 0, 0, 1048576, &a);
    cr_assert_eq(rig_alloc(&r, 2, 0, 524288, &c), ERR_OK);
    cr_expect_eq(b.addr, a.addr + 1048576);
    cr_expect_eq(c.addr, a.addr);
    cr_expect_eq(stat_of(&r, "plan.served"), 3);
    cr_expect_eq(stat_of(&r, "plan.mismatched"), 0);
    rig_check(&r);
    rig_close(&r);
}

Test(planned, a_request_that_is_not_as_planned_is_served_beside_the_plan_and_counted)
{
    struct rig r;
    struct block a, b, c, d;
    open_plan(&r, 0);
    cr_assert_eq(rig_alloc(&r, 0, 0, 1048576, &a), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 1, 0, 4096, &b), ERR_OK);             /* another size */
    cr_assert_eq(rig_alloc(&r, 2, 0, 524288, &c), ERR_OK);           /* its place is still in use */
    cr_assert_eq(rig_alloc(&r, 3, 0, 512, &d), ERR_OK);              /* after the plan's end */
    cr_expect_eq(stat_of(&r, "plan.served"), 1);
    cr_expect_eq(stat_of(&r, "plan.mismatched"), 2);
    cr_expect(b.segment != a.segment && c.segment != a.segment && d.segment != a.segment);
    rig_check(&r);
    rig_close(&r);
}

/* A refusal of the arena is out of memory before the first event. */
Test(planned, an_arena_that_does_not_fit_is_a_refusal)
{
    struct rig r;
    struct block a;
    uint64_t bytes = 0;
    open_plan(&r, 512 * 1024);
    cr_expect(policy_is_refused(r.policy, &bytes));
    cr_expect_eq(bytes, 1048576 + 512);
    cr_expect_eq(rig_alloc(&r, 0, 0, 512, &a), ERR_DEVICE_OOM);
    rig_close(&r);
}

/* ---- stalloc ---- */

/* Rounds of EACH requests of falling sizes that are freed in the order in which they came; one is kept for ever. */
static size_t make_rounds(struct event *out)
{
    size_t n = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < EACH; i++)
            out[n++] = (struct event){.kind = EVENT_ALLOC, .slot = i == 0 ? EACH + round : i,
                                      .bytes = (EACH - i) * 65536};
        for (uint32_t i = 1; i < EACH; i++)
            out[n++] = (struct event){.kind = EVENT_FREE, .slot = i, .bytes = (EACH - i) * 65536};
    }
    return n;
}

Test(planned, stalloc_plans_the_repeated_iteration_and_serves_what_lives_on_beside_it)
{
    struct event events[2 * ROUNDS * EACH];
    struct block blocks[EACH + ROUNDS];
    struct rig r;
    const size_t n = make_rounds(events);
    rig_open(&r, &(struct rig_config){.policy = "stalloc"});
    cr_assert_eq(r.policy->ops->foresee(r.policy, events, n), ERR_OK);
    for (size_t i = 0; i < n; i++) {
        const struct event *ev = &events[i];
        if (ev->kind == EVENT_ALLOC)
            cr_assert_eq(rig_alloc(&r, ev->slot, 0, ev->bytes, &blocks[ev->slot]), ERR_OK);
        else
            rig_free(&r, EVENT_FREE, ev->slot, 0, ev->bytes, &blocks[ev->slot]);
        rig_check(&r);
    }
    cr_expect_eq(stat_of(&r, "plan.served"), ROUNDS * (EACH - 1));
    cr_expect_eq(stat_of(&r, "plan.mismatched"), 0);
    cr_expect_eq(stat_of(&r, "plan.bytes"), (4 + 3 + 2 + 1) * 65536);
    rig_close(&r);
}

Test(planned, stalloc_plans_nothing_where_nothing_is_repeated)
{
    struct event events[40];
    struct rig r;
    struct block b;
    for (uint32_t i = 0; i < 40; i++)
        events[i] = (struct event){.kind = EVENT_ALLOC, .slot = i, .bytes = 512 * (i * i + 1)};
    rig_open(&r, &(struct rig_config){.policy = "stalloc"});
    cr_assert_eq(r.policy->ops->foresee(r.policy, events, 40), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 0, 0, 512, &b), ERR_OK);
    cr_expect_eq(stat_of(&r, "plan.served"), 0);
    rig_close(&r);
}

/* ---- size classes ---- */

Test(planned, jemalloc_like_has_four_classes_to_each_doubling)
{
    static const uint64_t sizes[][2] = {{1, 512}, {513, 1024}, {2048, 2048}, {2049, 2560}, {2561, 3072}, {4097, 5120},
                                        {MIB, MIB}, {MIB + 1, MIB + MIB / 4}, {7 * MIB + 1, 8 * MIB}};
    struct rig r;
    struct block b;
    rig_open(&r, &(struct rig_config){.policy = "jemalloc-like"});
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cr_assert_eq(rig_alloc(&r, 0, 0, sizes[i][0], &b), ERR_OK);
        cr_expect_eq(b.bytes, sizes[i][1], "%llu bytes", (unsigned long long)sizes[i][0]);
        rig_free(&r, EVENT_FREE, 0, 0, sizes[i][0], &b);
    }
    rig_close(&r);
}

Test(planned, neuron_keeps_small_requests_in_segments_of_their_own_and_does_not_round_large_ones)
{
    struct rig r;
    struct block small, large, huge, again;
    rig_open(&r, &(struct rig_config){.policy = "neuron"});
    cr_assert_eq(rig_alloc(&r, 0, 0, MIB - 1, &small), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 1, 0, MIB, &large), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 2, 0, 17 * MIB + 1, &huge), ERR_OK);
    cr_assert_eq(rig_alloc(&r, 3, 0, 512, &again), ERR_OK);
    cr_expect_neq(small.segment, large.segment);
    cr_expect_eq(again.segment, small.segment);
    cr_expect_eq(huge.bytes, 17 * MIB + 512);
    cr_expect_eq(r.device->segments[small.segment].bytes, 2 * MIB);
    rig_check(&r);
    rig_close(&r);
}
