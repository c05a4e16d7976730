/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Holes: free parts of segments that cannot be given back, because live blocks share the segment.
 *
 *     segment  | live 270 | hole 260 | live 530 | hole 12 |
 */
#ifndef REPLAY_REPLAY_ADVISE_PINNED_HOLES_H
#define REPLAY_REPLAY_ADVISE_PINNED_HOLES_H

#include "replay/engine/engine.h"
#include "replay/results/result.h"

enum { HOLE_KINDS = 4 };

/* Holes of one size after (or before) live blocks of one size. */
struct hole_kind {
    uint64_t hole_bytes;                 /* of one hole */
    uint64_t pin_bytes;                  /* requested by the live block next to it */
    uint64_t n;
};

struct holes {
    uint64_t reserved_bytes;
    uint64_t pinned_bytes;               /* in holes */
    uint64_t idle_bytes;                 /* free and can be given back: segments without a live block, whole pages */
    struct hole_kind kinds[HOLE_KINDS];  /* most bytes first */
    size_t   n_kinds;
};

/* Replays the first `events` events, or up to a refused request that was not caught (replay_config), and looks at the
 * policy then.
 * ERR_UNSUPPORTED for a policy that shows no blocks; lane_open's and replay_run's errors. */
MUST_USE enum err holes_find(struct trace_reader *trace, const struct policy_spec *spec,
                             const struct device_choice *device, uint64_t events, uint64_t caught_before,
                             struct holes *out, struct err_detail *err);

/* What a stream's segments hold. */
struct stream_share {
    uint64_t live_bytes;                 /* of blocks that are live, or that a stream may still use */
    uint64_t pinned_bytes;               /* in holes */
};

/* At the same moment, by stream: shares[0, trace_info.n_streams). Errors as of holes_find. */
MUST_USE enum err stream_shares_find(struct trace_reader *trace, const struct policy_spec *spec,
                                     const struct device_choice *device, uint64_t events, uint64_t caught_before,
                                     struct stream_share *shares, struct err_detail *err);

#endif
