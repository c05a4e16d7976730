/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Allocators whose requests are rounded up to size classes, and then take the lowest free block that is large enough.
 * The rest of their rules is in plain.h.
 *
 * jemalloc-like: four classes to each doubling, so that at most a fifth of a block is lost (jemalloc's manual page,
 * "SIZE CLASSES"; from 4 * 512 bytes on, below multiples of 512). Of jemalloc's structure only this is taken: no slabs,
 * no arenas by thread, no decay.
 *
 * neuron: the caching segment allocator of torch-neuronx on Trn2 and Trn3. Documented ("Guidelines for memory
 * management", AWS Neuron documentation, October 2026): requests below 1 MB have a pool of their own; below 16 MB they
 * are rounded up to a size class of at least 256 bytes, above they are not rounded; freed blocks stay in their
 * segments. Not documented and assumed here: four classes to each doubling, multiples of 512 bytes, segments of 2 MiB
 * and 20 MiB, the lowest block, exact splits.
 */
#include "policies/described/address_order.h"

#include "base/units.h"

enum { NEURON_SMALL = PLAIN_OPTIONS };
#define NEURON_ROUNDED (16 * MIB)            /* requests from here on are not rounded */

struct size_classes {
    struct address_order order;             /* first, so the two pointers convert */
    uint64_t chunks[2];                     /* of the only pool or the large one; of the small one */
    bool     is_small;                      /* the request under way belongs to the small pool */
};

static const struct policy_option jemalloc_like_options[] = {
    [PLAIN_CHUNK] = PLAIN_CHUNK_OPTION,
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static const struct policy_option neuron_options[] = {
    [PLAIN_CHUNK] = {"chunk", OPTION_BYTES, 0, UINT64_MAX / 4, "20MiB", "bytes",
                     "least size of a segment of the large pool (not documented)"},
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    [NEURON_SMALL] = {"small-chunk", OPTION_BYTES, 0, UINT64_MAX / 4, "2MiB", "bytes",
                      "the same of the small pool (not documented)"},
    {.name = NULL},
};

static uint32_t classes_find(struct plain *p, uint64_t bytes, uint16_t stream)
{
    const struct size_classes *c = (const struct size_classes *)p;
    (void)stream;
    return first_fit_find(&c->order.free, c->order.roots[c->is_small], 0, bytes);
}

static void classes_grown(struct plain *p, uint32_t b)
{
    if (((struct size_classes *)p)->is_small)
        heap_at(&p->heap, b)->flags |= BLOCK_IS_SMALL;
}

/* The size class: the next of the four steps between a power of two and the one after it. */
static uint64_t class_of(uint64_t bytes)
{
    const uint64_t least = align_up(bytes, PLAIN_UNIT);
    return least <= 4 * PLAIN_UNIT ? least : align_up(least, UINT64_C(1) << (log2_floor(least - 1) - 2));
}

static uint64_t neuron_class_of(uint64_t bytes)
{
    return bytes < NEURON_ROUNDED ? class_of(bytes) : align_up(bytes, PLAIN_UNIT);
}

static const struct plain_set jemalloc_like_set = {
    ADDRESS_ORDER_SET, .find = address_order_find, .round = class_of,
};
static const struct plain_set neuron_set = {
    ADDRESS_ORDER_SET, .find = classes_find, .round = neuron_class_of,
    .grown = classes_grown,
};

static enum err jemalloc_like_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct address_order *o;
    const enum err e = address_order_create(cfg, sizeof(struct size_classes), &jemalloc_like_set, &o, err);
    if (e == ERR_OK)
        *out = &o->plain.base;
    return e;
}

static enum err neuron_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct address_order *o;
    const enum err e = address_order_create(cfg, sizeof(struct size_classes), &neuron_set, &o, err);
    if (e != ERR_OK)
        return e;
    struct size_classes *c = (struct size_classes *)o;
    c->chunks[0] = cfg->values[PLAIN_CHUNK].number;
    c->chunks[1] = cfg->values[NEURON_SMALL].number;
    *out = &o->plain.base;
    return ERR_OK;
}

static enum err neuron_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct size_classes *c = (struct size_classes *)p;
    c->is_small = req->bytes < MIB;
    c->order.plain.chunk_bytes = c->chunks[c->is_small];
    return address_order_alloc(p, req, out);
}

static void neuron_remarks(const struct policy *p, remark_visit visit, void *arg)
{
    (void)p;
    visit(arg, REMARK_ASSUMPTION, "neuron: segment sizes, size classes and the search are not documented; those here "
                                  "are assumed, and nothing was compared with a real one");
}

const struct policy_ops policy_jemalloc_like = {
    POLICY_HEAD,
    .name = "jemalloc-like",
    .summary = "four size classes to each doubling, the lowest free block (as described: jemalloc's manual page)",
    .options = jemalloc_like_options,
    .create = jemalloc_like_create, .destroy = address_order_destroy,
    .alloc = address_order_alloc,   .free = plain_free,  .expect = plain_expect,
    .flush = plain_flush,           .walk = plain_walk,  .largest_free = address_order_largest_free,
    .stats = plain_stats,           .check = address_order_check,
};

const struct policy_ops policy_neuron = {
    POLICY_HEAD,
    .name = "neuron",
    .summary = "torch-neuronx' caching segments, a model (as described: AWS Neuron documentation)",
    .options = neuron_options,
    .create = neuron_create, .destroy = address_order_destroy,
    .alloc = neuron_alloc,   .free = plain_free,        .expect = plain_expect,
    .flush = plain_flush,    .walk = plain_walk,        .largest_free = address_order_largest_free,
    .stats = plain_stats,    .remarks = neuron_remarks, .check = address_order_check,
};
