/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * mxnet: MXNet's storage pools Naive, Round and Unpooled of 2.0 (src/storage/pooled_storage_manager.h,
 * src/storage/storage.cc, src/common/utils.h).
 *
 * A cache of whole device blocks: a request is rounded up and takes the block of exactly that size that was freed last.
 * Nothing is split and nothing coalesces; all streams share. Before a miss would leave less than a reserve free on the
 * card, and after a refusal, everything cached is given back.
 */
#include "policies/parts/free_set.h"
#include "policies/parts/heap.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

enum { MXNET_PAGE = 4096, MXNET_PAGE_LOG2 = 12 };

enum mxnet_type { MXNET_NAIVE, MXNET_ROUND, MXNET_UNPOOLED };
static const char *const mxnet_types[] = {"naive", "round", "unpooled"};

struct mxnet {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;                   /* each piece is one block */
    struct free_set free;                   /* all of stream 0; the last freed has the least tie */
    uint64_t        next_tie;               /* counts down */
    enum mxnet_type type;
    uint64_t        reserve_bytes, large_round_bytes;
    unsigned        cutoff;
};

enum { MXNET_TYPE, MXNET_RESERVE, MXNET_CUTOFF, MXNET_LARGE_ROUND, MXNET_UPSTREAM };

static const struct policy_option mxnet_options[] = {
    [MXNET_TYPE] = {"type", OPTION_TEXT, 0, 0, "naive", "naive, round or unpooled",
                    "which pool (MXNET_GPU_MEM_POOL_TYPE)"},
    [MXNET_RESERVE] = {"reserve", OPTION_NUMBER, 0, 100, "5", "percent",
                       "of the card, to stay free (MXNET_GPU_MEM_POOL_RESERVE)"},
    [MXNET_CUTOFF] = {"cutoff", OPTION_NUMBER, 20, 34, "24", NULL,
                      "round: powers of two up to 2^cutoff, above it multiples of that "
                      "(MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF)"},
    [MXNET_LARGE_ROUND] = {"large-round", OPTION_BYTES, MXNET_PAGE, GIB, "2MiB", "bytes",
                           "naive: sizes above this are multiples of it (MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE)"},
    [MXNET_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void mxnet_destroy(struct policy *p)
{
    struct mxnet *m = (struct mxnet *)p;
    free_set_close(&m->free);
    heap_close(&m->heap);
    upstream_close(&m->upstream);
    free(m);
}

static bool mxnet_find_type(const char *text, enum mxnet_type *out)
{
    for (int i = MXNET_NAIVE; i <= MXNET_UNPOOLED; i++)
        if (strcmp(mxnet_types[i], text) == 0) {
            *out = (enum mxnet_type)i;
            return true;
        }
    return false;
}

static enum err mxnet_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const struct option_value *v = cfg->values;
    uint64_t free_bytes, total_bytes;
    enum mxnet_type type;
    if (!mxnet_find_type(v[MXNET_TYPE].text, &type))
        return err_set(err, ERR_USAGE, POLICY_PLACE(MXNET_TYPE, 0), "type is naive, round or unpooled");
    struct mxnet *m = calloc(1, sizeof *m);
    if (m == NULL)
        return err_no_memory(err);
    device_memory_info(cfg->device, &free_bytes, &total_bytes);
    m->type = type;
    m->reserve_bytes = total_bytes == DEVICE_UNLIMITED ? 0 : total_bytes * v[MXNET_RESERVE].number / 100;
    m->cutoff = (unsigned)v[MXNET_CUTOFF].number;
    m->large_round_bytes = v[MXNET_LARGE_ROUND].number;
    m->next_tie = UINT64_MAX - 1;
    enum err e = upstream_open(&m->upstream, cfg, &v[MXNET_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&m->heap, &m->upstream, cfg->peak_live);
    if (e == ERR_OK)
        e = free_set_open(&m->free, &m->heap.blocks, NULL, 1);
    if (e == ERR_OK)
        e = free_set_add_stream(&m->free, 0);
    if (e != ERR_OK)
        mxnet_destroy(&m->base);
    else
        *out = &m->base;
    return e;
}

/* ---- sizes ---- */

static uint64_t mxnet_multiple(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t mxnet_round_naive(const struct mxnet *m, uint64_t bytes)
{
    const uint64_t pages = mxnet_multiple(bytes, MXNET_PAGE);
    return pages > m->large_round_bytes ? mxnet_multiple(pages, m->large_round_bytes) : pages;
}

static uint64_t mxnet_round_round(const struct mxnet *m, uint64_t bytes)
{
    const unsigned power = bytes <= 2 ? 1 : log2_floor(bytes - 1) + 1;
    if (power > m->cutoff)
        return mxnet_multiple(bytes, UINT64_C(1) << m->cutoff);
    return UINT64_C(1) << (power > MXNET_PAGE_LOG2 ? power : MXNET_PAGE_LOG2);
}

static uint64_t mxnet_round(const struct mxnet *m, uint64_t bytes)
{
    switch (m->type) {
    case MXNET_NAIVE:
        return mxnet_round_naive(m, bytes);
    case MXNET_ROUND:
        return mxnet_round_round(m, bytes);
    case MXNET_UNPOOLED:
        break;
    }
    return bytes;
}

/* ---- the cache ---- */

/* ReleaseAll. The real order is that of a hash map. */
static void mxnet_flush(struct policy *p, uint32_t stream)
{
    struct mxnet *m = (struct mxnet *)p;
    (void)stream;
    for (uint32_t b; (b = free_set_first(&m->free)) != BLOCK_NONE;) {
        free_set_remove(&m->free, b);
        heap_give_back(&m->heap, b);
    }
}

static bool mxnet_spares_reserve(const struct mxnet *m, uint64_t bytes)
{
    uint64_t free_bytes, total_bytes;
    device_memory_info(m->base.device, &free_bytes, &total_bytes);
    return bytes <= free_bytes && free_bytes - bytes >= m->reserve_bytes;
}

static enum err mxnet_grow(struct mxnet *m, uint64_t bytes, uint32_t *out)
{
    if (m->type == MXNET_UNPOOLED)
        return heap_grow(&m->heap, bytes, 0, out);
    if (!mxnet_spares_reserve(m, bytes))
        mxnet_flush(&m->base, POLICY_ALL_STREAMS);
    enum err e = heap_grow(&m->heap, bytes, 0, out);
    if (e == ERR_DEVICE_OOM) {
        m->base.count.retries++;
        mxnet_flush(&m->base, POLICY_ALL_STREAMS);
        e = heap_grow(&m->heap, bytes, 0, out);
    }
    return e;
}

static enum err mxnet_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct mxnet *m = (struct mxnet *)p;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const uint64_t bytes = mxnet_round(m, req->bytes);
    uint32_t b = free_set_at_least(&m->free, 0, bytes);
    if (b != BLOCK_NONE && heap_at(&m->heap, b)->size == bytes) {
        p->count.hits++;
        free_set_remove(&m->free, b);
    } else {
        const enum err e = mxnet_grow(m, bytes, &b);
        if (e != ERR_OK)
            return e;
        p->count.misses++;
    }
    heap_take(&m->heap, b, req->bytes, out);
    return ERR_OK;
}

static void mxnet_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct mxnet *m = (struct mxnet *)p;
    struct block_entry *b = heap_at(&m->heap, block->cookie);
    (void)req;
    heap_free(&m->heap, block->cookie);
    if (m->type == MXNET_UNPOOLED) {
        heap_give_back(&m->heap, block->cookie);
        return;
    }
    b->tie = m->next_tie--;
    free_set_insert(&m->free, block->cookie);
}

/* ---- reports ---- */

static enum err mxnet_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct mxnet *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

static uint64_t mxnet_largest_free(const struct policy *p)
{
    const struct mxnet *m = (const struct mxnet *)p;
    return upstream_largest_free(&m->upstream, free_set_largest(&m->free));
}

static enum err mxnet_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct mxnet *)p)->heap, "mxnet", err);
}

const struct policy_ops policy_mxnet = {
    POLICY_HEAD,
    .name = "mxnet",
    .summary = "MXNet's pools: caches of whole blocks by exact size (MXNet 2.0, pooled_storage_manager.h)",
    .options = mxnet_options,
    .create = mxnet_create, .destroy = mxnet_destroy,
    .alloc = mxnet_alloc,   .free = mxnet_free,
    .flush = mxnet_flush,   .walk = mxnet_walk,       .largest_free = mxnet_largest_free,
    .check = mxnet_check,
};
