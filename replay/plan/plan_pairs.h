/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a few requests fit below a height, decided pair by pair: which of two requests that live together lies below
 * the other? Where little is free this proves sooner than plan_search.h, in whose nodes one request has its offset and
 * the others have not: here each node knows of all requests how low and how high they may lie.
 *
 *        height +---------+
 *               |  C      |      The requests of a section are a stack without overlap. Of all orders of the stack that
 *               |---------|      the known pairs allow, each gives a lowest and a highest offset of A, B and C, and
 *               |  A | B? |      pairs that are the same in all orders are known from then on.
 *               +---------+
 *
 * The orders of a stack are those of jobs on one machine, each with a first start and a last end, so they are counted
 * by the sets of jobs that may come first (Held and Karp, "A dynamic programming approach to sequencing problems",
 * 1962).
 * Pairs of groups that failed most are decided first (Boussemart et al., "Boosting systematic search by weighting
 * constraints", ECAI 2004).
 */
#ifndef REPLAY_REPLAY_PLAN_PLAN_PAIRS_H
#define REPLAY_REPLAY_PLAN_PLAN_PAIRS_H

#include "replay/plan/plan_search.h"

enum {
    PAIR_ITEMS   = 64,               /* at most: a set of them is a word */
    PAIR_STACKED = 14,               /* of a section, at most: its sets are counted */
};

struct pair_search;

/* Prepares a search. *out is NULL if there are too many items for it; `items` and `interrupted` as in
 * plan_search_open. ERR_HOST_NOMEM. */
MUST_USE enum err pair_search_open(const struct plan_item *items, uint32_t n, const volatile sig_atomic_t *interrupted,
                                   struct pair_search **out);

/* NULL is accepted. */
void pair_search_close(struct pair_search *s);

/* As plan_search_run, and takes the same unit of work. What a run learned of the groups, the next one uses. */
enum plan_verdict pair_search_run(struct pair_search *s, uint64_t height, uint64_t *work, uint64_t *offsets);

#endif
