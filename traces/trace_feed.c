/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "traces/trace_feed.h"

#include "traces/trace_copy.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_SHIFT_HANDLE = 56, TAG_SHIFT_POOL = 48 };

/* What was live before the first event, with names still to be given. */
static void take_start(struct trace_feed *f)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(f->in, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT)
            f->live[blocks[i].slot] = (struct feed_live){
                .ptr = ++*f->next_ptr, .bytes = blocks[i].requested, .born = UINT64_MAX, .stream = blocks[i].stream,
                .pool = blocks[i].pool, .is_pending = blocks[i].is_pending,
            };
}

enum err trace_feed_open(struct trace_feed *f, struct trace_reader *in, struct trace_writer *out, uint64_t *next_ptr,
                         struct err_detail *err)
{
    *f = (struct trace_feed){ .in = in, .out = out, .next_ptr = next_ptr, .factor = 1 };
    f->live = calloc((size_t)trace_info(in)->peak_live + 1, sizeof *f->live);
    if (f->live == NULL)
        return err_no_memory(err);
    take_start(f);
    return ERR_OK;
}

void trace_feed_close(struct trace_feed *f)
{
    free(f->live);
    stack_copies_close(&f->stacks);
    f->live = NULL;
}

static uint64_t handle_of(const struct trace_feed *f, uint16_t stream)
{
    return trace_streams(f->in)[stream].handle ^ (uint64_t)f->tag << TAG_SHIFT_HANDLE;
}

/* The shared pool is shared by all feeds. */
static void pool_of(const struct trace_feed *f, uint8_t pool, uint64_t id[2])
{
    memcpy(id, trace_pools(f->in)[pool].id, 2 * sizeof *id);
    for (int i = 0; i < 2; i++)
        id[i] ^= id[i] != 0 ? (uint64_t)f->tag << TAG_SHIFT_POOL : 0;
}

/* At least a byte. The writer refuses what is more than a trace may hold. */
static uint64_t scaled(const struct trace_feed *f, uint64_t bytes)
{
    const double size = (double)bytes * f->factor + 0.5;
    if (f->factor == 1)
        return bytes;
    return size < 1 ? 1 : size < 0x1p64 ? (uint64_t)size : UINT64_MAX;
}

/* ---- what is live ---- */

/* Looks up the stack of a request, unless that was done. Requests in the order of their events cost least. */
static enum err find_stack(const struct trace_feed *f, struct feed_live *l, struct err_detail *err)
{
    struct trace_side side = { .stack = TRACE_NO_STACK };
    if (l->has_stack || trace_info(f->in)->n_stacks == 0)
        return ERR_OK;
    const enum err e = l->born == UINT64_MAX ? ERR_OK : trace_side_at(f->in, l->born, &side, err);
    l->stack = side.stack;
    l->has_stack = e == ERR_OK;
    return e;
}

static enum err put_request(struct trace_feed *f, struct feed_live *l, uint64_t time_ns, struct err_detail *err)
{
    struct trace_record r = { .kind = EVENT_ALLOC, .time_ns = time_ns + f->shift_ns, .ptr = l->ptr,
                              .bytes = scaled(f, l->bytes), .stream = handle_of(f, l->stream),
                              .record = TRACE_NO_RECORD };
    pool_of(f, l->pool, r.pool);
    enum err e = find_stack(f, l, err);
    if (e == ERR_OK)
        e = trace_copy_stack(&f->stacks, f->in, l->stack, f->out, &r.stack, err);
    if (e == ERR_OK)
        e = trace_put(f->out, &r, err);
    r.kind = EVENT_FREE_REQUESTED;
    return e == ERR_OK && l->is_pending ? trace_put(f->out, &r, err) : e;
}

static int by_age(const void *a, const void *b)
{
    const struct feed_live *x = *(const struct feed_live *const *)a, *y = *(const struct feed_live *const *)b;
    const uint64_t born_x = x->born + 1, born_y = y->born + 1;      /* from before the first event: 0 */
    if (born_x != born_y)
        return born_x < born_y ? -1 : 1;
    return x->ptr < y->ptr ? -1 : x->ptr > y->ptr;
}

enum err trace_feed_put_live(struct trace_feed *f, uint64_t time_ns, struct err_detail *err)
{
    const uint32_t slots = trace_info(f->in)->peak_live;
    struct feed_live **order = malloc(((size_t)slots + 1) * sizeof *order);
    size_t n = 0;
    enum err e = ERR_OK;
    if (order == NULL)
        return err_no_memory(err);
    for (uint32_t s = 0; s < slots; s++)
        if (f->live[s].ptr != 0)
            order[n++] = &f->live[s];
    if (n > 0)
        qsort(order, n, sizeof *order, by_age);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = put_request(f, order[i], time_ns, err);
    free(order);
    return e;
}

