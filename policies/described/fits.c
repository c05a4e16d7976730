/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * first-fit, next-fit and worst-fit, as described in Knuth, The Art of Computer Programming, vol. 1, section 2.5, and
 * Wilson, Johnstone, Neely and Boles, "Dynamic Storage Allocation: A Survey and Critical Review", 1995. The rest of
 * their rules is in plain.h.
 */
#include "policies/described/address_order.h"

struct fits {
    struct address_order order;             /* first, so the two pointers convert */
    uint64_t             next_place;        /* next-fit: where its next search begins */
};

static const struct policy_option fits_options[] = {
    [PLAIN_CHUNK] = PLAIN_CHUNK_OPTION,
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

/* The lowest block that is large enough, beginning after the last request and going round. */
static uint32_t next_fit_search(struct plain *p, uint64_t bytes, uint16_t stream)
{
    struct fits *f = (struct fits *)p;
    (void)stream;
    uint32_t b = first_fit_find(&f->order.free, f->order.roots[0], f->next_place, bytes);
    if (b == BLOCK_NONE)
        b = first_fit_find(&f->order.free, f->order.roots[0], 0, bytes);
    if (b != BLOCK_NONE)
        f->next_place = heap_at(&p->heap, b)->tie + bytes;
    return b;
}

/* The largest block, of these the lowest. */
static uint32_t worst_fit_search(struct plain *p, uint64_t bytes, uint16_t stream)
{
    const struct fits *f = (const struct fits *)p;
    const uint32_t b = first_fit_largest(&f->order.free, f->order.roots[0]);
    (void)stream;
    return b != BLOCK_NONE && heap_at(&p->heap, b)->size >= bytes ? b : BLOCK_NONE;
}

static const struct plain_set first_fit_set = {ADDRESS_ORDER_SET, .find = address_order_find};
static const struct plain_set next_fit_set = {ADDRESS_ORDER_SET, .find = next_fit_search};
static const struct plain_set worst_fit_set = {ADDRESS_ORDER_SET, .find = worst_fit_search};

static enum err fits_create(const struct policy_config *cfg, const struct plain_set *set, struct policy **out,
                            struct err_detail *err)
{
    struct address_order *o;
    const enum err e = address_order_create(cfg, sizeof(struct fits), set, &o, err);
    if (e == ERR_OK)
        *out = &o->plain.base;
    return e;
}

static enum err first_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    return fits_create(cfg, &first_fit_set, out, err);
}

static enum err next_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    return fits_create(cfg, &next_fit_set, out, err);
}

static enum err worst_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    return fits_create(cfg, &worst_fit_set, out, err);
}

#define FITS_OPERATIONS \
    .options = fits_options, .destroy = address_order_destroy, .alloc = address_order_alloc, .free = plain_free, \
    .flush = plain_flush, .expect = plain_expect, .walk = plain_walk, .largest_free = address_order_largest_free, \
    .stats = plain_stats, .check = address_order_check

const struct policy_ops policy_first_fit = {
    POLICY_HEAD,
    .name = "first-fit",
    .summary = "the lowest free block that is large enough (as described: Knuth, vol. 1, section 2.5)",
    .create = first_fit_create,
    FITS_OPERATIONS,
};

const struct policy_ops policy_next_fit = {
    POLICY_HEAD,
    .name = "next-fit",
    .summary = "first fit that begins where the last search ended (as described: Knuth, vol. 1, section 2.5)",
    .create = next_fit_create,
    FITS_OPERATIONS,
};

const struct policy_ops policy_worst_fit = {
    POLICY_HEAD,
    .name = "worst-fit",
    .summary = "the largest free block (as described: Wilson et al., 1995)",
    .create = worst_fit_create,
    FITS_OPERATIONS,
};
