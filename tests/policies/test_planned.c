/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Policies that follow a plan: what they owe to it, and what becomes of requests that are not in it. */
#include "base/random.h"
#include "policies/described/plan_table.h"
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

/* Opens the policy on a plan with these rows, beside another. */
static void open_beside(struct rig *r, const char *rows, const char *beside, uint64_t total_bytes)
{
    char path[] = "/tmp/replay-plan-XXXXXX.csv", spec[RIG_SPEC_MAX];
    const int fd = mkstemps(path, 4);
    FILE *file = fdopen(fd, "w");
    cr_assert_not_null(file);
    fputs(rows, file);
    fclose(file);
    snprintf(spec, sizeof spec, "plan:%s,beside=[%s]", path, beside);
    rig_open(r, &(struct rig_config){.policy = spec, .total_bytes = total_bytes});
    unlink(path);
}

static void open_rows(struct rig *r, const char *rows, uint64_t total_bytes)
{
    open_beside(r, rows, "none", total_bytes);
}

/* A plan of three requests, of which the third lies where the first was. */
static void open_plan(struct rig *r, uint64_t total_bytes)
{
    open_rows(r, "id,lower,upper,size,offset\n0,0,2,1048576,0\n1,1,5,512,1048576\n2,3,4,524288,0\n", total_bytes);
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
    cr_expect_eq(stat_of(&r, "plan.unlike"), 0);
    cr_expect_eq(stat_of(&r, "plan.live_bytes"), 1048576 + 512);
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
    cr_assert_eq(rig_alloc(&r, 3, 0, 8192, &d), ERR_OK);             /* one more */
    cr_expect_eq(stat_of(&r, "plan.served"), 1);
    cr_expect_eq(stat_of(&r, "plan.unlike"), 2);
    cr_expect_eq(stat_of(&r, "plan.in_use"), 1);
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

/* ---- a loop ---- */

/* The first row comes once, the other twelve again and again. All have a place of their own. */
enum { LOOP_ROWS = 12 };

static uint64_t row_bytes(size_t row)
{
    return row == 0 ? 7 * MIB : 512 * (row + 3);
}

static uint64_t row_offset(size_t row)
{
    return row == 0 ? 0 : 7 * MIB + row * 65536;
}

static void open_loop(struct rig *r)
{
    char rows[2048];
    int n = snprintf(rows, sizeof rows, "id,lower,upper,size,offset,loop\n");
    for (size_t i = 0; i <= LOOP_ROWS; i++)
        n += snprintf(rows + n, sizeof rows - (size_t)n, "%zu,%zu,100,%llu,%llu,%d\n", i, i,
                      (unsigned long long)row_bytes(i), (unsigned long long)row_offset(i), i > 0);
    open_rows(r, rows, 0);
}

/* Asks for a row, on a stream. Whether it lies where the plan says. */
static bool is_planned(struct rig *r, uint64_t arena, size_t row, uint16_t stream, struct block *out)
{
    cr_assert_eq(rig_alloc(r, (uint32_t)row, stream, row_bytes(row), out), ERR_OK);
    return out->addr == arena + row_offset(row);
}

/* Whether a block lies outside the arena. */
static bool is_beside(uint64_t arena, const struct block *b)
{
    return b->addr + b->bytes <= arena || b->addr >= arena + row_offset(LOOP_ROWS) + row_bytes(LOOP_ROWS);
}

/* Asks for rows and gives them back, one after another; how many lay where the plan says. */
static size_t run_rows(struct rig *r, uint64_t arena, size_t first, size_t last)
{
    size_t n = 0;
    for (size_t row = first; row <= last; row++) {
        struct block b;
        n += is_planned(r, arena, row, 0, &b);
        rig_free(r, EVENT_FREE, (uint32_t)row, 0, row_bytes(row), &b);
    }
    return n;
}

static uint64_t begin_loop(struct rig *r)
{
    struct block kept;
    open_loop(r);
    cr_assert_eq(rig_alloc(r, 100, 0, row_bytes(0), &kept), ERR_OK);
    return kept.addr;
}

Test(planned, a_loop_is_served_again_and_again)
{
    struct rig r;
    const uint64_t arena = begin_loop(&r);
    for (unsigned step = 0; step < 5; step++)
        cr_expect_eq(run_rows(&r, arena, 1, LOOP_ROWS), LOOP_ROWS);
    rig_check(&r);
    rig_close(&r);
}

Test(planned, the_plan_goes_on_after_requests_too_many_and_too_few)
{
    struct rig r;
    struct block more;
    const uint64_t arena = begin_loop(&r);
    run_rows(&r, arena, 1, 4);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(rig_alloc(&r, 50 + i, 0, 3 * MIB + i * 512, &more), ERR_OK);
        cr_expect(is_beside(arena, &more));
    }
    cr_expect_eq(run_rows(&r, arena, 5, 8), 4);
    cr_expect_eq(run_rows(&r, arena, 11, LOOP_ROWS), 2);             /* without 9 and 10 */
    cr_expect_eq(run_rows(&r, arena, 1, LOOP_ROWS), LOOP_ROWS);
    cr_expect_eq(stat_of(&r, "plan.unlike"), 3);
    rig_check(&r);
    rig_close(&r);
}

