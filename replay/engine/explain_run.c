/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Takes explanations while a lane runs; afterwards finds the requests in the trace. */
#include "replay/engine/explain_run.h"

#include "replay/engine/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static int block_order(const void *key, const void *block)
{
    const uint64_t addr = *(const uint64_t *)key;
    const struct explain_block *b = block;
    return addr < b->addr ? -1 : addr > b->addr;
}

/* Finds the slot of the request that each block serves. Only the blocks are sorted by address, so each live request
 * looks for its block, not the other way round. */
static void find_slots(const struct lane *l, struct explanation *x)
{
    for (uint32_t slot = 0; slot < l->n_slots && x->n_blocks > 0; slot++) {
        if (l->live[slot].bytes == 0)
            continue;
        struct explain_block *b =
            bsearch(&l->live[slot].addr, x->blocks, x->n_blocks, sizeof *x->blocks, block_order);
        if (b != NULL)
            b->slot = slot;
    }
}

static void take(struct explain_run *run, const struct lane *l, const struct event *req, const struct refusal *refusal,
                 int64_t event, uint64_t time_ns, struct explanation *x)
{
    if (explain_take(l->policy, req, refusal, x) != ERR_OK) {
        run->is_short = true;
        return;
    }
    assert(x->is_taken);
    x->event = event;
    x->time_ns = time_ns;
    find_slots(l, x);
}

void explain_run_event(struct explain_run *x, const struct lane *l, const struct event *next, uint64_t event)
{
    const bool is_request = next->kind == EVENT_ALLOC || next->kind == EVENT_OOM;
    take(x, l, is_request ? next : NULL, NULL, (int64_t)event, next->time_ns, &x->at_event);
}

void explain_run_end(struct explain_run *x, const struct lane *l, uint64_t n_events, uint64_t time_ns)
{
    take(x, l, NULL, NULL, (int64_t)n_events, time_ns, &x->at_event);
    x->at_event.is_end = true;
}

void explain_run_refusal(struct explain_run *x, const struct lane *l, const struct event *req,
                         const struct meter_oom *oom)
{
    take(x, l, req, &oom->refusal, oom->event, req->time_ns, &x->at_oom);
}

/* ---- afterwards ---- */

/* Notes each request that takes a slot of interest. Slots are reused, so the last request before the explained event
 * is the one that the block serves. `block_of`: by slot, the block's index + 1, or 0. */
static void note_requests(const struct event *ev, size_t n, uint64_t first, const uint32_t *block_of,
                          struct explanation *x)
{
    for (size_t i = 0; i < n && (int64_t)(first + i) < x->event; i++) {
        if (ev[i].kind != EVENT_ALLOC || block_of[ev[i].slot] == 0)
            continue;
        struct explain_block *b = &x->blocks[block_of[ev[i].slot] - 1];
        b->event = (int64_t)(first + i);
        b->age_ns = x->time_ns - ev[i].time_ns;
    }
}

static enum err find_requests(struct trace_reader *trace, struct explanation *x, struct err_detail *err)
{
    uint32_t *block_of = calloc((size_t)trace_info(trace)->peak_live + 1, sizeof *block_of);
    if (block_of == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < x->n_blocks; i++) {
        assert(x->blocks[i].slot == UINT32_MAX || x->blocks[i].slot < trace_info(trace)->peak_live);
        if (x->blocks[i].slot != UINT32_MAX)
            block_of[x->blocks[i].slot] = (uint32_t)i + 1;
    }
    enum err e = trace_seek(trace, 0, err);
    const struct event *ev;
    uint64_t first = 0;
    for (size_t n; e == ERR_OK && (int64_t)first < x->event; first += n) {
        e = trace_next(trace, &ev, &n, err);
        if (e != ERR_OK || n == 0)
            break;
        note_requests(ev, n, first, block_of, x);
    }
    free(block_of);
    return e;
}

static enum err name_block(struct trace_reader *trace, struct explain_block *b, struct err_detail *err)
{
    struct trace_side side;
    b->is_known = b->slot != UINT32_MAX;
    if (!b->is_known || b->event < 0)
        return ERR_OK;
    enum err e = trace_side_at(trace, (uint64_t)b->event, &side, err);
    if (e == ERR_OK)
        e = trace_event_number(trace, b->event, &b->event, err);
    if (e == ERR_OK)
        b->stack = side.stack;
    return e;
}

static enum err finish(struct explanation *x, struct trace_reader *trace, struct err_detail *err)
{
    if (!x->is_taken)
        return ERR_OK;
    enum err e = x->n_blocks > 0 ? find_requests(trace, x, err) : ERR_OK;
    for (size_t i = 0; i < x->n_blocks && e == ERR_OK; i++)
        e = name_block(trace, &x->blocks[i], err);
    return e != ERR_OK || x->is_end ? e : trace_event_number(trace, x->event, &x->place, err);
}

enum err explain_run_finish(struct explain_run *x, struct trace_reader *trace, struct err_detail *err)
{
    if (x->is_short)
        return err_no_memory(err);
    const enum err e = finish(&x->at_event, trace, err);
    return e == ERR_OK ? finish(&x->at_oom, trace, err) : e;
}

enum err explain_run_find(struct trace_reader *trace, uint64_t place, uint64_t *event, struct err_detail *err)
{
    const uint64_t events = trace_info(trace)->events;
    uint64_t low = 0, high = events;
    *event = EXPLAIN_END;
    if (place == EXPLAIN_END)
        return ERR_OK;
    if (!trace_info(trace)->has_source_numbers) {
        low = place;
    } else {
        while (low < high) {         /* numbers rise with events */
            const uint64_t mid = low + (high - low) / 2;
            int64_t there;
            const enum err e = trace_event_number(trace, (int64_t)mid, &there, err);
            if (e != ERR_OK)
                return e;
            if (there < 0 || (uint64_t)there < place)
                low = mid + 1;
            else
                high = mid;
        }
    }
    *event = low;
    return low < events ? ERR_OK : err_set(err, ERR_USAGE, 0, "event %" PRIu64 ": the trace ends before it", place);
}

void explain_run_close(struct explain_run *x)
{
    explain_close(&x->at_event);
    explain_close(&x->at_oom);
}
