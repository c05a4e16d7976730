/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Sorts the blocks of a moment into parts, and compares the sum with what the device says is reserved. */
#include "report/explain/explain.h"

#include "base/array.h"
#include "base/torch_sizes.h"
#include "base/units.h"

#include <assert.h>
#include <stdlib.h>

#define EXPLAIN_ROUND     UINT64_C(512)      /* no allocator hands out less than a multiple of it */

static void scene_take(void *arg, const struct block_view *b)
{
    struct explain_scene *s = arg;
    if (s->n == s->cap) {
        const size_t cap = s->cap == 0 ? 1024 : 2 * s->cap;
        struct block_view *grown = s->is_short ? NULL : realloc(s->at, cap * sizeof *grown);
        if (grown == NULL) {
            s->is_short = true;
            return;
        }
        s->at = grown;
        s->cap = cap;
    }
    s->has_small |= b->is_small;
    s->at[s->n++] = *b;
}

size_t explain_segment_end(const struct explain_scene *s, size_t first)
{
    size_t end = first + 1;
    while (end < s->n && s->at[end].segment == s->at[first].segment)
        end++;
    return end;
}

bool explain_serves(const struct explain_scene *s, const struct block_view *b, const struct explanation *x)
{
    return b->stream == x->stream && b->pool == x->pool &&
           (!s->has_small || b->is_small == (x->block_bytes <= TORCH_SMALL_MAX));
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void account_live(struct explain_parts *parts, const struct block_view *b)
{
    const uint64_t requested = less(b->requested, b->bytes);
    const uint64_t rounding = less(align_up(requested, EXPLAIN_ROUND), b->bytes) - requested;
    assert(requested + rounding <= b->bytes);
    parts->requested += requested;
    parts->rounding += rounding;
    parts->rest += b->bytes - requested - rounding;
}

/* The group of a free block. NULL: the host has no memory for a new one. */
static struct explain_free *free_group(struct explain_scene *s, struct explanation *x, const struct block_view *b,
                                       bool is_whole)
{
    const uint64_t place = (uint64_t)b->stream << 8 | b->pool, kind = (uint64_t)b->is_small << 1 | is_whole;
    const uint32_t *known = pair_map_find(&s->group_of, place, kind);
    if (known != NULL)
        return &x->free[*known];
    struct explain_free *grown = array_grow(x->free, x->n_free, &s->n_groups_room, sizeof *grown);
    if (grown == NULL)
        return NULL;
    x->free = grown;
    if (!pair_map_add(&s->group_of, place, kind, (uint32_t)x->n_free))
        return NULL;
    x->free[x->n_free] = (struct explain_free){ .stream = b->stream, .pool = b->pool, .is_small = b->is_small,
                                                .is_whole = is_whole };
    return &x->free[x->n_free++];
}

static enum err account_free(struct explain_scene *s, struct explanation *x, const struct block_view *b,
                             bool is_whole)
{
    struct explain_free *f = free_group(s, x, b, is_whole);
    if (f == NULL)
        return ERR_HOST_NOMEM;
    const uint64_t pages = is_whole ? 0 : block_view_idle_pages(b);
    f->bytes += b->bytes;
    f->page_bytes += pages;
    f->n++;
    f->largest_bytes = b->bytes > f->largest_bytes ? b->bytes : f->largest_bytes;
    x->parts.page_free += pages;
    *(is_whole ? &x->parts.whole_free : &x->parts.split_free) += b->bytes - pages;
    x->largest_free_bytes = b->bytes > x->largest_free_bytes ? b->bytes : x->largest_free_bytes;
    if (x->has_request && explain_serves(s, b, x) && b->bytes > x->largest_usable_bytes)
        x->largest_usable_bytes = b->bytes;
    return ERR_OK;
}

static enum err account_segment(struct explain_scene *s, struct explanation *x, size_t first, size_t end)
{
    bool is_whole = true;
    enum err e = ERR_OK;
    for (size_t i = first; i < end; i++)
        is_whole &= !explain_is_in_use(&s->at[i]);
    for (size_t i = first; i < end && e == ERR_OK; i++) {
        const struct block_view *b = &s->at[i];
        if (b->state == BLOCK_ALLOCATED)
            account_live(&x->parts, b);
        else if (b->state == BLOCK_PENDING)
            x->parts.pending += b->bytes;
        else if (b->state == BLOCK_FREE)
            e = account_free(s, x, b, is_whole);
    }
    return e;
}

/* ---- holes ---- */

static int hole_order(const void *a, const void *b)
{
    const struct explain_hole *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->pin_bytes < y->pin_bytes ? 1 : x->pin_bytes > y->pin_bytes ? -1 : 0;
}

static int hole_group_order(const void *a, const void *b)
{
    const struct explain_hole *x = a, *y = b;
    if (x->bytes * x->n != y->bytes * y->n)
        return x->bytes * x->n < y->bytes * y->n ? 1 : -1;
    return hole_order(a, b);
}

/* The larger of the blocks in use on both sides of block i; 0 if there is none. */
static uint64_t pin_bytes(const struct explain_scene *s, size_t i)
{
    uint64_t bytes = 0;
    for (size_t k = i == 0 ? i : i - 1; k <= i + 1 && k < s->n; k++) {
        const struct block_view *b = &s->at[k];
        if (b->segment == s->at[i].segment && explain_is_in_use(b) && b->requested > bytes)
            bytes = b->requested;
    }
    return bytes;
}

/* Groups equal holes next to equal blocks. Pages that can be given back are not part of a hole. */
static enum err account_holes(const struct explain_scene *s, struct explanation *x)
{
    struct explain_hole *all = calloc(s->n + 1, sizeof *all);
    if (all == NULL)
        return ERR_HOST_NOMEM;
    size_t n = 0, groups = 0;
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t bytes = s->at[i].state == BLOCK_FREE ? s->at[i].bytes - block_view_idle_pages(&s->at[i]) : 0;
        if (bytes > 0 && pin_bytes(s, i) > 0)
            all[n++] = (struct explain_hole){ .bytes = bytes, .pin_bytes = pin_bytes(s, i), .n = 1 };
    }
    qsort(all, n, sizeof *all, hole_order);
    for (size_t i = 0; i < n; i++) {
        if (groups > 0 && hole_order(&all[groups - 1], &all[i]) == 0)
            all[groups - 1].n++;
        else
            all[groups++] = all[i];
    }
    qsort(all, groups, sizeof *all, hole_group_order);
    for (size_t i = 0; i < groups; i++) {
        if (i < EXPLAIN_HOLES)
            x->holes[x->n_holes++] = all[i];
        else
            x->n_other_holes += all[i].n;
    }
    free(all);
    return ERR_OK;
}