Test(planned, a_program_that_begins_otherwise_finds_its_step)
{
    struct rig r;
    struct block first;
    open_loop(&r);
    for (uint32_t i = 0; i < 40; i++)                                /* a warm-up that was not recorded */
        cr_assert_eq(rig_alloc(&r, 100 + i, 0, 5 * MIB + i * 4096, &first), ERR_OK);
    for (size_t row = 1; row <= LOOP_ROWS; row++)
        cr_assert_eq(rig_alloc(&r, (uint32_t)row, 0, row_bytes(row), &first), ERR_OK);
    cr_expect_geq(stat_of(&r, "plan.served"), LOOP_ROWS - 3);
    rig_check(&r);
    rig_close(&r);
}

Test(planned, what_lives_longer_keeps_its_place)
{
    struct rig r;
    struct block kept, b;
    const uint64_t arena = begin_loop(&r);
    cr_expect(is_planned(&r, arena, 1, 0, &kept));
    run_rows(&r, arena, 2, LOOP_ROWS);
    cr_expect_not(is_planned(&r, arena, 1, 0, &b));
    cr_expect(b.addr + b.bytes <= kept.addr || b.addr >= kept.addr + kept.bytes);
    cr_expect_eq(stat_of(&r, "plan.in_use"), 1);
    rig_free(&r, EVENT_FREE, 1, 0, row_bytes(1), &kept);
    run_rows(&r, arena, 2, LOOP_ROWS);
    cr_expect_eq(run_rows(&r, arena, 1, LOOP_ROWS), LOOP_ROWS);
    rig_check(&r);
    rig_close(&r);
}

/* A card may still be at work for the stream that freed it. */
Test(planned, a_place_that_one_stream_has_used_is_never_given_to_another)
{
    struct rig r;
    struct block b;
    const uint64_t arena = begin_loop(&r);
    cr_expect(is_planned(&r, arena, 1, 0, &b));
    rig_free(&r, EVENT_FREE, 1, 0, row_bytes(1), &b);
    run_rows(&r, arena, 2, LOOP_ROWS);
    cr_expect_not(is_planned(&r, arena, 1, 1, &b));
    cr_expect(is_beside(arena, &b));
    rig_check(&r);
    rig_close(&r);
}

/* ---- deviations ---- */

enum { DEVIATION_SEEDS = 20, DEVIATION_CALLS = 3000, DEVIATION_LIVE = 40 };

static unsigned below(uint64_t *state, unsigned n)
{
    return (unsigned)(random_next(state) % n);
}

/* A plan of random rows, of which many overlap. */
static void open_random(struct rig *r, uint64_t *state)
{
    char rows[4096];
    int n = snprintf(rows, sizeof rows, "id,lower,upper,size,offset\n");
    for (int i = 0; i < 60; i++)
        n += snprintf(rows + n, sizeof rows - (size_t)n, "%d,%d,%d,%u,%u\n", i, i, i + 1 + (int)below(state, 9),
                      512 * (1 + below(state, 12)), 512 * below(state, 300));
    open_beside(r, rows, "first-fit", 0);
}

/* Whether a block is aligned, and apart from all live ones. */
static bool is_apart(const struct block *b, const struct block *live, const bool *is_live)
{
    bool good = b->addr % 512 == 0;
    for (size_t i = 0; i < DEVIATION_LIVE; i++)
        good = good && (!is_live[i] || b->addr + b->bytes <= live[i].addr || live[i].addr + live[i].bytes <= b->addr);
    return good;
}

static void count_allocated(void *arg, const struct block_view *b)
{
    *(uint64_t *)arg += b->state == BLOCK_ALLOCATED ? b->bytes : 0;
}

