// SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
//
// size-cache: a cache of whole segments by exact size, in C++20.
//
// A request is rounded up to 512 bytes and takes the segment of that size that was freed last; nothing is split. A
// flush, and a refusal of the device, give all cached segments back.
#include "policies/policy.h"

#include <map>
#include <new>
#include <vector>

namespace {

constexpr uint64_t unit = 512;

struct size_cache {
    policy base;                              // first, so that the two pointers convert
    std::map<uint64_t, std::vector<block>> idle;

    static size_cache *of(policy *p) { return reinterpret_cast<size_cache *>(p); }
};

err create(const policy_config *, policy **out, err_detail *err)
{
    auto *cache = new (std::nothrow) size_cache{};
    if (cache == nullptr)
        return err_no_memory(err);
    *out = &cache->base;
    return ERR_OK;
}

void destroy(policy *p)
{
    delete size_cache::of(p);                 // the device frees the segments
}

void flush(policy *p, uint32_t)
{
    for (const auto &[bytes, blocks] : size_cache::of(p)->idle)
        for (const block &b : blocks) {
            const segment s = {.addr = b.addr, .bytes = b.bytes, .id = b.segment};
            device_segment_free(p->device, &s);
        }
    size_cache::of(p)->idle.clear();
}

err alloc(policy *p, const event *req, block *out)
{
    const uint64_t bytes = (req->bytes + unit - 1) / unit * unit;
    if (bytes < req->bytes)
        return ERR_DEVICE_OOM;
    auto &idle = size_cache::of(p)->idle;
    if (auto found = idle.find(bytes); found != idle.end()) {
        *out = found->second.back();
        found->second.pop_back();
        if (found->second.empty())
            idle.erase(found);
        p->count.hits++;
        return ERR_OK;
    }
    segment s;
    err e = device_segment_alloc(p->device, bytes, &s);
    if (e == ERR_DEVICE_OOM && !idle.empty()) {
        p->count.retries++;
        flush(p, POLICY_ALL_STREAMS);
        e = device_segment_alloc(p->device, bytes, &s);
    }
    if (e != ERR_OK)
        return e;
    p->count.misses++;
    *out = {.addr = s.addr, .bytes = s.bytes, .segment = s.id, .cookie = 0};
    return ERR_OK;
}

void free_block(policy *p, const event *, const block *b)
{
    try {
        size_cache::of(p)->idle[b->bytes].push_back(*b);
    } catch (const std::bad_alloc &) {        // no exception may leave a policy: the block is lost, and the run ends
        p->failure = ERR_HOST_NOMEM;
    }
}

// The free blocks alone: the program keeps what was handed out.
err walk_free(const policy *p, block_visit visit, void *arg)
{
    for (const auto &[bytes, blocks] : reinterpret_cast<const size_cache *>(p)->idle)
        for (const block &b : blocks) {
            block_view v{};
            v.addr = v.segment_addr = b.addr;
            v.bytes = bytes;
            v.segment = b.segment;
            v.state = BLOCK_FREE;
            visit(arg, &v);
        }
    return ERR_OK;
}

const policy_ops ops = {
    POLICY_HEAD,
    .name = "size-cache",
    .summary = "whole segments, cached by exact size (an example in C++)",
    .create = create,
    .destroy = destroy,
    .alloc = alloc,
    .free = free_block,
    .flush = flush,
    .walk_free = walk_free,
};

}  // namespace

extern "C" const policy_ops *policy_plugin(void)
{
    return &ops;
}
