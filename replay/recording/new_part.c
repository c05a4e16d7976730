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

/* Lists the requests before event `refused`, from event `from` on, and their stacks; with that of `refused` last. */
static enum err read_range(struct trace_reader *trace, uint64_t from, uint64_t refused, struct range *r,
                           uint32_t **stacks, struct err_detail *err)
{
    const uint64_t n = trace_info(trace)->by_kind[EVENT_ALLOC] + 1;
    *r = (struct range){ .events = calloc(n, sizeof *r->events), .bytes = calloc(n, sizeof *r->bytes), .from = from,
                         .refused = refused };
    *stacks = calloc(n, sizeof **stacks);
    const bool has_room = r->events != NULL && r->bytes != NULL && *stacks != NULL;
    const enum err e = has_room ? trace_each_event(trace, range_event, r, err) : err_no_memory(err);
    if (e != ERR_OK)
        return e;
    r->events[r->n] = refused;
    return trace_stacks_at(trace, r->events, r->n + 1, *stacks, err);
}

static void close_range(struct range *r, uint32_t *stacks)
{
    free(r->events);
    free(r->bytes);
    free(stacks);
}

enum err new_part_find(struct trace_reader *trace, uint64_t refused, uint64_t from, uint64_t until,
                       struct new_part *out, struct err_detail *err)
{
    struct range r;
    uint32_t *stacks;
    const enum err e = read_range(trace, from, refused, &r, &stacks, err);
    *out = (struct new_part){ .is_new = false };
    if (e == ERR_OK)
        compare_places(&r, stacks, until, out);
    close_range(&r, stacks);
    return e;
}

/* `is_of_step`: zero, by line. */
static void sum_interlude(const struct range *r, const uint32_t *stacks, const uint32_t *line_of, uint64_t from,
                          uint64_t first, uint64_t end, bool *is_of_step, struct interlude *out)
{
    is_of_step[0] = true;                        /* what has no line */
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i] >= first && r->events[i] < end) {
            is_of_step[line_of[stacks[i]]] = true;
            out->step_bytes += r->bytes[i];
        }
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i] >= from && !is_of_step[line_of[stacks[i]]])
            out->bytes += r->bytes[i];
}

enum err interlude_find(struct trace_reader *trace, const struct phases *phases, uint64_t from, uint64_t until,
                        uint64_t first, uint64_t end, struct interlude *out, struct err_detail *err)
{
    struct range r;
    uint32_t *stacks;
    bool *is_of_step = calloc((size_t)trace_info(trace)->n_stacks + 1, sizeof *is_of_step);
    enum err e = read_range(trace, from < first ? from : first, until, &r, &stacks, err);
    *out = (struct interlude){ .bytes = 0 };
    if (e == ERR_OK && is_of_step == NULL)
        e = err_no_memory(err);
    if (e == ERR_OK)
        sum_interlude(&r, stacks, phases->line_of, from, first, end, is_of_step, out);
    close_range(&r, stacks);
    free(is_of_step);
    return e;
}
