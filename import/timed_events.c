/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Two readings in order of time: the first finds what was live before the first event, the second writes. */
#include "import/timed_events.h"

#include "base/array.h"
#include "base/intern.h"
#include "base/sorted_runs.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first start block lies here: above all addresses that a card gives. */
#define START_ADDR (UINT64_C(1) << 48)
#define START_MOST (UINT64_MAX / 4)          /* bytes */
enum { START_ALIGN = 512, SORT_BYTES = 96 << 20 };

static int by_time(const void *a, const void *b)
{
    const struct timed_event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

enum err timed_events_open(struct timed_events *t, const char *name, struct trace_writer *w, struct err_detail *err)
{
    *t = (struct timed_events){ .name = name, .w = w };
    return sorted_runs_create(sizeof(struct timed_event), by_time, SORT_BYTES, &t->runs, err);
}

void timed_events_close(struct timed_events *t)
{
    sorted_runs_destroy(t->runs);
    t->runs = NULL;
}

enum err timed_events_put(struct timed_events *t, const struct timed_event *e, struct err_detail *err)
{
    t->n++;
    t->per_device[e->device] += e->kind != EVENT_MARK;
    return sorted_runs_put(t->runs, e, err);
}

enum err timed_events_choose(const struct timed_events *t, int64_t wanted, int64_t *device, struct err_detail *err)
{
    char known[256] = "";
    size_t used = 0, n_devices = 0;
    *device = -1;
    for (int64_t d = 0; d < TIMED_DEVICES; d++) {
        if (t->per_device[d] == 0)
            continue;
        *device = n_devices == 0 || d == wanted ? d : *device;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%" PRId64 " (%" PRIu64 " events)",
                                     n_devices > 0 ? ", " : "", d, t->per_device[d]);
        n_devices++;
    }
    if (n_devices == 0 || *device == wanted || (n_devices == 1 && wanted < 0))
        return ERR_OK;
    return err_at(err, ERR_USAGE, 0, t->name, "choose a device with --gpu: %s", known);
}

/* ---- one reading in order of time ---- */

enum fate { FATE_END_OF_INPUT, FATE_MARK, FATE_BEGINS, FATE_BEGINS_ANEW, FATE_ENDS, FATE_ENDS_UNBEGUN };

struct reading {
    struct timed_events *t;
    int64_t  device;
    struct pair_map live;            /* addresses */
};

static enum err reading_start(struct reading *r, struct timed_events *t, int64_t device, struct err_detail *err)
{
    *r = (struct reading){ .t = t, .device = device, .live = { .seed = hash_seed() } };
    return sorted_runs_rewind(t->runs, err);
}

/* The next event of the device, and what becomes of the address. */
static enum err reading_next(struct reading *r, const struct timed_event **event, enum fate *fate,
                             struct err_detail *err)
{
    const void *record;
    const struct timed_event *e;
    do {
        const enum err status = sorted_runs_next(r->t->runs, &record, err);
        if (status != ERR_OK)
            return status;
        *event = e = record;
    } while (e != NULL && e->kind != EVENT_MARK && e->device != r->device);
    *fate = e == NULL ? FATE_END_OF_INPUT : FATE_MARK;
    if (e == NULL || e->kind == EVENT_MARK || e->kind == EVENT_OOM)
        return ERR_OK;                           /* a refused request has no place */
    const bool is_live = pair_map_find(&r->live, e->addr, 0) != NULL;
    if (e->kind == EVENT_FREE) {
        *fate = is_live ? FATE_ENDS : FATE_ENDS_UNBEGUN;
        if (is_live)
            pair_map_remove(&r->live, e->addr, 0);
        return ERR_OK;
    }
    *fate = is_live ? FATE_BEGINS_ANEW : FATE_BEGINS;
    if (!is_live && !pair_map_add(&r->live, e->addr, 0, 0))
        return err_no_memory(err);
    return ERR_OK;
}

/* ---- what was live before ---- */

struct start_block { uint64_t bytes, requested; };

struct start {
    struct start_block *blocks;
    size_t   n, room;
    uint64_t known_bytes, room_bytes;        /* of the blocks; of their places */
    struct timed_event first;                /* the first one with totals */
    bool     has_first;
};

static enum err start_too_large(const struct timed_events *t, struct err_detail *err)
{
    return err_at(err, ERR_FORMAT, 0, t->name, "what was live before the first event is more than 2^62 bytes");
}

