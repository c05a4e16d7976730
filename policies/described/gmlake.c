/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * gmlake: GMLake's virtual memory stitching, as described by its authors (Guo et al., "GMLake: Efficient and
 * Transparent GPU Memory Defragmentation for Large-scale DNN Training with Virtual Memory Stitching", ASPLOS 2024,
 * arXiv 2401.08156; the README and the tutorial of its source, github.com/intelligent-machine-learning/glake, GMLake/).
 *
 * Requests of at most 1 MiB go to PyTorch's allocator, which GMLake is built into. All others are rounded up to pages
 * of 2 MiB and keep to the memory of their stream. The first of these that serves:
 *
 *   1. a free block of exactly that size; a free stitched range of exactly that size
 *   2. the smallest larger free block, cut to fit
 *   3. the smallest larger free stitched range of at most `reuse-limit` times the size,
 *      of which the first pages are used
 *   4. from `frag-limit` on: the largest free blocks, until they add up, stitched; the last one is cut to fit. If all
 *      together are too small and `fill` is on, new memory fills up what is missing
 *   5. new memory: a range of 20 MiB for less than 10 MiB, as in PyTorch, otherwise of the request's size
 *   6. the device refuses: 4 again, if `defrag-level` had put it off; then all that is idle goes back, and 5 again
 *
 * A freed block coalesces with its free neighbours. A stitched range stays for later requests of its size; once the
 * ranges together have more than `auto-gc` of addresses, those that can be are given up, the one first that was handed
 * out longest ago. Nothing else is given back before a refusal or a flush.
 *
 * Steps 1 to 5 are the paper's states S1 to S4, with the rule of the source for ranges that are too large (3). Charged
 * per page: making and mapping it, each further mapping at the same price, and each unmapping.
 */
#include "policies/described/stitched_pages.h"

#include "base/array.h"
#include "base/units.h"
#include "policies/block_views.h"
#include "policies/parts/upstream.h"
#include "policies/spec.h"

#include <stdlib.h>

/* Requests that are not for pages, and PyTorch's sizes of segments. */
#define SMALL_BYTES  (UINT64_C(1) << 20)
#define MEDIUM_BYTES (UINT64_C(10) << 20)
#define MEDIUM_RANGE (UINT64_C(20) << 20)
/* No card has so much: larger requests are refused before their pages are counted. */
#define LARGEST_BYTES (UINT64_C(2) << 40)

/* A block's cookie that is the number of a stitched range. */
#define COOKIE_STITCHED (UINT32_C(1) << 31)

struct gmlake {
    struct policy base;                      /* first, so the two pointers convert */
    struct stitched_pages pages;
    struct policy_spec small_spec;
    struct policy_choice small_choice;
    struct upstream small;                   /* serves small requests */
    uint64_t frag_limit, reuse_limit, auto_gc;
    bool     is_late;                        /* stitch only after a refusal */
    bool     fills;
    uint32_t *chosen;                        /* blocks to be stitched */
    size_t   room_chosen;
    uint64_t n_stitched, n_reused, n_collected;      /* stitched ranges so far: made, handed out again, given up */
};

enum { GMLAKE_FRAG_LIMIT, GMLAKE_REUSE_LIMIT, GMLAKE_AUTO_GC, GMLAKE_LEVEL, GMLAKE_FILL };

static const struct policy_option gmlake_options[] = {
    [GMLAKE_FRAG_LIMIT] = {"frag-limit", OPTION_BYTES, 0, UINT64_MAX / 4, "512MiB", "bytes",
                           "smaller requests are not stitched (fragLimit)"},
    [GMLAKE_REUSE_LIMIT] = {"reuse-limit", OPTION_NUMBER, 1, 1000000, "10", "times the request",
                            "larger stitched ranges are not used again (reuseLimit)"},
    [GMLAKE_AUTO_GC] = {"auto-gc", OPTION_BYTES, 0, UINT64_MAX / 4, "1000GiB", "bytes",
                        "addresses of all stitched ranges, above which idle ones are given up (autoGC)"},
    [GMLAKE_LEVEL] = {"defrag-level", OPTION_NUMBER, 0, 1, "0", "level",
                      "0: stitch whenever it serves; 1: only after the device refused (defragLevel)"},
    [GMLAKE_FILL] = {"fill", OPTION_SWITCH, 0, 0, "on", NULL,
                     "stitch new memory to what is free but not enough (the paper's state S4; "
                     "the released source does not)"},
    {.name = NULL},
};

/* ---- life ---- */

