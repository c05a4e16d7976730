/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * ort: ONNX Runtime's arena, BFCArena of 1.31 (microsoft/onnxruntime, onnxruntime/core/framework/bfc_arena.cc), without
 * streams.
 *
 * Chunks as in tf-bfc. The arena grows by powers of two, up to a cap for what it adds ahead of need, or by exactly the
 * request. A flush (Shrink) gives the free regions back; a refused request does not. Reserve() takes memory of its own
 * past the arena.
 */
#include "policies/zoo/bfc.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { ORT_BACKPEDAL_LEAST = 8 * 1024 };

struct ort {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct bfc      bfc;
    uint64_t        cap_bytes;              /* of the doubling ahead of need */
    uint64_t        growth_bytes;           /* step after a shrink */
    bool            takes_as_requested;
    uint64_t        first_addr;             /* of the first region; 0: there was none yet */
    uint64_t        n_allocs, n_reserves, n_extensions, n_shrinks;
    uint64_t        used_bytes, used_peak_bytes, largest_bytes;
};

enum { ORT_EXTEND, ORT_INITIAL, ORT_GROWTH, ORT_MAX_EXTEND, ORT_MAX_DEAD, ORT_LIMIT, ORT_UPSTREAM };

static const char ort_same_as_requested[] = "same-as-requested", ort_power_of_two[] = "next-power-of-two";

static const struct policy_option ort_options[] = {
    [ORT_EXTEND] = {"extend", OPTION_TEXT, 0, 0, ort_power_of_two, "next-power-of-two or same-as-requested",
                    "how the arena grows (arena_extend_strategy)"},
    [ORT_INITIAL] = {"initial", OPTION_BYTES, 1, TIB, "1MiB", "bytes", "the first region (initial_chunk_size_bytes)"},
    [ORT_GROWTH] = {"growth", OPTION_BYTES, 1, TIB, "2MiB", "bytes",
                    "the first region after a flush (initial_growth_chunk_size_bytes)"},
    [ORT_MAX_EXTEND] = {"max-extend", OPTION_BYTES, 1, UINT64_MAX / 4, "1GiB", "bytes",
                        "doubling ahead of need ends here (max_power_of_two_extend_bytes, since May 2023)"},
    [ORT_MAX_DEAD] = {"max-dead", OPTION_BYTES, 1, UINT64_MAX / 4, "128MiB", "bytes",
                      "a rest above this is split off (max_dead_bytes_per_chunk; 0 corrupts the real arena)"},
    [ORT_LIMIT] = {"limit", OPTION_BYTES, 1, UINT64_MAX / 4, NULL, "bytes",
                   "the most to hold (max_mem, gpu_mem_limit)"},
    [ORT_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void ort_destroy(struct policy *p)
{
    struct ort *o = (struct ort *)p;
    bfc_close(&o->bfc);
    upstream_close(&o->upstream);
    free(o);
}

static enum err ort_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const struct option_value *v = cfg->values;
    const bool is_same = strcmp(v[ORT_EXTEND].text, ort_same_as_requested) == 0;
    if (!is_same && strcmp(v[ORT_EXTEND].text, ort_power_of_two) != 0)
        return err_set(err, ERR_USAGE, POLICY_PLACE(ORT_EXTEND, 0), "extend is next-power-of-two or same-as-requested");
    struct ort *o = calloc(1, sizeof *o);
    if (o == NULL)
        return err_no_memory(err);
    o->bfc.limit_bytes = v[ORT_LIMIT].is_set ? v[ORT_LIMIT].number : UINT64_MAX;
    o->bfc.step_bytes = v[ORT_INITIAL].number < o->bfc.limit_bytes ? v[ORT_INITIAL].number : o->bfc.limit_bytes;
    o->bfc.step_bytes = align_up(o->bfc.step_bytes, BFC_UNIT);
    o->bfc.slack_bytes = v[ORT_MAX_DEAD].number;
    o->cap_bytes = v[ORT_MAX_EXTEND].number;
    o->growth_bytes = v[ORT_GROWTH].number;
    o->takes_as_requested = is_same;
    enum err e = upstream_open(&o->upstream, cfg, &v[ORT_UPSTREAM], err);
    if (e == ERR_OK)
        e = bfc_open(&o->bfc, cfg, &o->upstream);
    if (e != ERR_OK)
        ort_destroy(&o->base);
    else
        *out = &o->base;
    return e;
}

/* ---- regions ---- */

/* What to ask the device for. The step for the next time is set before it answers. */
static uint64_t ort_next_region(struct ort *o, uint64_t bytes, uint64_t room)
{
    if (o->takes_as_requested)
        return bytes;
    const bool is_raised = bfc_raise_step(&o->bfc, bytes);
    const uint64_t step = o->bfc.step_bytes;
    if (!is_raised)
        o->bfc.step_bytes = step < o->cap_bytes / 2 ? 2 * step : o->cap_bytes;
    return step < room ? step : room;
}

static enum err ort_extend(struct ort *o, uint64_t least)
{
    const uint64_t room = bfc_room(&o->bfc);
    if (least > room)
        return ERR_DEVICE_OOM;
    uint64_t bytes = ort_next_region(o, least, room);
    uint32_t b;
    enum err e;
    while ((e = bfc_add_region(&o->bfc, bytes, &b)) == ERR_DEVICE_OOM && bytes > least) {
        bytes = bfc_backpedal(bytes);
        if (bytes < least || bytes < ORT_BACKPEDAL_LEAST)
            break;
    }
    if (e != ERR_OK)
        return e;
    o->n_extensions++;
    if (o->first_addr == 0)
        o->first_addr = heap_at(&o->bfc.heap, b)->addr;
    bfc_free(&o->bfc, b, &o->base.count);
    return ERR_OK;
}

/* Shrink(). The strategy next-power-of-two keeps the first region. */
static void ort_flush(struct policy *p, uint32_t stream)
{
    struct ort *o = (struct ort *)p;
    uint32_t *idle;
    size_t n;
    (void)stream;
    o->bfc.step_bytes = align_up(o->growth_bytes, BFC_UNIT);
    if (heap_idle_pieces(&o->bfc.heap, HEAP_BY_ADDRESS, &idle, &n) != ERR_OK) {
        p->failure = ERR_HOST_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!o->takes_as_requested && heap_at(&o->bfc.heap, idle[i])->addr == o->first_addr)
            continue;
        bfc_give_back(&o->bfc, idle[i]);
        o->n_extensions--;
        o->n_shrinks++;
    }
    free(idle);
}

