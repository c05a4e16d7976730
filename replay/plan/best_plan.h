/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The best plan that can be found for the requests of a trace in one contiguous stretch of memory, and a height below
 * which no plan exists, with its proof:
 *
 *     live peak  <=  lower bound (proved)  <=  any plan  <=  the plan found
 *
 * First all requests are placed as they begin, then greedily in other orders. If that leaves a gap to the live peak,
 * the requests that matter are searched (plan_search.h): the largest, such that all others together are a small part
 * of the whole. The others are then placed greedily. Before that and after it, orders are improved step by step.
 */
#ifndef REPLAY_REPLAY_PLAN_BEST_PLAN_H
#define REPLAY_REPLAY_PLAN_BEST_PLAN_H

#include "base/err.h"
#include "replay/plan/lifetimes.h"

#include <signal.h>

/* Sources of a lower bound. */
enum plan_proof {
    PROOF_LIVE,                      /* the requests of the proof are all live at one step */
    PROOF_SEARCH,                    /* the requests of the proof alone have no lower plan: a search ended without
                                      * one */
};

struct plan_limits {
    uint64_t enough_bytes;           /* a plan of this size ends the search; 0: none does */
    uint64_t align_bytes;            /* offsets are its multiples, as are the sizes of the lives; > 0 */
    uint64_t work;                   /* what may be spent; PLAN_WORK_SECOND is about a second */
    /* Says how much of `work` is spent; may be NULL. */
    void   (*progress)(void *arg, uint64_t done, uint64_t total);
    void    *progress_arg;
    const volatile sig_atomic_t *interrupted;        /* not 0: the search ends with what it has; NULL: never */
};

#define PLAN_WORK_SECOND UINT64_C(150000000)

/* Zero is a valid beginning and end. */
struct best_plan {
    uint64_t  live_bytes;            /* most that is live at once, in sizes as rounded */
    uint64_t  lower_bytes;           /* proved */
    uint64_t  plan_bytes;            /* found */
    uint64_t *offsets;               /* by request */
    enum plan_proof proof;
    uint32_t *proof_lives;           /* the requests of the proof, ascending */
    size_t    n_proof;
    uint32_t  live_step;             /* a step after which live_bytes are live */
    uint64_t  work;                  /* spent */
};

/* Finds a plan. The same lives and limits give the same plan. What is done whatever `work` is takes n log n operations.
 * ERR_HOST_NOMEM; ERR_UNSUPPORTED if no plan was found whose addresses are below 2^64. */
MUST_USE enum err best_plan_find(const struct lifetimes *l, const struct plan_limits *limits, struct best_plan *out,
                                 struct err_detail *err);
void best_plan_close(struct best_plan *p);

/* Sets the lower bound and its proof: what is live at once. ERR_HOST_NOMEM, and *out may be closed. */
MUST_USE enum err best_plan_prove_by_live_peak(const struct lifetimes *l, struct best_plan *out);

#endif
