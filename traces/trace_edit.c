/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A part, other sizes, repetitions, and several traces at once. */
#include "traces/trace_edit.h"

#include "traces/trace_copy.h"
#include "traces/trace_feed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_BYTES = 256 };

/* The facts of a trace that repeats `in` changed. What ends it is no longer the program's end. */
static enum err put_facts(struct trace_reader *in, struct trace_writer *out, const char *note, bool ends_alike,
                          struct err_detail *err)
{
    const enum err e = trace_copy_facts(in, out, note, err);
    trace_writer_info(out)->capacity_bytes = trace_info(in)->capacity_bytes;
    trace_writer_info(out)->epoch_us = trace_info(in)->epoch_us;
    return e == ERR_OK && !ends_alike && trace_meta(in, TRACE_META_ENDS) != NULL
               ? trace_put_meta(out, TRACE_META_ENDS, TRACE_OPEN, err) : e;
}

/* ---- a part ---- */

enum err trace_event_at(struct trace_reader *in, uint64_t time_ns, uint64_t *event, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    *event = 0;
    enum err e = trace_seek(in, 0, err);
    while (e == ERR_OK && n > 0) {
        e = trace_next(in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n; i++, (*event)++)
            if (events[i].time_ns >= time_ns)
                return ERR_OK;
    }
    return e;
}

/* Passes over the events before `first`, and puts those up to `end`. */
static enum err feed_part(struct trace_feed *f, uint64_t first, uint64_t end, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    uint64_t begin_ns = 0;
    enum err e = trace_seek(f->in, 0, err);
    while (e == ERR_OK && n > 0 && f->number < end) {
        e = trace_next(f->in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && f->number < end; i++) {
            if (f->number == first) {
                begin_ns = events[i].time_ns;
                e = trace_feed_put_live(f, begin_ns, err);
                if (e == ERR_OK)
                    e = trace_feed_mark(f, TRACE_CUT_MARK, begin_ns, err);
            }
            if (e == ERR_OK)
                e = f->number < first ? trace_feed_skip(f, &events[i], err) : trace_feed_put(f, &events[i], err);
        }
    }
    return e;
}

enum err trace_cut(struct trace_reader *in, uint64_t first, uint64_t end, struct trace_writer *out,
                   struct err_detail *err)
{
    struct trace_feed f = { .live = NULL };
    uint64_t next_ptr = 0;
    char note[NOTE_BYTES];
    const uint64_t events = trace_info(in)->events;
    if (first >= end || end > events)
        return err_set(err, ERR_USAGE, 0, "events %" PRIu64 "..%" PRIu64 " are not part of a trace of %" PRIu64, first,
                       end, events);
    snprintf(note, sizeof note, "cut: events %" PRIu64 "..%" PRIu64 " of %" PRIu64 "; what was live is requested "
             "before the mark \"" TRACE_CUT_MARK "\"", first, end, events);
    enum err e = put_facts(in, out, note, end == events, err);
    if (e == ERR_OK)
        e = trace_feed_open(&f, in, out, &next_ptr, err);
    if (e == ERR_OK)
        e = feed_part(&f, first, end, err);
    trace_feed_close(&f);
    return e;
}

/* ---- other sizes ---- */

static enum err feed_all(struct trace_feed *f, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    enum err e = trace_seek(f->in, 0, err);
    if (e == ERR_OK)
        e = trace_feed_put_live(f, 0, err);
    while (e == ERR_OK && n > 0) {
        e = trace_next(f->in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n; i++)
            e = trace_feed_put(f, &events[i], err);
    }
    return e;
}

enum err trace_resize(struct trace_reader *in, double factor, struct trace_writer *out, struct err_detail *err)
{
    struct trace_feed f = { .live = NULL };
    uint64_t next_ptr = 0;
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "resized: all sizes times %g", factor);
    enum err e = put_facts(in, out, note, true, err);
    if (e == ERR_OK)
        e = trace_feed_open(&f, in, out, &next_ptr, err);
    f.factor = factor;
    if (e == ERR_OK)
        e = feed_all(&f, err);
    trace_feed_close(&f);
    return e;
}

/* ---- repetitions ---- */

struct repeat {
    struct trace_feed feed;
    uint64_t body;                           /* the first event that is repeated */
    uint64_t body_ns;
    struct feed_live *start;                 /* by slot: what is live where the body begins, in this repetition */
    uint32_t slots;
    bool     begins_empty;
};

static int compare_alike(const struct feed_live *x, const struct feed_live *y)
{
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->pool > y->pool) - (x->pool < y->pool);
}

