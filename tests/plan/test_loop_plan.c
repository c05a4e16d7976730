/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A plan with a loop holds for as many rounds as one likes: what is placed never overlaps what still lives. */
#include "base/random.h"
#include "replay/plan/loop_plan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 20, WARM = 30, STEP = 40, RECORDED = 8, ROUNDS = 6, LIVE_MAX = 256 };

static unsigned below(uint64_t *state, unsigned n)
{
    return (unsigned)(random_next(state) % n);
}

/* A step's request: its size, its stream, and how many requests later it is freed. */
struct step_request {
    uint64_t bytes;
    uint16_t stream;
    unsigned life;
};

static void draw_step(uint64_t *state, struct step_request step[STEP])
{
    for (unsigned i = 0; i < STEP; i++)
        step[i] = (struct step_request){ .bytes = 512 * (1 + below(state, 100)), .stream = below(state, 8) == 0,
                                         .life = 1 + below(state, below(state, 10) == 0 ? 2 * STEP - 1 : STEP / 2) };
}

/* A program of WARM requests that live on, and RECORDED equal steps. */
static void record(const struct step_request step[STEP], struct lifetimes *l)
{
    const unsigned n = WARM + RECORDED * STEP;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = WARM; k < i; k++)
            if (k + step[(k - WARM) % STEP].life == i)
                cr_assert(lifetimes_end(l, k, 0));
        const struct step_request *s = i < WARM ? NULL : &step[(i - WARM) % STEP];
        cr_assert(lifetimes_begin(l, s == NULL ? 512 * (i + 200) : s->bytes, 0));
        l->at[i].stream = s == NULL ? 0 : s->stream;
    }
}

struct placed {
    uint64_t offset, bytes;
    unsigned until;
};

/* Frees what has ended before request `i`. Whether all of `p` is free. */
static bool find_room(const struct placed *p, struct placed *live, unsigned *n_live, unsigned i)
{
    bool is_free = true;
    for (unsigned k = *n_live; k-- > 0;) {
        const struct placed *other = &live[k];
        if (other->until <= i)
            live[k] = live[--*n_live];
        else
            is_free = is_free && (p->offset >= other->offset + other->bytes || other->offset >= p->offset + p->bytes);
    }
    return is_free;
}

/* Runs the program on the plan, the loop ROUNDS times: bytes for which there was no room, because something lives
 * there. */
static uint64_t run(const struct step_request step[STEP], const struct lifetimes *l, const struct plan_loop *loop,
                    const uint64_t *offsets)
{
    static struct placed live[WARM + LIVE_MAX];
    uint64_t missed = 0;
    unsigned n_live = 0;
    size_t row = 0;
    for (unsigned i = 0; i < l->n + ROUNDS * loop->n_requests; i++) {
        const struct placed p = { .offset = offsets[row], .bytes = l->at[row].bytes,
                                  .until = i < WARM ? UINT32_MAX : i + step[(i - WARM) % STEP].life };
        if (find_room(&p, live, &n_live, i))
            live[n_live++] = p;
        else
            missed += p.bytes;
        row = row + 1 < l->n ? row + 1 : l->n - loop->n_requests;
    }
    return missed;
}

Test(loop_plan, holds_round_after_round_and_is_near_what_lives)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct lifetimes l = { .at = NULL };
        struct plan_loop loop;
        struct best_plan plan;
        struct step_request step[STEP];
        uint64_t state = seed;
        const struct plan_limits limits = { .align_bytes = 512, .work = PLAN_WORK_SECOND / 10 };
        printf("seed %llu\n", (unsigned long long)seed);
        draw_step(&state, step);
        record(step, &l);
        cr_assert_eq(plan_loop_find(&l, &loop, NULL), ERR_OK);
        lifetimes_cut(&l, loop.end_step);
        cr_assert_eq(loop_plan_find(&l, &loop, &limits, &plan, NULL), ERR_OK);
        cr_expect_eq(loop.n_requests % STEP, 0);
        cr_expect_geq(loop.n_rounds, 1);
        cr_expect_eq(run(step, &l, &loop, plan.offsets), 0, "seed %llu: it overlaps", (unsigned long long)seed);
        cr_expect_leq(plan.lower_bytes, loop.apart_bytes);
        cr_expect_leq(loop.apart_bytes, plan.plan_bytes);
        cr_expect_leq(plan.plan_bytes, loop.apart_bytes + loop.apart_bytes / 5);
        best_plan_close(&plan);
        lifetimes_close(&l);
    }
}

Test(loop_plan, nothing_repeats_in_what_does_not)
{
    struct lifetimes l = { .at = NULL };
    struct plan_loop loop;
    for (uint64_t i = 0; i < 100; i++)
        cr_assert(lifetimes_begin(&l, 512 * (i * i + 1), 0));
    cr_assert_eq(plan_loop_find(&l, &loop, NULL), ERR_OK);
    cr_expect_eq(loop.n_requests, 0);
    cr_expect_eq(loop.end_step, l.n_steps);
    lifetimes_close(&l);
}
