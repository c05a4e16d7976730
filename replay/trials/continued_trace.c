/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests are named in order of age, so the i-th oldest is the i-th live name. */
#include "replay/trials/continued_trace.h"

#include "replay/engine/start_state.h"
#include "traces/trace_copy.h"

#include <stdlib.h>

enum request_state { STATE_GONE, STATE_LIVE, STATE_RETIRED };

#define NO_NAME UINT64_MAX

struct continuer {
    const struct continuation *how;
    struct trace_reader *in;
    struct trace_writer *out;
    uint64_t *name_of;               /* by slot */
    uint8_t  *states;                /* enum request_state, by name */
    uint64_t  n_names, written;
    uint32_t *begin_slots;           /* live when the section begins, oldest first */
    size_t    n_begin;
    struct event *section;
    size_t    n_section;
    uint64_t  time_ns;
};

static enum err put(struct continuer *c, const struct event *ev, uint64_t name, struct err_detail *err)
{
    struct trace_record record;
    const enum err e = trace_copy_event(c->in, ev, c->out, &record, err);
    record.ptr = name + 1;
    record.bytes = ev->bytes;
    c->time_ns = ev->time_ns > c->time_ns ? ev->time_ns : c->time_ns;
    record.time_ns = c->time_ns;
    c->written++;
    return e == ERR_OK ? trace_put(c->out, &record, err) : e;
}

/* A free counts only if what it is about is there: it may stand for a request that grew no partner. */
static enum err play_free(struct continuer *c, const struct event *ev, struct err_detail *err)
{
    const uint64_t name = c->name_of[ev->slot];
    const enum request_state wanted = ev->kind == EVENT_FREE_COMPLETED ? STATE_RETIRED : STATE_LIVE;
    if (name == NO_NAME || c->states[name] != wanted)
        return ERR_OK;
    c->states[name] = ev->kind == EVENT_FREE_REQUESTED ? STATE_RETIRED : STATE_GONE;
    if (ev->kind != EVENT_FREE_REQUESTED)
        c->name_of[ev->slot] = NO_NAME;
    return put(c, ev, name, err);
}

static enum err play(struct continuer *c, const struct event *ev, bool is_caught, struct err_detail *err)
{
    const struct event flush = { .kind = EVENT_FLUSH, .time_ns = ev->time_ns };
    switch (ev->kind) {
    case EVENT_ALLOC:
        c->name_of[ev->slot] = c->n_names;
        c->states[c->n_names] = STATE_LIVE;
        return put(c, ev, c->n_names++, err);
    case EVENT_FREE:
    case EVENT_FREE_REQUESTED:
    case EVENT_FREE_COMPLETED:
        return play_free(c, ev, err);
    case EVENT_FLUSH:
    case EVENT_OOM:
        return put(c, is_caught ? &flush : ev, 0, err);
    default:
        return ERR_OK;
    }
}

static int compare_names(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Which slots hold live requests, oldest first. */
static enum err note_begin(struct continuer *c, struct err_detail *err)
{
    struct named { uint64_t name; uint32_t slot; } *live;
    const uint32_t n_slots = trace_info(c->in)->peak_live;
    live = calloc((size_t)n_slots + 1, sizeof *live);
    if (live == NULL)
        return err_no_memory(err);
    for (uint32_t slot = 0; slot < n_slots; slot++)
        if (c->name_of[slot] != NO_NAME && c->states[c->name_of[slot]] == STATE_LIVE)
            live[c->n_begin++] = (struct named){ c->name_of[slot], slot };
    qsort(live, c->n_begin, sizeof *live, compare_names);
    for (size_t i = 0; i < c->n_begin; i++)
        c->begin_slots[i] = live[i].slot;
    free(live);
    return ERR_OK;
}

/* The oldest live requests take the places of those that were live then. */
static void take_partners(struct continuer *c)
{
    size_t i = 0;
    for (uint32_t slot = 0; slot < trace_info(c->in)->peak_live; slot++)
        c->name_of[slot] = NO_NAME;
    for (uint64_t name = 0; name < c->n_names && i < c->n_begin; name++)
        if (c->states[name] == STATE_LIVE)
            c->name_of[c->begin_slots[i++]] = name;
}

static enum err play_recorded_event(struct continuer *c, const struct event *ev, uint64_t number,
                                    struct err_detail *err)
{
    enum err e = number == c->how->from ? note_begin(c, err) : ERR_OK;
    const bool is_caught = number < c->how->caught_before;
    if (number >= c->how->from && !(is_caught && ev->kind == EVENT_OOM))
        c->section[c->n_section++] = *ev;
    return e == ERR_OK ? play(c, ev, is_caught, err) : e;
}

static enum err play_recorded(struct continuer *c, const struct start_state *start, struct err_detail *err)
{
    const struct event *events;
    uint64_t number = 0;
    enum err e = trace_seek(c->in, 0, err);
    for (size_t i = 0; i < start->n_events && e == ERR_OK; i++)
        e = play(c, &start->events[i], false, err);
    for (size_t n = 1; e == ERR_OK && n > 0 && number < c->how->until;) {
        e = trace_next(c->in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && number < c->how->until; i++, number++)
            e = play_recorded_event(c, &events[i], number, err);
    }
    return e;
}

static enum err play_all(struct continuer *c, const struct start_state *start, uint64_t *ends, struct err_detail *err)
{
    trace_writer_info(c->out)->capacity_bytes = trace_info(c->in)->capacity_bytes;
    enum err e = trace_copy_facts(c->in, c->out, "a continuation", err);
    if (e == ERR_OK)
        e = play_recorded(c, start, err);
    for (unsigned round = 0; e == ERR_OK; round++) {
        if (ends != NULL)
            ends[round] = c->written;
        if (round == c->how->times)
            break;
        take_partners(c);
        for (size_t i = 0; i < c->n_section && e == ERR_OK; i++)
            e = play(c, &c->section[i], false, err);
    }
    return e;
}

static bool has_room(struct continuer *c, const struct start_state *start)
{
    const struct trace_info *info = trace_info(c->in);
    const uint64_t section = c->how->until - c->how->from;
    const size_t n_slots = (size_t)info->peak_live + 1;
    c->name_of = calloc(n_slots, sizeof *c->name_of);
    c->begin_slots = calloc(n_slots, sizeof *c->begin_slots);
    c->states = calloc(start->n_events + info->by_kind[EVENT_ALLOC] + section * c->how->times + 1, 1);
    c->section = calloc(section + 1, sizeof *c->section);
    for (size_t slot = 0; c->name_of != NULL && slot < n_slots; slot++)
        c->name_of[slot] = NO_NAME;
    return c->name_of != NULL && c->begin_slots != NULL && c->states != NULL && c->section != NULL;
}

enum err trace_continue(struct trace_reader *in, const struct continuation *how, uint64_t *ends,
                        struct trace_reader **out, struct err_detail *err)
{
    struct continuer c = { .how = how, .in = in };
    struct start_state start;
    enum err e = start_state_read(in, &start, err);
    if (e != ERR_OK)
        return e;
    e = has_room(&c, &start) ? trace_create(NULL, &c.out, err) : err_no_memory(err);
    if (e == ERR_OK && (e = play_all(&c, &start, ends, err)) != ERR_OK)
        trace_abandon(c.out);
    else if (e == ERR_OK)
        e = trace_finish_open(c.out, "the continuation", out, err);
    free(c.name_of);
    free(c.begin_slots);
    free(c.states);
    free(c.section);
    start_state_close(&start);
    return e;
}
