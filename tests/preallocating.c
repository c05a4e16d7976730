/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A policy for tests that takes all its memory with or before the first request: most memory, least driver time. A
 * plugin. */
#include "policies/policy.h"

#include "base/units.h"

#include <stdlib.h>

struct preallocating {
    struct policy  base;                    /* first, so the two pointers convert */
    uint64_t       pool_bytes, next;
    struct segment pool;                    /* bytes 0: not taken yet */
};

static const struct policy_option preallocating_options[] = {
    { "pool", OPTION_BYTES, 2 * MIB, TIB, "1GiB", "bytes", "what it takes" },
    { "early", OPTION_SWITCH, 0, 0, "off", NULL, "take it before the first request" },
    { .name = NULL },
};

static enum err preallocating_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct preallocating *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    p->pool_bytes = cfg->values[0].number;
    const enum err e = cfg->values[1].number != 0 ? device_segment_alloc(cfg->device, p->pool_bytes, &p->pool) : ERR_OK;
    if (e != ERR_OK)
        free(p);
    else
        *out = &p->base;
    return e;
}

static void preallocating_destroy(struct policy *p)
{
    free(p);
}

/* Places each request after the one before it; nothing is used again. */
static enum err preallocating_alloc(struct policy *policy, const struct event *req, struct block *out)
{
    struct preallocating *p = (struct preallocating *)policy;
    const uint64_t bytes = align_up(req->bytes, 512);
    if (p->pool.bytes == 0) {
        const enum err e = device_segment_alloc(p->base.device, p->pool_bytes, &p->pool);
        if (e != ERR_OK)
            return e;
    }
    if (p->next + bytes > p->pool.bytes)
        return ERR_DEVICE_OOM;
    *out = (struct block){ .addr = p->pool.addr + p->next, .bytes = bytes, .segment = p->pool.id };
    p->next += bytes;
    return ERR_OK;
}

static void preallocating_free(struct policy *p, const struct event *req, const struct block *b)
{
    (void)p;
    (void)req;
    (void)b;
}

static const struct policy_ops preallocating = {
    POLICY_HEAD, .name = "preallocating",
    .summary = "takes all its memory with the first request (for tests)", .options = preallocating_options,
    .create = preallocating_create, .destroy = preallocating_destroy, .alloc = preallocating_alloc,
    .free = preallocating_free,
};

const struct policy_ops *policy_plugin(void);
const struct policy_ops *policy_plugin(void)
{
    return &preallocating;
}
