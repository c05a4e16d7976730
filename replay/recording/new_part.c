/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The requests of the range are listed in one walk, and their stacks looked up at once. */
#include "replay/recording/new_part.h"

#include <stdlib.h>

struct range {
    uint64_t *events, *bytes;
    uint64_t  from, refused;
    size_t    n;
};

static void range_event(void *arg, const struct event *ev, uint64_t number)
{
    struct range *r = arg;
    if (ev->kind != EVENT_ALLOC || number < r->from || number >= r->refused)
        return;
    r->bytes[r->n] = ev->bytes;
    r->events[r->n++] = number;
}

/* The stack of the request that was refused comes last. */
static void compare_places(const struct range *r, const uint32_t *stacks, uint64_t until, struct new_part *out)
{
    out->is_new = stacks[r->n] != TRACE_NO_STACK;
    for (size_t i = 0; i < r->n; i++) {
        const bool is_same = stacks[i] == stacks[r->n];
        out->is_new = out->is_new && !(is_same && r->events[i] < until);
        out->bytes += is_same ? r->bytes[i] : 0;
    }
    out->bytes = out->is_new ? out->bytes : 0;
}

enum err new_part_find(struct trace_reader *trace, uint64_t refused, uint64_t from, uint64_t until,
                       struct new_part *out, struct err_detail *err)
{
    const uint64_t n = trace_info(trace)->by_kind[EVENT_ALLOC] + 1;
    struct range r = { .events = calloc(n, sizeof *r.events), .bytes = calloc(n, sizeof *r.bytes), .from = from,
                       .refused = refused };
    uint32_t *stacks = calloc(n, sizeof *stacks);
    const bool has_room = r.events != NULL && r.bytes != NULL && stacks != NULL;
    enum err e = has_room ? trace_each_event(trace, range_event, &r, err) : err_no_memory(err);
    *out = (struct new_part){ .is_new = false };
    if (e == ERR_OK) {
        r.events[r.n] = refused;
        e = trace_stacks_at(trace, r.events, r.n + 1, stacks, err);
    }
    if (e == ERR_OK)
        compare_places(&r, stacks, until, out);
    free(r.events);
    free(r.bytes);
    free(stacks);
    return e;
}