static uint64_t allocated_bytes(const struct rig *r)
{
    uint64_t bytes = 0;
    cr_assert_eq(r->policy->ops->walk(r->policy, count_allocated, &bytes), ERR_OK);
    return bytes;
}

Test(planned, random_requests_never_overlap_and_all_of_them_are_freed)
{
    for (uint64_t seed = 1; seed <= DEVIATION_SEEDS; seed++) {
        struct rig r;
        struct block live[DEVIATION_LIVE];
        bool is_live[DEVIATION_LIVE] = {false};
        uint16_t stream[DEVIATION_LIVE];
        uint64_t state = seed, bytes[DEVIATION_LIVE];
        printf("seed %llu\n", (unsigned long long)seed);
        open_random(&r, &state);
        for (unsigned call = 0; call < DEVIATION_CALLS; call++) {
            const uint32_t i = below(&state, DEVIATION_LIVE);
            if (is_live[i]) {
                rig_free(&r, EVENT_FREE, i, stream[i], bytes[i], &live[i]);
            } else {
                struct block b;
                bytes[i] = 1 + below(&state, 512 * 12);
                stream[i] = (uint16_t)(below(&state, 10) == 0);
                cr_assert_eq(rig_alloc(&r, i, stream[i], bytes[i], &b), ERR_OK);
                cr_assert(is_apart(&b, live, is_live), "seed %llu", (unsigned long long)seed);
                live[i] = b;
            }
            is_live[i] = !is_live[i];
            rig_check(&r);
        }
        cr_expect_gt(stat_of(&r, "plan.served"), 100);
        for (uint32_t i = 0; i < DEVIATION_LIVE; i++)
            if (is_live[i])
                rig_free(&r, EVENT_FREE, i, stream[i], bytes[i], &live[i]);
        cr_expect_eq(allocated_bytes(&r), 0);
        rig_check(&r);
        rig_close(&r);
    }
}

/* ---- the file ---- */

/* The reason for which a plan is refused. */
static const char *reason_of(const char *text)
{
    static struct err_detail err;
    struct plan_table table = {.n = 0};
    cr_assert_eq(plan_table_read(text, strlen(text), "step.plan", 0, &table, &err), ERR_USAGE, "%s", text);
    cr_expect_null(table.at);
    cr_expect_eq(strncmp(err.text, "step.plan: ", 11), 0);
    return err.text;
}

Test(planned, a_damaged_plan_is_refused_with_file_line_and_reason)
{
    cr_expect_str_eq(reason_of(""), "step.plan: is not a plan: its first line is not id,lower,upper,size,offset");
    cr_expect_str_eq(reason_of("id,lower,upper,size,offset\n0,0,2,512,0\n1,0,2,51"),
                     "step.plan: line 3 is not id,lower,upper,size,offset, or it is cut");
    cr_expect_str_eq(reason_of("id,lower,upper,size,offset\n0,0,2,0,0\n"),
                     "step.plan: line 2: the request asks for 0 bytes");
    cr_expect_str_eq(reason_of("id,lower,upper,size,offset\n0,2,2,512,0\n"),
                     "step.plan: line 2: the request ends before it begins");
    cr_expect_str_eq(reason_of("id,lower,upper,size,offset\n0,0,2,512,18446744073709551615\n"),
                     "step.plan: line 2 is not id,lower,upper,size,offset, or it is cut");
    cr_expect_str_eq(reason_of("id,lower,upper,size,offset\n0,0,2,512,18446744073709551000\n"),
                     "step.plan: line 2: the request ends after the last address");
    cr_expect_str_eq(reason_of("id,lower,upper,size,offset,loop\n0,0,2,512,0,2\n"),
                     "step.plan: line 2 is not id,lower,upper,size,offset,loop, or it is cut");
}

Test(planned, a_plan_with_other_line_ends_and_without_a_last_one_is_read)
{
    struct plan_table table = {.n = 0};
    const char text[] = "id,lower,upper,size,offset,loop\r\na,0,2,512,0,0\r\nb,1,3,1024,512,1";
    cr_assert_eq(plan_table_read(text, sizeof text - 1, "p", 0, &table, NULL), ERR_OK);
    cr_expect_eq(table.n, 2);
    cr_expect_eq(table.loop, 1);
    cr_expect_eq(table.arena_bytes, 1536);
    cr_expect_eq(table.live_bytes, 1536);
    plan_table_close(&table);
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
