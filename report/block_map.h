/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Where everything lies at one moment: segments and their blocks, from a policy's walk, cut to a size that a page can
 * carry.
 *
 *     segment  | live | pending | inactive split | live |        a row of pieces by address
 *     segment  | cached segment                         |        nothing in use: could be given back
 */
#ifndef REPLAY_REPORT_BLOCK_MAP_H
#define REPLAY_REPORT_BLOCK_MAP_H

#include "policies/policy.h"
#include "report/meter.h"

/* X(NAME, name, meaning): what a piece of a segment is. */
#define BLOCK_MAP_STATES(X)                                                                                 \
    X(LIVE, "live", "in use by the program")                                                                \
    X(PENDING, "pending", "freed by the program, but a stream may still use it")                         \
    X(SPLIT, "inactive split", "free, but in a segment that is in use")                   \
    X(CACHED, "cached segment", "free, and nothing else is in its segment: could be given back")                   \
    X(MIXED, "several small blocks", "too small to be drawn one by one")

#define BLOCK_MAP_ENUM(NAME, name, meaning) BLOCK_MAP_##NAME,
enum block_map_state { BLOCK_MAP_STATES(BLOCK_MAP_ENUM) BLOCK_MAP_N_STATES };
#undef BLOCK_MAP_ENUM

struct block_map_piece {
    uint64_t addr, bytes, requested;
    uint64_t live_bytes;             /* live and pending bytes of its blocks */
    uint64_t n_blocks;               /* 1, or how many were joined */
    int64_t  event;                  /* our number of the event of its request; -1: live at the start, or not known */
    uint64_t age_ns;                 /* since then; 0 if it is not known */
    uint32_t segment;                /* index into the map's segments */
    uint32_t stack;                  /* filled in by the caller, who knows the trace; 0: none */
    uint8_t  state;                  /* enum block_map_state */
};

struct block_map_segment {
    uint64_t addr, bytes;            /* up to its last block that has memory */
    uint16_t stream;
    uint8_t  pool;
    bool     is_small, is_range;
};

struct block_map {
    uint64_t event, time_ns;         /* events before the moment */
    int64_t  place;                  /* the last of them, as results name events; -1: the start. Set by the caller */
    struct meter_bytes now;
    uint64_t inactive_split;
    struct block_map_segment *segments;      /* by address; n_segments */
    struct block_map_piece   *pieces;        /* by address; n_pieces */
    size_t   n_segments, n_pieces;
    uint64_t n_blocks;                       /* in all */
    uint64_t left_out_segments, left_out_bytes;      /* by block_map_cut: the smallest segments */
};

/* Takes all blocks of a policy; a policy without walk() has no segments. ERR_HOST_NOMEM, and then *out is empty. */
MUST_USE enum err block_map_take(const struct policy *p, struct block_map *out);

/* Cuts the map to at most segments_max segments (the largest stay), and to about pieces_max pieces by joining small
 * neighbours. */
void block_map_cut(struct block_map *map, size_t segments_max, size_t pieces_max);
void block_map_close(struct block_map *map);     /* zero is accepted */

#endif
