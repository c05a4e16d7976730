/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Dense numbers of one trace become the handles and ids that a writer takes. */
#include "traces/trace_copy.h"

#include <stdlib.h>
#include <string.h>

enum err trace_copy_streams(const struct trace_reader *in, struct trace_writer *out, struct err_detail *err)
{
    const struct stream_name *streams = trace_streams(in);
    enum err e = ERR_OK;
    for (uint32_t i = 0; i < trace_info(in)->n_streams && e == ERR_OK; i++)
        e = trace_put_stream_number(out, streams[i].handle, streams[i].number, err);
    return e;
}

enum err trace_copy_event(const struct trace_reader *in, const struct event *ev, struct trace_writer *out,
                          struct trace_record *record, struct err_detail *err)
{
    uint16_t stream = ev->stream;
    uint8_t pool = ev->pool;
    *record = (struct trace_record){ .kind = (enum event_kind)ev->kind, .time_ns = ev->time_ns,
                                     .record = TRACE_NO_RECORD };
    if (ev->kind == EVENT_CONTROL) {
        record->control = trace_controls(in)[ev->slot];
        stream = record->control.stream;
        pool = record->control.pool;
    }
    record->stream = trace_streams(in)[stream].handle;
    memcpy(record->pool, trace_pools(in)[pool].id, sizeof record->pool);
    if (ev->kind != EVENT_MARK)
        return ERR_OK;
    const char *label = trace_label(in, ev->slot);
    return trace_put_label(out, label, strlen(label), &record->label, err);
}

enum err trace_copy_facts(const struct trace_reader *in, struct trace_writer *out, const char *note,
                          struct err_detail *err)
{
    const char *value, *name;
    enum err e = ERR_OK;
    trace_writer_info(out)->device = trace_info(in)->device;
    for (size_t i = 0; e == ERR_OK && (name = trace_meta_at(in, i, &value)) != NULL; i++)
        if (strcmp(name, "units") != 0 && strcmp(name, "notes") != 0 && strcmp(name, "path") != 0)
            e = trace_put_meta(out, name, value, err);
    if (e == ERR_OK && note[0] != '\0')
        e = trace_put_meta(out, "notes", note, err);
    return e == ERR_OK ? trace_copy_streams(in, out, err) : e;
}

void stack_copies_close(struct stack_copies *c)
{
    free(c->of);
    *c = (struct stack_copies){ .of = NULL };
}

enum err trace_copy_stack(struct stack_copies *c, const struct trace_reader *in, uint32_t number,
                          struct trace_writer *out, uint32_t *stack, struct err_detail *err)
{
    const char *const *frames;
    if (number == TRACE_NO_STACK)
        return ERR_OK;
    if (c->of == NULL && (c->of = calloc((size_t)trace_info(in)->n_stacks + 1, sizeof *c->of)) == NULL)
        return err_no_memory(err);
    if (c->of[number] == 0) {
        const size_t n = trace_stack(in, number, &frames);
        const enum err e = trace_put_stack(out, frames, n, &c->of[number], err);
        if (e != ERR_OK)
            return e;
    }
    *stack = c->of[number];
    return ERR_OK;
}

enum err trace_copy_stack_of(struct stack_copies *c, struct trace_reader *in, uint64_t event,
                             struct trace_writer *out, uint32_t *stack, struct err_detail *err)
{
    struct trace_side side;
    if (trace_info(in)->n_stacks == 0)
        return ERR_OK;
    const enum err e = trace_side_at(in, event, &side, err);
    return e == ERR_OK ? trace_copy_stack(c, in, side.stack, out, stack, err) : e;
}
