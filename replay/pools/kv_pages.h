/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Pages that hold blocks of one class each: a page is of the class for which it was taken, until its last block is
 * given back. Two rules say from which page a block comes:
 *
 *     by request   a page of the same request, then a new one, then any of the class (Jenga)
 *     by class     any of the class, the one that got room last, then a new one (kvcached)
 *
 *     page:  | block | block |  free  |         a slot is (page, place); next_slot[] links the free slots of a page,
 *                                               and those of a request in the order in which it got them
 */
#ifndef REPLAY_REPLAY_POOLS_KV_PAGES_H
#define REPLAY_REPLAY_POOLS_KV_PAGES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KV_CLASSES = 8 };
#define KV_NONE UINT32_MAX

/* Where a page stands: among those of its class that have room, and among those of its request. */
enum kv_list { KV_OF_CLASS, KV_OF_HOLD, KV_LISTS };

struct kv_page {
    uint32_t n_used, free_slot;
    uint32_t hold;                   /* the request that it was taken for; KV_NONE: that one has gone */
    uint32_t class, turn;            /* turns[hold], when it was taken */
    struct { uint32_t before, after; } links[KV_LISTS];
};

/* The blocks of a request, oldest first: of its tokens from `first` blocks on. */
struct kv_chain { uint32_t oldest, newest; uint64_t first, n; };

struct kv_pages {
    bool     is_by_hold;
    uint64_t page_bytes, block_bytes[KV_CLASSES];
    uint32_t n_classes, n_pages, n_holds, slots_per_page;
    uint32_t per_page[KV_CLASSES];
    struct kv_page *pages;
    uint32_t *next_slot;
    uint32_t *of_hold;               /* the first page with room of (request, class) */
    uint64_t *room_of_hold;          /* free slots in those */
    uint32_t *turns;                 /* how often a request of this number has gone */
    uint32_t of_class[KV_CLASSES];   /* the first page with room */
    uint64_t room_of_class[KV_CLASSES], n_blocks[KV_CLASSES];
    uint32_t free_page, n_free_pages;        /* pages of no class */
};

/* `out` has is_by_hold, n_classes, page_bytes and block_bytes filled in. ERR_USAGE, ERR_HOST_NOMEM. */
MUST_USE enum err kv_pages_open(struct kv_pages *out, uint64_t bytes, size_t n_holds, struct err_detail *err);
void kv_pages_close(struct kv_pages *p);
void kv_pages_empty(struct kv_pages *p);

/* Whether the request `hold` finds so many blocks of each class. */
bool kv_pages_have(const struct kv_pages *p, uint32_t hold, const uint64_t need[KV_CLASSES]);

/* One more block, which there is; its oldest one goes back; all of a request go back. */
void kv_pages_take(struct kv_pages *p, uint32_t hold, uint32_t class, struct kv_chain *chain);
void kv_pages_give_oldest(struct kv_pages *p, struct kv_chain *chain);
void kv_pages_give_all(struct kv_pages *p, uint32_t hold, struct kv_chain chains[KV_CLASSES]);

uint64_t kv_pages_taken(const struct kv_pages *p);
uint64_t kv_pages_given(const struct kv_pages *p);

#endif
