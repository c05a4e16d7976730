/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Allocators that follow a plan: a list of requests, each with its offset in one arena that is taken for them.
 *
 *     arena    [ offset 0      ][ offset 4 ] ...   requests as planned, in the plan's order
 *     order    [ segment ][ segment ]              all others: first fit, as in plain.h
 *
 * A request is served by the plan if it is the one that comes next in it: of the planned size, and the planned place is
 * free. Otherwise it is a mismatch, is counted, and is served like a request without a plan. The plan goes on with the
 * next request.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_PLANNED_H
#define REPLAY_POLICIES_DESCRIBED_PLANNED_H

#include "policies/described/address_order.h"
#include "policies/described/plan_arena.h"

struct planned_row {
    uint64_t bytes;                         /* 0: this request has no place in the plan */
    uint64_t offset;
};

struct planned {
    struct address_order order;             /* first, so the two pointers convert */
    struct plan_arena arena;                /* or none yet */
    bool         is_refused;                /* the device has no room for the arena: nothing goes by plan */
    struct planned_row *rows;               /* owned */
    size_t       n_rows;
    bool         is_repeated;               /* after the last row those from `first` on begin again */
    size_t       first;
    uint64_t     n_requests, n_planned, n_mismatched;
};

/* Makes a policy without a plan; the options begin as those of plain.h. Its errors. */
MUST_USE enum err planned_create(const struct policy_config *cfg, struct planned **out, struct err_detail *err);
void planned_destroy(struct policy *p);

enum err planned_alloc(struct policy *p, const struct event *req, struct block *out);
void planned_free(struct policy *p, const struct event *req, const struct block *b);
void planned_expect(const struct policy *p, const struct event *ev, const struct block *b, bool is_next);
enum err planned_walk(const struct policy *p, block_visit visit, void *arg);
uint64_t planned_largest_free(const struct policy *p);
void planned_stats(const struct policy *p, stat_visit visit, void *arg);
enum err planned_check(const struct policy *p, struct err_detail *err);

#endif