enum err trace_feed_put_again(struct trace_feed *f, uint32_t slot, struct feed_live *live, uint64_t time_ns,
                              struct err_detail *err)
{
    const enum err e = find_stack(f, live, err);
    if (e != ERR_OK)
        return e;
    f->live[slot] = *live;
    f->live[slot].ptr = ++*f->next_ptr;
    return put_request(f, &f->live[slot], time_ns, err);
}

/* ---- events ---- */

static void keep_live(struct trace_feed *f, const struct event *ev)
{
    if (ev->kind == EVENT_ALLOC)
        f->live[ev->slot] = (struct feed_live){ .ptr = ++*f->next_ptr, .bytes = ev->bytes, .born = f->number,
                                                .stream = ev->stream, .pool = ev->pool };
    else if (ev->kind == EVENT_FREE_REQUESTED)
        f->live[ev->slot].is_pending = true;
    else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_COMPLETED)
        f->live[ev->slot].ptr = 0;
}

static enum err put_control(struct trace_feed *f, const struct event *ev, struct err_detail *err)
{
    struct trace_record r;
    const struct control *c = &trace_controls(f->in)[ev->slot];
    const enum err e = trace_copy_event(f->in, ev, f->out, &r, err);
    if (e != ERR_OK)
        return e;
    r.time_ns += f->shift_ns;
    r.stream = handle_of(f, c->stream);
    pool_of(f, c->pool, r.pool);
    if (c->kind == CONTROL_USE)
        r.ptr = f->live[c->slot].ptr;
    return trace_put(f->out, &r, err);
}

enum err trace_feed_put(struct trace_feed *f, const struct event *ev, struct err_detail *err)
{
    struct trace_record r;
    enum err e = ERR_OK;
    if (ev->kind == EVENT_CONTROL) {
        e = put_control(f, ev, err);
        f->number++;
        return e;
    }
    const bool has_slot = ev->kind == EVENT_ALLOC || ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED ||
                          ev->kind == EVENT_FREE_COMPLETED;
    const uint64_t freed = has_slot ? f->live[ev->slot].ptr : 0;
    keep_live(f, ev);
    e = trace_copy_event(f->in, ev, f->out, &r, err);
    r.time_ns += f->shift_ns;
    r.stream = ev->kind == EVENT_FLUSH && ev->stream == 0 ? 0 : handle_of(f, ev->stream);
    pool_of(f, ev->pool, r.pool);
    r.bytes = scaled(f, ev->bytes);
    r.ptr = ev->kind == EVENT_ALLOC ? f->live[ev->slot].ptr : freed;
    if (e == ERR_OK && ev->kind == EVENT_ALLOC)
        e = find_stack(f, &f->live[ev->slot], err);
    if (e == ERR_OK && ev->kind == EVENT_ALLOC)
        e = trace_copy_stack(&f->stacks, f->in, f->live[ev->slot].stack, f->out, &r.stack, err);
    else if (e == ERR_OK && ev->kind != EVENT_MARK && ev->kind != EVENT_FLUSH)
        e = trace_copy_stack_of(&f->stacks, f->in, f->number, f->out, &r.stack, err);
    f->number++;
    return e == ERR_OK ? trace_put(f->out, &r, err) : e;
}

enum err trace_feed_skip(struct trace_feed *f, const struct event *ev, struct err_detail *err)
{
    keep_live(f, ev);
    const struct control *c = ev->kind == EVENT_CONTROL ? &trace_controls(f->in)[ev->slot] : NULL;
    const bool is_state = c != NULL && (c->kind == CONTROL_SETTINGS || c->kind == CONTROL_FRACTION ||
                                        c->kind == CONTROL_POOL_CREATE || c->kind == CONTROL_POOL_ENTER ||
                                        c->kind == CONTROL_POOL_LEAVE || c->kind == CONTROL_POOL_DROP);
    const struct event early = { .kind = EVENT_CONTROL, .slot = ev->slot };
    const enum err e = is_state ? put_control(f, &early, err) : ERR_OK;
    f->number++;
    return e;
}

enum err trace_feed_mark(struct trace_feed *f, const char *label, uint64_t time_ns, struct err_detail *err)
{
    struct trace_record r = { .kind = EVENT_MARK, .time_ns = time_ns + f->shift_ns, .record = TRACE_NO_RECORD };
    const enum err e = trace_put_label(f->out, label, strlen(label), &r.label, err);
    return e == ERR_OK ? trace_put(f->out, &r, err) : e;
}
