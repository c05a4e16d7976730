/*
 * Requests on one line of addresses, each in its place for its whole life: where is there room for one more?
 */
#ifndef REPLAY_REPLAY_PLAN_PLACED_REQUESTS_H
#define REPLAY_REPLAY_PLAN_PLACED_REQUESTS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* What was placed, ascending by address and cut into shelves of some dozens. All time is cut into spans, and a shelf
 * knows who of it lives in each: only these are looked at. */
struct shelves {
    struct shelf  *room;             /* for all that will be placed */
    struct shelf **at;               /* those in use, by address */
    size_t         n;
    uint32_t       span_steps;
    uint64_t       height;           /* highest address used */
};

/* Room for `n` requests, whose steps are below `n_steps`. ERR_HOST_NOMEM. */
MUST_USE enum err shelves_open(size_t n, uint32_t n_steps, struct shelves *out);
void shelves_close(struct shelves *s);       /* also of zeros */
void shelves_clear(struct shelves *s);

/* Places a request at the lowest address that is free from step `begin` up to the later `end`, which is returned.
 * UINT32_MAX is an end, too: never. */
uint64_t shelves_place(struct shelves *s, uint64_t bytes, uint32_t begin, uint32_t end);

#endif
