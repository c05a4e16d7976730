/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * torch-host: PyTorch's cache of page-locked host memory, torch.empty(n, pin_memory=True) of 2.15, as observed. The
 * "device" that it stands on is the host's memory.
 *
 * A request is rounded up to a power of two and takes the block of its list, one for each power, that was freed last.
 * Nothing is split and nothing coalesces. Settings keep large requests from being rounded, give them back when they are
 * freed, or cut small ones from one segment that is taken first.
 */
#include "policies/parts/heap.h"
#include "policies/parts/split_coalesce.h"

#include "base/units.h"

#include <stdlib.h>

enum { TORCH_HOST_LISTS = 64, TORCH_HOST_ALIGNMENT = 4096 };

/* The idle blocks of one power of two, linked by `right` from the last freed to the first and by `left` back. */
struct torch_host_list {
    uint32_t newest, oldest;
    uint64_t n_active, n_active_peak, active_bytes, active_peak_bytes;
};

struct torch_host {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;
    struct torch_host_list lists[TORCH_HOST_LISTS];
    uint64_t        round_threshold_bytes;  /* larger requests are not rounded */
    uint64_t        cached_bytes;           /* larger ones are not cached either */
    uint64_t        segment_bytes;          /* taken with the first request; 0: nothing */
    uint32_t        rest;                   /* of that segment: a free block in no list */
    uint64_t        lost_bytes;             /* the largest gap that was lost in it */
    bool            has_segment;
    uint64_t        n_made, n_given_back, n_peak, allocated_bytes, allocated_peak_bytes;
};

enum { TORCH_HOST_ROUND, TORCH_HOST_CACHED, TORCH_HOST_SEGMENT, TORCH_HOST_UPSTREAM };

