/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Physical pages of 2 MiB, each with an address in the range that it was made for, and stitched ranges: addresses under
 * which pages of several ranges stand one after the other. A page is counted once, however often it is mapped.
 *
 *     primitive ranges    [ A A . . ]   [ . B B ]        blocks: chains as in block_table.h, cut at pages
 *     a stitched range    [ A A B B ]                    the same pages, mapped once more
 *
 * A page is in use by at most one request, under whichever of its addresses. So a stitched range can be handed out only
 * while none of its pages is in use; each page knows the stitched ranges that hold it.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_STITCHED_PAGES_H
#define REPLAY_POLICIES_DESCRIBED_STITCHED_PAGES_H

#include "policies/parts/block_table.h"
#include "policies/parts/free_set.h"
#include "policies/policy.h"

#define STITCHED_PAGE_BYTES DEVICE_PAGE_BYTES

struct stitched_page {
    uint32_t  phys;                  /* the device's handle */
    uint32_t  block;                 /* that holds it */
    uint32_t *held_by;               /* numbers of stitched ranges, n_held_by */
    size_t    n_held_by, room;
};

/* A range with pages of its own. */
struct primitive_range {
    struct segment seg;              /* bytes 0: vacant */
    struct stitched_page *pages;
    uint32_t n_pages;
    uint32_t first;                  /* its first block */
};

struct page_place {
    uint32_t range, page;
};

struct stitched_range {
    struct segment seg;              /* bytes 0: vacant */
    struct page_place *pages;
    uint32_t n_pages;
    uint32_t n_used;                 /* of them, in use by any request */
    uint32_t n_handed;               /* its first pages, which a request has under this address; 0: none */
    uint64_t requested;              /* by that request */
    uint64_t used_at;                /* when it was handed out last, by the count of such moments */
    uint16_t stream;
};

struct stitched_pages {
    struct device     *device;       /* borrowed */
    struct block_table blocks;       /* `segment` of a block is its primitive range; flags: allocated; requested 0: by a
                                      * stitched range */
    struct free_set    free;
    struct primitive_range *ranges;
    size_t    n_ranges, room_ranges;
    uint64_t  places_end;                /* blocks of one size are taken by age of their range, as in heap.h */
    struct stitched_range *stitched;
    size_t    n_stitched, room_stitched;
    uint64_t  n_pages;               /* held */
    uint64_t  stitched_bytes;        /* addresses of all stitched ranges */
    uint64_t  clock;
    uint64_t  n_splits, n_coalesces;
};

/* ERR_HOST_NOMEM. stitched_pages_close accepts zeros; what is held is left to the device's end. */
MUST_USE enum err stitched_pages_open(struct stitched_pages *s, const struct policy_config *cfg);
void stitched_pages_close(struct stitched_pages *s);

/* A new primitive range of n pages: one block, allocated, in no set. The device's errors; nothing is left after one. */
MUST_USE enum err stitched_pages_grow(struct stitched_pages *s, uint32_t n, uint16_t stream, uint32_t *block);

/* Cuts a free block to `bytes`; the rest stays free. ERR_HOST_NOMEM. The block is allocated then. */
MUST_USE enum err stitched_pages_take(struct stitched_pages *s, uint32_t block, uint64_t bytes);

/* The block is free again, and coalesces with its free neighbours. */
void stitched_pages_free(struct stitched_pages *s, uint32_t block);

/* Makes a stitched range of allocated blocks, in this order, and hands it out. The device's errors; ERR_HOST_NOMEM. */
MUST_USE enum err stitched_pages_stitch(struct stitched_pages *s, const uint32_t *blocks, size_t n, uint32_t *range);

/* Hands out the first n pages of a stitched range of which none is in use. ERR_HOST_NOMEM. */
MUST_USE enum err stitched_pages_take_range(struct stitched_pages *s, uint32_t range, uint32_t n);
void stitched_pages_free_range(struct stitched_pages *s, uint32_t range);

/* Takes the addresses of a stitched range back that is not handed out. */
void stitched_pages_drop_range(struct stitched_pages *s, uint32_t range);

/* Gives back all stitched ranges that are not handed out, and all primitive ranges that are free and in no other. */
void stitched_pages_give_back(struct stitched_pages *s);

/* Shows all blocks, in no order. */
void stitched_pages_show(const struct stitched_pages *s, block_visit visit, void *arg);

/* Whether chains cover their ranges, and each page in use has one user. */
MUST_USE enum err stitched_pages_check(const struct stitched_pages *s, struct err_detail *err);

#endif
