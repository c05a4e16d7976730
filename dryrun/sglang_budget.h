/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The same arithmetic for SGLang (server_budget.h):
 *
 *     the card   | context |     weights    |    KV cache    | graphs | all that it computes |
 *                          |<--- --mem-fraction-static f --->|<-------- 1 - f ------------->|
 *                          |<------------- B: free before the weights --------------------->|
 *
 * Of B, and not of the card. A larger f gives the cache more, and the graphs and what it computes less. Nothing of the
 * right side is measured by the server: what it really takes there is seen if it is asked for a full step.
 */
#ifndef REPLAY_DRYRUN_SGLANG_BUDGET_H
#define REPLAY_DRYRUN_SGLANG_BUDGET_H

#include "dryrun/server_budget.h"

/* Fills in `b` from the log, where b->bytes_per_token, request_bytes and requests are known already. */
void sglang_budget_find(const struct server_log *log, struct server_budget *b);

/* What was never used: `peak` is what its processes held at most. `is_served`: a full step is in that. */
void sglang_budget_add_peak(const struct server_log *log, int64_t peak, bool is_served, struct server_budget *b);

/* Whether it captured prefill graphs. What these take on a card is not simulated, and no bound is known: a public
 * report (sglang#39713) has more than 11 GiB for a model of 0.6 billion parameters on an H100, of which the server
 * died; here as many take 0.5. Such a server only may start, and no largest fraction is named. */
bool sglang_has_prefill_graphs(const struct server_log *log);

/* What a card may take on the right side, and the simulated one does not: libraries, and the driver for graphs. */
int64_t sglang_unseen_most(const struct server_log *log);

#endif
