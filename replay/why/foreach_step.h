/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a step of an optimizer holds only while it lasts. PyTorch's default (foreach) computes all weights at once, and
 * so holds as much again as there are weights, once or several times; foreach=False holds that of one weight, and
 * fused=True, which few optimizers take, nothing of it.
 *
 *     | weights | gradients | states | denominators of all weights |   <- refused, in optimizer.step()
 */
#ifndef REPLAY_REPLAY_WHY_FOREACH_STEP_H
#define REPLAY_REPLAY_WHY_FOREACH_STEP_H

#include "replay/recording/holders.h"

struct foreach_step {
    uint64_t bytes;                  /* live, of such; 0: the refused request was not of such a step */
    uint64_t largest;                /* of them; with what was asked for */
    bool     has_fused;              /* that optimizer takes fused=True on a card */
};

/* Looks whether the request of event `refused` is of such a step, and makes temporaries of what is live of it. `h`:
 * with categories. ERR_HOST_NOMEM; errors of trace_stacks_at. */
MUST_USE enum err foreach_step_find(struct trace_reader *trace, uint64_t refused, uint64_t asked_bytes,
                                    struct holdings *h, struct foreach_step *out, struct err_detail *err);

#endif
