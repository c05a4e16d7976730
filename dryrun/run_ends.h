/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the peak of a program may be that `run-sim` ran: the range that `predict` gives, of the bytes in segments.
 */
#ifndef REPLAY_DRYRUN_RUN_ENDS_H
#define REPLAY_DRYRUN_RUN_ENDS_H

#include "dryrun/peak_range.h"
#include "dryrun/run/sim_card.h"

#include <signal.h>

/* A program that was run. Texts are borrowed. */
struct run_ends_request {
    const struct sim_card *card;                 /* that it ran on; read */
    const char *const *program;                  /* a list that NULL ends */
    size_t      n_words;
    const char *device, *torch_libs, *values;    /* of its card, as given; NULL: not given */
    bool        runs_again;                      /* further runs may show what is open */
    const volatile sig_atomic_t *interrupted;
};

/* The range of the process that took most. Where nothing is open it has no width; else the program is run again, behind
 * an overlay, as prediction_make does. *is_known is false if it may not be, if its files cannot be kept apart, or if
 * its runs do not show the peak: that is said on standard error. prediction_make's errors. */
MUST_USE enum err run_ends_find(const struct run_ends_request *request, struct peak_range *out, bool *is_known,
                                struct err_detail *err);

#endif
