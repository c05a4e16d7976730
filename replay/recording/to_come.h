/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What comes in the first step of a program that died before it ended: gradients, a byte for each byte of the weights
 * that learn, and the states of the optimizer, which most optimizers make in their first step.
 *
 *     weights 400 | gradients 400 | states 800 of Adam: two for each weight
 *                         ^ refused here: 150 of the gradients and all states are still to come
 *
 * Which optimizer it is is seen only in its step, also in one that a caught refusal cut off. Before that Adam's states
 * are told as what they would be.
 */
#ifndef REPLAY_REPLAY_RECORDING_TO_COME_H
#define REPLAY_REPLAY_RECORDING_TO_COME_H

#include "replay/recording/holders.h"
#include "replay/recording/reached.h"
#include "report/text/text.h"

/* Bytes. */
struct to_come {
    bool     is_told;                /* weights are known, and something is to come */
    bool     is_in_step;             /* it died in the optimizer's step: what learns is known by its gradients */
    bool     is_refused;             /* what was refused is to come as well */
    const char *optimizer;           /* "Adam or AdamW"; NULL: none is seen */
    uint64_t learns;                 /* of the weights that learn; before the step all weights, so at most */
    uint64_t gradients;              /* still to come */
    uint64_t states;                 /* still to come, of that optimizer; of Adam where none is seen */
    uint64_t at_once;                /* weights, gradients and states, those that are there and those to come */
};

/* `h`: what is live before event `moment`, with categories: a request that is refused, or the end of the recording. Of
 * a program that is in its first step. Nothing is told if its optimizer was given states. ERR_HOST_NOMEM, the reader's
 * errors. */
MUST_USE enum err to_come_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                               const struct holdings *h, struct to_come *out, struct err_detail *err);

/* Tells it only of a program that is in its first passes, and not if `loaded_bytes` came from a file, which may hold
 * the states. */
void to_come_keep(struct to_come *c, enum reached reached, uint64_t loaded_bytes);

/* One sentence, or none. `learns`: it computed gradients, or nothing tells that it did not. */
void to_come_say(struct words *w, const struct to_come *c, bool learns);

/* The members of answers/to_come.def. */
void to_come_json(struct json_writer *json, const struct to_come *c);

#endif
