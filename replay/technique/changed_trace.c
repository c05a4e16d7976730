/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The events are copied one by one; requests that are put in have names beyond all recorded ones. */
#include "replay/technique/changed_trace.h"

#include "traces/trace_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Names of requests: recorded ones count from 1, those that are put in from here. */
#define MADE_FROM (UINT64_C(1) << 62)

enum err changed_trace_open(struct changed_trace *t, const struct course *c, struct err_detail *err)
{
    const size_t n_slots = (size_t)trace_info(c->trace)->peak_live + 1;
    *t = (struct changed_trace){ .c = c };
    t->bytes = calloc(c->all.n + 1, sizeof *t->bytes);
    t->name = calloc(c->all.n + 1, sizeof *t->name);
    t->category = calloc(c->all.n + 1, sizeof *t->category);
    t->request_of = calloc(n_slots, sizeof *t->request_of);
    if (t->bytes == NULL || t->name == NULL || t->category == NULL || t->request_of == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < c->all.n; i++) {
        t->bytes[i] = c->all.at[i].bytes;
        t->category[i] = c->all.at[i].category;
    }
    for (size_t slot = 0; slot < n_slots; slot++)
        t->request_of[slot] = SIZE_MAX;
    return ERR_OK;
}

void changed_trace_close(struct changed_trace *t)
{
    trace_abandon(t->out);
    stack_copies_close(&t->stacks);
    free(t->bytes);
    free(t->name);
    free(t->category);
    free(t->request_of);
    *t = (struct changed_trace){ .c = NULL };
}

/* ---- what is live ---- */

static void count_live(struct changed_trace *t, unsigned category, uint64_t bytes)
{
    t->live.bytes += bytes;
    t->live.by_category[category] += bytes;
    if (t->live.bytes > t->peak.bytes)
        t->peak = t->live;
}

static void count_freed(struct changed_trace *t, unsigned category, uint64_t bytes)
{
    assert(t->live.by_category[category] >= bytes);
    t->live.bytes -= bytes;
    t->live.by_category[category] -= bytes;
}

/* ---- what is put in ---- */

/* A label is all of its stack: the record shows what the request is for, and no line of the program. */
static enum err put_label(struct changed_trace *t, enum category category, uint32_t *stack, struct err_detail *err)
{
    char label[64];
    const char *const frames[] = { label };
    snprintf(label, sizeof label, "%s category:0", category_word(category));
    return trace_put_stack(t->out, frames, 1, stack, err);
}

static enum err made_record(struct changed_trace *t, size_t like, enum event_kind kind, struct trace_record *record,
                            struct err_detail *err)
{
    const struct holding *h = &t->c->all.at[like];
    const struct event ev = { .time_ns = t->time_ns, .kind = (uint8_t)kind, .stream = h->stream, .pool = h->pool };
    return trace_copy_event(t->c->trace, &ev, t->out, record, err);
}

enum err changed_trace_make(struct changed_trace *t, size_t like, uint64_t bytes, enum category category,
                            bool keeps_stack, uint64_t *name, struct err_detail *err)
{
    const uint32_t stack = t->c->all.at[like].stack;
    struct trace_record record;
    enum err e = made_record(t, like, EVENT_ALLOC, &record, err);
    *name = record.ptr = MADE_FROM + t->n_made++;
    record.bytes = bytes;
    if (e == ERR_OK)
        e = keeps_stack ? trace_copy_stack(&t->stacks, t->c->trace, stack, t->out, &record.stack, err)
                        : put_label(t, category, &record.stack, err);
    count_live(t, category, bytes);
    return e == ERR_OK ? trace_put(t->out, &record, err) : e;
}

enum err changed_trace_free(struct changed_trace *t, size_t like, uint64_t bytes, enum category category, uint64_t name,
                            struct err_detail *err)
{
    struct trace_record record;
    const enum err e = made_record(t, like, EVENT_FREE, &record, err);
    record.ptr = name;
    count_freed(t, category, bytes);
    return e == ERR_OK ? trace_put(t->out, &record, err) : e;
}

/* ---- what is copied ---- */

static bool is_about_request(const struct event *ev, const struct trace_record *record)
{
    return ev->kind <= EVENT_FREE_COMPLETED || (ev->kind == EVENT_CONTROL && record->control.kind == CONTROL_USE);
}

