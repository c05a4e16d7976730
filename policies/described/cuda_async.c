/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * cuda-async: the driver's stream-ordered pool behind cudaMallocAsync, as far as it is described. Its source is closed.
 *
 * Documented (CUDA Runtime API, "Stream Ordered Memory Allocator"): memory freed on one stream may serve another;
 * memory above the release threshold, 0 unless it is set, goes back at the next synchronisation; cudaMemPoolTrimTo
 * gives back what is idle. Observed by users: the pool grows in multiples of 32 MiB. Assumed here: 512 bytes of
 * rounding, best fit of these the lowest, exact splits, coalescing within what was taken at once, one more attempt
 * after a trim when the device refuses. Not modelled: that the driver may remap idle pages to serve a request that no
 * hole fits.
 */
#include "policies/described/plain.h"

#include "policies/parts/free_set.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

struct cuda_async {
    struct plain    plain;                  /* first, so the two pointers convert */
    struct free_set free;                   /* ties are addresses */
    bool            shares_streams;         /* all blocks are in the bins of stream 0 */
    uint64_t        threshold_bytes;
    uint64_t        sync_every, n_requests; /* 0: never */
};

enum { ASYNC_THRESHOLD = PLAIN_OPTIONS, ASYNC_UNIT, ASYNC_REUSE, ASYNC_SYNC_EVERY };

static const struct policy_option cuda_async_options[] = {
    [PLAIN_CHUNK] = {"chunk", OPTION_BYTES, 0, UINT64_MAX / 4, "0", "bytes", "least size to ask the device for"},
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    [ASYNC_THRESHOLD] = {"threshold", OPTION_BYTES, 0, UINT64_MAX / 4, "0", "bytes",
                         "what a synchronisation leaves idle (cudaMemPoolAttrReleaseThreshold)"},
    [ASYNC_UNIT] = {"unit", OPTION_BYTES, 512, TIB, "32MiB", "bytes",
                    "the pool grows in multiples of it; a power of two (observed)"},
    [ASYNC_REUSE] = {"reuse", OPTION_TEXT, 0, 0, "all", "all or same",
                     "whether memory freed on one stream may serve another, which then waits (cudaMemPoolReuse...)"},
    [ASYNC_SYNC_EVERY] = {"sync-every", OPTION_NUMBER, 0, UINT64_MAX, "0", "requests",
                          "how often the program synchronises, which traces do not tell; 0: never"},
    {.name = NULL},
};

static struct free_bins *cuda_async_bins(const struct cuda_async *c, uint16_t stream)
{
    return free_set_bins(&c->free, c->shares_streams ? 0 : stream);
}

static void cuda_async_insert(struct plain *p, uint32_t b)
{
    struct block_entry *at = p->heap.blocks.at;
    free_bins_insert(cuda_async_bins((struct cuda_async *)p, at[b].stream), at, b);
}

static void cuda_async_remove(struct plain *p, uint32_t b)
{
    struct block_entry *at = p->heap.blocks.at;
    free_bins_remove(cuda_async_bins((struct cuda_async *)p, at[b].stream), at, b);
}

static uint32_t cuda_async_find(struct plain *p, uint64_t bytes, uint16_t stream)
{
    struct block_entry *at = p->heap.blocks.at;
    const uint32_t b = free_bins_at_least(cuda_async_bins((struct cuda_async *)p, stream), at, bytes);
    if (b != BLOCK_NONE && at[b].stream != stream)
        device_wait_event(p->base.device);
    return b;
}

/* Blocks whose memory may serve the same requests coalesce. */
static bool cuda_async_may_join(const struct plain *p, uint32_t a, uint32_t b)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    return c->shares_streams || heap_at(&p->heap, a)->stream == heap_at(&p->heap, b)->stream;
}

static const struct plain_set cuda_async_set = {
    .insert = cuda_async_insert, .remove = cuda_async_remove, .find = cuda_async_find, .may_join = cuda_async_may_join,
};

static void cuda_async_destroy(struct policy *p)
{
    free_set_close(&((struct cuda_async *)p)->free);
    plain_destroy(p);
}

