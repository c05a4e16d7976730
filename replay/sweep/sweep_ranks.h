/*
 * A sweep of many processes: rank 0 deals parts to the others as they become free, and writes what they find to the
 * database.
 */
#ifndef REPLAY_REPLAY_SWEEP_SWEEP_RANKS_H
#define REPLAY_REPLAY_SWEEP_SWEEP_RANKS_H

#include "replay/sweep/ranks.h"
#include "replay/sweep/sweep.h"

/* Rank 0's part: as sweep_run. A part is written in one transaction: all of its runs, or none. */
MUST_USE enum err sweep_deal(struct sweep *s, const char *path, bool is_resumed, const struct ranks *ranks,
                             struct err_detail *why);

/* Where rank 0 cannot begin: the others' end. Alone, nothing. */
void sweep_dismiss(const struct ranks *ranks);

/* The others' part: runs what is dealt, until nothing is left. What goes wrong is told to rank 0, and first of all what
 * went wrong before this, `so_far` with its sentence. */
void sweep_serve(struct sweep *s, const struct ranks *ranks, enum err so_far, const struct err_detail *why);

#endif