/* The name that an event is written with; 0: the request is left out, or ended earlier in the changed trace. */
static uint64_t take_name(struct changed_trace *t, const struct event *ev, size_t request)
{
    if (ev->kind == EVENT_ALLOC && t->bytes[request] > 0) {
        t->name[request] = request + 1;
        count_live(t, t->category[request], t->bytes[request]);
    }
    const uint64_t name = t->name[request];
    const bool is_last = ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_COMPLETED;
    if (name != 0 && (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED))
        count_freed(t, t->category[request], t->bytes[request]);
    if (is_last)
        t->name[request] = 0;
    return name;
}

static enum err put_event(struct changed_trace *t, const struct event *ev, bool is_left_out, struct err_detail *err)
{
    struct trace_record record;
    enum err e = trace_copy_event(t->c->trace, ev, t->out, &record, err);
    if (e == ERR_OK && (ev->kind <= EVENT_FREE_COMPLETED || ev->kind == EVENT_OOM))
        e = trace_copy_stack_of(&t->stacks, t->c->trace, t->number, t->out, &record.stack, err);
    record.bytes = ev->bytes;
    if (ev->kind == EVENT_ALLOC)
        t->request_of[ev->slot] = t->next++;
    if (e != ERR_OK || is_left_out)
        return e;
    if (is_about_request(ev, &record)) {
        const size_t request = t->request_of[ev->kind == EVENT_CONTROL ? record.control.slot : ev->slot];
        record.ptr = take_name(t, ev, request);
        record.bytes = t->bytes[request];
        if (record.ptr == 0)
            return ERR_OK;
    }
    return trace_put(t->out, &record, err);
}

static enum err put_events(struct changed_trace *t, change_visit visit, void *arg, struct err_detail *err)
{
    const struct event *events;
    bool is_left_out = false;
    enum err e = trace_seek(t->c->trace, 0, err);
    for (size_t n = 1; e == ERR_OK && n > 0;) {
        e = trace_next(t->c->trace, &events, &n, err);
        for (size_t i = 0; i < n && e == ERR_OK; i++, t->number++) {
            is_left_out = false;
            t->time_ns = events[i].time_ns;
            if (visit != NULL)
                e = visit(arg, t, &events[i], &is_left_out, err);
            if (e == ERR_OK)
                e = put_event(t, &events[i], is_left_out, err);
        }
    }
    return e == ERR_OK && visit != NULL ? visit(arg, t, NULL, &is_left_out, err) : e;
}

enum err changed_trace_write(struct changed_trace *t, const char *path, change_visit visit, void *arg,
                             struct trace_reader **out, struct err_detail *err)
{
    enum err e = trace_create(path, &t->out, err);
    if (e == ERR_OK)
        e = trace_copy_facts(t->c->trace, t->out, "an estimate: changed by replay technique", err);
    if (e == ERR_OK)
        e = put_events(t, visit, arg, err);
    if (e != ERR_OK)
        return e;
    struct trace_writer *w = t->out;
    t->out = NULL;
    if (path == NULL)
        return trace_finish_open(w, "the changed trace", out, err);
    e = trace_finish(w, err);
    return e == ERR_OK ? trace_open(path, out, err) : e;
}

/* ---- lives ---- */

static int compare_lives(const void *a, const void *b)
{
    const struct life *x = a, *y = b;
    return (x->event > y->event) - (x->event < y->event);
}

enum err lives_read(const struct course *c, size_t first, size_t n, uint64_t until, struct life **out, size_t *n_out,
                    struct err_detail *err)
{
    struct life *at = calloc(2 * n + 1, sizeof *at);
    *out = at;
    *n_out = 0;
    if (at == NULL)
        return err_no_memory(err);
    for (size_t i = first; i < first + n; i++) {
        const struct holding *h = &c->all.at[i];
        at[(*n_out)++] = (struct life){ (uint64_t)h->born, i, false };
        if (h->died < until)
            at[(*n_out)++] = (struct life){ h->died, i, true };
    }
    qsort(at, *n_out, sizeof *at, compare_lives);
    return ERR_OK;
}
