/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * `replay FOLDER`: the ranks of one job, each replayed as it was recorded.
 *
 *     run.rank0.zst     run.rank0.pickle     run.rank0.driver.zst       one rank: the first of them is read
 *     rank1/snapshot.pickle                                             another
 */
#ifndef REPLAY_REPLAY_PROGRAM_REPLAY_RANKS_H
#define REPLAY_REPLAY_PROGRAM_REPLAY_RANKS_H

#include "replay/program/cli.h"

/* True if the command's one input is a folder. */
bool ranks_are_asked_for(const struct options *o);
extern const struct answer_ops answer_of_ranks;

#endif
