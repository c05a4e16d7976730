/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a program that repeats itself settles, or holds more with every step.
 *
 * Its memory is looked at once in each whole step, always at the same place of it. Only the later steps count, because
 * a program may fill a buffer first. The most that is live in the later half of these is compared with the earlier
 * half: what comes and goes over several steps, as gradients that are summed up, is no growth.
 *
 *     live |           .  *     *  .     *  .  *          level
 *          |   .    *     .  *     .  *     .     *       steps: the first ones do not count
 *          |  first half    |  earlier  |   later
 */
#ifndef REPLAY_REPLAY_RECORDING_STEP_GROWTH_H
#define REPLAY_REPLAY_RECORDING_STEP_GROWTH_H

#include "replay/recording/steps.h"

struct step_growth {
    uint64_t bytes_per_step;         /* 0: it settles, or grows by too little to matter */
    uint64_t ignored_bytes;          /* the same of a growth that is too little: in 1,000 steps less than 1% of the
                                      * live peak */
};

/* Of the later half of the steps, and of at least `least` steps if there are so many. Reads all events once.
 * ERR_HOST_NOMEM, the reader's errors. */
MUST_USE enum err step_growth_find(struct trace_reader *trace, const struct steps *steps, uint64_t least,
                                   struct step_growth *out, struct err_detail *err);

#endif
