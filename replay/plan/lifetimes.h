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
    LIFETIMES_MAX   = 1 << 20,           /* requests whose lifetimes are kept: 48 MiB */
    LIFETIMES_AHEAD = 16,                /* steps or events ahead at which a request is fetched from memory */
};

/* A request's address and lifetime. `end` is UINT32_MAX if it is never freed. */
struct lifetime {
    uint64_t bytes, addr;
    uint64_t time_ns;                /* how long it lives; before its end: since when */
    uint32_t begin, end;             /* steps; it lives in [begin, end) */
    bool     is_placed;              /* a plan's own mark */
};

/* Zero is a valid beginning and end. */
struct lifetimes {
    struct lifetime *at;                 /* by request, in the order of their allocs */
    size_t    n, cap;
    uint32_t *steps;                 /* by step: 2 * life, + 1 if it ends there */
    size_t    n_steps, cap_steps;
};

/* A request is made; a live one is freed. Times never go back. False without memory. */
bool lifetimes_begin(struct lifetimes *l, uint64_t bytes, uint64_t time_ns);
bool lifetimes_end(struct lifetimes *l, size_t life, uint64_t time_ns);
void lifetimes_close(struct lifetimes *l);

/* The life that begins or ends at a step. For walks over all steps: later ones are fetched early. */
struct lifetime *lifetimes_at_step(const struct lifetimes *l, size_t step);

#endif
