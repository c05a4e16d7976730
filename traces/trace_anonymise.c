/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Whole copies, with addresses, segments and source numbers: at another time of day, without names, or up to an event.
 */
#include "traces/trace_edit.h"

#include "traces/trace_copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_BYTES = 32, SIDES_AT_ONCE = 1024 };

struct whole_copy {
    struct trace_reader *in;
    struct trace_writer *out;
    text_rule is_plain;                      /* NULL: a copy with all texts */
    uint64_t *handles;                       /* by stream: as written */
    uint64_t *ptrs;                          /* by slot */
    uint64_t  next_ptr;                      /* counts down, away from the addresses of the start */
    const struct trace_segment_event *segments;
    size_t    n_segments, at_segment;
    uint64_t  number;                        /* of the next event */
    uint64_t  end;                           /* the event before which the copy ends */
    struct stack_copies stacks;
};

/* ---- texts that may stay ---- */

static const char anonymous_note[] = "anonymised: without call stacks, labels, paths, commands and the time of day";

static bool is_mark_label(const char *text)
{
    return strncmp(text, "mark ", 5) == 0 && text[5] != '\0' && text[5 + strspn(text + 5, "0123456789")] == '\0';
}

bool trace_is_anonymous(const struct trace_reader *in, text_rule is_plain,
                        void (*text)(void *arg, const char *what, const char *text), void *arg)
{
    const struct trace_info *info = trace_info(in);
    const char *name, *value;
    const char *const *frames;
    bool is_clean = info->epoch_us == 0;
    for (size_t i = 0; (name = trace_meta_at(in, i, &value)) != NULL; i++) {
        is_clean &= strcmp(name, "notes") == 0 ? strcmp(value, anonymous_note) == 0 : is_plain(name, value);
        text(arg, name, value);
    }
    for (uint32_t i = 0; i < info->n_labels; i++) {
        is_clean &= is_mark_label(trace_label(in, i));
        text(arg, "label", trace_label(in, i));
    }
    for (uint32_t i = 1; i <= info->n_stacks; i++)
        for (size_t n = trace_stack(in, i, &frames); n > 0; n--) {
            is_clean = false;
            text(arg, "frame", frames[n - 1]);
        }
    for (uint32_t i = 0; i < info->n_controls; i++) {
        const char *settings = trace_controls(in)[i].text;
        if (settings == NULL)
            continue;
        is_clean &= is_plain(TRACE_TEXT_SETTINGS, settings);
        text(arg, TRACE_TEXT_SETTINGS, settings);
    }
    return is_clean;
}

/* ---- what comes before the events ---- */

static enum err put_facts(struct whole_copy *c, struct err_detail *err)
{
    const char *name, *value;
    enum err e = ERR_OK;
    if (c->is_plain == NULL)
        return trace_copy_facts(c->in, c->out, trace_meta(c->in, "notes") == NULL ? "" : trace_meta(c->in, "notes"),
                                err);
    for (size_t i = 0; e == ERR_OK && (name = trace_meta_at(c->in, i, &value)) != NULL; i++)
        if (strcmp(name, "units") != 0 && strcmp(name, "notes") != 0 && c->is_plain(name, value))
            e = trace_put_meta(c->out, name, value, err);
    return e == ERR_OK ? trace_put_meta(c->out, "notes", anonymous_note, err) : e;
}

static int by_handle(const void *a, const void *b)
{
    const struct stream_name *x = *(const struct stream_name *const *)a, *y = *(const struct stream_name *const *)b;
    return (x->handle > y->handle) - (x->handle < y->handle);
}

/* The handles of streams are addresses in the program: anonymous ones are numbers in the same order. The default
 * stream, the first of all, stays 0. */
static enum err put_streams(struct whole_copy *c, struct err_detail *err)
{
    const struct stream_name *streams = trace_streams(c->in);
    const uint32_t n = trace_info(c->in)->n_streams;
    const struct stream_name **order = malloc(n * sizeof *order);
    enum err e = order == NULL ? err_no_memory(err) : ERR_OK;
    for (uint32_t i = 0; i < n && e == ERR_OK; i++) {
        order[i] = &streams[i];
        c->handles[i] = streams[i].handle;
    }
    if (e == ERR_OK && c->is_plain != NULL) {
        qsort(order, n, sizeof *order, by_handle);
        for (uint32_t i = 0; i < n && e == ERR_OK; i++) {
            c->handles[order[i] - streams] = i;
            e = trace_put_stream_number(c->out, i, order[i]->number, err);
        }
    }
    free(order);
    return e;
}

