/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* cheapest: puts blocks one after the other into one segment; never reuses memory and remembers nothing. */
#include "bench/cheapest.h"

#include <stdlib.h>

struct cheapest {
    struct policy  base;
    struct segment segment;
    uint64_t       next_addr;
};

static const uint64_t cheapest_segment_bytes = UINT64_C(1) << 55;    /* more than a trace here requests in all */

static enum err cheapest_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct cheapest *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_no_memory(err);
    const enum err e = device_segment_alloc(cfg->device, cheapest_segment_bytes, &c->segment);
    if (e != ERR_OK) {
        free(c);
        return e;
    }
    c->next_addr = c->segment.addr;
    *out = &c->base;
    return ERR_OK;
}

static void cheapest_destroy(struct policy *p)
{
    free(p);
}

static enum err cheapest_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct cheapest *c = (struct cheapest *)p;
    if (c->segment.addr + c->segment.bytes - c->next_addr < req->bytes)
        return ERR_DEVICE_OOM;
    *out = (struct block){.addr = c->next_addr, .bytes = req->bytes, .segment = c->segment.id};
    c->next_addr += req->bytes;
    return ERR_OK;
}

static void cheapest_free(struct policy *p, const struct event *req, const struct block *b)
{
    (void)p;
    (void)req;
    (void)b;
}

const struct policy_ops policy_cheapest = {
    POLICY_HEAD,
    .name = "cheapest",
    .summary = "blocks one after the other, none reused (measurements only)",
    .create = cheapest_create, .destroy = cheapest_destroy,
    .alloc = cheapest_alloc,   .free = cheapest_free,
};
