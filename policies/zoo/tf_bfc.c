/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * tf-bfc: TensorFlow's BFCAllocator of 2.21, which XLA and JAX use too (openxla/xla,
 * xla/tsl/framework/bfc_allocator.cc; settings: tensorflow/core/common_runtime/gpu/gpu_bfc_allocator.cc,
 * xla/pjrt/gpu/gpu_helpers.cc).
 *
 * A region that is added is twice as large as the one before. When the device refuses, less and less is asked for; when
 * nothing helps, all regions that are wholly free are given back and one more attempt is made. With growth off one
 * region of the whole limit is taken at the first request. With start= the first region is that share of the card, as
 * described in OpenXLA (GpuAllocatorConfig's memory_fraction_policy) for "0.75+". There what is added joins the range
 * of the first one, whose top is filled first; here it is a region of its own, so a request that would lie across both
 * is refused.
 */
#include "policies/zoo/bfc.h"

#include "base/units.h"

#include <stdlib.h>

struct tf_bfc {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct bfc      bfc;
    bool            collects;               /* gives free regions back before it refuses */
    bool            joins_regions;
    uint64_t        n_allocs, used_bytes, used_peak_bytes, largest_bytes, held_peak_bytes;
};

enum { TF_LIMIT, TF_FRACTION, TF_GROWTH, TF_GC, TF_FRAG_FRACTION, TF_COALESCE_REGIONS, TF_START, TF_UPSTREAM };

static const struct policy_option tf_bfc_options[] = {
    [TF_LIMIT] = {"limit", OPTION_BYTES, 256, UINT64_MAX / 4, NULL, "bytes",
                  "the most to hold (total_memory); not set: what the card has free"},
    [TF_FRACTION] = {"fraction", OPTION_RATIO, 0, 0, NULL, NULL,
                     "the same as a share of the card (per_process_gpu_memory_fraction, "
                     "XLA_PYTHON_CLIENT_MEM_FRACTION: JAX takes 0.75)"},
    [TF_GROWTH] = {"growth", OPTION_SWITCH, 0, 0, "on", NULL,
                   "take memory as it is needed (allow_growth, TF_FORCE_GPU_ALLOW_GROWTH). off, the default of "
                   "TensorFlow and JAX: the whole limit at the first request"},
    [TF_GC] = {"gc", OPTION_SWITCH, 0, 0, "on", NULL,
               "give free regions back before a request is refused (TF_ENABLE_GPU_GARBAGE_COLLECTION; off in JAX)"},
    [TF_FRAG_FRACTION] = {"frag-fraction", OPTION_RATIO, 0, 0, "0", NULL,
                          "a rest above this share of the limit is split off; 0: above 128 MiB "
                          "(fragmentation_fraction)"},
    [TF_COALESCE_REGIONS] = {"coalesce-regions", OPTION_SWITCH, 0, 0, "off", NULL,
                             "regions are mapped one after the other and coalesce (a sub-allocator on virtual memory); "
                             "without gc"},
    [TF_START] = {"start", OPTION_RATIO, 0, 0, NULL, NULL,
                  "as described: this share of the card at the first request, and then more, up to the limit "
                  "(XLA's memory_fraction_policy 0.75+)"},
    [TF_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

#define TF_FIRST_STEP (2 * MIB)
#define TF_SLACK (128 * MIB)

static void tf_bfc_destroy(struct policy *p)
{
    struct tf_bfc *t = (struct tf_bfc *)p;
    bfc_close(&t->bfc);
    upstream_close(&t->upstream);
    free(t);
}

/* The most to hold; UINT64_MAX: the card has no end and no limit was given. */
static uint64_t tf_bfc_limit(const struct policy_config *cfg)
{
    uint64_t free_bytes, total_bytes;
    const struct option_value *v = cfg->values;
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    if (v[TF_LIMIT].is_set)
        return v[TF_LIMIT].number;
    if (total_bytes == DEVICE_UNLIMITED)
        return UINT64_MAX;
    return v[TF_FRACTION].is_set ? (uint64_t)((double)total_bytes * v[TF_FRACTION].ratio) : free_bytes;
}

static enum err tf_bfc_check_options(const struct policy_config *cfg, uint64_t limit_bytes, struct err_detail *err)
{
    const struct option_value *v = cfg->values;
    if (v[TF_GROWTH].number == 0 && limit_bytes == UINT64_MAX)
        return err_set(err, ERR_USAGE, POLICY_PLACE(TF_GROWTH, 0),
                       "without growth all of the card is taken, and this card has no end: give limit=");
    if (v[TF_START].is_set && v[TF_GROWTH].number == 0)
        return err_set(err, ERR_USAGE, POLICY_PLACE(TF_START, 0), "what grows from a start needs growth=on");
    if (v[TF_COALESCE_REGIONS].number != 0 && v[TF_COALESCE_REGIONS].is_given && v[TF_GC].number != 0 &&
        v[TF_GC].is_given)
        return err_set(err, ERR_USAGE, POLICY_PLACE(TF_COALESCE_REGIONS, 0), "regions that coalesce need gc=off");
    if (v[TF_COALESCE_REGIONS].number != 0 && v[TF_UPSTREAM].choice != NULL)
        return err_set(err, ERR_USAGE, POLICY_PLACE(TF_COALESCE_REGIONS, 0),
                       "regions that coalesce come from the device");
    return ERR_OK;
}

static enum err tf_bfc_open_upstream(struct tf_bfc *t, const struct policy_config *cfg, struct err_detail *err)
{
    if (!t->joins_regions)
        return upstream_open(&t->upstream, cfg, &cfg->values[TF_UPSTREAM], err);
    const uint64_t limit = t->bfc.limit_bytes < TRACE_RANGE_MAX ? t->bfc.limit_bytes : TRACE_RANGE_MAX;
    const enum err e = upstream_open_range(&t->upstream, cfg->device, limit);
    if (e == ERR_UNSUPPORTED)
        err_set(err, e, 0, "coalesce-regions needs virtual memory calls, which the device does not have");
    return e;
}

static uint64_t tf_bfc_first_step(const struct policy_config *cfg, uint64_t limit_bytes)
{
    uint64_t free_bytes, total_bytes, step = TF_FIRST_STEP;
    const struct option_value *v = cfg->values;
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    if (v[TF_START].is_set && total_bytes != DEVICE_UNLIMITED)
        step = (uint64_t)((double)total_bytes * v[TF_START].ratio);
    return v[TF_GROWTH].number == 0 || step > limit_bytes ? limit_bytes : step > TF_FIRST_STEP ? step : TF_FIRST_STEP;
}

static enum err tf_bfc_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const struct option_value *v = cfg->values;
    const uint64_t limit_bytes = tf_bfc_limit(cfg);
    enum err e = tf_bfc_check_options(cfg, limit_bytes, err);
    if (e != ERR_OK)
        return e;
    struct tf_bfc *t = calloc(1, sizeof *t);
    if (t == NULL)
        return err_no_memory(err);
    const uint64_t step = tf_bfc_first_step(cfg, limit_bytes);
    const double share = v[TF_FRAG_FRACTION].ratio;
    t->bfc.limit_bytes = limit_bytes;
    t->bfc.step_bytes = align_up(step, BFC_UNIT);
    t->bfc.slack_bytes = share > 0 ? (uint64_t)(share * (double)limit_bytes) : TF_SLACK;
    t->joins_regions = v[TF_COALESCE_REGIONS].number != 0;
    t->collects = v[TF_GC].number != 0 && !t->joins_regions;
    if ((e = tf_bfc_open_upstream(t, cfg, err)) == ERR_OK)
        e = bfc_open(&t->bfc, cfg, &t->upstream);
    if (e != ERR_OK)
        tf_bfc_destroy(&t->base);
    else
        *out = &t->base;
    return e;
}

/* ---- regions ---- */

/* Asks for a region, and while the device refuses for smaller ones. */
static enum err tf_bfc_obtain(struct tf_bfc *t, uint64_t bytes, uint64_t least, uint32_t *out)
{
    enum err e;
    while ((e = bfc_add_region(&t->bfc, bytes, out)) == ERR_DEVICE_OOM && bytes > least) {
        bytes = bfc_backpedal(bytes);
        if (bytes < least)
            break;
    }
    return e;
}

/* A region that touches the one before becomes a part of it, and its chunk joins a free one there. */
static uint32_t tf_bfc_join_region(struct tf_bfc *t, uint32_t b)
{
    struct heap *h = &t->bfc.heap;
    const uint64_t start = heap_at(h, b)->addr;
    for (size_t i = 0; i < h->n_pieces; i++) {
        const struct piece *below = &h->pieces[i];
        if (below->bytes == 0 || below->from.addr + below->bytes != start)
            continue;
        uint32_t last = below->block;
        while (heap_at(h, last)->next != BLOCK_NONE)
            last = heap_at(h, last)->next;
        heap_join_pieces(h, last, b);
    }
    return b;
}

static enum err tf_bfc_extend(struct tf_bfc *t, uint64_t bytes)
{
    const uint64_t room = bfc_room(&t->bfc);
    if (bytes > room)
        return ERR_DEVICE_OOM;
    const bool is_raised = bfc_raise_step(&t->bfc, bytes);
    uint32_t b;
    const enum err e = tf_bfc_obtain(t, t->bfc.step_bytes < room ? t->bfc.step_bytes : room, bytes, &b);
    if (e != ERR_OK)
        return e;
    if (!is_raised && t->bfc.step_bytes <= INT64_MAX)
        t->bfc.step_bytes *= 2;
    if (t->joins_regions)
        b = tf_bfc_join_region(t, b);
    bfc_free(&t->bfc, b, &t->base.count);
    if (t->bfc.heap.held_bytes > t->held_peak_bytes)
        t->held_peak_bytes = t->bfc.heap.held_bytes;
    return ERR_OK;
}

/* Gives all free regions back, by address, if a request of `bytes` would fit then. */
static bool tf_bfc_collect(struct tf_bfc *t, uint64_t bytes)
{
    const struct heap *h = &t->bfc.heap;
    uint64_t free_bytes = 0;
    uint32_t *idle;
    size_t n;
    if (!t->collects)
        return false;
    if (heap_idle_pieces(h, HEAP_BY_ADDRESS, &idle, &n) != ERR_OK) {
        t->base.failure = ERR_HOST_NOMEM;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        free_bytes += heap_at(h, idle[i])->size;
    const bool is_enough = n > 0 && bytes <= t->bfc.limit_bytes - h->held_bytes + free_bytes;
    for (size_t i = 0; i < n && is_enough; i++)
        bfc_give_back(&t->bfc, idle[i]);
    t->base.count.retries += is_enough;
    t->base.count.collected += is_enough ? n : 0;
    free(idle);
    return is_enough;
}

/* ---- requests ---- */

static void tf_bfc_count(struct tf_bfc *t, uint64_t bytes)
{
    t->n_allocs++;
    t->used_bytes += bytes;
    t->used_peak_bytes = t->used_bytes > t->used_peak_bytes ? t->used_bytes : t->used_peak_bytes;
    t->largest_bytes = bytes > t->largest_bytes ? bytes : t->largest_bytes;
}

static enum err tf_bfc_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct tf_bfc *t = (struct tf_bfc *)p;
    uint64_t bytes;
    enum err e = block_table_reserve(&t->bfc.heap.blocks, 2);
    if (e != ERR_OK || !bfc_round(req->bytes, &bytes))
        return e != ERR_OK ? e : ERR_DEVICE_OOM;
    if (bfc_take(&t->bfc, bytes, req->bytes, &p->count, out)) {
        p->count.hits++;
    } else {
        e = tf_bfc_extend(t, bytes);
        if (e == ERR_DEVICE_OOM && tf_bfc_collect(t, bytes))
            e = tf_bfc_extend(t, bytes);
        if (e != ERR_OK)
            return e;
        p->count.misses++;
        if (!bfc_take(&t->bfc, bytes, req->bytes, &p->count, out))
            return ERR_CORRUPT;
    }
    tf_bfc_count(t, out->bytes);
    return ERR_OK;
}

static void tf_bfc_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct tf_bfc *t = (struct tf_bfc *)p;
    (void)req;
    t->used_bytes -= b->bytes;
    bfc_free(&t->bfc, b->cookie, &p->count);
}

/* ---- reports ---- */

static enum err tf_bfc_walk(const struct policy *p, block_visit visit, void *arg)
{
    return bfc_walk(&((const struct tf_bfc *)p)->bfc, visit, arg);
}

static uint64_t tf_bfc_largest_free(const struct policy *p)
{
    const struct tf_bfc *t = (const struct tf_bfc *)p;
    return upstream_largest_free(&t->upstream, free_set_largest(&t->bfc.free));
}

static void tf_bfc_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct tf_bfc *t = (const struct tf_bfc *)p;
    const struct own_stat own[] = {
        {"bytes_in_use", t->used_bytes},
        {"largest_alloc_size", t->largest_bytes},
        {"largest_free_block_bytes", 0},           /* TensorFlow never sets it */
        {"num_allocs", t->n_allocs},
        {"peak_bytes_in_use", t->used_peak_bytes},
        {"peak_pool_bytes", t->held_peak_bytes},
        {"pool_bytes", t->bfc.heap.held_bytes},
    };
    upstream_stats(&t->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static void tf_bfc_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "tf-bfc: streams play no part, and a refused request is refused at once; TensorFlow waits up to 10 s for "
          "others to free memory");
}

static enum err tf_bfc_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct tf_bfc *)p)->bfc.heap, "tf-bfc", err);
}

const struct policy_ops policy_tf_bfc = {
    POLICY_HEAD,
    .name = "tf-bfc",
    .summary = "TensorFlow's, XLA's and JAX's allocator: best fit with coalescing (TensorFlow 2.21, bfc_allocator.cc)",
    .options = tf_bfc_options,
    .create = tf_bfc_create, .destroy = tf_bfc_destroy,
    .alloc = tf_bfc_alloc,   .free = tf_bfc_free,
    .walk = tf_bfc_walk,     .largest_free = tf_bfc_largest_free,
    .stats = tf_bfc_stats,   .remarks = tf_bfc_remarks,           .check = tf_bfc_check,
};
