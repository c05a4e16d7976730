/*
 * What is possible at best: the least memory that any allocator needs for a trace, and what a plan that knows all
 * lifetimes beforehand reaches.
 */
#ifndef REPLAY_REPLAY_PLAN_BOUNDS_H
#define REPLAY_REPLAY_PLAN_BOUNDS_H

#include "replay/engine/engine.h"

/* Bytes. */
struct bounds {
    uint64_t live_bytes;             /* most that was requested and not released at once; requests that were refused
                                      * when recorded count while they are asked for. No allocator needs less */
    int64_t  live_event;             /* our number of the event that reached it; -1: the start state */
    uint64_t plan_bytes;             /* an offline plan's size, in whole pages; 0: beyond all addresses */
};

/*
 * The plan is the best of three: first fit in order of time; and, up to 2^20 requests, the 4096 largest by size or by
 * length of life, each at the lowest address that is free for its whole life, with the rest first-fit above them
 * (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020: greedy by size). It is one line
 * of addresses for all streams and pools; sizes are rounded to 512 bytes. The time for an event grows with the logarithm
 * of what lives.
 */

/* Reads the whole trace. ERR_HOST_NOMEM and the reader's errors. */
MUST_USE enum err bounds_find(struct trace_reader *trace, struct bounds *out, struct err_detail *why);

/* As replay_run, and the bounds from the same decoding; `cfg` has no `chunk` of its own. ERR_HOST_NOMEM and replay_run's
 * errors. */
MUST_USE enum err bounds_replay(struct trace_reader *trace, struct lane *lanes, size_t n_lanes,
                                const struct replay_config *cfg, struct bounds *out, struct err_detail *why);

#endif
