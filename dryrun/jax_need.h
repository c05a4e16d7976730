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
    uint64_t context_bytes;          /* of CUDA and its libraries, in each of the next */
    uint64_t grown_bytes;            /* of the card with XLA_PYTHON_CLIENT_PREALLOCATE=false */
    uint64_t platform_bytes;         /* with XLA_PYTHON_CLIENT_ALLOCATOR=platform, which asks the driver each time */
    uint64_t pooled_bytes;           /* with XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async, the driver's pool, and not
                                      * preallocated: alone it takes its share at its start as BFC does */
};

/* On a card like `device`, of any size. trials_run_typed's errors. */
MUST_USE enum err jax_need_find(struct trace_reader *trace, const struct device_config *device, struct jax_need *out,
                                struct err_detail *err);

/* The card that has such a region as the share that JAX takes (0.75), to a MiB. */
uint64_t jax_need_card(const struct jax_need *need, double share);

/* What one may do about a JAX program's memory, in JAX's words. */
enum { JAX_LEVERS = 6, JAX_LEVER_TEXT = 96 };
struct jax_lever {
    char     text[JAX_LEVER_TEXT];   /* "XLA_PYTHON_CLIENT_PREALLOCATE=false" */
    bool     is_tried;               /* the recorded requests were replayed with it, */
    uint64_t card_bytes;             /* and took so much of the card; a change to the program, without preallocation */
    uint64_t region_bytes;           /* with it: that is enough; 0: as without */
};

/* Fills in those that there are, and returns how many. `card_bytes`: of the card that is spoken of, 0 for none, and
 * `share` what JAX takes of it; of a share that is no smaller nothing is said. `donated`: with donated arguments
 * (jax_donation.h); region_bytes 0: not tried. */
size_t jax_need_levers(const struct jax_need *need, const struct jax_need *donated, uint64_t card_bytes, double share,
                       struct jax_lever out[static JAX_LEVERS]);

/* The least share of the card that is enough, as XLA_CLIENT_MEM_FRACTION has it; 0: none below `share` is. */
double jax_need_fraction(const struct jax_need *need, uint64_t card_bytes, double share);

/* Sentences, in JAX's words. */
void jax_need_say(struct words *out, const struct jax_need *need, uint64_t card_bytes, double share);

#endif
