/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The chunks of TensorFlow's "best fit with coalescing" allocator, which ONNX Runtime's arena has taken over: what
 * tf_bfc.c and ort.c share. How each of them grows and gives back is in its own file.
 *
 * Requests are rounded up to 256 bytes and take the smallest free chunk that fits, of these the lowest. (The real ones
 * keep 21 bins by size, each in order of size and address, so that is what they find.) A chunk is split only if it is
 * twice as large as the request, or larger by a fixed slack; otherwise the request gets all of it. Neighbours coalesce.
 */
#ifndef REPLAY_POLICIES_ZOO_BFC_H
#define REPLAY_POLICIES_ZOO_BFC_H

#include "policies/parts/free_set.h"
#include "policies/parts/heap.h"

enum { BFC_UNIT = 256 };

struct bfc {
    struct heap     heap;            /* its pieces are BFC's regions */
    struct free_set free;            /* streams play no part: all chunks are those of stream 0 */
    uint64_t        slack_bytes;     /* a rest of at least so much is always split off */
    uint64_t        step_bytes;      /* what the next region has at least */
    uint64_t        limit_bytes;     /* the most to hold; UINT64_MAX: none */
};

/* ERR_HOST_NOMEM. bfc_close accepts zeros. */
MUST_USE enum err bfc_open(struct bfc *f, const struct policy_config *cfg, struct upstream *upstream);
void bfc_close(struct bfc *f);

/* A request rounded up; false if it is larger than any memory. */
bool bfc_round(uint64_t requested, uint64_t *bytes);

/* Whether `step_bytes` had to grow to hold a request: it is doubled until it does. */
bool bfc_raise_step(struct bfc *f, uint64_t bytes);

/* What may still be held, in whole units. */
uint64_t bfc_room(const struct bfc *f);

/* What is asked for after `bytes` were refused: 0.9 of it, computed as the real ones do. */
uint64_t bfc_backpedal(uint64_t bytes);

/* Takes a region of `bytes`, as one free chunk in no set. heap_grow's errors. */
MUST_USE enum err bfc_add_region(struct bfc *f, uint64_t bytes, uint32_t *out);

/* Serves a request from the free chunks. False: none fits. */
bool bfc_take(struct bfc *f, uint64_t bytes, uint64_t requested, struct policy_counters *count, struct block *out);

void bfc_free(struct bfc *f, uint32_t chunk, struct policy_counters *count);

/* Gives back a region that is one free chunk: one of heap_idle_pieces. */
void bfc_give_back(struct bfc *f, uint32_t chunk);

enum err bfc_walk(const struct bfc *f, block_visit visit, void *arg);

#endif
