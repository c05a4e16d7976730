/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Another arrangement of the captures of a recording, as a trace.
 *
 *     recorded        capture 1 -> pool 1    capture 2 -> pool 2    capture 3 -> pool 3
 *     3 and 1, one pool shared:    capture 3 -> pool 1,  then capture 1 -> pool 1
 *
 * What the first capture on a stream requests for all of them moves to the one that is first now. A request that was
 * freed in a later capture is freed in the one that comes as much later now.
 */
#ifndef REPLAY_REPLAY_GRAPHS_ARRANGEMENT_H
#define REPLAY_REPLAY_GRAPHS_ARRANGEMENT_H

#include "replay/graphs/captures.h"
#include "replay/results/single_run.h"

enum graph_pools {
    GRAPH_POOLS_RECORDED,
    GRAPH_POOLS_SHARED,              /* one for all */
    GRAPH_POOLS_OWN,                 /* one for each */
    GRAPH_POOLS_NONE,                /* no graphs: the same work on the same stream, in the ordinary pool, and with all
                                      * else that the program does */
};

/* A trace holds no more pools: longer lists are not measured with GRAPH_POOLS_OWN. */
enum { GRAPH_POOLS_OWN_MAX = 250 };

struct arrangement {
    struct captures *captures;       /* lent; only their alignments change */
    const uint32_t *list;            /* n captures, each at most once; ascending for GRAPH_POOLS_NONE */
    size_t n;
    enum graph_pools pools;
};

/* Why a figure may be wrong. */
enum arrangement_doubt {
    ARRANGEMENT_EXACT,
    ARRANGEMENT_DOUBT_STREAMS,       /* frees waited for the end of a capture; without graphs they wait for streams */
    ARRANGEMENT_DOUBT_ONCE,          /* a capture is left out or moved that may have requested something for all */
    ARRANGEMENT_DOUBT_FREES,         /* captures free each other's memory, and are not alike */
};

/* What an arrangement reserves on a card without end. */
struct arrangement_size {
    uint64_t bytes;                  /* the private pools together; GRAPH_POOLS_NONE: the peak of the whole program */
    enum arrangement_doubt doubt;
};

/* Replays an arrangement by the policy and release of `like`, a run of the recording. `after` gets the bytes reserved
 * after each capture of the list; NULL: nobody asks. ERR_HOST_NOMEM; the errors of traces and replays. */
MUST_USE enum err arrangement_measure(const struct arrangement *a, const struct single_run *like, uint64_t *after,
                                      struct arrangement_size *out, struct err_detail *err);

#endif
