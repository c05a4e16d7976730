/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A sweep of many processes: rank 0 deals parts to the workers as they become free, and writes their results to the
 * database.
 */
#ifndef REPLAY_REPLAY_SWEEP_SWEEP_RANKS_H
#define REPLAY_REPLAY_SWEEP_SWEEP_RANKS_H

#include "replay/sweep/ranks.h"
#include "replay/sweep/sweep.h"

/* Rank 0's part: as sweep_run. A part is written in one transaction: all of its runs, or none. */
MUST_USE enum err sweep_deal(struct sweep *s, const char *path, bool is_resumed, const struct ranks *ranks,
                             struct err_detail *err);

/* Ends the workers if rank 0 cannot begin. Does nothing if there are none. */
void sweep_dismiss(const struct ranks *ranks);

/* A worker's part: runs what is dealt, until nothing is left. Tells rank 0 what goes wrong, beginning with what went
 * wrong before the call (`so_far` and its sentence). */
void sweep_serve(struct sweep *s, const struct ranks *ranks, enum err so_far, const struct err_detail *err);

#endif
