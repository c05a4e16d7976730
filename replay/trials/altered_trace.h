/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Makes a trace from another one: sizes changed a little, repeated, cut short, or with its streams or pools folded.
 */
#ifndef REPLAY_REPLAY_TRIALS_ALTERED_TRACE_H
#define REPLAY_REPLAY_TRIALS_ALTERED_TRACE_H

#include "traces/trace.h"

#include <stdbool.h>

struct rewrite {
    uint64_t seed;
    unsigned percent;                /* sizes change by up to this much, evenly distributed; 0: not at all. Within a
                                      * round equal sizes change alike, as if the program's input changed its shape */
    unsigned rounds;                 /* how often the whole trace runs; each next round first frees all live requests */
    uint64_t events;                 /* at most this many of each round */
    uint64_t caught_before;          /* as in replay_config: earlier refusals become flushes */
    bool     folds_streams;          /* every request is on the default stream */
    bool     folds_pools;            /* every request is in the shared pool; no captures */
    bool     ends_uses;              /* a free is complete when it is requested; no uses by other streams */
};

/* The copy starts empty: the start state becomes requests at its beginning. It lives in memory. ERR_HOST_NOMEM, and the
 * reader's and writer's errors. */
MUST_USE enum err trace_rewrite(struct trace_reader *in, const struct rewrite *how, struct trace_reader **out,
                                struct err_detail *err);

#endif
