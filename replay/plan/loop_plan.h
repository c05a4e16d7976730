/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A plan for a program that goes on after the recording, step by step: policy `plan`, live.
 *
 *     recorded   warm-up | step | step | step ...
 *     planned    warm-up | step | step |              cut where least is live
 *                               ^      |
 *                               +------+              and from there again
 *
 * What lives at the cut and was requested in the loop lives on into its next round, as the same request of the round
 * before lived on into this one. The two get one place, so that the loop can begin again from its own end. All else
 * that lives at the cut lives through every round.
 *
 * A running allocator cannot know when one stream is done with what another wants. So each stream gets a stretch of its
 * own, one after another.
 */
#ifndef REPLAY_REPLAY_PLAN_LOOP_PLAN_H
#define REPLAY_REPLAY_PLAN_LOOP_PLAN_H

#include "replay/plan/best_plan.h"

enum {
    LOOP_STREAMS_MAX = 64,
    LOOP_ROUNDS_MAX = 4,
    LOOP_ALIGN_MIN = 512,            /* what a program may expect of an address */
};

/* What repeats: one step of the program, or a few if something lives for longer than one, as two batches that take
 * turns. */
struct plan_loop {
    size_t   n_requests;             /* the last ones before `end_step`; 0: nothing repeats */
    unsigned n_rounds;               /* steps of the program */
    uint32_t end_step;               /* where the recording is cut: steps of the lifetimes */
    uint64_t apart_bytes;            /* what the streams have live at most, each by itself, summed up: no allocator that
                                      * keeps streams apart needs less. loop_plan_find finds it */
};

/* Finds the last whole steps. If nothing repeats, the cut is the end. ERR_HOST_NOMEM. */
MUST_USE enum err plan_loop_find(const struct lifetimes *l, struct plan_loop *out, struct err_detail *err);

/* best_plan_find for lifetimes that were cut at `end_step`. The lower bound is what they have live at once. The limit
 * `enough_bytes` is not looked at. ERR_UNSUPPORTED for more than LOOP_STREAMS_MAX streams. */
MUST_USE enum err loop_plan_find(const struct lifetimes *l, struct plan_loop *loop,
                                 const struct plan_limits *limits, struct best_plan *out, struct err_detail *err);

#endif