static enum err put_start(struct whole_copy *c, struct err_detail *err)
{
    size_t n;
    enum err e = ERR_OK;
    const struct trace_segment *segments = trace_start_segments(c->in, &n);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = trace_put_start_segment(c->out, &segments[i], c->handles[segments[i].stream],
                                    trace_pools(c->in)[segments[i].pool].id, err);
    const struct trace_block *blocks = trace_start_blocks(c->in, &n);
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const bool is_live = blocks[i].slot != TRACE_NO_SLOT;
        e = trace_put_start_block(c->out, &blocks[i], is_live, c->handles[blocks[i].stream],
                                  trace_pools(c->in)[blocks[i].pool].id, err);
        if (is_live)
            c->ptrs[blocks[i].slot] = blocks[i].addr;
    }
    return e;
}

/* ---- events ---- */

/* Recorded segment events that happened before the next event. */
static enum err put_segments(struct whole_copy *c, struct err_detail *err)
{
    enum err e = ERR_OK;
    while (e == ERR_OK && c->at_segment < c->n_segments && c->segments[c->at_segment].before <= c->number) {
        const struct trace_segment_event *s = &c->segments[c->at_segment++];
        e = trace_put_segment_event(c->out, (enum trace_segment_kind)s->kind, s->addr, s->bytes, c->handles[s->stream],
                                    trace_pools(c->in)[s->pool].id, s->record, err);
    }
    return e;
}

/* The record of an event, but for its side. A mark gets its label's number as its name. */
static enum err record_of(struct whole_copy *c, const struct event *ev, struct trace_record *r, struct err_detail *err)
{
    char label[LABEL_BYTES];
    if (ev->kind == EVENT_MARK && c->is_plain != NULL) {
        *r = (struct trace_record){ .kind = EVENT_MARK, .time_ns = ev->time_ns };
        const int n = snprintf(label, sizeof label, "mark %" PRIu32, ev->slot);
        return trace_put_label(c->out, label, (size_t)n, &r->label, err);
    }
    const enum err e = trace_copy_event(c->in, ev, c->out, r, err);
    const struct control *control = ev->kind == EVENT_CONTROL ? &trace_controls(c->in)[ev->slot] : NULL;
    r->stream = c->handles[control != NULL ? control->stream : ev->stream];
    r->bytes = ev->bytes;
    if (control != NULL && c->is_plain != NULL && control->text != NULL &&
        !c->is_plain(TRACE_TEXT_SETTINGS, control->text))
        r->control.text = "";
    if (control != NULL && control->kind == CONTROL_USE)
        r->ptr = c->ptrs[control->slot];
    return e;
}

static enum err put_event(struct whole_copy *c, const struct event *ev, const struct trace_side *side,
                          struct err_detail *err)
{
    struct trace_record r;
    enum err e = record_of(c, ev, &r, err);
    r.record = trace_info(c->in)->has_source_numbers ? side->record : TRACE_NO_RECORD;
    r.addr = side->addr;
    if (e == ERR_OK && c->is_plain == NULL)
        e = trace_copy_stack(&c->stacks, c->in, side->stack, c->out, &r.stack, err);
    if (ev->kind == EVENT_ALLOC)
        c->ptrs[ev->slot] = --c->next_ptr;
    if (ev->kind == EVENT_ALLOC || ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED ||
        ev->kind == EVENT_FREE_COMPLETED)
        r.ptr = c->ptrs[ev->slot];
    return e == ERR_OK ? trace_put(c->out, &r, err) : e;
}