static int by_likeness(const void *a, const void *b)
{
    const struct feed_live *x = *(struct feed_live *const *)a, *y = *(struct feed_live *const *)b;
    const int alike = compare_alike(x, y);
    return alike != 0 ? alike : (x->ptr > y->ptr) - (x->ptr < y->ptr);
}

/* Where the body begins: after the mark of trace_cut, if there is one. Takes the start as it is there. */
static enum err find_body(struct repeat *r, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    struct trace_reader *in = r->feed.in;
    enum err e = trace_seek(in, 0, err);
    bool is_found = false;
    while (e == ERR_OK && n > 0 && !is_found) {
        e = trace_next(in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && !is_found; i++) {
            is_found = events[i].kind == EVENT_MARK && strcmp(trace_label(in, events[i].slot), TRACE_CUT_MARK) == 0;
            r->body++;
            r->body_ns = events[i].time_ns;
        }
    }
    if (!is_found)
        r->body = r->body_ns = 0;
    return e;
}

/* Frees what a repetition left of a trace that begins empty. */
static enum err free_left(struct repeat *r, uint64_t time_ns, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint32_t s = 0; s < r->slots && e == ERR_OK; s++) {
        const struct trace_record end = {
            .kind = r->feed.live[s].is_pending ? EVENT_FREE_COMPLETED : EVENT_FREE, .ptr = r->feed.live[s].ptr,
            .time_ns = time_ns, .record = TRACE_NO_RECORD,
        };
        if (end.ptr != 0)
            e = trace_put(r->feed.out, &end, err);
        r->feed.live[s].ptr = 0;
    }
    return e;
}

/* Sorts what the last repetition left and the start did not have (`left`), and what of the start is gone (`gone`). */
static void sort_out(struct repeat *r, struct feed_live **left, size_t *n_left, struct feed_live **gone, size_t *n_gone)
{
    for (uint32_t s = 0; s < r->slots; s++) {
        const bool is_same = r->feed.live[s].ptr == r->start[s].ptr;
        if (!is_same && r->feed.live[s].ptr != 0)
            left[(*n_left)++] = &r->feed.live[s];
        if (!is_same && r->start[s].ptr != 0)
            gone[(*n_gone)++] = &r->start[s];
    }
    if (*n_left > 0)
        qsort(left, *n_left, sizeof *left, by_likeness);
    if (*n_gone > 0)
        qsort(gone, *n_gone, sizeof *gone, by_likeness);
}

/* Gives each gone request of the start the name of one that is left and alike; the others are requested again. */
static enum err renew_start(struct repeat *r, uint64_t time_ns, struct err_detail *err)
{
    struct feed_live **left = malloc(((size_t)r->slots + 1) * sizeof *left);
    struct feed_live **gone = malloc(((size_t)r->slots + 1) * sizeof *gone);
    size_t n_left = 0, n_gone = 0, at = 0;
    enum err e = left == NULL || gone == NULL ? err_no_memory(err) : ERR_OK;
    if (e == ERR_OK)
        sort_out(r, left, &n_left, gone, &n_gone);
    for (size_t i = 0; i < n_gone && e == ERR_OK; i++) {
        while (at < n_left && compare_alike(left[at], gone[i]) < 0)
            at++;
        if (at < n_left && compare_alike(left[at], gone[i]) == 0) {
            gone[i]->ptr = left[at++]->ptr;
            continue;
        }
        e = trace_feed_put_again(&r->feed, (uint32_t)(gone[i] - r->start), gone[i], time_ns, err);
        gone[i]->ptr = r->feed.live[gone[i] - r->start].ptr;
    }
    if (e == ERR_OK)
        memcpy(r->feed.live, r->start, r->slots * sizeof *r->start);
    free(left);
    free(gone);
    return e;
}

/* Puts the body once. */
static enum err feed_body(struct repeat *r, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    enum err e = trace_seek(r->feed.in, r->body, err);
    r->feed.number = r->body;
    if (e == ERR_OK)
        e = trace_feed_mark(&r->feed, "repeat", r->body_ns, err);
    while (e == ERR_OK && n > 0) {
        e = trace_next(r->feed.in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n; i++)
            e = trace_feed_put(&r->feed, &events[i], err);
    }
    return e;
}

/* Puts what comes before the body, and takes the start. */
static enum err feed_before(struct repeat *r, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    enum err e = trace_seek(r->feed.in, 0, err);
    if (e == ERR_OK)
        e = trace_feed_put_live(&r->feed, 0, err);
    while (e == ERR_OK && n > 0 && r->feed.number < r->body) {
        e = trace_next(r->feed.in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && r->feed.number < r->body; i++)
            e = trace_feed_put(&r->feed, &events[i], err);
    }
    if (e == ERR_OK)
        memcpy(r->start, r->feed.live, r->slots * sizeof *r->start);
    r->begins_empty = true;
    for (uint32_t s = 0; s < r->slots; s++)
        r->begins_empty &= r->start[s].ptr == 0;
    return e;
}

