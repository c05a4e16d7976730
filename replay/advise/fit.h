/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Will it fit: the smallest card on which a policy runs a trace.
 */
#ifndef REPLAY_REPLAY_ADVISE_FIT_H
#define REPLAY_REPLAY_ADVISE_FIT_H

#include "replay/trials/trial_runs.h"
#include "replay/results/result.h"

enum { FIT_GRANULE_BYTES = 2 << 20 };     /* the driver's page: a smaller difference changes nothing */

/*
 * Sizes of cards are whole granules and include context and others. A larger card can be worse, because decisions
 * change:
 *
 *     size     live data      smallest_bytes       larger_failing_bytes
 *     outcome  x x x x x x x | ok ok ok ok ok ok | x | ok ok ok ...
 */
struct fit {
    uint64_t smallest_bytes;         /* on no larger card that was tried does it run out of memory; on the size below
                                      * it does, or that is less than live data, context and others. 0: no size was
                                      * found */
    bool     is_monotone;            /* it runs on no smaller card either */
    uint64_t least_running_bytes;    /* the smallest card that it runs on; the 16 sizes below it were tried, too */
    uint64_t larger_failing_bytes;   /* if not monotone: the largest card above that on which it runs out of memory */
    const struct device_model *card; /* the smallest named card on which it runs; NULL: none */
    uint64_t card_context_bytes;     /* of that card, set aside for the CUDA context and libraries */
    bool     is_tight;               /* it would not run there beside the largest context that was seen on that card */
    size_t   n_tried;
    struct trial trial;              /* on the smallest card */
};

/* Finds smallest_bytes and the trial on that card, no named card. Arguments and errors as of fit_find. */
MUST_USE enum err fit_find_smallest(struct trace_reader *trace, const struct policy_spec *spec,
                                    const struct device_choice *device, uint64_t live_bytes,
                                    const struct replay_config *cfg, struct fit *out, struct err_detail *err);

/* Bisects between `live_bytes` (bounds_find) and what the policy reserves on an unlimited card, many sizes a decode.
 * Then tries the neighbours below and above, and larger sizes. The capacity of `device` does not matter. trials_run's
 * errors. */
MUST_USE enum err fit_find(struct trace_reader *trace, const struct policy_spec *spec,
                           const struct device_choice *device, uint64_t live_bytes, const struct replay_config *cfg,
                           struct fit *out, struct err_detail *err);

#endif
