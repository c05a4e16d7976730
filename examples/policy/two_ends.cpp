// SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
//
// two-ends: best fit in C++20, made of policies/parts. Large requests are cut from the low end of a free block, small
// ones from the high end, so that small ones do not end up between large ones.
//
// What the parts do: `heap` takes pieces from the device and keeps their blocks, `free_set` finds the smallest free block
// that fits, and the steps of split_coalesce.h cut and join.
#include "policies/policy.h"

#include "policies/parts/free_set.h"
#include "policies/parts/heap.h"

#include <cstdlib>
#include <new>

namespace {

constexpr uint64_t unit = 512, mib = UINT64_C(1) << 20;
constexpr tie_kind places = {.has_numbers = false, .next_number = nullptr};

enum { CHUNK, SMALL, UPSTREAM };
const policy_option options[] = {
    {"chunk", OPTION_BYTES, 1, UINT64_C(1) << 40, "20MiB", "bytes", "least size to ask the device for"},
    {"small", OPTION_BYTES, 0, UINT64_C(1) << 40, "1MiB", "bytes", "requests below it are small"},
    UPSTREAM_OPTION,
    {},
};

struct two_ends {
    policy   base;                            // first, so that the two pointers convert
    upstream from;
    heap     pieces;
    free_set idle;                            // all of stream 0
    uint64_t chunk_bytes, small_bytes;

    static two_ends *of(policy *p) { return reinterpret_cast<two_ends *>(p); }
};

uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

void destroy(policy *p)
{
    two_ends *t = two_ends::of(p);
    free_set_close(&t->idle);
    heap_close(&t->pieces);
    upstream_close(&t->from);
    delete t;
}

err create(const policy_config *cfg, policy **out, err_detail *err)
{
    auto *t = new (std::nothrow) two_ends{};
    if (t == nullptr)
        return err_no_memory(err);
    t->chunk_bytes = cfg->values[CHUNK].number;
    t->small_bytes = cfg->values[SMALL].number;
    enum err e = upstream_open(&t->from, cfg, &cfg->values[UPSTREAM], err);
    if (e == ERR_OK)
        e = heap_open(&t->pieces, &t->from, cfg->peak_live);
    t->pieces.order = HEAP_BY_AGE;            // of equal blocks the oldest segment's, whichever way addresses run
    if (e == ERR_OK)
        e = free_set_open(&t->idle, &t->pieces.blocks, nullptr, 1);
    if (e == ERR_OK)
        e = free_set_add_stream(&t->idle, 0);
    if (e != ERR_OK)
        destroy(&t->base);
    else
        *out = &t->base;
    return e;
}

void flush(policy *p, uint32_t)
{
    two_ends *t = two_ends::of(p);
    uint32_t *whole;
    size_t n;
    if (heap_idle_pieces(&t->pieces, HEAP_BY_AGE, &whole, &n) != ERR_OK) {
        p->failure = ERR_HOST_NOMEM;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        free_set_remove(&t->idle, whole[i]);
        heap_give_back(&t->pieces, whole[i]);
    }
    std::free(whole);
}

// A free block of at least so many bytes, in no set.
err find(two_ends *t, uint64_t bytes, uint32_t *out)
{
    *out = free_set_at_least(&t->idle, 0, bytes);
    if (*out != BLOCK_NONE) {
        t->base.count.hits++;
        free_set_remove(&t->idle, *out);
        return ERR_OK;
    }
    const uint64_t wanted = round_up(bytes > t->chunk_bytes ? bytes : t->chunk_bytes, 2 * mib);
    err e = heap_grow(&t->pieces, wanted, 0, out);
    if (e == ERR_DEVICE_OOM) {
        t->base.count.retries++;
        flush(&t->base, POLICY_ALL_STREAMS);
        e = heap_grow(&t->pieces, round_up(bytes, 2 * mib), 0, out);
    }
    t->base.count.misses += e == ERR_OK;
    return e;
}

err alloc(policy *p, const event *req, block *out)
{
    two_ends *t = two_ends::of(p);
    const uint64_t bytes = round_up(req->bytes, unit);
    uint32_t b;
    if (req->bytes > INT64_MAX)
        return ERR_DEVICE_OOM;
    err e = block_table_reserve(&t->pieces.blocks, 2);
    if (e == ERR_OK)
        e = find(t, bytes, &b);
    if (e != ERR_OK)
        return e;
    if (const uint64_t rest = heap_at(&t->pieces, b)->size - bytes; rest > 0) {
        const bool is_small = req->bytes < t->small_bytes;
        const uint32_t cut = block_split_back(&t->pieces.blocks, b, is_small ? bytes : rest, places);
        free_set_insert(&t->idle, is_small ? b : cut);
        b = is_small ? cut : b;
        p->count.splits++;
    }
    heap_take(&t->pieces, b, req->bytes, out);
    return ERR_OK;
}

void free_block(policy *p, const event *, const block *was)
{
    two_ends *t = two_ends::of(p);
    uint64_t won;
    heap_free(&t->pieces, was->cookie);
    block_coalesce(&t->pieces.blocks, free_set_bins(&t->idle, 0), was->cookie, false, &won, &p->count.coalesces);
    t->pieces.pieces[heap_at(&t->pieces, was->cookie)->segment].block = was->cookie;
    free_set_insert(&t->idle, was->cookie);
}

err walk(const policy *p, block_visit visit, void *arg)
{
    const heap *pieces = &reinterpret_cast<const two_ends *>(p)->pieces;
    return heaps_walk(&pieces, 1, visit, arg);
}

err check(const policy *p, err_detail *err)
{
    return heap_check(&reinterpret_cast<const two_ends *>(p)->pieces, "two-ends", err);
}

const policy_ops ops = {
    POLICY_HEAD,
    .name = "two-ends",
    .summary = "best fit that cuts small requests from the high end (an example in C++, made of parts)",
    .options = options,
    .create = create,
    .destroy = destroy,
    .alloc = alloc,
    .free = free_block,
    .flush = flush,
    .walk = walk,
    .check = check,
};

}  // namespace

extern "C" const policy_ops *policy_plugin(void)
{
    return &ops;
}
