/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * tlsf: two-level segregated fit, as described in Masmano, Ripoll, Crespo and Real, "TLSF: a new dynamic memory
 * allocator for real-time systems", ECRTS 2004. The rest of its rules is in plain.h.
 *
 * The first level divides free blocks by powers of two, the second each power into 32 equal classes. A class is a list,
 * the last freed block first. A request is rounded up to where a class begins, so that every block from there on is
 * large enough, and takes the first block of the first class that has one: constant time, and a good fit, not the best.
 *
 * The block that a request gets has the rounded size, in a free block and in new memory, as in the authors' tlsf.c
 * (MAPPING_SEARCH changes the size that malloc_ex splits off). So a freed block is found by the next request of its
 * size, and at most 1/32 of a request is lost to rounding.
 */
#include "policies/described/plain.h"

#include "base/units.h"

enum { TLSF_SECOND_BITS = 5, TLSF_SECOND = 1 << TLSF_SECOND_BITS, TLSF_FIRST = 64 };

struct tlsf {
    struct plain plain;                     /* first, so the two pointers convert */
    uint64_t     first;                     /* bit f: some class of power f has a block */
    uint32_t     second[TLSF_FIRST];        /* bit s of [f]: class s of power f has one */
    uint32_t     newest[TLSF_FIRST][TLSF_SECOND];    /* lists, linked by `right` and back by `left` */
};

static const struct policy_option tlsf_options[] = {
    [PLAIN_CHUNK] = PLAIN_CHUNK_OPTION,
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    {.name = NULL},
};

struct tlsf_class {
    unsigned first, second;
};

/* The class of a size. Sizes are multiples of 512, so every power has room for 32 classes or fewer than 32 sizes. */
static struct tlsf_class tlsf_class_of(uint64_t bytes)
{
    const unsigned first = log2_floor(bytes);
    return (struct tlsf_class){.first = first, .second = (unsigned)(bytes >> (first - TLSF_SECOND_BITS)) % TLSF_SECOND};
}

static void tlsf_insert(struct plain *p, uint32_t b)
{
    struct tlsf *t = (struct tlsf *)p;
    struct block_entry *at = p->heap.blocks.at;
    const struct tlsf_class c = tlsf_class_of(at[b].size);
    uint32_t *newest = &t->newest[c.first][c.second];
    at[b].left = BLOCK_NONE;
    at[b].right = *newest;
    at[*newest].left = b;                    /* BLOCK_NONE's may be overwritten */
    *newest = b;
    t->second[c.first] |= UINT32_C(1) << c.second;
    t->first |= UINT64_C(1) << c.first;
}

static void tlsf_remove(struct plain *p, uint32_t b)
{
    struct tlsf *t = (struct tlsf *)p;
    struct block_entry *at = p->heap.blocks.at;
    const struct tlsf_class c = tlsf_class_of(at[b].size);
    uint32_t *newest = &t->newest[c.first][c.second];
    if (*newest == b)
        *newest = at[b].right;
    else
        at[at[b].left].right = at[b].right;
    at[at[b].right].left = at[b].left;
    if (*newest != BLOCK_NONE)
        return;
    t->second[c.first] &= ~(UINT32_C(1) << c.second);
    if (t->second[c.first] == 0)
        t->first &= ~(UINT64_C(1) << c.first);
}

/* The least size of a class, and the least multiple of PLAIN_UNIT, that is large enough. */
static uint64_t tlsf_round(uint64_t bytes)
{
    const uint64_t least = align_up(bytes, PLAIN_UNIT);
    return align_up(least, UINT64_C(1) << (log2_floor(least) - TLSF_SECOND_BITS));
}

static uint32_t tlsf_find(struct plain *p, uint64_t bytes, uint16_t stream)
{
    struct tlsf *t = (struct tlsf *)p;
    struct tlsf_class c = tlsf_class_of(bytes);
    (void)stream;
    uint32_t classes = t->second[c.first] & ~UINT32_C(0) << c.second;
    if (classes == 0) {
        const uint64_t powers = c.first == TLSF_FIRST - 1 ? 0 : t->first & ~UINT64_C(0) << (c.first + 1);
        if (powers == 0)
            return BLOCK_NONE;
        c.first = (unsigned)__builtin_ctzll(powers);
        classes = t->second[c.first];
    }
    return t->newest[c.first][__builtin_ctz(classes)];
}

static const struct plain_set tlsf_set = {
    .insert = tlsf_insert, .remove = tlsf_remove, .find = tlsf_find, .round = tlsf_round,
};

static enum err tlsf_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct plain *p;
    const enum err e = plain_create(cfg, sizeof(struct tlsf), &tlsf_set, &p, err);
    if (e == ERR_OK)
        *out = &p->base;
    return e;
}

/* The largest block of the highest class that has one. */
static uint64_t tlsf_largest_free(const struct policy *base)
{
    const struct tlsf *t = (const struct tlsf *)base;
    uint64_t largest = 0;
    if (t->first != 0) {
        const unsigned first = log2_floor(t->first), second = log2_floor(t->second[first]);
        for (uint32_t b = t->newest[first][second]; b != BLOCK_NONE; b = heap_at(&t->plain.heap, b)->right)
            largest = heap_at(&t->plain.heap, b)->size > largest ? heap_at(&t->plain.heap, b)->size : largest;
    }
    return upstream_largest_free(&t->plain.upstream, largest);
}

const struct policy_ops policy_tlsf = {
    POLICY_HEAD,
    .name = "tlsf",
    .summary = "two-level segregated fit: a good fit in constant time (as described: Masmano et al., 2004)",
    .options = tlsf_options,
    .create = tlsf_create,   .destroy = plain_destroy,
    .alloc = plain_alloc,    .free = plain_free,
    .flush = plain_flush,    .walk = plain_walk,        .largest_free = tlsf_largest_free,
    .stats = plain_stats,    .check = plain_check,
};
