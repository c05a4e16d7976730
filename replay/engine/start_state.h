/*
 * Where a trace that starts in mid-run begins: its live requests as events, and the addresses its segments had.
 */
#ifndef REPLAY_REPLAY_ENGINE_START_STATE_H
#define REPLAY_REPLAY_ENGINE_START_STATE_H

#include "traces/trace.h"

struct start_state {
    struct event *events;            /* the live requests by recorded address; those whose free was pending, retired */
    size_t        n_events;
    uint64_t *addresses; /* of segments and ranges, in the order in which policy_ops.restore asks for them */
    size_t        n_addresses;
};

/* Reads the start state of a trace; all members are zero when it starts empty. ERR_HOST_NOMEM. */
MUST_USE enum err start_state_read(const struct trace_reader *in, struct start_state *out, struct err_detail *why);
void start_state_close(struct start_state *s);

/* The same summed up. */
struct start_state_totals {
    size_t   n_segments, n_live, n_pending, n_guessed;   /* live requests: of them retired; whose block's size is guessed */
    uint64_t segment_bytes, live_bytes;                  /* as requested */
};
struct start_state_totals start_state_sum(const struct trace_reader *in);

#endif