static const struct policy_option torch_host_options[] = {
    [TORCH_HOST_ROUND] = {"round-threshold", OPTION_BYTES, 1, UINT64_MAX / 4, NULL, "bytes",
                          "larger requests are not rounded (pinned_max_round_threshold_mb)"},
    [TORCH_HOST_CACHED] = {"cached-size", OPTION_BYTES, 1, UINT64_MAX / 4, NULL, "bytes",
                           "larger requests are neither rounded nor cached (pinned_max_cached_size_mb)"},
    [TORCH_HOST_SEGMENT] = {"reserve-segment", OPTION_BYTES, MIB, TIB, NULL, "bytes",
                            "taken with the first request, to cut blocks from (pinned_reserve_segment_size_mb)"},
    [TORCH_HOST_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void torch_host_destroy(struct policy *p)
{
    struct torch_host *t = (struct torch_host *)p;
    heap_close(&t->heap);
    upstream_close(&t->upstream);
    free(t);
}

static uint64_t torch_host_threshold(const struct option_value *v)
{
    return v->is_set ? v->number : UINT64_MAX;
}

static enum err torch_host_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct torch_host *t = calloc(1, sizeof *t);
    if (t == NULL)
        return err_no_memory(err);
    t->cached_bytes = torch_host_threshold(&cfg->values[TORCH_HOST_CACHED]);
    t->round_threshold_bytes = torch_host_threshold(&cfg->values[TORCH_HOST_ROUND]);
    if (t->cached_bytes < t->round_threshold_bytes)
        t->round_threshold_bytes = t->cached_bytes;
    t->segment_bytes = cfg->values[TORCH_HOST_SEGMENT].number;
    enum err e = upstream_open(&t->upstream, cfg, &cfg->values[TORCH_HOST_UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&t->heap, &t->upstream, cfg->peak_live);
    if (e != ERR_OK)
        torch_host_destroy(&t->base);
    else
        *out = &t->base;
    return e;
}

/* ---- lists ---- */

/* The exponent of the smallest power of two >= bytes. */
static unsigned torch_host_power(uint64_t bytes)
{
    return bytes <= 1 ? 0 : log2_floor(bytes - 1) + 1;
}

static struct torch_host_list *torch_host_list_of(struct torch_host *t, uint32_t b)
{
    return &t->lists[torch_host_power(heap_at(&t->heap, b)->size)];
}

static void torch_host_insert(struct torch_host *t, uint32_t b)
{
    struct torch_host_list *list = torch_host_list_of(t, b);
    struct block_entry *at = t->heap.blocks.at;
    at[b].left = BLOCK_NONE;
    at[b].right = list->newest;
    if (list->newest == BLOCK_NONE)
        list->oldest = b;
    else
        at[list->newest].left = b;
    list->newest = b;
}

static void torch_host_remove(struct torch_host *t, uint32_t b)
{
    struct torch_host_list *list = torch_host_list_of(t, b);
    struct block_entry *at = t->heap.blocks.at;
    const uint32_t newer = at[b].left, older = at[b].right;
    if (newer == BLOCK_NONE)
        list->newest = older;
    else
        at[newer].right = older;
    if (older == BLOCK_NONE)
        list->oldest = newer;
    else
        at[older].left = newer;
}

/* The block of a request's list that was freed last, of those that are large enough. */
static uint32_t torch_host_find(const struct torch_host *t, uint64_t bytes)
{
    uint32_t b = t->lists[torch_host_power(bytes)].newest;
    while (b != BLOCK_NONE && heap_at(&t->heap, b)->size < bytes)
        b = heap_at(&t->heap, b)->right;
    return b;
}

/* ---- blocks ---- */

static bool torch_host_is_cut(const struct torch_host *t, uint32_t b)
{
    return (heap_at(&t->heap, b)->flags & BLOCK_IS_SMALL) != 0;
}

static void torch_host_give_back(struct torch_host *t, uint32_t b)
{
    t->n_given_back++;
    t->allocated_bytes -= heap_at(&t->heap, b)->size;
    heap_give_back(&t->heap, b);
}

/* Gives back the idle blocks: lists by size, in each the first freed first. Those of the segment stay. */
static void torch_host_flush(struct policy *p, uint32_t stream)
{
    struct torch_host *t = (struct torch_host *)p;
    (void)stream;
    for (int i = 0; i < TORCH_HOST_LISTS; i++)
        for (uint32_t b = t->lists[i].oldest, newer; b != BLOCK_NONE; b = newer) {
            newer = heap_at(&t->heap, b)->left;
            if (torch_host_is_cut(t, b))
                continue;
            torch_host_remove(t, b);
            torch_host_give_back(t, b);
        }
}

/* Cuts a block from the segment; BLOCK_NONE: the rest is too small. A start is a multiple of 4096: what lies before it
 * is lost. */
static uint32_t torch_host_cut(struct torch_host *t, uint64_t bytes)
{
    const struct tie_kind places = {.has_numbers = false};
    if (t->rest == BLOCK_NONE)
        return BLOCK_NONE;
    const struct block_entry *rest = heap_at(&t->heap, t->rest);
    const uint64_t lost = align_up(rest->addr, TORCH_HOST_ALIGNMENT) - rest->addr;
    if (bytes > rest->size || lost > rest->size - bytes)
        return BLOCK_NONE;
    if (lost > 0)
        block_split_front(&t->heap.blocks, t->rest, lost, places);
    t->lost_bytes = lost > t->lost_bytes ? lost : t->lost_bytes;
    uint32_t b = t->rest;
    if (heap_at(&t->heap, b)->size == bytes)
        t->rest = BLOCK_NONE;
    else
        b = block_split_front(&t->heap.blocks, t->rest, bytes, places);
    heap_at(&t->heap, b)->flags |= BLOCK_IS_SMALL;
    return b;
}

static enum err torch_host_make(struct torch_host *t, uint64_t bytes, uint32_t *out)
{
    enum err e = block_table_reserve(&t->heap.blocks, 2);
    if (e == ERR_OK && t->segment_bytes > 0 && !t->has_segment) {
        e = heap_grow(&t->heap, t->segment_bytes, 0, &t->rest);
        t->has_segment = e == ERR_OK;
    }
    if (e != ERR_OK)
        return e;
    *out = torch_host_cut(t, bytes);
    return *out != BLOCK_NONE ? ERR_OK : heap_grow(&t->heap, bytes, 0, out);
}

/* ---- requests ---- */

static void torch_host_count_made(struct torch_host *t, uint64_t bytes)
{
    t->n_made++;
    t->allocated_bytes += bytes;
    if (t->n_made - t->n_given_back > t->n_peak)
        t->n_peak = t->n_made - t->n_given_back;
    if (t->allocated_bytes > t->allocated_peak_bytes)
        t->allocated_peak_bytes = t->allocated_bytes;
}

static void torch_host_count_active(struct torch_host_list *list, uint64_t bytes)
{
    list->n_active++;
    list->active_bytes += bytes;
    if (list->n_active > list->n_active_peak)
        list->n_active_peak = list->n_active;
    if (list->active_bytes > list->active_peak_bytes)
        list->active_peak_bytes = list->active_bytes;
}

static enum err torch_host_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct torch_host *t = (struct torch_host *)p;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    const bool is_rounded = req->bytes <= t->round_threshold_bytes;
    const uint64_t bytes = is_rounded ? UINT64_C(1) << torch_host_power(req->bytes) : req->bytes;
    uint32_t b = torch_host_find(t, bytes);
    if (b != BLOCK_NONE) {
        p->count.hits++;
        torch_host_remove(t, b);
    } else {
        const enum err e = torch_host_make(t, bytes, &b);
        if (e != ERR_OK)
            return e;
        p->count.misses++;
        torch_host_count_made(t, bytes);
    }
    heap_take(&t->heap, b, req->bytes, out);
    torch_host_count_active(torch_host_list_of(t, b), out->bytes);
    return ERR_OK;
}

static void torch_host_free(struct policy *p, const struct event *req, const struct block *block)
{
    struct torch_host *t = (struct torch_host *)p;
    struct torch_host_list *list = torch_host_list_of(t, block->cookie);
    list->n_active--;
    list->active_bytes -= block->bytes;
    heap_free(&t->heap, block->cookie);
    if (req->bytes > t->cached_bytes && !torch_host_is_cut(t, block->cookie))
        torch_host_give_back(t, block->cookie);
    else
        torch_host_insert(t, block->cookie);
}

/* ---- reports ---- */

static enum err torch_host_walk(const struct policy *p, block_visit visit, void *arg)
{
    const struct heap *heap = &((const struct torch_host *)p)->heap;
    return heaps_walk(&heap, 1, visit, arg);
}

/* Blocks of one list have one size, unless some are not rounded. */
static uint64_t torch_host_largest_free(const struct policy *p)
{
    const struct torch_host *t = (const struct torch_host *)p;
    uint64_t largest = t->rest == BLOCK_NONE ? 0 : heap_at(&t->heap, t->rest)->size;
    largest = t->lost_bytes > largest ? t->lost_bytes : largest;
    int i = TORCH_HOST_LISTS - 1;
    while (i > 0 && t->lists[i].newest == BLOCK_NONE)
        i--;
    for (uint32_t b = t->lists[i].newest; b != BLOCK_NONE; b = heap_at(&t->heap, b)->right) {
        largest = heap_at(&t->heap, b)->size > largest ? heap_at(&t->heap, b)->size : largest;
        if (t->round_threshold_bytes == UINT64_MAX)
            break;
    }
    return upstream_largest_free(&t->upstream, largest);
}

/* The peaks of what is active are sums over the lists of each list's own peak, as PyTorch counts them. */
static void torch_host_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct torch_host *t = (const struct torch_host *)p;
    struct torch_host_list sum = {0};
    for (int i = 0; i < TORCH_HOST_LISTS; i++) {
        sum.n_active += t->lists[i].n_active;
        sum.n_active_peak += t->lists[i].n_active_peak;
        sum.active_bytes += t->lists[i].active_bytes;
        sum.active_peak_bytes += t->lists[i].active_peak_bytes;
    }
    const struct own_stat own[] = {
        {"active_bytes.current", sum.active_bytes},
        {"active_bytes.peak", sum.active_peak_bytes},
        {"active_requests.current", sum.n_active},
        {"active_requests.peak", sum.n_active_peak},
        {"allocated_bytes.current", t->allocated_bytes},
        {"allocated_bytes.peak", t->allocated_peak_bytes},
        {"allocations.current", t->n_made - t->n_given_back},
        {"allocations.peak", t->n_peak},
        {"num_host_alloc", t->n_made},
        {"num_host_free", t->n_given_back},
    };
    upstream_stats(&t->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static enum err torch_host_check(const struct policy *p, struct err_detail *err)
{
    return heap_check(&((const struct torch_host *)p)->heap, "torch-host", err);
}

const struct policy_ops policy_torch_host = {
    POLICY_HEAD,
    .name = "torch-host",
    .summary = "PyTorch's cache of page-locked host memory, on a card that stands for the host (2.15, as observed)",
    .options = torch_host_options,
    .create = torch_host_create, .destroy = torch_host_destroy,
    .alloc = torch_host_alloc,   .free = torch_host_free,
    .flush = torch_host_flush,   .walk = torch_host_walk,     .largest_free = torch_host_largest_free,
    .stats = torch_host_stats,   .check = torch_host_check,
};
