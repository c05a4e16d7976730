/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether requests fit below a height: a search that misses no plan.
 *
 *     section   0     1     2     3        Time is cut into sections: all requests of a section are live at once, and
 *             +-----------------+          nothing else about time matters to a plan.
 *             |        A        |
 *             +-----+-----+-----+-----+    A request touches the sections [first, last).
 *             |  B  |     |     C     |
 *             +-----+     +-----------+
 *
 * Source: Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023:
 * canonical plans (requests in order of their offsets, each as low as those before it allow), what must still fit above
 * a section's floor, plans that leave a needless gap, parts of time that stopped to interact, three orders in turn.
 * Where there are few items, plan_pairs.h takes its turns, too.
 */
#ifndef REPLAY_REPLAY_PLAN_PLAN_SEARCH_H
#define REPLAY_REPLAY_PLAN_PLAN_SEARCH_H

#include "base/err.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

struct plan_item {
    uint64_t bytes;                  /* > 0 */
    uint32_t first, last;            /* its sections, [first, last) */
    uint64_t width;                  /* its length of life in any unit */
};

enum plan_verdict {
    PLAN_FOUND,
    PLAN_IMPOSSIBLE,                 /* no plan has this height: proved */
    PLAN_UNKNOWN,                    /* the work that was granted is spent */
};

struct plan_search;

/* Prepares a search over `n` items, which are borrowed until plan_search_close, as is `interrupted`: not 0 ends the
 * search as if the work were spent; NULL: it never is. ERR_HOST_NOMEM. The memory grows with the square of n. */
MUST_USE enum err plan_search_open(const struct plan_item *items, uint32_t n, const volatile sig_atomic_t *interrupted,
                                   struct plan_search **out);

/* NULL is accepted. */
void plan_search_close(struct plan_search *s);

/* Searches a plan of at most `height` bytes. Takes the work that it does from *work (some nanoseconds each). If it
 * finds one, offsets[i] is the place of item i. ERR_HOST_NOMEM. */
MUST_USE enum err plan_search_run(struct plan_search *s, uint64_t height, uint64_t *work, uint64_t *offsets,
                                  enum plan_verdict *verdict);

#endif