static enum err cuda_async_open_sets(struct cuda_async *c, const struct policy_config *cfg)
{
    return free_set_open(&c->free, &c->plain.heap.blocks, NULL, c->shares_streams ? 1 : cfg->n_streams);
}

static enum err cuda_async_create(const struct policy_config *cfg, struct policy **out, struct err_detail *why)
{
    const struct option_value *v = cfg->values;
    const bool is_shared = strcmp(v[ASYNC_REUSE].text, "all") == 0;
    if (!is_shared && strcmp(v[ASYNC_REUSE].text, "same") != 0)
        return err_set(why, ERR_USAGE, POLICY_PLACE(ASYNC_REUSE, 0), "reuse is all or same");
    if (!is_power_of_two(v[ASYNC_UNIT].number))
        return err_set(why, ERR_USAGE, POLICY_PLACE(ASYNC_UNIT, 0), "unit is a power of two");
    struct plain *p;
    enum err e = plain_create(cfg, sizeof(struct cuda_async), &cuda_async_set, &p, why);
    if (e != ERR_OK)
        return e;
    struct cuda_async *c = (struct cuda_async *)p;
    p->unit_bytes = v[ASYNC_UNIT].number;
    c->shares_streams = is_shared;
    c->threshold_bytes = v[ASYNC_THRESHOLD].number;
    c->sync_every = v[ASYNC_SYNC_EVERY].number;
    if ((e = cuda_async_open_sets(c, cfg)) != ERR_OK)
        cuda_async_destroy(&p->base);
    else
        *out = &p->base;
    return e;
}

/* The program synchronises: idle memory above the threshold goes back, from the highest address down. */
static enum err cuda_async_sync(struct cuda_async *c)
{
    struct heap *h = &c->plain.heap;
    uint32_t *idle;
    size_t n;
    const enum err e = heap_idle_pieces(h, HEAP_BY_ADDRESS, &idle, &n);
    if (e != ERR_OK)
        return e;
    while (n > 0 && h->held_bytes > c->threshold_bytes) {
        cuda_async_remove(&c->plain, idle[--n]);
        heap_give_back(h, idle[n]);
    }
    free(idle);
    return ERR_OK;
}

/* Makes sure that the blocks of a stream have bins. */
static enum err cuda_async_prepare(struct cuda_async *c, uint16_t stream)
{
    return cuda_async_bins(c, stream) != NULL ? ERR_OK
                                              : free_set_add_stream(&c->free, c->shares_streams ? 0 : stream);
}

static enum err cuda_async_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct cuda_async *c = (struct cuda_async *)p;
    const enum err prepared = cuda_async_prepare(c, req->stream);
    if (prepared != ERR_OK)
        return prepared;
    if (c->sync_every > 0 && ++c->n_requests % c->sync_every == 0) {
        const enum err e = cuda_async_sync(c);
        if (e != ERR_OK)
            return e;
    }
    return plain_alloc(p, req, out);
}

static void cuda_async_free(struct policy *p, const struct event *req, const struct block *block)
{
    const enum err e = cuda_async_prepare((struct cuda_async *)p, req->stream);
    if (e == ERR_OK)
        plain_free(p, req, block);
    else
        p->failure = e;                      /* the block stays taken, and the run ends */
}

static uint64_t cuda_async_largest_free(const struct policy *p)
{
    const struct cuda_async *c = (const struct cuda_async *)p;
    return upstream_largest_free(&c->plain.upstream, free_set_largest(&c->free));
}

static void cuda_async_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "cuda-async: the driver's pool is closed; this is a model from its documentation and users' observations, "
          "not compared with it. Synchronisations are not in a trace: sync-every= says how often they are");
}

const struct policy_ops policy_cuda_async = {
    POLICY_HEAD,
    .name = "cuda-async",
    .summary = "cudaMallocAsync's pool, a model (as described: CUDA's documentation; closed source)",
    .options = cuda_async_options,
    .create = cuda_async_create, .destroy = cuda_async_destroy,
    .alloc = cuda_async_alloc,   .free = cuda_async_free,
    .flush = plain_flush,        .walk = plain_walk,           .largest_free = cuda_async_largest_free,
    .stats = plain_stats,        .remarks = cuda_async_remarks, .check = plain_check,
};
