/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A rig for tests of the engine: traces written in memory from a list of events, and a policy simple enough to predict.
 */
#ifndef REPLAY_TESTS_ENGINE_RIG_H
#define REPLAY_TESTS_ENGINE_RIG_H

#include "base/units.h"
#include "policies/spec.h"
#include "replay/engine/engine.h"
#include "traces/trace.h"

#include <stdlib.h>

/* ---- bump: a policy whose every answer is known beforehand ---- */

enum { BUMP_SEGMENT_BYTES = 2 << 20, BUMP_ROUND = 512 };

/* Blocks follow each other in segments of 2 MiB (or one that fits) and are never reused. `fault` makes it lie. */
enum bump_fault {
    BUMP_SOUND, BUMP_OVERLAPS, BUMP_TOO_SMALL, BUMP_OUTSIDE, BUMP_UNKNOWN_SEGMENT, BUMP_FREES_LIVE,
    BUMP_ENDS_FREES                       /* no fault: it may */
};
struct bump {
    struct policy  base;
    struct segment segment;
    uint64_t       used;
    uint64_t       allocs, frees, retires, flushes, controls;
    uint64_t       fault_at;              /* the n-th alloc (FREES_LIVE: free) is wrong, from 1 */
    enum bump_fault fault;
    uint32_t       pending[8];            /* slots retired and not freed */
    unsigned       n_pending;
};

static inline enum err bump_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct bump *bump = calloc(1, sizeof *bump);
    if (bump == NULL)
        return err_no_memory(err);
    bump->fault = cfg->values == NULL ? BUMP_SOUND : (enum bump_fault)cfg->values[0].number;
    bump->fault_at = cfg->values == NULL ? 0 : cfg->values[1].number;
    *out = &bump->base;
    return ERR_OK;
}

static inline void bump_destroy(struct policy *p)
{
    free(p);
}

/* Ends all pending frees, as a policy that waits for its streams does. */
static inline void bump_end_frees(struct bump *b)
{
    while (b->n_pending > 0)
        b->base.observer->completed(b->base.observer->arg, b->pending[--b->n_pending]);
}

static inline enum err bump_refuse(struct bump *b)
{
    bump_end_frees(b);
    return ERR_DEVICE_OOM;
}

static inline enum err bump_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct bump *b = (struct bump *)p;
    const uint64_t bytes = align_up(req->bytes, BUMP_ROUND);
    if (b->segment.bytes < b->used + bytes) {
        struct segment s;
        if (device_segment_alloc(p->device, align_up(bytes, BUMP_SEGMENT_BYTES), &s) != ERR_OK)
            return bump_refuse(b);
        b->segment = s;
        b->used = 0;
    }
    *out = (struct block){ .addr = b->segment.addr + b->used, .bytes = bytes, .segment = b->segment.id };
    b->used += bytes;
    if (++b->allocs != b->fault_at)
        return ERR_OK;
    if (b->fault == BUMP_OVERLAPS)
        out->addr -= BUMP_ROUND;
    else if (b->fault == BUMP_TOO_SMALL)
        out->bytes = req->bytes - 1;
    else if (b->fault == BUMP_OUTSIDE)
        out->addr += b->segment.bytes;
    else if (b->fault == BUMP_UNKNOWN_SEGMENT)
        out->segment = 4000000000;
    else if (b->fault == BUMP_ENDS_FREES)
        bump_end_frees(b);
    return ERR_OK;
}

static inline void bump_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct bump *b = (struct bump *)p;
    (void)block;
    b->frees++;
    if (b->fault == BUMP_FREES_LIVE && b->frees == b->fault_at)
        device_segment_free(p->device, &b->segment);
    for (unsigned i = 0; i < b->n_pending; i++)
        if (b->pending[i] == req->slot)
            b->pending[i] = b->pending[--b->n_pending];
}

static inline void bump_retire(struct policy *p, const struct event *req, const struct block *block)
{
    struct bump *b = (struct bump *)p;
    (void)block;
    b->retires++;
    if (b->n_pending < 8)
        b->pending[b->n_pending++] = req->slot;
}

static inline void bump_flush(struct policy *p, uint32_t stream)
{
    (void)stream;
    ((struct bump *)p)->flushes++;
}

/* Knows one kind of control; fails on another. */
static inline enum err bump_control(struct policy *p, const struct control *c, const struct block *b,
                                    struct err_detail *err)
{
    ((struct bump *)p)->controls++;
    if (c->kind == CONTROL_USE)
        return b != NULL && b->bytes > 0 ? ERR_OK : err_set(err, ERR_CORRUPT, 0, "a use without its block");
    if (c->kind == CONTROL_SETTINGS)
        return err_set(err, ERR_USAGE, 0, "settings '%s' are not known", c->text == NULL ? "" : c->text);
    return ERR_UNSUPPORTED;
}

static const struct policy_option bump_options[] = {
    {.name = "fault", .kind = OPTION_NUMBER, .max = 10, .help = "what goes wrong"},
    {.name = "fault-at", .kind = OPTION_NUMBER, .max = UINT64_MAX, .help = "at which request"},
    {.name = NULL},
};

static const struct policy_ops policy_bump = {
    POLICY_HEAD,
    .name = "bump",
    .summary = "blocks one after the other, none reused (tests)",
    .options = bump_options,
    .create = bump_create,   .destroy = bump_destroy,
    .alloc = bump_alloc,     .free = bump_free,
    .retire = bump_retire,   .flush = bump_flush,     .control = bump_control,
};

/* A spec as the parser would have made it. */
static inline struct policy_spec bump_spec(enum bump_fault fault, uint64_t fault_at)
{
    static char typed[] = "bump";
    struct policy_spec s = { .ops = &policy_bump, .n_options = 2, .typed = typed, .expanded = typed };
    s.values[0] = (struct option_value){ .is_set = true, .number = fault };
    s.values[1] = (struct option_value){ .is_set = true, .number = fault_at };
    return s;
}

/* ---- traces ---- */

/* A trace of these records, in memory; released with rig_trace_close. `ptr` names requests; times are as given. */
struct rig_trace {
    void  *bytes;
    struct trace_reader *reader;
};

/* Ends the trace that `w` wrote and opens it. */
static inline enum err rig_trace_finish(struct rig_trace *t, struct trace_writer *w, struct err_detail *err)
{
    size_t n_bytes;
    const enum err e = trace_finish_bytes(w, &t->bytes, &n_bytes, err);
    return e != ERR_OK ? e : trace_open_bytes(t->bytes, n_bytes, &t->reader, err);
}

static inline enum err rig_trace_put(struct trace_writer *w, const struct trace_record *records, size_t n,
                                     struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        e = trace_put(w, &records[i], err);
    return e;
}

static inline enum err rig_trace_open(struct rig_trace *t, const struct trace_record *records, size_t n,
                                      struct err_detail *err)
{
    struct trace_writer *w;
    *t = (struct rig_trace){ .bytes = NULL };
    enum err e = trace_create(NULL, &w, err);
    if (e != ERR_OK)
        return e;
    e = rig_trace_put(w, records, n, err);
    if (e == ERR_OK)
        return rig_trace_finish(t, w, err);
    trace_abandon(w);
    return e;
}

static inline void rig_trace_close(struct rig_trace *t)
{
    trace_close(t->reader);
    free(t->bytes);
}

#endif
