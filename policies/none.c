/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * none: every request goes to the device as it is, and returns to it when it is freed.
 *
 * One end of every scale: no cache, no rounding, and the driver's full price on every call. PyTorch does the same under
 * PYTORCH_NO_CUDA_MEMORY_CACHING=1 (c10/cuda/CUDACachingAllocator.cpp, forceUncachedAllocator), with one difference:
 * there record_stream does nothing, and here a block that a stream still uses lives until that use ends.
 */
#include "policies/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct none {
    struct policy base;                     /* first, so the two pointers convert */
    uint64_t live_bytes;                    /* what the device must have reserved for us */
    uint64_t n_live;
};

static enum err none_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    (void)cfg;
    struct none *none = calloc(1, sizeof *none);
    if (none == NULL)
        return err_no_memory(err);
    *out = &none->base;
    return ERR_OK;
}

static void none_destroy(struct policy *p)
{
    free(p);
}

static enum err none_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct none *none = (struct none *)p;
    struct segment seg;
    const enum err e = device_segment_alloc(p->device, req->bytes, &seg);
    if (e != ERR_OK)
        return e;                           /* nothing is cached: nothing to give back and try again */
    p->count.misses++;
    none->live_bytes += seg.bytes;
    none->n_live++;
    *out = (struct block){.addr = seg.addr, .bytes = seg.bytes, .segment = seg.id};
    return ERR_OK;
}

static void none_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct none *none = (struct none *)p;
    (void)req;
    device_segment_free(p->device, &(struct segment){.addr = b->addr, .bytes = b->bytes, .id = b->segment});
    none->live_bytes -= b->bytes;
    none->n_live--;
}

static void none_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION,
          "none: a freed block that another stream still uses is given back when that use ends, not at once");
}

/* The program sees the device's error, not the allocator's out-of-memory sentence. */
static void none_refusal(const struct policy *p, struct refusal *out)
{
    (void)p;
    out->type = "AcceleratorError";
    snprintf(out->text, sizeof out->text, "CUDA error: out of memory");
}

static enum err none_check(const struct policy *p, struct err_detail *err)
{
    const struct none *none = (const struct none *)p;
    const struct device_usage *u = &p->device->usage;
    if (u->reserved_bytes != none->live_bytes || u->segments != none->n_live)
        return err_set(err, ERR_CORRUPT, 0,
                       "none: %" PRIu64 " B are live in %" PRIu64 " blocks, the device holds %" PRIu64 " B in %" PRIu64,
                       none->live_bytes, none->n_live, u->reserved_bytes, u->segments);
    return ERR_OK;
}

/* It never asks for the capacity, so runs whose options are equal, which the engine sees to, repeat each other. */
static bool none_repeats(const struct policy *done, const struct policy *fresh)
{
    (void)done;
    (void)fresh;
    return true;
}

const struct policy_ops policy_none = {
    POLICY_HEAD,
    .name = "none",
    .summary = "no caching, every request is a device call (PyTorch with PYTORCH_NO_CUDA_MEMORY_CACHING=1)",
    .create = none_create,   .destroy = none_destroy,
    .alloc = none_alloc,     .free = none_free,
    .remarks = none_remarks, .refusal = none_refusal, .check = none_check,
    .repeats = none_repeats,
};