static enum err feed_repetitions(struct repeat *r, uint64_t times, struct err_detail *err)
{
    enum err e = find_body(r, err);
    if (e == ERR_OK)
        e = feed_before(r, err);
    for (uint64_t i = 0; i < times && e == ERR_OK; i++) {
        e = feed_body(r, err);
        r->feed.shift_ns += trace_info(r->feed.in)->duration_ns - r->body_ns;
        if (e == ERR_OK && i + 1 < times)
            e = r->begins_empty ? free_left(r, r->body_ns + r->feed.shift_ns, err) : renew_start(r, r->body_ns, err);
    }
    return e;
}

enum err trace_repeat(struct trace_reader *in, uint64_t times, struct trace_writer *out, struct err_detail *err)
{
    struct repeat r = { .slots = trace_info(in)->peak_live };
    uint64_t next_ptr = 0;
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "repeated: %" PRIu64 " times", times);
    r.start = calloc((size_t)r.slots + 1, sizeof *r.start);
    enum err e = r.start == NULL ? err_no_memory(err)
                                 : put_facts(in, out, note, true, err);
    if (e == ERR_OK)
        e = trace_feed_open(&r.feed, in, out, &next_ptr, err);
    if (e == ERR_OK)
        e = feed_repetitions(&r, times, err);
    trace_feed_close(&r.feed);
    free(r.start);
    return e;
}

/* ---- several at once ---- */

struct merged {
    struct trace_feed feed;
    const struct event *events;              /* lent by the reader */
    size_t n, at;
    bool   has_started;                      /* what it begins with was put */
};

/* Makes the next event of a trace ready; n is 0 at its end. */
static enum err merged_fill(struct merged *m, struct err_detail *err)
{
    if (m->at < m->n)
        return ERR_OK;
    m->at = 0;
    return trace_next(m->feed.in, &m->events, &m->n, err);
}

/* The trace whose next event is the earliest; n: none has one. */
static size_t earliest(const struct merged *m, size_t n)
{
    size_t best = n;
    uint64_t best_ns = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t ns = m[i].n == 0 ? 0 : m[i].has_started ? m[i].events[m[i].at].time_ns + m[i].feed.shift_ns
                                                                : m[i].feed.shift_ns;
        if (m[i].n > 0 && (best == n || ns < best_ns)) {
            best = i;
            best_ns = ns;
        }
    }
    return best;
}

static enum err merged_step(struct merged *m, struct err_detail *err)
{
    if (!m->has_started) {
        m->has_started = true;
        return trace_feed_put_live(&m->feed, 0, err);
    }
    enum err e = trace_feed_put(&m->feed, &m->events[m->at++], err);
    return e == ERR_OK ? merged_fill(m, err) : e;
}

static enum err merge_open(struct merged *m, struct trace_reader *const *in, const uint64_t *offset_ns, size_t n,
                           struct trace_writer *out, uint64_t *next_ptr, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        e = trace_feed_open(&m[i].feed, in[i], out, next_ptr, err);
        m[i].feed.shift_ns = offset_ns[i];
        m[i].feed.tag = (unsigned)i;
        if (e == ERR_OK)
            e = trace_seek(in[i], 0, err);
        if (e == ERR_OK)
            e = merged_fill(&m[i], err);
        m[i].has_started = !trace_info(in[i])->starts_mid_run;
    }
    return e;
}

enum err trace_merge(struct trace_reader *const *in, const uint64_t *offset_ns, size_t n, struct trace_writer *out,
                     struct err_detail *err)
{
    char note[NOTE_BYTES];
    uint64_t next_ptr = 0;
    if (n == 0 || n > TRACE_MERGE_MAX)
        return err_set(err, ERR_USAGE, 0, "1 to %d traces are merged, not %zu", TRACE_MERGE_MAX, n);
    struct merged *m = calloc(n, sizeof *m);
    if (m == NULL)
        return err_no_memory(err);
    snprintf(note, sizeof note, "merged: %zu traces, each with streams and pools of its own", n);
    enum err e = put_facts(in[0], out, note, false, err);
    if (e == ERR_OK)
        e = merge_open(m, in, offset_ns, n, out, &next_ptr, err);
    for (size_t i = 0; e == ERR_OK && (i = earliest(m, n)) < n;)
        e = merged_step(&m[i], err);
    for (size_t i = 0; i < n; i++)
        trace_feed_close(&m[i].feed);
    free(m);
    return e;
}
