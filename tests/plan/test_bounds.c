/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Bounds, beside known answers and a planner that looks at everything. */
#include "base/units.h"
#include "sim/device.h"
#include "tests/engine_rig.h"
#include "tests/generated.h"
#include "tests/random_draws.h"
#include "tests/whole_trace.h"

#include <criterion/criterion.h>
#include <inttypes.h>

#define MUST(call) cr_assert_eq((call), ERR_OK, "%s", err.text)

/* ---- known answers ---- */

static struct trace_record record(enum event_kind kind, uint64_t ptr, uint64_t bytes)
{
    return (struct trace_record){ .kind = kind, .ptr = ptr, .bytes = bytes, .record = TRACE_NO_RECORD };
}

Test(bounds, rounds_of_530_and_270_MiB_need_1340_MiB_and_can_be_planned_in_it)
{
    struct trace_reader *r = generated("530-270", 0, 0);
    const struct bounds b = bounds_of(r);
    cr_expect_eq(b.live_bytes, 1340 * MIB);
    cr_expect_eq(b.plan_bytes, 1340 * MIB);
    cr_expect_eq(b.live_event, 9);
    trace_close(r);
}

Test(bounds, a_request_refused_when_recorded_counts_and_one_released_early_does_not)
{
    const struct trace_record records[] = {
        record(EVENT_ALLOC, 1, 4 * MIB), record(EVENT_FREE_REQUESTED, 1, 0), record(EVENT_ALLOC, 2, 2 * MIB),
        record(EVENT_FREE_COMPLETED, 1, 0), record(EVENT_OOM, 0, 8 * MIB), record(EVENT_FREE, 2, 0),
    };
    struct err_detail err = { .text = "" };
    struct rig_trace t;
    MUST(rig_trace_open(&t, records, sizeof records / sizeof records[0], &err));
    const struct bounds b = bounds_of(t.reader);
    cr_expect_eq(b.live_bytes, 10 * MIB);
    cr_expect_eq(b.live_event, 4);
    cr_expect_eq(b.plan_bytes, 10 * MIB, "the plan has %" PRIu64 " bytes", b.plan_bytes);
    rig_trace_close(&t);
}

/* First fit in order of time leaves a hole of 4 MiB below the block that lives on; who knows lifetimes does not. */
Test(bounds, the_plan_uses_what_it_knows_of_the_future)
{
    const struct trace_record records[] = {
        record(EVENT_ALLOC, 1, 4 * MIB), record(EVENT_ALLOC, 2, 2 * MIB), record(EVENT_FREE, 1, 0),
        record(EVENT_ALLOC, 3, 6 * MIB), record(EVENT_FREE, 2, 0), record(EVENT_FREE, 3, 0),
    };
    struct err_detail err = { .text = "" };
    struct rig_trace t;
    MUST(rig_trace_open(&t, records, sizeof records / sizeof records[0], &err));
    cr_expect_eq(bounds_of(t.reader).live_bytes, 8 * MIB);
    cr_expect_eq(bounds_of(t.reader).plan_bytes, 8 * MIB);
    rig_trace_close(&t);
}

Test(bounds, no_plan_is_below_the_live_bytes_or_far_above_them)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct trace_reader *r = generated("mix:200", 20000, seed);
        const struct bounds b = bounds_of(r);
        cr_expect_eq(b.live_bytes, trace_info(r)->peak_requested_bytes, "seed %" PRIu64, seed);
        cr_expect_geq(b.plan_bytes, b.live_bytes, "seed %" PRIu64, seed);
        cr_expect_lt(b.plan_bytes, b.live_bytes + b.live_bytes / 4, "seed %" PRIu64, seed);
        trace_close(r);
    }
}

/* ---- the same plans, without any search structure ---- */

enum { ROUND = 512, LARGEST = 16384 };

struct stay {
    uint64_t bytes, addr;
    size_t   begin, end;                     /* steps */
    bool     is_placed;
};

struct stays {
    struct stay *at;
    size_t  n, *steps, n_steps;              /* of each step the stay that begins or ends there */
};

static struct stays stays_of(struct trace_reader *r)
{
    size_t n;
    struct event *events = events_of(r, &n);
    size_t *in_slot = calloc((size_t)trace_info(r)->peak_live + 1, sizeof *in_slot);
    struct stays s = { .at = calloc(n, sizeof *s.at), .steps = calloc(n, sizeof *s.steps) };
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind == EVENT_ALLOC) {
            in_slot[events[i].slot] = s.n;
            s.at[s.n++] = (struct stay){ .bytes = align_up(events[i].bytes, ROUND), .begin = s.n_steps,
                                         .end = SIZE_MAX };
        } else {
            s.at[in_slot[events[i].slot]].end = s.n_steps;
        }
        s.steps[s.n_steps++] = in_slot[events[i].slot];
    }
    free(in_slot);
    free(events);
    return s;
}

static void stays_close(struct stays *s)
{
    free(s->at);
    free(s->steps);
}