static enum err put_events(struct whole_copy *c, struct err_detail *err)
{
    const struct event *events;
    struct trace_side sides[SIDES_AT_ONCE];
    size_t n = 1;
    enum err e = trace_seek(c->in, 0, err);
    while (e == ERR_OK && n > 0 && c->number < c->end) {
        e = trace_next(c->in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && c->number < c->end; i++) {
            const size_t k = i % SIDES_AT_ONCE;
            if (k == 0)
                e = trace_sides(c->in, c->number, n - i < SIDES_AT_ONCE ? n - i : SIDES_AT_ONCE, sides, err);
            if (e == ERR_OK)
                e = put_segments(c, err);
            if (e == ERR_OK)
                e = put_event(c, &events[i], &sides[k], err);
            c->number++;
        }
    }
    return e == ERR_OK && c->end == trace_info(c->in)->events ? put_segments(c, err) : e;
}

/* What was recorded of the end holds for a copy that has it. */
static void copy_info(const struct whole_copy *c)
{
    const struct trace_info *from = trace_info(c->in);
    struct trace_info *to = trace_writer_info(c->out);
    to->capacity_bytes = from->capacity_bytes;
    to->device = from->device;
    to->recorded_start_reserved_bytes = from->recorded_start_reserved_bytes;
    if (c->end < from->events)
        return;
    to->records = from->records;
    to->recorded_peak_reserved_bytes = from->recorded_peak_reserved_bytes;
    to->recorded_peak_allocated_bytes = from->recorded_peak_allocated_bytes;
    to->recorded_end_reserved_bytes = from->recorded_end_reserved_bytes;
    to->recorded_end_segments = from->recorded_end_segments;
}

static enum err copy_whole(struct trace_reader *in, text_rule is_plain, uint64_t end, struct trace_writer *out,
                           struct err_detail *err)
{
    const struct trace_info *info = trace_info(in);
    struct whole_copy c = { .in = in, .out = out, .is_plain = is_plain, .end = end, .next_ptr = UINT64_MAX };
    c.handles = calloc(info->n_streams, sizeof *c.handles);
    c.ptrs = calloc((size_t)info->peak_live + 1, sizeof *c.ptrs);
    enum err e = c.handles == NULL || c.ptrs == NULL ? err_no_memory(err)
                                                     : ERR_OK;
    copy_info(&c);
    if (e == ERR_OK)
        e = put_facts(&c, err);
    if (e == ERR_OK)
        e = put_streams(&c, err);
    if (e == ERR_OK)
        e = put_start(&c, err);
    if (e == ERR_OK)
        e = trace_segment_events(in, &c.segments, &c.n_segments, err);
    if (e == ERR_OK)
        e = put_events(&c, err);
    free(c.handles);
    free(c.ptrs);
    stack_copies_close(&c.stacks);
    return e;
}

enum err trace_shift(struct trace_reader *in, int64_t by_ns, struct trace_writer *out, struct err_detail *err)
{
    const uint64_t epoch_us = trace_info(in)->epoch_us;
    const int64_t by_us = by_ns / 1000;
    if (epoch_us == 0 || (by_us < 0 && 0 - (uint64_t)by_us >= epoch_us))
        return err_set(err, ERR_UNSUPPORTED, 0, "the recording does not tell the time of day; merge takes an offset "
                       "instead: b.zst@2s");
    const enum err e = copy_whole(in, NULL, trace_info(in)->events, out, err);
    trace_writer_info(out)->epoch_us = epoch_us + (uint64_t)by_us;
    return e;
}

enum err trace_anonymise(struct trace_reader *in, text_rule is_plain, struct trace_writer *out, struct err_detail *err)
{
    return copy_whole(in, is_plain, trace_info(in)->events, out, err);
}

enum err trace_head(struct trace_reader *in, uint64_t end, struct trace_writer *out, struct err_detail *err)
{
    const uint64_t events = trace_info(in)->events;
    if (end == 0 || end > events)
        return err_set(err, ERR_USAGE, 0, "a trace of %" PRIu64 " events has no first %" PRIu64, events, end);
    const enum err e = copy_whole(in, NULL, end, out, err);
    trace_writer_info(out)->epoch_us = trace_info(in)->epoch_us;
    return e == ERR_OK && end < events && trace_meta(in, TRACE_META_ENDS) != NULL
               ? trace_put_meta(out, TRACE_META_ENDS, TRACE_OPEN, err) : e;
}
