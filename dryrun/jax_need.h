/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the requests of a JAX program need of a card, under each way that JAX can be told to take memory: its recorded
 * requests are replayed. What XLA would compile for another card is not in it; who names a card runs the program there.
 */
#ifndef REPLAY_DRYRUN_JAX_NEED_H
#define REPLAY_DRYRUN_JAX_NEED_H

#include "report/text/text.h"
#include "replay/trials/trial_runs.h"

struct jax_need {
    uint64_t region_bytes;           /* the least that is enough if it is taken at once, to a MiB; 0: none was found */
    uint64_t grown_bytes;            /* of the card with XLA_PYTHON_CLIENT_PREALLOCATE=false */
    uint64_t platform_bytes;         /* with XLA_PYTHON_CLIENT_ALLOCATOR=platform, which asks the driver each time */
    uint64_t pooled_bytes;           /* with XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async, the driver's pool */
};

/* On a card like `device`, of any size. trials_run_typed's errors. */
MUST_USE enum err jax_need_find(struct trace_reader *trace, const struct device_config *device, struct jax_need *out,
                                struct err_detail *err);

/* The card that has such a region as the share that JAX takes (0.75), to a MiB. */
uint64_t jax_need_card(const struct jax_need *need, double share);

/* Sentences, in JAX's words. `card_bytes`: of the card that is spoken of, 0 for none, and `share` what JAX takes of
 * it. */
void jax_need_say(struct words *out, const struct jax_need *need, uint64_t card_bytes, double share);

#endif
