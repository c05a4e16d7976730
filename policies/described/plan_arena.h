/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The arena of an allocator that follows a plan: one piece of memory, never given back, of which a request takes the
 * place that the plan names, if all of it is free.
 *
 *     arena    [ in use ][ free, used by stream 0 ][ free, used by stream 1 ][ free, never used ]
 *                           |-------- a place of stream 0 --------|                              no
 *                                                     |-------- a place of stream 1 --------|    yes
 *
 * A stream may still work on what it freed, because a card runs behind its program. So if the arena keeps streams
 * apart, what one stream has used is never given to another.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_PLAN_ARENA_H
#define REPLAY_POLICIES_DESCRIBED_PLAN_ARENA_H

#include "policies/parts/first_fit.h"
#include "policies/parts/heap.h"

struct plan_arena {
    struct heap      heap;                  /* one piece; or none yet */
    struct first_fit free;                  /* its free blocks */
    uint32_t         root;
    uint64_t         addr, bytes;           /* 0: not taken yet */
    bool             keeps_streams;
};

/* `upstream` is borrowed, and is where the memory comes from. plan_arena_close accepts zeros. ERR_HOST_NOMEM. */
MUST_USE enum err plan_arena_open(struct plan_arena *a, struct upstream *upstream, bool keeps_streams);
void plan_arena_close(struct plan_arena *a);

/* Takes the memory; 0 bytes: none. ERR_DEVICE_OOM, ERR_HOST_NOMEM. */
MUST_USE enum err plan_arena_fill(struct plan_arena *a, uint64_t bytes);

/* Makes room for the blocks of one plan_arena_take. ERR_HOST_NOMEM. */
MUST_USE enum err plan_arena_reserve(struct plan_arena *a);

/* Cuts [offset, offset + bytes) out of the free blocks. BLOCK_NONE if a part of it is in use, or was used by another
 * stream. */
uint32_t plan_arena_take(struct plan_arena *a, uint64_t offset, uint64_t bytes, uint16_t stream);

/* The block is free again. */
void plan_arena_give(struct plan_arena *a, uint32_t b);

static inline bool plan_arena_has(const struct plan_arena *a, uint64_t addr)
{
    return a->heap.n_held > 0 && addr - a->addr < a->bytes;
}

MUST_USE enum err plan_arena_check(const struct plan_arena *a, const char *policy, struct err_detail *err);

#endif
