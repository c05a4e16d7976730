/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Why a request does not fit: what every reserved byte is at one moment, and which few live blocks stand in the way.
 *
 * An explanation is made from a policy's walk() over its blocks, so it works for every policy that has a walk().
 */
#ifndef REPLAY_REPORT_EXPLAIN_EXPLAIN_H
#define REPLAY_REPORT_EXPLAIN_EXPLAIN_H

#include "base/err.h"
#include "base/event.h"
#include "base/intern.h"
#include "policies/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* X(name, meaning): parts of the reserved bytes; they add up to the whole. */
#define EXPLAIN_PARTS(X)                                                                                    \
    X(requested, "live requests, as asked for")                                                             \
    X(rounding, "their rounding up to multiples of 512 bytes")                                              \
    X(rest, "what their blocks have beyond that: coarser rounding, or a remainder that is not split off")             \
    X(pending, "freed by the program, but a stream may still use it")                                    \
    X(split_free, "free parts of segments that are in use")                                                 \
    X(page_free, "free in whole pages of expandable segments, which can be given back")                     \
    X(whole_free, "cached segments that nothing uses")                                                      \
    X(hidden, "reserved by the policy, but in no block that it shows")

struct explain_parts {
#define EXPLAIN_PART(name, meaning) uint64_t name;
    EXPLAIN_PARTS(EXPLAIN_PART)
#undef EXPLAIN_PART
};

/* The free blocks of one stream, pool, size class and kind of segment: only requests of that kind can use them. */
struct explain_free {
    uint64_t bytes, largest_bytes;
    uint64_t page_bytes;             /* of `bytes`, in whole pages that can be given back although the rest is in use */
    uint64_t n;
    uint16_t stream;                 /* our dense number */
    uint8_t  pool;
    bool     is_small;
    bool     is_whole;               /* nothing else is in their segments */
};

/* Holes of one size next to live blocks of one size. */
struct explain_hole {
    uint64_t bytes;                  /* of one hole */
    uint64_t pin_bytes;              /* requested by the live block next to it */
    uint64_t n;
};
enum { EXPLAIN_HOLES = 8 };

/* A live block that stands in the way. */
struct explain_block {
    uint64_t addr, bytes, requested;
    uint64_t age_ns;                 /* since its request; valid when is_known */
    int64_t  event;                  /* of its request, as results name events; -1: it was live at the start */
    uint32_t slot;                   /* UINT32_MAX: of no live request */
    uint32_t stack;                  /* TRACE_NO_STACK: none was recorded */
    uint16_t stream;
    uint8_t  pool;
    bool     is_pending;
    bool     is_known;               /* whether event and stack are known */
};

/* How the request would fit if the blocks ended. */
enum explain_way {
    EXPLAIN_NO_WAY,                  /* no set was found */
    EXPLAIN_MERGE,                   /* they and their free neighbours become one block that is large enough */
    EXPLAIN_GIVE_BACK,               /* segments or pages can be given back, and the device has room for new ones */
};

struct explanation {
    bool     is_taken;               /* false: there is no explanation */
    bool     is_refusal;             /* of a refused request; false: of the state before an event */
    bool     is_end;                 /* after the last event: event and place have no meaning */
    bool     has_walk, has_request;
    int64_t  event;                  /* our number; -1: before the first event */
    int64_t  place;                  /* the same as results name events */
    uint64_t time_ns;
    uint64_t reserved_bytes;
    struct explain_parts parts;

    /* The card: context + others + reserved + page_rounding + free is its total. */
    uint64_t total_bytes;            /* DEVICE_UNLIMITED: no end */
    uint64_t context_bytes, others_bytes, free_bytes;
    int64_t  page_rounding_bytes;    /* below 0 if small segments share pages */

    uint64_t requested_bytes;        /* of the request; 0: the event makes none */
    uint64_t block_bytes;            /* the request as the policy rounds it */
    uint64_t segment_bytes;          /* a new segment for it */
    uint16_t stream;
    uint8_t  pool;
    uint64_t largest_free_bytes;     /* any free block */
    uint64_t largest_usable_bytes;   /* of the request's stream, pool and size class */

    struct explain_free *free;       /* n_free, by bytes, falling */
    size_t   n_free;
    struct explain_hole  holes[EXPLAIN_HOLES];       /* by bytes in all, falling */
    size_t   n_holes;
    uint64_t n_other_holes;          /* in smaller groups */
    struct explain_block *blocks;    /* n_blocks, by address: the smallest set that was found */
    size_t   n_blocks;
    enum explain_way way;
    uint64_t gained_bytes;           /* MERGE: size of the merged block; GIVE_BACK: free on the device then */
};

/* Explains a policy's state now. `req`: the request; NULL: there is none. `refusal`: the refusal of it; NULL: nothing
 * was refused. ERR_HOST_NOMEM; *out is then empty. */
MUST_USE enum err explain_take(const struct policy *p, const struct event *req, const struct refusal *refusal,
                               struct explanation *out);

/* Zero is accepted. */
void explain_close(struct explanation *x);

/* The names of the ways as in the JSON: null, "merge", "release". */
const char *explain_way_name(enum explain_way way);

/* ---- for the search, in explain_set.c ---- */

/* All blocks of a moment, by address; a segment's follow each other. */
struct explain_scene {
    struct block_view *at;
    size_t n, cap;
    struct pair_map group_of;        /* a kind of free memory -> index into explanation.free */
    size_t n_groups_room;
    bool   is_short;                 /* the host had no memory for one */
    bool   has_small;                /* the policy keeps small requests apart */
};

/* Live, or freed and not reusable yet. */
static inline bool explain_is_in_use(const struct block_view *b)
{
    return b->state == BLOCK_ALLOCATED || b->state == BLOCK_PENDING;
}

/* The first index after the segment that begins at `first`. */
size_t explain_segment_end(const struct explain_scene *s, size_t first);

/* Whether a free block of this kind may serve the request. */
bool explain_serves(const struct explain_scene *s, const struct block_view *b, const struct explanation *x);

/* Looks for the smallest set of blocks whose end makes the request fit. ERR_HOST_NOMEM. */
MUST_USE enum err explain_find_set(const struct explain_scene *s, struct explanation *x);

#endif
