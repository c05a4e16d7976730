/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * rmm-limiting: RMM's limiting_resource_adaptor of 26.10 (cpp/include/rmm/mr/limiting_resource_adaptor.hpp).
 *
 * Hands every request on to its upstream as it is. It counts each rounded up to 256 bytes, and refuses one with which
 * the sum would pass the limit.
 */
#include "policies/parts/upstream.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RMM_LIMITING_UNIT = 256 };

struct rmm_limiting {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    uint64_t        limit_bytes, used_bytes;
};

enum { RMM_LIMITING_LIMIT, RMM_LIMITING_UPSTREAM };

static const struct policy_option rmm_limiting_options[] = {
    [RMM_LIMITING_LIMIT] = {"limit", OPTION_BYTES, 0, UINT64_MAX / 4, "1EiB", "bytes",
                            "the most to hand out (allocation_limit)"},
    [RMM_LIMITING_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static enum err rmm_limiting_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct rmm_limiting *l = calloc(1, sizeof *l);
    if (l == NULL)
        return err_no_memory(err);
    l->limit_bytes = cfg->values[RMM_LIMITING_LIMIT].number;
    const enum err e = upstream_open(&l->upstream, cfg, &cfg->values[RMM_LIMITING_UPSTREAM], err);
    if (e != ERR_OK)
        free(l);
    else
        *out = &l->base;
    return e;
}

static void rmm_limiting_destroy(struct policy *p)
{
    upstream_close(&((struct rmm_limiting *)p)->upstream);
    free(p);
}

static enum err rmm_limiting_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct rmm_limiting *l = (struct rmm_limiting *)p;
    if (req->bytes > l->limit_bytes || align_up(req->bytes, RMM_LIMITING_UNIT) > l->limit_bytes - l->used_bytes)
        return ERR_DEVICE_OOM;
    const enum err e = upstream_alloc(&l->upstream, req->bytes, req->stream, out);
    if (e == ERR_OK)
        l->used_bytes += align_up(req->bytes, RMM_LIMITING_UNIT);
    return e;
}

static void rmm_limiting_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct rmm_limiting *l = (struct rmm_limiting *)p;
    upstream_free(&l->upstream, req->bytes, req->stream, b);
    l->used_bytes -= align_up(req->bytes, RMM_LIMITING_UNIT);
}

static enum err rmm_limiting_walk(const struct policy *p, block_visit visit, void *arg)
{
    return upstream_walk(&((const struct rmm_limiting *)p)->upstream, visit, arg);
}

static uint64_t rmm_limiting_largest_free(const struct policy *p)
{
    return upstream_largest_free(&((const struct rmm_limiting *)p)->upstream, 0);
}

static void rmm_limiting_stats(const struct policy *p, stat_visit visit, void *arg)
{
    const struct rmm_limiting *l = (const struct rmm_limiting *)p;
    const struct own_stat own[] = {
        {"limit_used", l->used_bytes},
    };
    upstream_stats(&l->upstream, own, sizeof own / sizeof own[0], visit, arg);
}

static enum err rmm_limiting_check(const struct policy *p, struct err_detail *err)
{
    const struct rmm_limiting *l = (const struct rmm_limiting *)p;
    if (l->used_bytes > l->limit_bytes)
        return err_set(err, ERR_CORRUPT, 0, "rmm-limiting: %" PRIu64 " B are out, the limit is %" PRIu64,
                       l->used_bytes, l->limit_bytes);
    return upstream_check(&l->upstream, err);
}

const struct policy_ops policy_rmm_limiting = {
    POLICY_HEAD,
    .name = "rmm-limiting",
    .summary = "RMM's limiting adaptor: its upstream, up to a limit (rmm 26.10, limiting_resource_adaptor)",
    .options = rmm_limiting_options,
    .create = rmm_limiting_create, .destroy = rmm_limiting_destroy,
    .alloc = rmm_limiting_alloc,   .free = rmm_limiting_free,
    .walk = rmm_limiting_walk,     .largest_free = rmm_limiting_largest_free,
    .stats = rmm_limiting_stats,   .check = rmm_limiting_check,
};
