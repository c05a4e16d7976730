/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The device and a policy, behind the same calls. */
#include "policies/parts/upstream.h"

#include "base/array.h"
#include "base/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum err upstream_open(struct upstream *u, const struct policy_config *cfg, const struct option_value *value,
                       struct err_detail *err)
{
    struct policy *policy = NULL;
    if (value->choice != NULL) {
        struct policy_config inner = *cfg;
        uint64_t refused_bytes;
        inner.values = value->choice->values;
        const enum err e = policy_create(value->choice->ops, &inner, &policy, err);
        if (e != ERR_OK)
            return e;
        if (policy_is_refused(policy, &refused_bytes)) {
            policy_destroy(policy);
            return ERR_DEVICE_OOM;
        }
    }
    *u = (struct upstream){.device = cfg->device, .policy = policy};
    return ERR_OK;
}

void upstream_close(struct upstream *u)
{
    policy_destroy(u->policy);
    free(u->mapped);
    *u = (struct upstream){.device = u->device};
}

enum err upstream_open_range(struct upstream *u, struct device *device, uint64_t bytes)
{
    struct segment range;
    const enum err e = device_range_reserve(device, align_up(bytes, DEVICE_PAGE_BYTES), &range);
    if (e == ERR_OK)
        *u = (struct upstream){.device = device, .range = range};
    return e;
}

/* Maps whole pages after the last ones. */
static enum err range_alloc(struct upstream *u, uint64_t requested, struct block *out)
{
    const uint64_t bytes = align_up(requested, DEVICE_PAGE_BYTES), offset = u->mapped_bytes;
    struct mapped_piece *mapped = array_grow(u->mapped, u->n_mapped, &u->cap_mapped, sizeof *mapped);
    uint32_t phys;
    if (mapped == NULL)
        return ERR_HOST_NOMEM;
    u->mapped = mapped;
    if (bytes > u->range.bytes - offset)
        return ERR_DEVICE_OOM;
    enum err e = device_phys_create(u->device, bytes, &phys);
    if (e != ERR_OK)
        return e;
    if ((e = device_map(u->device, &u->range, offset, bytes, phys)) != ERR_OK) {
        device_phys_destroy(u->device, phys, bytes);
        return e;
    }
    mapped[u->n_mapped++] = (struct mapped_piece){.offset = offset, .bytes = bytes};
    u->mapped_bytes += bytes;
    *out = (struct block){.addr = u->range.addr + offset, .bytes = bytes, .segment = u->range.id};
    return ERR_OK;
}

enum err upstream_alloc(struct upstream *u, uint64_t bytes, uint16_t stream, struct block *out)
{
    if (u->policy != NULL) {
        const struct event req = {.kind = EVENT_ALLOC, .bytes = bytes, .stream = stream};
        return u->policy->ops->alloc(u->policy, &req, out);
    }
    if (u->range.bytes > 0)
        return range_alloc(u, bytes, out);
    struct segment s;
    const enum err e = device_segment_alloc(u->device, bytes, &s);
    if (e == ERR_OK)
        *out = (struct block){.addr = s.addr, .bytes = s.bytes, .segment = s.id};
    return e;
}

void upstream_free(struct upstream *u, uint64_t bytes, uint16_t stream, const struct block *b)
{
    if (u->policy != NULL) {
        const struct event req = {.kind = EVENT_FREE, .bytes = bytes, .stream = stream};
        u->policy->ops->free(u->policy, &req, b);
        return;
    }
    assert(u->range.bytes == 0);
    device_segment_free(u->device, &(struct segment){.addr = b->addr, .bytes = b->bytes, .id = b->segment});
}

static int segment_compare(const void *a, const void *b)
{
    const struct segment *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

static enum err device_walk(const struct device *dev, block_visit visit, void *arg)
{
    struct segment *order = malloc((dev->n_segments + 1) * sizeof *order);
    if (order == NULL)
        return ERR_HOST_NOMEM;
    size_t n = 0;
    for (uint32_t id = 0; id < dev->n_segments; id++)
        if (dev->segments[id].bytes > 0)
            order[n++] = (struct segment){.addr = dev->segments[id].addr, .bytes = dev->segments[id].bytes, .id = id};
    qsort(order, n, sizeof *order, segment_compare);
    for (size_t i = 0; i < n; i++)
        visit(arg, &(struct block_view){.addr = order[i].addr, .bytes = order[i].bytes, .requested = order[i].bytes,
                                        .segment_addr = order[i].addr, .segment = order[i].id,
                                        .state = BLOCK_ALLOCATED});
    free(order);
    return ERR_OK;
}

static void range_walk(const struct upstream *u, block_visit visit, void *arg)
{
    struct block_view v = {.segment_addr = u->range.addr, .segment = u->range.id, .page_bytes = DEVICE_PAGE_BYTES,
                           .state = BLOCK_ALLOCATED};
    for (size_t i = 0; i < u->n_mapped; i++) {
        v.addr = u->range.addr + u->mapped[i].offset;
        v.bytes = v.requested = u->mapped[i].bytes;
        visit(arg, &v);
    }
    v.addr = u->range.addr + u->mapped_bytes;
    v.bytes = u->range.bytes - u->mapped_bytes;
    v.requested = 0;
    v.state = BLOCK_UNMAPPED;
    if (v.bytes > 0)
        visit(arg, &v);
}

enum err upstream_walk(const struct upstream *u, block_visit visit, void *arg)
{
    if (u->range.bytes > 0) {
        range_walk(u, visit, arg);
        return ERR_OK;
    }
    if (u->policy == NULL)
        return device_walk(u->device, visit, arg);
    return u->policy->ops->walk == NULL ? ERR_UNSUPPORTED : u->policy->ops->walk(u->policy, visit, arg);
}

uint64_t upstream_largest_free(const struct upstream *u, uint64_t own)
{
    const uint64_t theirs = u->policy == NULL ? 0 : policy_largest_free(u->policy);
    return theirs > own ? theirs : own;
}

/* Two lists of counters on their way into one. */
struct stats_merge {
    const struct own_stat *own;
    size_t n;                            /* own ones that are left */
    stat_visit visit;
    void  *arg;
};

/* Visits the own counters that come before a key. */
static void stats_merge_up_to(struct stats_merge *m, const char *key)
{
    for (; m->n > 0 && (key == NULL || strcmp(m->own->key, key) < 0); m->own++, m->n--)
        m->visit(m->arg, m->own->key, (int64_t)m->own->value);
}

static void stats_merge_see(void *arg, const char *key, int64_t value)
{
    struct stats_merge *m = arg;
    stats_merge_up_to(m, key);
    if (m->n == 0 || strcmp(m->own->key, key) != 0)
        m->visit(m->arg, key, value);
}

void upstream_stats(const struct upstream *u, const struct own_stat *own, size_t n, stat_visit visit, void *arg)
{
    struct stats_merge m = {.own = own, .n = n, .visit = visit, .arg = arg};
    if (u->policy != NULL && u->policy->ops->stats != NULL)
        u->policy->ops->stats(u->policy, stats_merge_see, &m);
    stats_merge_up_to(&m, NULL);
}

enum err upstream_check(const struct upstream *u, struct err_detail *err)
{
    return u->policy == NULL || u->policy->ops->check == NULL ? ERR_OK : u->policy->ops->check(u->policy, err);
}
