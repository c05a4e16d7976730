/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A stage of a pipeline of cards, each of which has some blocks: its batches of a step, one forward, one backward.
 */
#ifndef REPLAY_LOADS_PIPELINE_H
#define REPLAY_LOADS_PIPELINE_H

#include "loads/transformer.h"

/* The batches of a step through stage `stage` of `n_stages`, which is m's. */
void pipeline_batches(struct transformer *m, uint64_t stage, uint64_t n_stages, uint64_t n_batches);

#endif
