/*
 * Will it fit: the smallest card on which a policy runs a trace.
 */
#ifndef REPLAY_REPLAY_ADVISE_FIT_H
#define REPLAY_REPLAY_ADVISE_FIT_H

#include "replay/advise/trial_runs.h"
#include "replay/results/result.h"

enum { FIT_GRANULE_BYTES = 2 << 20 };     /* the driver's page: smaller differences make none */

/* Sizes of cards, context and others included; whole granules. */
struct fit {
    uint64_t smallest_bytes;         /* of those tried; each of the 16 sizes below was tried, too, and runs out of
                                      * memory, or is less than live data and what others hold. 0: none was found */
    bool     is_monotone;            /* no larger card was found on which it runs out of memory */
    uint64_t larger_failing_bytes;   /* otherwise: the largest such card */
    const struct device_model *card; /* smallest named one on which it runs, tried; NULL: none */
    size_t   n_tried;
    struct trial trial;              /* on the smallest card */
};

/* Bisects, many sizes a decode, between `live_bytes` (bounds_find) and what the policy reserves on an unlimited card,
 * then tries the neighbours below and above, and larger sizes. `device`: its capacity does not matter. trials_run's
 * errors. */
MUST_USE enum err fit_find(struct trace_reader *trace, const struct policy_spec *spec,
                           const struct device_choice *device, uint64_t live_bytes, const struct replay_config *cfg,
                           struct fit *out, struct err_detail *why);

#endif