static void gmlake_destroy(struct policy *p)
{
    struct gmlake *g = (struct gmlake *)p;
    upstream_close(&g->small);
    policy_spec_close(&g->small_spec);
    stitched_pages_close(&g->pages);
    free(g->chosen);
    free(g);
}

static enum err gmlake_open_small(struct gmlake *g, const struct policy_config *cfg, struct err_detail *err)
{
    const enum err e = policy_spec_parse("pytorch", &g->small_spec, err);
    if (e != ERR_OK)
        return e;
    g->small_choice = (struct policy_choice){.ops = g->small_spec.ops, .values = g->small_spec.values};
    const struct option_value value = {.is_set = true, .choice = &g->small_choice};
    return upstream_open(&g->small, cfg, &value, err);
}

static enum err gmlake_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const struct option_value *v = cfg->values;
    struct gmlake *g = calloc(1, sizeof *g);
    if (g == NULL)
        return err_no_memory(err);
    g->frag_limit = v[GMLAKE_FRAG_LIMIT].number;
    g->reuse_limit = v[GMLAKE_REUSE_LIMIT].number;
    g->auto_gc = v[GMLAKE_AUTO_GC].number;
    g->is_late = v[GMLAKE_LEVEL].number > 0;
    g->fills = v[GMLAKE_FILL].number > 0;
    enum err e = stitched_pages_open(&g->pages, cfg);
    if (e == ERR_OK)
        e = gmlake_open_small(g, cfg, err);
    if (e != ERR_OK)
        gmlake_destroy(&g->base);
    else
        *out = &g->base;
    return e;
}

/* ---- answers ---- */

static void gmlake_answer_block(struct gmlake *g, uint32_t b, uint64_t requested, struct block *out)
{
    struct block_entry *e = &g->pages.blocks.at[b];
    e->requested = requested;
    *out = (struct block){.addr = e->addr, .bytes = e->size, .segment = g->pages.ranges[e->segment].seg.id,
                          .cookie = b};
}

static void gmlake_answer_range(struct gmlake *g, uint32_t number, uint64_t requested, struct block *out)
{
    struct stitched_range *r = &g->pages.stitched[number];
    r->requested = requested;
    *out = (struct block){.addr = r->seg.addr, .bytes = r->n_handed * STITCHED_PAGE_BYTES, .segment = r->seg.id,
                          .cookie = number | COOKIE_STITCHED};
}

/* ---- what is there: steps 1 to 3 ---- */

/* The smallest stitched range of the stream that none uses, of at least `bytes` and at most `most`; of equal ones the
 * first. n_stitched: there is none. */
static size_t gmlake_find_range(const struct gmlake *g, uint64_t bytes, uint64_t most, uint16_t stream)
{
    const struct stitched_pages *s = &g->pages;
    size_t best = s->n_stitched;
    for (size_t i = 0; i < s->n_stitched; i++) {
        const struct stitched_range *r = &s->stitched[i];
        if (r->stream != stream || r->n_used > 0 || r->seg.bytes < bytes || r->seg.bytes > most)
            continue;
        if (best == s->n_stitched || r->seg.bytes < s->stitched[best].seg.bytes)
            best = i;
    }
    return best;
}

/* ERR_DEVICE_OOM: nothing that is there serves. */
static enum err gmlake_reuse(struct gmlake *g, const struct event *req, uint64_t bytes, struct block *out)
{
    struct stitched_pages *s = &g->pages;
    const uint32_t b = free_set_at_least(&s->free, req->stream, bytes);
    const bool is_exact = b != BLOCK_NONE && s->blocks.at[b].size == bytes;
    const uint64_t most = b != BLOCK_NONE ? bytes : bytes * g->reuse_limit;
    const size_t range = is_exact ? s->n_stitched : gmlake_find_range(g, bytes, most, req->stream);
    enum err e = ERR_DEVICE_OOM;
    if (range < s->n_stitched) {
        e = stitched_pages_take_range(s, (uint32_t)range, (uint32_t)(bytes / STITCHED_PAGE_BYTES));
        if (e == ERR_OK)
            gmlake_answer_range(g, (uint32_t)range, req->bytes, out);
        g->n_reused += e == ERR_OK;
    } else if (b != BLOCK_NONE && (e = stitched_pages_take(s, b, bytes)) == ERR_OK) {
        gmlake_answer_block(g, b, req->bytes, out);
    }
    return e;
}

/* ---- stitching: step 4 ---- */

