/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What is possible at best for a trace: the memory that every allocator needs, and what a plan reaches that knows all
 * lifetimes beforehand.
 *
 *     live_bytes  <=  any plan  <=  plan_bytes  (found here; usually below what any allocator reserves)
 */
#ifndef REPLAY_REPLAY_PLAN_BOUNDS_H
#define REPLAY_REPLAY_PLAN_BOUNDS_H

#include "replay/engine/engine.h"
#include "replay/plan/lifetimes.h"

/* Bytes. */
struct bounds {
    uint64_t live_bytes;             /* most that was live at once, as requested; a request that was refused when
                                      * recorded counts at its event. No allocator needs less */
    uint64_t mean_live_bytes;        /* over the time of the trace; 0: it has no times */
    int64_t  live_event;             /* our number of the event that reached it; -1: the start state */
    uint64_t plan_bytes;             /* size of the offline plan, in whole pages; 0: it exceeds all addresses, or
                                      * none was made */
};

/*
 * The plan is the best of three, on one line of addresses for all streams and pools, with sizes rounded to 512 bytes:
 *
 *   1. first fit in order of time;
 *   2. the 16384 largest requests in order of size, each at the lowest address that is free for its whole life, and the
 *      rest by first fit above them (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference",
 *      2020: greedy by size);
 *   3. the same in order of lifetime, longest first.
 *
 * Traces of more than 2^20 requests only get the first. The time for an event grows with the logarithm of the number of
 * live requests.
 */

/* Reads the whole trace. Refusals before event `caught_before` do not count, as in replay_config. Without `with_plan`
 * no plan is made: it takes as long as the run of a policy. ERR_HOST_NOMEM and the reader's errors. */
MUST_USE enum err bounds_find(struct trace_reader *trace, uint64_t caught_before, bool with_plan, struct bounds *out,
                              struct err_detail *err);

/* Does what replay_run does and finds the bounds while the trace is decoded anyway; they do not depend on the lanes.
 * `cfg` must not have a `chunk`. ERR_HOST_NOMEM and replay_run's errors. */
MUST_USE enum err bounds_replay(struct trace_reader *trace, struct lane *lanes, size_t n_lanes,
                                const struct replay_config *cfg, bool with_plan, struct bounds *out,
                                struct err_detail *err);

/* The lifetimes of all requests, sizes rounded up to multiples of `round_bytes` (a power of two), and of the bounds
 * what was live. A request that was refused when recorded lives for a moment. Released with lifetimes_close.
 * ERR_HOST_NOMEM, ERR_UNSUPPORTED for more than LIFETIMES_MAX requests, and the reader's errors. */
MUST_USE enum err bounds_read_lifetimes(struct trace_reader *trace, uint64_t round_bytes, struct lifetimes *out,
                                    struct bounds *bounds, struct err_detail *err);

#endif
