/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where a lane put each request of a trace, and what memory it held meanwhile.
 */
#ifndef REPLAY_REPLAY_RESULTS_LANE_LIVES_H
#define REPLAY_REPLAY_RESULTS_LANE_LIVES_H

#include "replay/engine/engine.h"
#include "report/measure/lives.h"
#include "base/intern.h"

enum { MEMORY_MAX = 100000, REFUSALS_MAX = 300 };

/* A request that the lane did not place. */
#define LANE_LIFE_NOWHERE 0

struct lane_lives {
    const struct lives *requests;    /* borrowed: of the trace, by birth */
    uint64_t *addr, *bytes;          /* by request: of its block; LANE_LIFE_NOWHERE: it was refused or not reached */
    struct lives memory;             /* segments, ranges, and what is mapped in them; MEMORY_MAX at most */
    struct lane_refusal { uint64_t moment, bytes; } *refusals;       /* the first REFUSALS_MAX */
    size_t    n_refusals;
    uint64_t  n_all_refusals;
    uint64_t  n_moments;             /* how far the run came */
    bool      is_short;              /* the host had no memory */

    /* Its own. */
    struct device_log log;
    struct pair_map   held;          /* address and whether it is mapped memory -> index into `open` */
    struct life      *open;
    size_t            n_open, room_open;
    uint32_t         *vacant;        /* stack of unused indices of `open` */
    size_t            n_vacant, room_vacant;
    size_t            next;          /* the first request that is not born yet */
};

/* Listens to a lane from its start state on. Do not move *out while the lane runs. ERR_HOST_NOMEM. */
MUST_USE enum err lane_lives_open(struct lane_lives *out, struct lane *lane, const struct lives *requests);

/* To be called after every event, as a watch of the lane is. */
void lane_lives_event(struct lane_lives *w, const struct lane *l, const struct event *ev, uint64_t done);

/* After the run: ends what is still held, and sorts. ERR_HOST_NOMEM, if there was no memory on the way. */
MUST_USE enum err lane_lives_finish(struct lane_lives *w);
void lane_lives_close(struct lane_lives *w);     /* zero is accepted */

#endif