/* ---- the whole ---- */

static int free_order(const void *a, const void *b)
{
    const struct explain_free *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->pool - y->pool) * 65536 + (x->stream - y->stream);
}

static void look_at_device(const struct device *d, struct explanation *x)
{
    device_memory_info(d, &x->free_bytes, &x->total_bytes);
    x->context_bytes = d->cfg.context_bytes;
    x->others_bytes = d->cfg.others_bytes;
    x->reserved_bytes = d->usage.reserved_bytes;
    x->page_rounding_bytes = (int64_t)d->usage.page_bytes - (int64_t)d->usage.reserved_bytes;
}

/* If the policy does not say how it rounds, assume the least: to 512 bytes. */
static void look_at_request(const struct event *req, const struct refusal *refusal, struct explanation *x)
{
    x->has_request = true;
    x->requested_bytes = req->bytes;
    x->stream = req->stream;
    x->pool = req->pool;
    x->block_bytes = align_up(req->bytes, EXPLAIN_ROUND);
    x->segment_bytes = align_up(x->block_bytes, DEVICE_PAGE_BYTES);
    if (refusal != NULL && refusal->rounded_bytes > 0)
        x->block_bytes = refusal->rounded_bytes;
    if (refusal != NULL && refusal->segment_bytes > 0)
        x->segment_bytes = refusal->segment_bytes;
}

static enum err account_all(struct explain_scene *s, struct explanation *x)
{
    enum err e = s->is_short ? ERR_HOST_NOMEM : ERR_OK;
    for (size_t i = 0, end; i < s->n && e == ERR_OK; i = end) {
        end = explain_segment_end(s, i);
        e = account_segment(s, x, i, end);
    }
    const struct explain_parts *p = &x->parts;
    const uint64_t shown = p->requested + p->rounding + p->rest + p->pending + p->split_free + p->page_free +
                           p->whole_free;
    if (e == ERR_OK && shown < x->reserved_bytes)
        x->parts.hidden = x->reserved_bytes - shown;
    if (e == ERR_OK && x->n_free > 0)
        qsort(x->free, x->n_free, sizeof *x->free, free_order);
    return e == ERR_OK ? account_holes(s, x) : e;
}

enum err explain_take(const struct policy *p, const struct event *req, const struct refusal *refusal,
                      struct explanation *out)
{
    struct explain_scene scene = { .at = NULL };
    struct explanation x = { .is_taken = true, .is_refusal = refusal != NULL, .has_walk = p->ops->walk != NULL };
    look_at_device(p->device, &x);
    if (req != NULL)
        look_at_request(req, refusal, &x);
    enum err e = x.has_walk ? p->ops->walk(p, scene_take, &scene) : ERR_OK;
    if (e == ERR_OK)
        e = account_all(&scene, &x);
    if (e == ERR_OK && x.has_request)
        e = explain_find_set(&scene, &x);
    free(scene.at);
    pair_map_free(&scene.group_of);
    if (e != ERR_OK)
        explain_close(&x);
    *out = x;
    return e;
}

void explain_close(struct explanation *x)
{
    free(x->free);
    free(x->blocks);
    *x = (struct explanation){ .is_taken = false };
}

const char *explain_way_name(enum explain_way way)
{
    static const char *const names[] = { NULL, "merge", "release" };     /* the JSON says "release" for giving back */
    assert((size_t)way < sizeof names / sizeof names[0]);
    return names[way];
}
