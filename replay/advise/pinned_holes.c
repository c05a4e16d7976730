/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Walks over blocks by address, and sums holes up by sizes. */
#include "replay/advise/pinned_holes.h"

#include "replay/trials/altered_trace.h"

#include <assert.h>
#include <stdlib.h>

/* All blocks of a policy. */
struct views {
    struct block_view *at;
    size_t   n, cap;
    bool     is_short;                   /* of host memory */
};

static void take_view(void *arg, const struct block_view *b)
{
    struct views *v = arg;
    if (v->n == v->cap) {
        const size_t cap = v->cap == 0 ? 256 : 2 * v->cap;
        struct block_view *grown = realloc(v->at, cap * sizeof *grown);
        v->is_short |= grown == NULL;
        if (grown == NULL)
            return;
        v->at = grown;
        v->cap = cap;
    }
    v->at[v->n++] = *b;
}

static bool is_live(const struct block_view *b)
{
    return b->state == BLOCK_ALLOCATED || b->state == BLOCK_PENDING;
}

/* All kinds, in no order. */
struct kinds {
    struct hole_kind *at;
    size_t n;
};

static void kinds_add(struct kinds *k, uint64_t hole_bytes, uint64_t pin_bytes)
{
    size_t i = 0;
    while (i < k->n && (k->at[i].hole_bytes != hole_bytes || k->at[i].pin_bytes != pin_bytes))
        i++;
    if (i == k->n)
        k->at[k->n++] = (struct hole_kind){ .hole_bytes = hole_bytes, .pin_bytes = pin_bytes };
    k->at[i].n++;
}

/* Looks at one segment: blocks [first, end). A hole counts to the live block before it, or else to the one after it. */
static void look_at_segment(const struct views *v, size_t first, size_t end, struct holes *out, struct kinds *kinds)
{
    size_t n_live = 0;
    for (size_t i = first; i < end; i++)
        n_live += is_live(&v->at[i]);
    for (size_t i = first; i < end; i++) {
        const struct block_view *b = &v->at[i];
        out->reserved_bytes += b->state == BLOCK_UNMAPPED ? 0 : b->bytes;
        if (b->state != BLOCK_FREE)
            continue;
        if (n_live == 0) {
            out->idle_bytes += b->bytes;
            continue;
        }
        const uint64_t pages = block_view_idle_pages(b), pinned = b->bytes - pages;
        assert(pages <= b->bytes);
        out->idle_bytes += pages;
        out->pinned_bytes += pinned;
        if (pinned == 0)
            continue;
        const bool has_before = i > first && is_live(&v->at[i - 1]), has_after = i + 1 < end && is_live(&v->at[i + 1]);
        kinds_add(kinds, pinned, has_before ? v->at[i - 1].requested : has_after ? v->at[i + 1].requested : 0);
    }
}

static int compare_kinds(const void *a, const void *b)
{
    const struct hole_kind *x = a, *y = b;
    const double left = (double)x->hole_bytes * (double)x->n, right = (double)y->hole_bytes * (double)y->n;
    if (left != right)
        return left > right ? -1 : 1;
    return x->pin_bytes < y->pin_bytes ? -1 : x->pin_bytes > y->pin_bytes;
}

static size_t end_of_segment(const struct views *v, size_t first)
{
    size_t end = first + 1;
    while (end < v->n && v->at[end].segment == v->at[first].segment)
        end++;
    return end;
}

static enum err holes_look(const struct views *v, struct holes *out, struct err_detail *err)
{
    struct holes holes = { .reserved_bytes = 0 };
    struct kinds kinds = { .at = calloc(v->n + 1, sizeof *kinds.at) };
    if (kinds.at == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < v->n; i = end_of_segment(v, i))
        look_at_segment(v, i, end_of_segment(v, i), &holes, &kinds);
    qsort(kinds.at, kinds.n, sizeof *kinds.at, compare_kinds);
    for (; holes.n_kinds < kinds.n && holes.n_kinds < HOLE_KINDS; holes.n_kinds++)
        holes.kinds[holes.n_kinds] = kinds.at[holes.n_kinds];
    *out = holes;
    free(kinds.at);
    return ERR_OK;
}

/* All blocks after the first `events` events. */
static enum err views_read(struct trace_reader *trace, const struct policy_spec *spec,
                           const struct device_choice *device, uint64_t events, uint64_t caught_before,
                           struct views *out, struct err_detail *err)
{
    const struct rewrite cut = { .rounds = 1, .events = events, .caught_before = caught_before };
    const struct replay_config cfg = { .on_oom = OOM_STOP, .threads = 1 };
    struct trace_reader *head = NULL;
    struct lane lane = { .spec = NULL };
    *out = (struct views){ .at = NULL };
    if (spec->ops->walk == NULL)
        return err_set(err, ERR_UNSUPPORTED, 0, "the policy %s shows no blocks", spec->ops->name);
    enum err e = trace_rewrite(trace, &cut, &head, err);
    if (e == ERR_OK)
        e = lane_open(spec, device->ops, &device->config, head, 0, &lane, err);
    if (e == ERR_OK)
        e = replay_run(head, &lane, 1, &cfg, err);
    if (e == ERR_OK)
        e = lane_failure(&lane, err);
    if (e == ERR_OK && (spec->ops->walk(lane.policy, take_view, out) != ERR_OK || out->is_short))
        e = err_no_memory(err);
    lane_close(&lane);
    trace_close(head);
    return e;
}

enum err holes_find(struct trace_reader *trace, const struct policy_spec *spec, const struct device_choice *device,
                    uint64_t events, uint64_t caught_before, struct holes *out, struct err_detail *err)
{
    struct views v;
    enum err e = views_read(trace, spec, device, events, caught_before, &v, err);
    if (e == ERR_OK)
        e = holes_look(&v, out, err);
    free(v.at);
    return e;
}

/* A segment is of one stream. */
static void add_segment(const struct views *v, size_t first, struct stream_share *share)
{
    const size_t end = end_of_segment(v, first);
    uint64_t live = 0, pinned = 0;
    for (size_t i = first; i < end; i++) {
        live += is_live(&v->at[i]) ? v->at[i].bytes : 0;
        pinned += v->at[i].state == BLOCK_FREE ? v->at[i].bytes - block_view_idle_pages(&v->at[i]) : 0;
    }
    share->live_bytes += live;
    share->pinned_bytes += live > 0 ? pinned : 0;
}

enum err stream_shares_find(struct trace_reader *trace, const struct policy_spec *spec,
                            const struct device_choice *device, uint64_t events, uint64_t caught_before,
                            struct stream_share *shares, struct err_detail *err)
{
    const uint32_t n_streams = trace_info(trace)->n_streams;
    struct views v;
    const enum err e = views_read(trace, spec, device, events, caught_before, &v, err);
    for (uint32_t i = 0; i < n_streams; i++)
        shares[i] = (struct stream_share){ .live_bytes = 0 };
    for (size_t i = 0; e == ERR_OK && i < v.n; i = end_of_segment(&v, i))
        if (v.at[i].stream < n_streams)
            add_segment(&v, i, &shares[v.at[i].stream]);
    free(v.at);
    return e;
}
