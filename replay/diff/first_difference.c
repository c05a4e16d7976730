/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * With one thread, the engine runs the first lane over a chunk and then the second lane over the same chunk. So it is
 * enough to keep the first lane's answers for the length of a chunk, and to compare the second lane's as they come.
 */
#include "replay/diff/first_difference.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- traces ---- */

/* A position in a trace's chunks. */
struct walker {
    struct trace_reader *trace;
    const struct event  *ev;
    size_t at, n;
    bool   is_over;
};

static enum err walker_fill(struct walker *w, struct err_detail *err)
{
    if (w->at < w->n || w->is_over)
        return ERR_OK;
    w->at = 0;
    const enum err e = trace_next(w->trace, &w->ev, &w->n, err);
    w->is_over = e == ERR_OK && w->n == 0;
    return e;
}

static bool events_are_equal(const struct walker *a, const struct walker *b)
{
    const struct event *x = &a->ev[a->at], *y = &b->ev[b->at];
    if (x->kind != y->kind || x->bytes != y->bytes || x->stream != y->stream || x->pool != y->pool)
        return false;
    return x->kind != EVENT_MARK || strcmp(trace_label(a->trace, x->slot), trace_label(b->trace, y->slot)) == 0;
}

enum err trace_difference_find(struct trace_reader *a, struct trace_reader *b, struct trace_difference *out,
                               struct err_detail *err)
{
    struct walker w[2] = {{.trace = a}, {.trace = b}};
    *out = (struct trace_difference){.event = 0};
    enum err e = trace_seek(a, 0, err);
    if (e == ERR_OK)
        e = trace_seek(b, 0, err);
    for (; e == ERR_OK; out->event++) {
        e = walker_fill(&w[0], err);
        if (e == ERR_OK)
            e = walker_fill(&w[1], err);
        if (e != ERR_OK)
            return e;
        if (w[0].is_over || w[1].is_over || !events_are_equal(&w[0], &w[1]))
            break;
        w[0].at++;
        w[1].at++;
    }
    out->is_equal = e == ERR_OK && w[0].is_over && w[1].is_over;
    for (int i = 0; i < 2 && e == ERR_OK; i++)
        if (!w[i].is_over) {
            out->has[i] = true;
            out->ev[i] = w[i].ev[w[i].at];
        }
    return e;
}

/* ---- runs ---- */

/* One chunk of the first lane's answers: the second lane runs over that chunk before the next. */
enum { PLACED_MAX = TRACE_CHUNK_EVENTS };
struct difference_answer {
    int64_t      event;
    struct block block;
};

/* Notes the first lane's answer to a request, or compares the second lane's. A lane that has stopped refuses
 * everything. */
static void take_answer(struct run_difference *p, int side, const struct event *ev, const struct block *b,
                        int64_t event)
{
    assert(event >= 0 && (side == 0 || side == 1));
    struct difference_answer *there = &p->placed[event % PLACED_MAX];
    if (side == 0) {
        *there = (struct difference_answer){.event = event, .block = *b};
        return;
    }
    const struct block a = there->event == event ? there->block : (struct block){.bytes = 0};
    if (a.bytes == b->bytes && (a.bytes == 0 || a.addr == b->addr))
        return;
    p->is_placed_differently = true;
    p->event = event;
    p->bytes = ev->bytes;
    p->block[0] = a;
    p->block[1] = *b;
}

/* After each event; `ev` is NULL when the start state is placed. */
static void run_difference_look(struct lane_watch *watch, const struct lane *l, const struct event *ev, uint64_t done)
{
    const struct difference_watch *w = (const struct difference_watch *)watch;
    struct run_difference *p = w->difference;
    if (ev != NULL && ev->kind == EVENT_ALLOC && done > 0 && !p->is_placed_differently)
        take_answer(p, w->side, ev, &l->live[ev->slot], (int64_t)done - 1);
    p->event_now[w->side] = ev == NULL || done > 0 ? (int64_t)done : -1;
}

/* Keeps a call of the first lane until the second makes the same. */
static void on_first_call(void *difference, const struct device_call *c)
{
    struct run_difference *p = difference;
    if (p->calls_differ || p->failure != ERR_OK)
        return;
    if (p->next_call == p->n_calls)
        p->next_call = p->n_calls = 0;
    struct difference_call *calls = array_grow(p->calls, p->n_calls, &p->room_calls, sizeof *calls);
    if (calls == NULL) {
        p->failure = ERR_HOST_NOMEM;
        return;
    }
    p->calls = calls;
    calls[p->n_calls++] = (struct difference_call){.call = *c, .event = p->event_now[0]};
}

/* Compares a call of the second lane with the first one that is kept. */
static void on_second_call(void *difference, const struct device_call *c)
{
    struct run_difference *p = difference;
    const struct difference_call here = {.call = *c, .event = p->event_now[1]};
    if (p->calls_differ || p->failure != ERR_OK)
        return;
    assert(p->next_call <= p->n_calls);
    p->has_call[0] = p->next_call < p->n_calls;
    if (p->has_call[0]) {
        const struct difference_call *there = &p->calls[p->next_call++];
        if (there->call.kind == c->kind && there->call.bytes == c->bytes && there->call.addr == c->addr &&
            there->event == here.event)
            return;
        p->call[0] = *there;
    }
    p->calls_differ = p->has_call[1] = true;
    p->call[1] = here;
}

enum err run_difference_listen(struct run_difference *p, struct lane *a, struct lane *b, struct err_detail *err)
{
    struct lane *lanes[2] = {a, b};
    *p = (struct run_difference){.placed = calloc(PLACED_MAX, sizeof *p->placed)};
    if (p->placed == NULL)
        return err_no_memory(err);
    p->log[0] = (struct device_log){.call = on_first_call, .arg = p};
    p->log[1] = (struct device_log){.call = on_second_call, .arg = p};
    for (size_t i = 0; i < PLACED_MAX; i++)
        p->placed[i].event = -1;
    for (int i = 0; i < 2; i++) {
        p->watches[i] = (struct difference_watch){.base.event = run_difference_look, .difference = p, .side = i};
        p->event_now[i] = -1;
        lanes[i]->watch = &p->watches[i].base;
        lanes[i]->device->log = &p->log[i];
    }
    return ERR_OK;
}

enum err run_difference_finish(struct run_difference *p, struct err_detail *err)
{
    if (!p->calls_differ && p->next_call < p->n_calls) {
        p->calls_differ = p->has_call[0] = true;
        p->call[0] = p->calls[p->next_call];
    }
    return p->failure == ERR_OK ? ERR_OK : err_set(err, p->failure, 0, "no memory to compare two runs");
}

void run_difference_close(struct run_difference *p)
{
    free(p->placed);
    free(p->calls);
    p->placed = NULL;
    p->calls = NULL;
}
