/*
 * A trace made from another: sizes a little off, repeated, or cut short.
 */
#ifndef REPLAY_REPLAY_ADVISE_ALTERED_TRACE_H
#define REPLAY_REPLAY_ADVISE_ALTERED_TRACE_H

#include "traces/trace.h"

struct rewrite {
    uint64_t seed;
    unsigned percent;                /* sizes move by up to so much, evenly; requests of one size alike within a round,
                                      * as where a program's input changes its shape; 0: as they are */
    unsigned rounds;                 /* the whole trace so often; what is live at the end of a round is released */
    uint64_t events;                 /* of each round, at most so many */
};

/* The start state becomes requests at the beginning, so the copy starts empty. The copy is in memory. ERR_HOST_NOMEM,
 * and the reader's and writer's errors. */
MUST_USE enum err trace_rewrite(struct trace_reader *in, const struct rewrite *how, struct trace_reader **out,
                                struct err_detail *why);

#endif
