/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Requests placed on one line of addresses, each at one address for its whole life: where is there room for one more?
 *
 *     addresses
 *        ^                   +-------+
 *        |                   |   C   |          A request is a rectangle: bytes high, its life long.
 *        |    +---------+----+-------+          A new one goes to the lowest address where its rectangle
 *        |    |    B    |                       overlaps no other.
 *        |  +-+---------+------------+
 *        |  |           A            |
 *        +--+------------------------+--> steps
 *           |  span 0 |  span 1 | ...
 */
#ifndef REPLAY_REPLAY_PLAN_PLACED_REQUESTS_H
#define REPLAY_REPLAY_PLAN_PLACED_REQUESTS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Placed requests lie by address in groups of up to 64. Time is cut into spans; a group has one bit for each of its
 * requests and span, set if the request lives then. So a search only looks at requests that may be in the way. */
struct placed_requests {
    struct placed_group  *room;      /* all groups that can be needed */
    struct placed_group **at;        /* the n groups in use, by address */
    size_t         n, room_groups;
    uint32_t       span_steps;       /* length of a span */
    uint64_t       height;           /* end of the highest request */
};

/* Makes room for `n` requests whose steps are below `n_steps`. ERR_HOST_NOMEM. */
MUST_USE enum err placed_requests_open(size_t n, uint32_t n_steps, struct placed_requests *out);

/* Accepts zeros. */
void placed_requests_close(struct placed_requests *s);

/* Takes all requests off the line. */
void placed_requests_clear(struct placed_requests *s);

/* Places a request at the lowest address that is free from step `begin` until before step `end`, and returns that
 * address. `end` is above `begin`; UINT32_MAX: never freed. */
uint64_t placed_requests_add(struct placed_requests *s, uint64_t bytes, uint32_t begin, uint32_t end);

/* The same for a request that pauses: it lives from `begin` until before `pause`, and from `resume` until before
 * `end`. It counts as two. */
uint64_t placed_requests_add_paused(struct placed_requests *s, uint64_t bytes, const uint32_t begin_pause[2],
                                    const uint32_t resume_end[2]);

/* Places a request at this address, where it overlaps no other from step `begin` until before step `end`. */
void placed_requests_put(struct placed_requests *s, uint64_t addr, uint64_t bytes, uint32_t begin, uint32_t end);

#endif