/* ---- requests ---- */

static void ort_count(struct ort *o, uint64_t bytes)
{
    o->n_allocs++;
    o->used_bytes += bytes;
    o->used_peak_bytes = o->used_bytes > o->used_peak_bytes ? o->used_bytes : o->used_peak_bytes;
    o->largest_bytes = bytes > o->largest_bytes ? bytes : o->largest_bytes;
}

static enum err ort_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct ort *o = (struct ort *)p;
    uint64_t bytes;
    enum err e = block_table_reserve(&o->bfc.heap.blocks, 2);
    if (e != ERR_OK || !bfc_round(req->bytes, &bytes))
        return e != ERR_OK ? e : ERR_DEVICE_OOM;
    if (bfc_take(&o->bfc, bytes, req->bytes, &p->count, out)) {
        p->count.hits++;
    } else {
        if ((e = ort_extend(o, bytes)) != ERR_OK)
            return e;
        p->count.misses++;
        if (!bfc_take(&o->bfc, bytes, req->bytes, &p->count, out))
            return ERR_CORRUPT;
    }
    ort_count(o, out->bytes);
    return ERR_OK;
}

/* Reserved memory is a piece of its own, whose block is marked small. */
static enum err ort_reserve(struct policy *p, const struct event *req, struct block *out)
{
    struct ort *o = (struct ort *)p;
    uint32_t b;
    const enum err e = bfc_add_region(&o->bfc, req->bytes, &b);
    if (e != ERR_OK)
        return e;
    heap_at(&o->bfc.heap, b)->flags |= BLOCK_IS_SMALL;
    heap_take(&o->bfc.heap, b, req->bytes, out);
    o->n_reserves++;
    ort_count(o, out->bytes);
    return ERR_OK;
}

static void ort_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct ort *o = (struct ort *)p;
    (void)req;
    o->used_bytes -= b->bytes;
    if ((heap_at(&o->bfc.heap, b->cookie)->flags & BLOCK_IS_SMALL) != 0)
        heap_give_back(&o->bfc.heap, b->cookie);
    else
        bfc_free(&o->bfc, b->cookie, &p->count);
}

/* ---- reports ---- */

static enum err ort_walk(const struct policy *p, block_visit visit, void *arg)
{
    return bfc_walk(&((const struct ort *)p)->bfc, visit, arg);
}

static uint64_t ort_largest_free(const struct policy *p)
{
    const struct ort *o = (const struct ort *)p;
    return upstream_largest_free(&o->upstream, free_set_largest(&o->bfc.free));
}

static void ort_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct ort *o = (const struct ort *)p;
    const struct own_stat own[] = {
        {"InUse", o->used_bytes},
        {"MaxAllocSize", o->largest_bytes},
        {"MaxInUse", o->used_peak_bytes},
        {"NumAllocs", o->n_allocs},
        {"NumArenaExtensions", o->n_extensions},
        {"NumArenaShrinkages", o->n_shrinks},
        {"NumReserves", o->n_reserves},
        {"TotalAllocated", o->bfc.heap.held_bytes},
    };
    upstream_stats(&o->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static enum err ort_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct ort *)p)->bfc.heap, "ort", err);
}

const struct policy_ops policy_ort = {
    POLICY_HEAD,
    .name = "ort",
    .summary = "ONNX Runtime's arena (onnxruntime 1.31, core/framework/bfc_arena.cc), without streams",
    .options = ort_options,
    .create = ort_create,   .destroy = ort_destroy,
    .alloc = ort_alloc,     .free = ort_free,
    .flush = ort_flush,     .reserve = ort_reserve,
    .walk = ort_walk,       .largest_free = ort_largest_free,
    .stats = ort_stats,     .check = ort_check,
};
