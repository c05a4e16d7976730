/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Layers that learn in the last step, or the last few, and did not before: their activations are held for a backward
 * pass where they were freed at once, and gradients and states of the optimizer come that were not there.
 *
 *     steps 1 to 40   forward: requested, freed | backward of the head     | step
 *     step 41         forward: requested, held  | backward of all layers   | states of all layers
 *
 * A place (a call stack) is compared with itself: what it holds now with the most that it ever held before. A place
 * that requests more than in any step before has a larger input, and is none of this; nor is a place that adds as much
 * in a step as one before did, which is still held. A step begins with the first call of a module after a backward
 * pass. The weights must have been there before: those of a model that was made or copied in the last step, or just
 * before it, did not thaw.
 */
#ifndef REPLAY_REPLAY_RECORDING_THAW_H
#define REPLAY_REPLAY_RECORDING_THAW_H

#include "base/err.h"
#include "replay/recording/phases.h"

/* More bytes than any step before held. */
struct thaw {
    uint64_t activations, gradients, states, all;        /* all: 0 if nothing thawed */
    size_t   steps;                                      /* it did in the last so many: 1 to 3 */
};

/* Looks at what is live before event `moment`, at which `need_bytes` are live and asked for; less than an 8th of it is
 * none. ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err thaw_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                            uint64_t need_bytes, struct thaw *out, struct err_detail *err);

#endif
