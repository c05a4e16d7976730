/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The lifetimes of all requests of a trace, counted in steps: a step is an alloc or a free.
 */
#ifndef REPLAY_REPLAY_PLAN_LIFETIMES_H
#define REPLAY_REPLAY_PLAN_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIFETIMES_MAX   = 1 << 20,           /* requests whose lifetimes are kept: 56 MiB */
    LIFETIMES_AHEAD = 16,                /* steps or events ahead at which a request is fetched from memory */
};

/* A request's address and lifetime. `end` is UINT32_MAX if it is never freed. A request that comes again at the same
 * address is the same life, with a pause. */
struct lifetime {
    uint64_t bytes, addr;
    uint64_t time_ns;                /* how long it lives; before its end: since when */
    uint32_t begin, end;             /* steps; it lives in [begin, end) */
    uint32_t pause, resume;          /* but not in [pause, resume); both 0: it has no pause */
    uint16_t stream;                 /* dense; 0 unless its owner sets it */
    bool     is_placed;              /* a plan's own mark */
};

/* Whether it lives after a step. */
static inline bool lifetime_is_at(const struct lifetime *life, uint32_t step)
{
    return life->begin <= step && step < life->end && (step < life->pause || step >= life->resume);
}

/* Whether a step begins or ends its pause. */
static inline bool lifetime_pauses_at(const struct lifetime *life, size_t step)
{
    return life->resume != 0 && (step == life->pause || step == life->resume);
}

/* Zero is a valid beginning and end. */
struct lifetimes {
    struct lifetime *at;                 /* by request, in the order of their allocs */
    size_t    n, cap;
    uint32_t *steps;                 /* by step: 2 * life, + 1 if it ends there */
    size_t    n_steps, cap_steps;
    bool      has_pauses;
};

/* A request is made; a live one is freed. Times never go back. False without memory. */
bool lifetimes_begin(struct lifetimes *l, uint64_t bytes, uint64_t time_ns);
bool lifetimes_end(struct lifetimes *l, size_t life, uint64_t time_ns);

/* A life that has ended, and had no pause, goes on. False without memory. */
bool lifetimes_resume(struct lifetimes *l, size_t life);
void lifetimes_close(struct lifetimes *l);

/* Forgets all from a step on: later requests, and the ends of those that live on. */
void lifetimes_cut(struct lifetimes *l, uint32_t step);

/* The most bytes that are live at once. *step, which may be NULL: the first after which they are. */
uint64_t lifetimes_live_peak(const struct lifetimes *l, uint32_t *step);

/* The life that begins or ends at a step. For walks over all steps: later ones are fetched early. */
struct lifetime *lifetimes_at_step(const struct lifetimes *l, size_t step);

#endif
