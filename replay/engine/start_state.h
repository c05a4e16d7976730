/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The start state: what was live when the recording of a program began in mid-run.
 *
 * A policy gets it in one of two forms:
 *
 *     recorded:   0x1000 [ A ][ free ][ B, free pending ]     0x9000 [ C ]
 *     fresh:      events   alloc A, alloc B, alloc C, then free_requested B: the policy places them anew
 *     faithful:   the segments and blocks themselves (policy_ops.restore), on a device that gives 0x1000, 0x9000
 */
#ifndef REPLAY_REPLAY_ENGINE_START_STATE_H
#define REPLAY_REPLAY_ENGINE_START_STATE_H

#include "traces/trace.h"

struct start_state {
    struct event *events;            /* an alloc for each live request, by recorded address; then a free_requested for
                                      * each whose free was pending */
    size_t        n_events;
    uint64_t     *addresses;         /* of segments and reserved ranges, in the order in which policy_ops.restore asks
                                      * the device for them */
    size_t        n_addresses;
};

/* Reads the start state of a trace; both counts are 0 if it starts empty. ERR_HOST_NOMEM. */
MUST_USE enum err start_state_read(const struct trace_reader *in, struct start_state *out, struct err_detail *err);
void start_state_close(struct start_state *s);

/* Totals of the start state. */
struct start_state_totals {
    size_t   n_segments;
    size_t   n_live;                 /* live requests, */
    size_t   n_pending;              /* of these with a free that is pending, */
    size_t   n_guessed;              /* and with a block whose size the recording does not tell */
    uint64_t segment_bytes;          /* reserved */
    uint64_t live_bytes;             /* as requested */
};
struct start_state_totals start_state_sum(const struct trace_reader *in);

#endif
