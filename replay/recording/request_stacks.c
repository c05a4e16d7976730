/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One pass finds the events that are requests; the reader then looks up all of their stacks at once. */
#include "replay/recording/request_stacks.h"

#include <stdlib.h>

struct births {
    uint64_t *events, moment;
    size_t n;
};

static void birth_event(void *arg, const struct event *ev, uint64_t number)
{
    struct births *b = arg;
    if (ev->kind == EVENT_ALLOC && number < b->moment)
        b->events[b->n++] = number;
}

enum err request_stacks_read(struct trace_reader *trace, uint64_t moment, uint32_t **out, struct err_detail *err)
{
    const uint64_t requests = trace_info(trace)->by_kind[EVENT_ALLOC];
    struct births b = { .events = calloc(requests + 1, sizeof *b.events), .moment = moment };
    *out = calloc(requests + 1, sizeof **out);
    enum err e = b.events == NULL || *out == NULL ? err_no_memory(err)
                                                  : trace_each_event(trace, birth_event, &b, err);
    if (e == ERR_OK && trace_info(trace)->n_stacks > 0)
        e = trace_stacks_at(trace, b.events, b.n, *out, err);
    free(b.events);
    return e;
}
