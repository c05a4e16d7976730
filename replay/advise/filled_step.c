/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Request i of the cut step stands for request i - period of the step before. So whatever happened to that one happens
 * to this one, a period later.
 */
#include "replay/advise/filled_step.h"

#include "base/array.h"
#include "replay/engine/start_state.h"
#include "traces/trace_copy.h"

#include <stdlib.h>

/* PyTorch records what a refused request would have been rounded to: multiples of this. */
enum { ROUNDING = 512 };

/* Slots hold this and more for what was live before the recording; requests count from 0. */
#define OLDER (UINT64_C(1) << 40)

/* One request. */
struct request {
    uint64_t event, bytes;
    uint16_t stream;
    uint8_t  pool;
    uint8_t  state;                  /* enum request_state, where the recording is cut or in what is put in */
};

/* Retired: freed, while a stream may still use it. */
enum request_state { STATE_GONE, STATE_LIVE, STATE_RETIRED };

/* An event about a request of the last whole period. */
struct deed { struct event event; uint64_t request; };

struct filler {
    struct trace_reader *trace;
    struct trace_writer *out;
    struct request *requests;        /* n recorded ones, then up to `period` that are put in, so many times */
    size_t    n, room, period;
    unsigned  times;
    uint64_t *of_slot;               /* a request, or OLDER and the slot */
    struct deed *deeds;              /* of the last whole period */
    size_t    n_deeds, deeds_room;
    uint64_t  cut, cut_bytes;        /* the event of the refused request, and its size */
    uint16_t  cut_stream;
    uint64_t  time_ns;
    bool      has_memory;
};

/* ---- what was recorded ---- */

static void read_request(void *arg, const struct event *ev, uint64_t number)
{
    struct filler *f = arg;
    if (number == f->cut) {
        f->cut_bytes = ev->bytes;
        f->cut_stream = ev->stream;
    }
    if (number >= f->cut || ev->kind != EVENT_ALLOC || !f->has_memory)
        return;
    struct request *at = array_grow(f->requests, f->n, &f->room, sizeof *at);
    f->has_memory = at != NULL;
    if (at == NULL)
        return;
    f->requests = at;
    f->requests[f->n++] = (struct request){ number, ev->bytes, ev->stream, ev->pool, STATE_GONE };
}

/* How many requests a step has; 0: it is not known. */
static size_t find_period(const struct filler *f, const struct steps *s)
{
    size_t n = 0;
    if (s->how == STEPS_BY_REPETITION)
        return (size_t)s->requests;
    for (size_t i = 0; i < f->n && s->how == STEPS_BY_MARK; i++)
        n += f->requests[i].event >= s->first && f->requests[i].event < s->end;
    return n;
}

static bool are_equal(const struct request *a, const struct request *b)
{
    return a->bytes == b->bytes && a->stream == b->stream && a->pool == b->pool;
}

/* Whether the last `period` requests are each as the one before. */
static bool repeats(const struct filler *f)
{
    bool is_equal = f->period > 0 && f->n >= 2 * f->period;
    for (size_t i = f->n - f->period; i < f->n && is_equal; i++)
        is_equal = are_equal(&f->requests[i], &f->requests[i - f->period]);
    return is_equal;
}

/* Whether the cut step, and the whole one before it, are each as the one before, and the refused request comes next. */
static bool follows(const struct filler *f)
{
    if (f->period == 0 || f->n < 2 * f->period)
        return false;
    const struct request *next = &f->requests[f->n - f->period];
    return f->cut_stream == next->stream && f->cut_bytes >= next->bytes && f->cut_bytes - next->bytes < ROUNDING &&
           repeats(f);
}

/* ---- copying ---- */

static bool note_deed(struct filler *f, const struct event *ev, uint64_t request)
{
    struct deed *at = array_grow(f->deeds, f->n_deeds, &f->deeds_room, sizeof *at);
    if (at == NULL)
        return false;
    f->deeds = at;
    f->deeds[f->n_deeds++] = (struct deed){ *ev, request };
    return true;
}

/* Names count from 1. */
static enum err put(struct filler *f, const struct event *ev, uint64_t request, uint64_t time_ns,
                    struct err_detail *err)
{
    struct trace_record record;
    const enum err e = trace_copy_event(f->trace, ev, f->out, &record, err);
    record.ptr = request + 1;
    record.bytes = ev->bytes;
    record.time_ns = time_ns;
    return e == ERR_OK ? trace_put(f->out, &record, err) : e;
}

/* What an event makes of the request that it is about. */
static enum request_state state_after(const struct event *ev)
{
    return ev->kind == EVENT_ALLOC ? STATE_LIVE : ev->kind == EVENT_FREE_REQUESTED ? STATE_RETIRED : STATE_GONE;
}

/* A refusal before the cut was survived: it only gave cached memory back. */
static enum err copy_flush(struct filler *f, uint64_t time_ns, struct err_detail *err)
{
    const struct event flush = { .kind = EVENT_FLUSH, .time_ns = time_ns };
    return put(f, &flush, 0, time_ns, err);
}

