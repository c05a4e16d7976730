/*
 * Requests on one line of addresses, each in its place for its whole life: where is there room for one more?
 */
#ifndef REPLAY_REPLAY_PLAN_PLACED_REQUESTS_H
#define REPLAY_REPLAY_PLAN_PLACED_REQUESTS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* What was placed, ascending by address and cut into groups of some dozens. All time is cut into spans, and a group
 * knows who of it lives in each: only these are looked at. */
struct placed_requests {
    struct placed_group  *room;             /* for all that will be placed */
    struct placed_group **at;               /* those in use, by address */
    size_t         n;
    uint32_t       span_steps;
    uint64_t       height;           /* highest address used */
};

/* Room for `n` requests, whose steps are below `n_steps`. ERR_HOST_NOMEM. */
MUST_USE enum err placed_requests_open(size_t n, uint32_t n_steps, struct placed_requests *out);
void placed_requests_close(struct placed_requests *s);       /* also of zeros */
void placed_requests_clear(struct placed_requests *s);

/* Places a request at the lowest address that is free from step `begin` up to the later `end`, which is returned.
 * UINT32_MAX is an end, too: never. */
uint64_t placed_requests_add(struct placed_requests *s, uint64_t bytes, uint32_t begin, uint32_t end);

#endif
