/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Patterns of requests without a program behind them, for demonstrations and measurements. */
#include "loads/kinds.h"

#include "base/random.h"
#include "base/units.h"

#include <stdlib.h>

enum { PATTERN_STEP_NS = 1000, ROUNDS_EVENTS = 12, MIX_EVENTS = 1000000 };

static enum err pattern_put(struct trace_writer *w, enum event_kind kind, uint64_t ptr, uint64_t bytes,
                            uint64_t time_ns, struct err_detail *err)
{
    const struct trace_record r = {.kind = kind, .time_ns = time_ns, .ptr = ptr, .bytes = bytes,
                                   .record = TRACE_NO_RECORD};
    return trace_put(w, &r, err);
}

/* A training step in small: the peak of each round leaves a hole, and the kept request splits it. */
static enum err rounds_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    const uint64_t events = r->events == 0 ? ROUNDS_EVENTS : r->events;
    enum err e = ERR_OK;
    for (uint64_t i = 0; i < events && e == ERR_OK; i++) {
        const uint64_t temporary = 2 * (i / 3) + 1, kept = temporary + 1, time_ns = i * PATTERN_STEP_NS;
        if (i % 3 == 0)
            e = pattern_put(w, EVENT_ALLOC, temporary, 530 * MIB, time_ns, err);
        else if (i % 3 == 1)
            e = pattern_put(w, EVENT_FREE, temporary, 0, time_ns, err);
        else
            e = pattern_put(w, EVENT_ALLOC, kept, 270 * MIB, time_ns, err);
    }
    return e;
}

const struct load_kind load_rounds = {
    .name = "530-270",
    .typed = "530-270",
    .summary = "rounds of: allocate 530 MiB, free it, allocate 270 MiB and keep it",
    .is_endless = true,
    .make = rounds_make,
};

/* 512 B to 64 MiB in steps of 4 B. No power of two is less frequent than the next. */
static uint64_t mix_size(uint64_t *random)
{
    const uint64_t r = random_next(random);
    const unsigned a = (unsigned)(r % 17), b = (unsigned)(r / 17 % 17);
    const uint64_t power = UINT64_C(512) << (a < b ? a : b);
    return power + (r >> 20) % power / 4 * 4;
}

/* The more requests are live, the likelier is a free: their number stays around `live`. */
static enum err mix_make(const struct load_request *request, struct trace_writer *w, struct err_detail *err)
{
    const uint64_t live = request->values[0].number, events = request->events == 0 ? MIX_EVENTS : request->events;
    uint64_t random = request->seed, n = 0, next = 0, time_ns = 0;
    uint64_t *ptrs = malloc(2 * live * sizeof *ptrs);
    if (ptrs == NULL)
        return err_no_memory(err);
    enum err e = ERR_OK;
    for (uint64_t i = 0; i < events && e == ERR_OK; i++) {
        const uint64_t r = random_next(&random);
        time_ns += (1 + (r >> 40) % 20) * PATTERN_STEP_NS;
        if ((r & 0xffffffff) % (2 * live) >= n) {
            ptrs[n++] = ++next;
            e = pattern_put(w, EVENT_ALLOC, next, mix_size(&random), time_ns, err);
        } else {
            const uint64_t victim = random_next(&random) % n;
            e = pattern_put(w, EVENT_FREE, ptrs[victim], 0, time_ns, err);
            ptrs[victim] = ptrs[--n];
        }
    }
    free(ptrs);
    return e;
}

static const struct load_option mix_options[] = {
    {"live", LOAD_NUMBER, 1, 1 << 24, NULL, NULL, "requests that are live at once, about"},
    {.name = NULL},
};

const struct load_kind load_mix = {
    .name = "mix",
    .typed = "mix:LIVE",
    .summary = "random requests of 512 B to 64 MiB, small ones more often, and frees, with about LIVE live ones",
    .options = mix_options,
    .is_endless = true,
    .make = mix_make,
};
