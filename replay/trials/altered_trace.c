/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads events, changes them, and writes them to a new trace. */
#include "replay/trials/altered_trace.h"

#include "base/random.h"
#include "replay/engine/start_state.h"
#include "traces/trace_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum slot_state { SLOT_VACANT, SLOT_LIVE, SLOT_RETIRED };

struct rewriter {
    struct trace_reader  *in;
    struct trace_writer  *out;
    const struct rewrite *how;
    unsigned char *slots;            /* enum slot_state */
    unsigned round;                  /* from 0 */
    uint64_t origin_ns;              /* when the round began */
};

/* A size changed by up to `percent`; never 0. The change depends on the size, the seed and the round alone. */
static uint64_t rewriter_bytes(const struct rewriter *r, uint64_t bytes)
{
    const uint64_t span = bytes / 100 * r->how->percent + bytes % 100 * r->how->percent / 100;
    if (span == 0)
        return bytes;
    const uint64_t random = random_mix(bytes ^ random_mix(r->round ^ random_mix(r->how->seed)));
    assert(span <= bytes);
    const uint64_t moved = bytes - span + random % (2 * span + 1);
    return moved > 0 ? moved : 1;
}

static bool is_left_out(const struct rewriter *r, const struct event *e)
{
    if (e->kind == EVENT_FREE_COMPLETED)
        return r->how->ends_uses;
    if (e->kind != EVENT_CONTROL)
        return false;
    const enum control_kind kind = (enum control_kind)trace_controls(r->in)[e->slot].kind;
    return kind == CONTROL_USE ? r->how->ends_uses
                               : r->how->folds_pools && kind >= CONTROL_POOL_CREATE && kind <= CONTROL_GRAPH_RESET;
}

static void rewriter_fold(const struct rewriter *r, struct trace_record *record)
{
    if (r->how->folds_streams)
        record->stream = trace_streams(r->in)[0].handle;
    if (r->how->folds_pools)
        record->pool[0] = record->pool[1] = 0;
    if (r->how->ends_uses && record->kind == EVENT_FREE_REQUESTED)
        record->kind = EVENT_FREE;
}

static enum err rewriter_put(struct rewriter *r, const struct event *e, struct err_detail *err)
{
    struct trace_record record;
    if (is_left_out(r, e))
        return ERR_OK;
    const enum err status = trace_copy_event(r->in, e, r->out, &record, err);
    rewriter_fold(r, &record);
    record.time_ns += r->origin_ns;
    record.ptr = (uint64_t)(e->kind == EVENT_CONTROL ? record.control.slot : e->slot) + 1;
    if (e->kind == EVENT_ALLOC || e->kind == EVENT_OOM)
        record.bytes = rewriter_bytes(r, e->bytes);
    if (e->kind <= EVENT_FREE_COMPLETED)
        r->slots[e->slot] = record.kind == EVENT_ALLOC            ? SLOT_LIVE
                            : record.kind == EVENT_FREE_REQUESTED ? SLOT_RETIRED
                                                                  : SLOT_VACANT;
    return status != ERR_OK ? status : trace_put(r->out, &record, err);
}

/* Ends a round: frees all live requests. */
static enum err rewriter_free_live(struct rewriter *r, uint64_t time_ns, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint32_t slot = 0; slot < trace_info(r->in)->peak_live && e == ERR_OK; slot++) {
        const struct event free_one = { .slot = slot, .time_ns = time_ns,
                                        .kind = r->slots[slot] == SLOT_LIVE ? EVENT_FREE : EVENT_FREE_COMPLETED };
        if (r->slots[slot] != SLOT_VACANT)
            e = rewriter_put(r, &free_one, err);
    }
    return e;
}

static enum err rewriter_round(struct rewriter *r, const struct start_state *start, struct err_detail *err)
{
    assert(r->round < r->how->rounds);
    enum err e = trace_seek(r->in, 0, err);
    for (size_t i = 0; i < start->n_events && e == ERR_OK; i++)
        e = rewriter_put(r, &start->events[i], err);
    const struct event *events;
    uint64_t left = r->how->events;
    size_t n = 1;
    while (e == ERR_OK && n > 0 && left > 0) {
        e = trace_next(r->in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n && left > 0; i++, left--) {
            const uint64_t number = r->how->events - left;
            const struct event flush = { .kind = EVENT_FLUSH, .time_ns = events[i].time_ns };
            const bool is_caught = events[i].kind == EVENT_OOM && number < r->how->caught_before;
            e = rewriter_put(r, is_caught ? &flush : &events[i], err);
        }
    }
    return e;
}

static enum err rewriter_run(struct rewriter *r, const struct start_state *start, struct err_detail *err)
{
    const struct trace_info *info = trace_info(r->in);
    char note[120];
    snprintf(note, sizeof note, r->how->percent > 0 ? "a changed copy: sizes differ by up to %u %%" : "a copy",
             r->how->percent);
    trace_writer_info(r->out)->capacity_bytes = info->capacity_bytes;
    enum err e = trace_copy_facts(r->in, r->out, note, err);
    for (; r->round < r->how->rounds && e == ERR_OK; r->round++) {
        if (r->round > 0)
            e = rewriter_free_live(r, 0, err);
        if (e == ERR_OK)
            e = rewriter_round(r, start, err);
        r->origin_ns += info->duration_ns;
    }
    return e;
}

enum err trace_rewrite(struct trace_reader *in, const struct rewrite *how, struct trace_reader **out,
                       struct err_detail *err)
{
    struct rewriter r = { .in = in, .how = how };
    struct start_state start;
    enum err e = start_state_read(in, &start, err);
    if (e != ERR_OK)
        return e;
    r.slots = calloc((size_t)trace_info(in)->peak_live + 1, 1);
    e = r.slots == NULL ? err_no_memory(err)
                        : trace_create(NULL, &r.out, err);
    if (e == ERR_OK && (e = rewriter_run(&r, &start, err)) != ERR_OK)
        trace_abandon(r.out);
    else if (e == ERR_OK)
        e = trace_finish_open(r.out, "the changed copy", out, err);
    free(r.slots);
    start_state_close(&start);
    return e;
}