static enum err copy_event(struct filler *f, const struct event *ev, uint64_t number, uint64_t *next,
                           struct err_detail *err)
{
    if (ev->kind == EVENT_OOM)
        return copy_flush(f, ev->time_ns, err);
    if (ev->kind == EVENT_ALLOC)
        f->of_slot[ev->slot] = (*next)++;
    struct trace_record control;
    uint64_t request = ev->kind <= EVENT_FREE_COMPLETED ? f->of_slot[ev->slot] : 0;
    if (ev->kind == EVENT_CONTROL) {
        const enum err e = trace_copy_event(f->trace, ev, f->out, &control, err);
        if (e != ERR_OK)
            return e;
        request = control.control.kind == CONTROL_USE ? f->of_slot[control.control.slot] : 0;
    }
    const bool is_of_request = ev->kind <= EVENT_FREE_COMPLETED;
    if (is_of_request && request < OLDER)
        f->requests[request].state = (uint8_t)state_after(ev);
    if (is_of_request && number >= f->requests[f->n - f->period].event && !note_deed(f, ev, request))
        return err_no_memory(err);
    f->time_ns = ev->time_ns;
    return put(f, ev, request, ev->time_ns, err);
}

static enum err copy_start(struct filler *f, struct err_detail *err)
{
    struct start_state start = { .n_events = 0 };
    enum err e = start_state_read(f->trace, &start, err);
    for (size_t i = 0; e == ERR_OK && i < start.n_events; i++) {
        f->of_slot[start.events[i].slot] = OLDER + start.events[i].slot;
        e = put(f, &start.events[i], OLDER + start.events[i].slot, 0, err);
    }
    start_state_close(&start);
    return e;
}

static enum err copy_recorded(struct filler *f, struct err_detail *err)
{
    const struct event *events;
    uint64_t number = 0, next = 0;
    enum err e = trace_seek(f->trace, 0, err);
    for (size_t n = 1; e == ERR_OK && n > 0 && number < f->cut;) {
        e = trace_next(f->trace, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && number < f->cut; i++, number++)
            e = copy_event(f, &events[i], number, &next, err);
    }
    return e;
}

/* ---- filling in ---- */

/* Whether the request that a deed stands for, of n, is there for it. */
static bool is_possible(const struct filler *f, const struct deed *d, uint64_t request, size_t n)
{
    if (d->event.kind == EVENT_ALLOC)
        return true;
    return d->request < OLDER && request < n &&
           f->requests[request].state == (d->event.kind == EVENT_FREE_COMPLETED ? STATE_RETIRED : STATE_LIVE);
}

static enum err fill_in(struct filler *f, struct err_detail *err)
{
    enum err e = ERR_OK;
    size_t n = f->n;
    for (size_t i = 0; i < f->n_deeds * f->times && e == ERR_OK; i++) {
        const struct deed *d = &f->deeds[i % f->n_deeds];
        const uint64_t request = d->request + f->period * (1 + i / f->n_deeds);
        if (!is_possible(f, d, request, n))
            continue;
        n += d->event.kind == EVENT_ALLOC;
        f->requests[request].state = (uint8_t)state_after(&d->event);
        e = put(f, &d->event, request, f->time_ns, err);
    }
    return e;
}

static enum err write_filled(struct filler *f, struct err_detail *err)
{
    const struct trace_info *info = trace_info(f->trace);
    trace_writer_info(f->out)->device = info->device;
    trace_writer_info(f->out)->capacity_bytes = info->capacity_bytes;
    enum err e = trace_copy_streams(f->trace, f->out, err);
    if (e == ERR_OK)
        e = copy_start(f, err);
    if (e == ERR_OK)
        e = copy_recorded(f, err);
    return e == ERR_OK ? fill_in(f, err) : e;
}

static enum err open_filled(struct filler *f, struct trace_reader **out, struct err_detail *err)
{
    struct request *room = array_reserve(f->requests, f->n, f->period * f->times, &f->room, sizeof *room);
    f->of_slot = calloc((size_t)trace_info(f->trace)->peak_live + 1, sizeof *f->of_slot);
    if (room == NULL || f->of_slot == NULL)
        return err_no_memory(err);
    f->requests = room;
    enum err e = trace_create(NULL, &f->out, err);
    if (e == ERR_OK && (e = write_filled(f, err)) != ERR_OK)
        trace_abandon(f->out);
    else if (e == ERR_OK)
        e = trace_finish_open(f->out, "the filled-in recording", out, err);
    return e;
}

/* Reads what was recorded, and opens the filled-in trace if it is as asked. */
static enum err fill(struct filler *f, const struct steps *steps, bool (*is_wanted)(const struct filler *),
                     struct trace_reader **out, struct err_detail *err)
{
    if (steps->whole < 2)
        return ERR_OK;
    enum err e = trace_each_event(f->trace, read_request, f, err);
    if (e == ERR_OK && !f->has_memory)
        e = err_no_memory(err);
    f->period = e == ERR_OK ? find_period(f, steps) : 0;
    if (e == ERR_OK && is_wanted(f))
        e = open_filled(f, out, err);
    free(f->requests);
    free(f->of_slot);
    free(f->deeds);
    return e;
}

enum err filled_step_open(struct trace_reader *trace, const struct coverage *c, struct trace_reader **out,
                          struct err_detail *err)
{
    struct filler f = { .trace = trace, .cut = c->first_of_end, .times = 1, .has_memory = true };
    *out = NULL;
    return c->ends != ENDS_REFUSED ? ERR_OK : fill(&f, &c->steps, follows, out, err);
}

enum err repeated_step_open(struct trace_reader *trace, const struct steps *steps, unsigned times,
                            struct trace_reader **out, struct err_detail *err)
{
    struct filler f = { .trace = trace, .cut = steps->end, .times = times, .has_memory = true };
    *out = NULL;
    return steps->how != STEPS_BY_REPETITION ? ERR_OK : fill(&f, steps, repeats, out, err);
}
