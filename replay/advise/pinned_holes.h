/*
 * Holes: free parts of segments that live blocks keep from being given back, and which blocks those are.
 */
#ifndef REPLAY_REPLAY_ADVISE_PINNED_HOLES_H
#define REPLAY_REPLAY_ADVISE_PINNED_HOLES_H

#include "replay/engine/engine.h"
#include "replay/results/result.h"

enum { HOLE_KINDS = 4 };

/* Holes of one size behind (or before) live blocks of one size. */
struct hole_kind {
    uint64_t hole_bytes, pin_bytes;      /* the hole's; as requested by the block beside it */
    uint64_t n;
};

struct holes {
    uint64_t reserved_bytes, pinned_bytes;
    uint64_t idle_bytes;                 /* in segments without a live block, and in whole pages: can be given back */
    struct hole_kind kinds[HOLE_KINDS];  /* those with most bytes first */
    size_t   n_kinds;
};

/* Replays the first `events` events and looks at the policy then. A request refused on the way ends the replay there.
 * ERR_UNSUPPORTED for a policy that shows no blocks; lane_open's and replay_run's errors. */
MUST_USE enum err holes_find(struct trace_reader *trace, const struct policy_spec *spec,
                             const struct device_choice *device, uint64_t events, struct holes *out,
                             struct err_detail *why);

#endif
