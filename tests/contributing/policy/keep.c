/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * keep: every freed segment is kept, and serves the next request of exactly its size on its stream and in its pool.
 *
 * The example of CONTRIBUTING.md, "Add a policy". It is the smallest policy that caches.
 */
#include "base/array.h"
#include "policies/policy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct kept {
    struct segment segment;
    uint16_t stream;
    uint8_t  pool;
};

struct keep {
    struct policy base;                     /* first, so the two pointers convert */
    struct kept  *kept;
    size_t        n_kept, room;             /* room >= n_kept + blocks in use, so that a free never fails */
    size_t        n_live;
    uint64_t      live_bytes, kept_bytes;
};

static enum err keep_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    (void)cfg;
    struct keep *keep = calloc(1, sizeof *keep);
    if (keep == NULL)
        return err_set(err, ERR_HOST_NOMEM, 0, "no memory for policy keep");
    *out = &keep->base;
    return ERR_OK;
}

static void keep_destroy(struct policy *p)
{
    if (p != NULL)
        free(((struct keep *)p)->kept);
    free(p);
}

static void keep_flush(struct policy *p, uint32_t stream)
{
    (void)stream;
    struct keep *keep = (struct keep *)p;
    for (size_t i = 0; i < keep->n_kept; i++)
        device_segment_free(p->device, &keep->kept[i].segment);
    keep->n_kept = 0;
    keep->kept_bytes = 0;
}

/* Takes a kept segment that fits; false if there is none. */
static bool keep_take(struct keep *keep, const struct event *req, struct segment *out)
{
    for (size_t i = 0; i < keep->n_kept; i++) {
        const struct kept *k = &keep->kept[i];
        if (k->segment.bytes != req->bytes || k->stream != req->stream || k->pool != req->pool)
            continue;
        *out = k->segment;
        keep->kept[i] = keep->kept[--keep->n_kept];
        assert(keep->kept_bytes >= out->bytes);
        keep->kept_bytes -= out->bytes;
        return true;
    }
    return false;
}

static enum err keep_ask_device(struct keep *keep, const struct event *req, struct segment *out)
{
    struct policy *p = &keep->base;
    enum err e = device_segment_alloc(p->device, req->bytes, out);
    if (e == ERR_DEVICE_OOM && keep->n_kept > 0) {
        p->count.retries++;
        keep_flush(p, POLICY_ALL_STREAMS);
        e = device_segment_alloc(p->device, req->bytes, out);
    }
    return e;
}

static enum err keep_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct keep *keep = (struct keep *)p;
    struct segment seg;
    const size_t held = keep->n_kept + keep->n_live;
    void *bigger = held < keep->room ? keep->kept : array_grow(keep->kept, held, &keep->room, sizeof *keep->kept);
    if (bigger == NULL)
        return ERR_HOST_NOMEM;
    keep->kept = bigger;
    if (keep_take(keep, req, &seg)) {
        p->count.hits++;
    } else {
        const enum err e = keep_ask_device(keep, req, &seg);
        if (e != ERR_OK)
            return e;
        p->count.misses++;
    }
    keep->n_live++;
    keep->live_bytes += seg.bytes;
    *out = (struct block){.addr = seg.addr, .bytes = seg.bytes, .segment = seg.id};
    return ERR_OK;
}

static void keep_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct keep *keep = (struct keep *)p;
    assert(keep->n_live > 0 && keep->n_kept < keep->room);
    keep->kept[keep->n_kept++] = (struct kept){
        .segment = {.addr = b->addr, .bytes = b->bytes, .id = b->segment}, .stream = req->stream, .pool = req->pool,
    };
    keep->n_live--;
    keep->live_bytes -= b->bytes;
    keep->kept_bytes += b->bytes;
}

static enum err keep_check(const struct policy *p, struct err_detail *err)
{
    const struct keep *keep = (const struct keep *)p;
    const uint64_t reserved = p->device->usage.reserved_bytes;
    if (reserved != keep->live_bytes + keep->kept_bytes)
        return err_set(err, ERR_CORRUPT, 0,
                       "keep: %" PRIu64 " B live and %" PRIu64 " B kept, but %" PRIu64 " B reserved", keep->live_bytes,
                       keep->kept_bytes, reserved);
    return ERR_OK;
}

static uint64_t keep_largest_free(const struct policy *p)
{
    const struct keep *keep = (const struct keep *)p;
    uint64_t largest = 0;
    for (size_t i = 0; i < keep->n_kept; i++)
        if (keep->kept[i].segment.bytes > largest)
            largest = keep->kept[i].segment.bytes;
    return largest;
}

const struct policy_ops policy_keep = {
    POLICY_HEAD,
    .name = "keep",
    .summary = "whole segments are kept and reused for requests of exactly their size (an example)",
    .create = keep_create, .destroy = keep_destroy,
    .alloc = keep_alloc,   .free = keep_free,
    .flush = keep_flush,   .largest_free = keep_largest_free, .check = keep_check,
};
