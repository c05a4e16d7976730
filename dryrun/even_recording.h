/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A recording of a program that was stopped while it repeats itself, cut to a number of steps.
 *
 * Where nobody but the clock says when such a program is stopped, its recording has more steps on a quick machine, and
 * what is priced over its length differs. The cut follows from the requests alone:
 *
 *     before the steps | step | step | step | step | step | step | st     recorded
 *                      ^ the first that repeats           ^ after `least` of them
 *
 * Each step begins where the least is live.
 */
#ifndef REPLAY_DRYRUN_EVEN_RECORDING_H
#define REPLAY_DRYRUN_EVEN_RECORDING_H

#include "replay/recording/steps.h"

/* Cuts the trace of this name, whose steps these are. Nothing changes if they were not found by repetition, or there
 * are fewer. Errors of the reader and the writer; the trace is then as it was. */
MUST_USE enum err even_recording_cut(const char *path, const struct steps *steps, uint64_t least,
                                     struct err_detail *err);

#endif
