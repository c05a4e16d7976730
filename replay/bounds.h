/*
 * What is possible at best: the least memory that any allocator needs for a trace, and what a plan that knows all
 * lifetimes beforehand reaches.
 */
#ifndef REPLAY_REPLAY_BOUNDS_H
#define REPLAY_REPLAY_BOUNDS_H

#include "base/err.h"
#include "traces/trace.h"

/* Bytes. */
struct bounds {
    uint64_t live_bytes;             /* most that was requested and not released at once; requests that were refused
                                      * when recorded count while they are asked for. No allocator needs less */
    int64_t  live_event;             /* our number of the event that reached it; -1: the start state */
    uint64_t plan_bytes;             /* an offline plan's size, in whole pages; 0: not made, the trace is too long */
};

/* Reads the whole trace. The plan is the best of three: first fit in order of time; and the 4096 largest requests, by
 * size or by length of life, each at the lowest address that is free for its whole life, with the rest first-fit above
 * them (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020: greedy by size). It is
 * one line of addresses for all streams and pools, and sizes are rounded to 512 bytes. ERR_HOST_NOMEM and the reader's
 * errors. */
MUST_USE enum err bounds_find(struct trace_reader *trace, struct bounds *out, struct err_detail *why);

#endif