/* Gives up idle stitched ranges, the one handed out longest ago first, until the limit is kept. */
static void gmlake_collect(struct gmlake *g)
{
    struct stitched_pages *s = &g->pages;
    while (s->stitched_bytes > g->auto_gc) {
        size_t oldest = s->n_stitched;
        for (size_t i = 0; i < s->n_stitched; i++)
            if (s->stitched[i].seg.bytes > 0 && s->stitched[i].n_handed == 0 &&
                (oldest == s->n_stitched || s->stitched[i].used_at < s->stitched[oldest].used_at))
                oldest = i;
        if (oldest == s->n_stitched)
            return;
        stitched_pages_drop_range(s, (uint32_t)oldest);
        g->n_collected++;
    }
}

/* Notes the largest free blocks of the stream that add up to `bytes`, or all; *n of them, *sum bytes. */
static enum err gmlake_choose(struct gmlake *g, uint64_t bytes, uint16_t stream, size_t *n, uint64_t *sum)
{
    const struct stitched_pages *s = &g->pages;
    *n = 0;
    *sum = 0;
    for (uint32_t b = free_set_below(&s->free, stream, UINT64_MAX); b != BLOCK_NONE && *sum < bytes;
         b = free_set_prev(&s->free, b)) {
        if (s->blocks.at[b].stream != stream)
            break;
        uint32_t *chosen = array_reserve(g->chosen, *n, 2, &g->room_chosen, sizeof *chosen);
        if (chosen == NULL)
            return ERR_HOST_NOMEM;
        g->chosen = chosen;
        chosen[(*n)++] = b;
        *sum += s->blocks.at[b].size;
    }
    return ERR_OK;
}

/* Allocates the chosen blocks, the last one cut so that all add up to `bytes`; *n_taken says how far it came. */
static enum err gmlake_take_chosen(struct gmlake *g, size_t n, uint64_t bytes, size_t *n_taken)
{
    enum err e = ERR_OK;
    for (*n_taken = 0; *n_taken < n && e == ERR_OK; *n_taken += e == ERR_OK) {
        const uint32_t b = g->chosen[*n_taken];
        const uint64_t size = g->pages.blocks.at[b].size, part = size < bytes ? size : bytes;
        e = stitched_pages_take(&g->pages, b, part);
        if (e == ERR_OK)
            g->pages.blocks.at[b].requested = 0;
        bytes -= part;
    }
    return e;
}

/* ERR_DEVICE_OOM: what is free does not add up, or the device refused. All is as before then, but that new memory may
 * be free. */
static enum err gmlake_stitch(struct gmlake *g, const struct event *req, uint64_t bytes, struct block *out)
{
    struct stitched_pages *s = &g->pages;
    size_t n, n_taken;
    uint64_t sum;
    uint32_t range;
    enum err e = bytes < g->frag_limit ? ERR_DEVICE_OOM : gmlake_choose(g, bytes, req->stream, &n, &sum);
    if (e == ERR_OK && (n == 0 || (sum < bytes && !g->fills)))
        e = ERR_DEVICE_OOM;
    if (e != ERR_OK)
        return e;
    e = gmlake_take_chosen(g, n, bytes, &n_taken);
    if (e == ERR_OK && sum < bytes) {
        e = stitched_pages_grow(s, (uint32_t)((bytes - sum) / STITCHED_PAGE_BYTES), req->stream, &g->chosen[n]);
        n_taken += e == ERR_OK;
    }
    if (e == ERR_OK)
        e = stitched_pages_stitch(s, g->chosen, n_taken, &range);
    if (e != ERR_OK) {
        while (n_taken > 0)
            stitched_pages_free(s, g->chosen[--n_taken]);
        return e;
    }
    g->n_stitched++;
    gmlake_answer_range(g, range, req->bytes, out);
    gmlake_collect(g);
    return ERR_OK;
}

/* ---- requests ---- */

/* Step 5. */
static enum err gmlake_grow(struct gmlake *g, const struct event *req, uint64_t bytes, struct block *out)
{
    const uint64_t wanted = bytes < MEDIUM_BYTES ? MEDIUM_RANGE : bytes;
    uint32_t b;
    enum err e = stitched_pages_grow(&g->pages, (uint32_t)(wanted / STITCHED_PAGE_BYTES), req->stream, &b);
    if (e != ERR_OK)
        return e;
    if (wanted > bytes) {
        stitched_pages_free(&g->pages, b);
        e = stitched_pages_take(&g->pages, b, bytes);
    }
    if (e == ERR_OK)
        gmlake_answer_block(g, b, req->bytes, out);
    return e;
}