/* The lowest address where `bytes` fit in between some that ascend by address. */
static uint64_t lowest(struct stay *const *taken, size_t n, uint64_t bytes)
{
    uint64_t addr = 0;
    for (size_t i = 0; i < n && taken[i]->addr < addr + bytes; i++)
        if (taken[i]->addr + taken[i]->bytes > addr)
            addr = taken[i]->addr + taken[i]->bytes;
    return addr;
}

/* Enters one more where it belongs by address. */
static void enter(struct stay **taken, size_t *n, struct stay *s)
{
    size_t i = (*n)++;
    for (; i > 0 && taken[i - 1]->addr > s->addr; i--)
        taken[i] = taken[i - 1];
    taken[i] = s;
}

/* First fit in order of time of all that is not placed. */
static uint64_t height_by_time(struct stays *s)
{
    struct stay **live = calloc(s->n + 1, sizeof *live);
    size_t n = 0;
    uint64_t height = 0;
    for (size_t step = 0; step < s->n_steps; step++) {
        struct stay *stay = &s->at[s->steps[step]];
        if (stay->is_placed)
            continue;
        if (stay->begin == step) {
            stay->addr = lowest(live, n, stay->bytes);
            height = stay->addr + stay->bytes > height ? stay->addr + stay->bytes : height;
            enter(live, &n, stay);
            continue;
        }
        size_t i = 0;
        while (live[i] != stay)
            i++;
        memmove(&live[i], &live[i + 1], (--n - i) * sizeof *live);
    }
    free(live);
    return height;
}

static int by_size(const void *a, const void *b)
{
    const struct stay *x = *(struct stay *const *)a, *y = *(struct stay *const *)b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_duration(const void *a, const void *b)
{
    const struct stay *x = *(struct stay *const *)a, *y = *(struct stay *const *)b;
    const size_t long_x = x->end - x->begin, long_y = y->end - y->begin;
    return long_x != long_y ? (long_x > long_y ? -1 : 1) : by_size(a, b);
}

/* Each in this order at the lowest address that nobody has in its time. */
static uint64_t height_in_order(struct stay *const *order, size_t n)
{
    struct stay **taken = calloc(n + 1, sizeof *taken), **near = calloc(n + 1, sizeof *near);
    uint64_t height = 0;
    for (size_t i = 0, n_taken = 0; i < n; i++) {
        size_t n_near = 0;
        for (size_t k = 0; k < n_taken; k++)
            if (taken[k]->begin < order[i]->end && taken[k]->end > order[i]->begin)
                near[n_near++] = taken[k];
        order[i]->addr = lowest(near, n_near, order[i]->bytes);
        enter(taken, &n_taken, order[i]);
        height = order[i]->addr + order[i]->bytes > height ? order[i]->addr + order[i]->bytes : height;
    }
    free(near);
    free(taken);
    return height;
}

/* The plan, and whether it is one by lifetimes. */
static uint64_t plan_of(struct trace_reader *r, uint64_t live_bytes, bool *is_by_lifetimes)
{
    struct stays s = stays_of(r);
    struct stay **order = calloc(s.n + 1, sizeof *order);
    const size_t n = s.n < LARGEST ? s.n : LARGEST;
    const uint64_t by_time = height_by_time(&s);
    for (size_t i = 0; i < s.n; i++)
        order[i] = &s.at[i];
    qsort(order, s.n, sizeof *order, by_size);
    for (size_t i = 0; i < n; i++)
        order[i]->is_placed = true;
    const uint64_t rest = height_by_time(&s);
    uint64_t height = height_in_order(order, n) + rest;
    if (height > live_bytes + live_bytes / 50) {
        qsort(order, n, sizeof *order, by_duration);
        const uint64_t other = height_in_order(order, n) + rest;
        height = other < height ? other : height;
    }
    *is_by_lifetimes = height < by_time;
    free(order);
    stays_close(&s);
    return align_up(height < by_time ? height : by_time, DEVICE_PAGE_BYTES);
}

Test(bounds, the_plan_is_the_least_of_three)
{
    static const struct { const char *kind; uint64_t events; } traces[] = {
        { "mix:20", 400 }, { "mix:200", 5000 }, { "mix:1000", 36000 },
    };
    unsigned n_by_lifetimes = 0;         /* of those where only the largest have a place for life */
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            struct trace_reader *r = generated(traces[i].kind, traces[i].events, seed);
            const struct bounds b = bounds_of(r);
            const bool has_rest = trace_info(r)->by_kind[EVENT_ALLOC] > LARGEST;
            bool is_by_lifetimes;
            cr_expect_eq(b.plan_bytes, plan_of(r, b.live_bytes, &is_by_lifetimes), "%s seed %" PRIu64, traces[i].kind,
                         seed);
            n_by_lifetimes += has_rest && is_by_lifetimes;
            trace_close(r);
        }
    cr_expect_gt(n_by_lifetimes, 0);
}
