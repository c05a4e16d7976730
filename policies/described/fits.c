/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * first-fit, next-fit and worst-fit, as described in Knuth, The Art of Computer Programming, vol. 1, section 2.5, and
 * Wilson, Johnstone, Neely and Boles, "Dynamic Storage Allocation: A Survey and Critical Review", 1995. The rest of
 * their rules is in plain.h.
 */
#include "policies/described/plain.h"

#include "policies/parts/first_fit.h"

#include <stdlib.h>

struct fits {
    struct plain plain;                     /* first, so the two pointers convert */
    uint32_t     root;                      /* free blocks by address */
    uint64_t     next_addr;                 /* next-fit: where its next search begins */
};

static const struct policy_option fits_options[] = {
    [PLAIN_CHUNK] = PLAIN_CHUNK_OPTION,
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

static void fits_insert(struct plain *p, uint32_t b)
{
    first_fit_insert(p->heap.blocks.at, &((struct fits *)p)->root, b);
}

static void fits_remove(struct plain *p, uint32_t b)
{
    first_fit_remove(p->heap.blocks.at, &((struct fits *)p)->root, b);
}

/* The lowest block that is large enough. */
static uint32_t first_fit_search(struct plain *p, uint64_t bytes, uint16_t stream)
{
    (void)stream;
    return first_fit_find(p->heap.blocks.at, ((struct fits *)p)->root, 0, bytes);
}

/* The same, beginning after the last request and going round. */
static uint32_t next_fit_search(struct plain *p, uint64_t bytes, uint16_t stream)
{
    struct fits *f = (struct fits *)p;
    const struct block_entry *at = p->heap.blocks.at;
    (void)stream;
    uint32_t b = first_fit_find(at, f->root, f->next_addr, bytes);
    if (b == BLOCK_NONE)
        b = first_fit_find(at, f->root, 0, bytes);
    if (b != BLOCK_NONE)
        f->next_addr = at[b].addr + bytes;
    return b;
}

/* The largest block, of these the lowest. */
static uint32_t worst_fit_search(struct plain *p, uint64_t bytes, uint16_t stream)
{
    const struct block_entry *at = p->heap.blocks.at;
    const uint32_t b = first_fit_largest(at, ((struct fits *)p)->root);
    (void)stream;
    return b != BLOCK_NONE && at[b].size >= bytes ? b : BLOCK_NONE;
}

static const struct plain_set first_fit_set = {.insert = fits_insert, .remove = fits_remove, .find = first_fit_search};
static const struct plain_set next_fit_set = {.insert = fits_insert, .remove = fits_remove, .find = next_fit_search};
static const struct plain_set worst_fit_set = {.insert = fits_insert, .remove = fits_remove, .find = worst_fit_search};

static enum err fits_create(const struct policy_config *cfg, const struct plain_set *set, struct policy **out,
                            struct err_detail *why)
{
    struct plain *p;
    const enum err e = plain_create(cfg, sizeof(struct fits), set, &p, why);
    if (e == ERR_OK)
        *out = &p->base;
    return e;
}

static enum err first_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *why)
{
    return fits_create(cfg, &first_fit_set, out, why);
}

static enum err next_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *why)
{
    return fits_create(cfg, &next_fit_set, out, why);
}

static enum err worst_fit_create(const struct policy_config *cfg, struct policy **out, struct err_detail *why)
{
    return fits_create(cfg, &worst_fit_set, out, why);
}

static uint64_t fits_largest_free(const struct policy *base)
{
    const struct fits *f = (const struct fits *)base;
    const uint32_t b = first_fit_largest(f->plain.heap.blocks.at, f->root);
    return upstream_largest_free(&f->plain.upstream, b == BLOCK_NONE ? 0 : heap_at(&f->plain.heap, b)->size);
}

#define FITS_OPERATIONS \
    .options = fits_options, .destroy = plain_destroy, .alloc = plain_alloc, .free = plain_free, .flush = plain_flush, \
    .walk = plain_walk, .largest_free = fits_largest_free, .stats = plain_stats, .check = plain_check

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