static void gmlake_flush(struct policy *p, uint32_t stream)
{
    struct gmlake *g = (struct gmlake *)p;
    (void)stream;
    stitched_pages_give_back(&g->pages);
    if (g->small.policy->ops->flush != NULL)
        g->small.policy->ops->flush(g->small.policy, POLICY_ALL_STREAMS);
}

static enum err gmlake_small(struct gmlake *g, const struct event *req, struct block *out)
{
    enum err e = upstream_alloc(&g->small, req->bytes, req->stream, out);
    if (e == ERR_DEVICE_OOM) {
        g->base.count.retries++;
        gmlake_flush(&g->base, POLICY_ALL_STREAMS);
        e = upstream_alloc(&g->small, req->bytes, req->stream, out);
    }
    return e;
}

/* Steps 5 and 6. */
static enum err gmlake_miss(struct gmlake *g, const struct event *req, uint64_t bytes, struct block *out)
{
    enum err e = gmlake_grow(g, req, bytes, out);
    if (e == ERR_DEVICE_OOM && g->is_late)
        e = gmlake_stitch(g, req, bytes, out);
    if (e == ERR_DEVICE_OOM) {
        g->base.count.retries++;
        gmlake_flush(&g->base, POLICY_ALL_STREAMS);
        e = gmlake_grow(g, req, bytes, out);
    }
    g->base.count.misses += e == ERR_OK;
    return e;
}

static enum err gmlake_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct gmlake *g = (struct gmlake *)p;
    if (req->bytes <= SMALL_BYTES)
        return gmlake_small(g, req, out);
    if (req->bytes > LARGEST_BYTES)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = align_up(req->bytes, STITCHED_PAGE_BYTES);
    enum err e = gmlake_reuse(g, req, bytes, out);
    if (e == ERR_DEVICE_OOM && !g->is_late)
        e = gmlake_stitch(g, req, bytes, out);
    p->count.hits += e == ERR_OK;
    return e == ERR_DEVICE_OOM ? gmlake_miss(g, req, bytes, out) : e;
}

static void gmlake_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct gmlake *g = (struct gmlake *)p;
    if (b->bytes < STITCHED_PAGE_BYTES)
        upstream_free(&g->small, req->bytes, req->stream, b);
    else if ((b->cookie & COOKIE_STITCHED) != 0)
        stitched_pages_free_range(&g->pages, b->cookie & ~COOKIE_STITCHED);
    else
        stitched_pages_free(&g->pages, b->cookie);
    p->count.splits = g->pages.n_splits + g->small.policy->count.splits;
    p->count.coalesces = g->pages.n_coalesces + g->small.policy->count.coalesces;
}

/* ---- showing and checking ---- */

static enum err gmlake_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct gmlake *g = (const struct gmlake *)p;
    struct block_views all = {.n = 0};
    stitched_pages_show(&g->pages, block_views_add, &all);
    return block_views_show(&all, upstream_walk(&g->small, block_views_add, &all), visit, arg);
}

static uint64_t gmlake_largest_free(const struct policy *p)
{
    const struct gmlake *g = (const struct gmlake *)p;
    return upstream_largest_free(&g->small, free_set_largest(&g->pages.free));
}

static void gmlake_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct gmlake *g = (const struct gmlake *)p;
    const struct own_stat own[] = {
        {"gmlake.addresses_stitched_bytes", g->pages.stitched_bytes}, {"gmlake.collected", g->n_collected},
        {"gmlake.reused", g->n_reused}, {"gmlake.stitched", g->n_stitched},
    };
    upstream_stats(&g->small, own, sizeof own / sizeof own[0], visit, arg);
}

static void gmlake_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "gmlake: as its paper and its tutorial describe it, not compared with a real one; mapping a page once more "
          "is priced as making and mapping it");
}

/* Not of PyTorch's part: its check takes all that the device gave for its own. */
static enum err gmlake_check(const struct policy *p, struct err_detail *err)
{
    return stitched_pages_check(&((const struct gmlake *)p)->pages, err);
}

const struct policy_ops policy_gmlake = {
    POLICY_HEAD,
    .name = "gmlake",
    .summary = "free blocks stitched under new addresses (as described: GMLake, ASPLOS 2024, arXiv 2401.08156)",
    .options = gmlake_options,
    .needs = POLICY_NEEDS_VMM,
    .create = gmlake_create,   .destroy = gmlake_destroy,
    .alloc = gmlake_alloc,     .free = gmlake_free,
    .flush = gmlake_flush,     .walk = gmlake_walk,       .largest_free = gmlake_largest_free,
    .stats = gmlake_stats,     .remarks = gmlake_remarks, .check = gmlake_check,
};