static enum err start_add(struct timed_events *t, struct start *s, const struct timed_event *e, struct err_detail *err)
{
    struct start_block *grown = array_grow(s->blocks, s->n, &s->room, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    s->blocks = grown;
    if (e->bytes > START_MOST - s->room_bytes)
        return start_too_large(t, err);
    s->blocks[s->n++] = (struct start_block){ e->bytes, e->requested };
    s->known_bytes += e->bytes;
    s->room_bytes += align_up(e->bytes, START_ALIGN);
    return ERR_OK;
}

/* Compares the total of an event with the one before it. */
static void compare_totals(struct timed_events *t, const struct timed_event *e, uint64_t *last, bool *has_last)
{
    if (!e->has_totals)
        return;
    const uint64_t expected = e->kind == EVENT_FREE ? *last - e->bytes : *last + e->bytes;
    t->n_off += *has_last && expected != e->allocated;
    *last = e->allocated;
    *has_last = true;
}

static enum err find_start(struct timed_events *t, int64_t device, struct start *s, struct err_detail *err)
{
    struct reading r;
    const struct timed_event *event;
    enum fate fate = FATE_MARK;
    uint64_t last = 0;
    bool has_last = false;
    enum err e = reading_start(&r, t, device, err);
    while (e == ERR_OK && fate != FATE_END_OF_INPUT) {
        e = reading_next(&r, &event, &fate, err);
        if (e != ERR_OK || fate == FATE_END_OF_INPUT || fate == FATE_MARK)
            continue;
        if (event->has_totals && !s->has_first)
            s->first = *event;
        s->has_first |= event->has_totals;
        compare_totals(t, event, &last, &has_last);
        t->n_unended += fate == FATE_BEGINS_ANEW;
        if (fate == FATE_ENDS_UNBEGUN)
            e = start_add(t, s, event, err);
    }
    t->n_start = s->n;
    pair_map_free(&r.live);
    return e;
}

/* What was live before the first event by its total, less the blocks that are known. */
static uint64_t rest_of_start(const struct start *s)
{
    const struct timed_event *first = &s->first;
    if (!s->has_first)
        return 0;
    const uint64_t live = first->kind == EVENT_FREE ? add_capped(first->allocated, first->bytes)
                          : first->allocated > first->bytes ? first->allocated - first->bytes : 0;
    return live > s->known_bytes ? live - s->known_bytes : 0;
}

/* One segment of all that was reserved before the first event: the blocks found, then the rest of what was live. */
static enum err put_start(struct timed_events *t, const struct start *s, struct err_detail *err)
{
    static const uint64_t pool[2] = { 0, 0 };
    const uint64_t rest = rest_of_start(s);
    const uint64_t reserved = s->has_first ? s->first.reserved : 0, held = add_capped(s->room_bytes, rest);
    if (held > START_MOST || reserved > START_MOST)
        return start_too_large(t, err);
    const struct trace_segment segment = {
        .addr = START_ADDR,
        .bytes = reserved > held ? reserved : align_up(held, 2 * MIB),
    };
    if (segment.bytes == 0)
        return ERR_OK;
    enum err e = trace_put_start_segment(t->w, &segment, 0, pool, err);
    uint64_t at = START_ADDR;
    for (size_t i = 0; i <= s->n && e == ERR_OK; i++) {
        const struct start_block b = i < s->n ? s->blocks[i] : (struct start_block){ rest, rest };
        const uint64_t place = align_up(b.bytes, START_ALIGN);
        const struct trace_block block = { .addr = at, .bytes = place, .requested = b.requested };
        if (b.bytes > 0)
            e = trace_put_start_block(t->w, &block, true, 0, pool, err);
        at += place;
    }
    return e;
}

/* ---- writing ---- */

static void note_totals(struct trace_info *info, const struct timed_event *e, bool *has_any)
{
    if (!e->has_totals)
        return;
    if (!*has_any)
        info->recorded_start_reserved_bytes = e->reserved;
    *has_any = true;
    info->recorded_end_reserved_bytes = e->reserved;
    if (e->reserved > info->recorded_peak_reserved_bytes)
        info->recorded_peak_reserved_bytes = e->reserved;
    if (e->allocated > info->recorded_peak_allocated_bytes)
        info->recorded_peak_allocated_bytes = e->allocated;
}

/* `start_at`: where the next block of the start lies. */
static enum err put_event(struct timed_events *t, const struct timed_event *m, enum fate fate, uint64_t *start_at,
                          struct err_detail *err)
{
    const bool is_of_start = fate == FATE_ENDS_UNBEGUN;
    const uint64_t addr = fate == FATE_MARK || is_of_start ? 0 : m->addr;
    struct trace_record r = { .kind = (enum event_kind)m->kind, .time_ns = m->time_ns, .bytes = m->requested,
                              .ptr = is_of_start ? *start_at : addr, .addr = addr, .stream = m->stream,
                              .record = m->order, .stack = m->stack, .label = m->label };
    if (is_of_start)
        *start_at += align_up(m->bytes, START_ALIGN);
    enum err e = ERR_OK;
    if (fate == FATE_BEGINS_ANEW) {
        const struct trace_record end = { .kind = EVENT_FREE, .time_ns = m->time_ns, .ptr = addr, .addr = addr,
                                          .record = m->order };
        e = trace_put(t->w, &end, err);
    }
    return e == ERR_OK ? trace_put(t->w, &r, err) : e;
}

static enum err put_events(struct timed_events *t, int64_t device, struct err_detail *err)
{
    struct reading r;
    const struct timed_event *event;
    enum fate fate = FATE_MARK;
    uint64_t start_at = START_ADDR;
    bool has_any = false;
    enum err e = reading_start(&r, t, device, err);
    while (e == ERR_OK && fate != FATE_END_OF_INPUT) {
        e = reading_next(&r, &event, &fate, err);
        if (e != ERR_OK || fate == FATE_END_OF_INPUT)
            continue;
        if (fate != FATE_MARK)
            note_totals(trace_writer_info(t->w), event, &has_any);
        e = put_event(t, event, fate, &start_at, err);
    }
    pair_map_free(&r.live);
    return e;
}

enum err timed_events_write(struct timed_events *t, int64_t device, struct err_detail *err)
{
    struct start start = { .n = 0 };
    enum err e = find_start(t, device, &start, err);
    if (e == ERR_OK)
        e = put_start(t, &start, err);
    free(start.blocks);
    trace_writer_info(t->w)->device = (uint32_t)device;
    return e == ERR_OK ? put_events(t, device, err) : e;
}

void timed_events_note(const struct timed_events *t, char *notes, size_t size)
{
    const struct { uint64_t n; const char *says; } lines[] = {
        { t->n_start, "requests from before the first event, of which only the end is recorded" },
        { t->n_unended, "requests without an end, ended where their address was handed out again" },
        { t->n_off, "events that change the recorded total by another amount than their size" },
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const size_t used = strlen(notes);
        if (lines[i].n > 0)
            snprintf(notes + used, size - used, "\n%s: %" PRIu64, lines[i].says, lines[i].n);
    }
}
