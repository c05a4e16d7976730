/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the textbook allocators have in common, so that they differ only in how they find a free block.
 *
 * A request is rounded up to 512 bytes or a size class. It takes the low end of the free block that the policy finds,
 * and all that it does not need is a free block again. A freed block coalesces with its free neighbours at once.
 * Streams play no part.
 *
 * "The lowest" block is one of the oldest segment, and within a segment the one of the lowest address.
 *
 * If nothing fits, the device is asked for the larger of the request and `chunk`, in multiples of `unit`. If it
 * refuses, everything wholly free is given back and it is asked once more, and then for the request alone.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_PLAIN_H
#define REPLAY_POLICIES_DESCRIBED_PLAIN_H

#include "policies/parts/heap.h"

enum { PLAIN_UNIT = 512 };

struct plain;

/* How a policy keeps its free blocks. Without `update` a block in the set keeps its size and address. */
struct plain_set {
    void     (*insert)(struct plain *p, uint32_t b);
    void     (*remove)(struct plain *p, uint32_t b);
    void     (*update)(struct plain *p, uint32_t b);     /* a block in the set grew or shrank in its place */
    uint32_t (*find)(struct plain *p, uint64_t bytes, uint16_t stream);      /* BLOCK_NONE: nothing fits */
    bool     (*may_join)(const struct plain *p, uint32_t a, uint32_t b);     /* two free neighbours; NULL: always */
    uint64_t (*round)(uint64_t bytes);       /* a multiple of PLAIN_UNIT; NULL: up to the next */
    void     (*grown)(struct plain *p, uint32_t b);      /* `b` is new memory, in no set; NULL: nothing to note */
};

struct plain {
    struct policy   base;                   /* first, so the two pointers convert */
    struct upstream upstream;
    struct heap     heap;
    const struct plain_set *set;
    uint64_t        chunk_bytes, unit_bytes;
};

/* The options that begin each such policy's table, and their number. */
enum { PLAIN_CHUNK, PLAIN_UPSTREAM, PLAIN_OPTIONS };
#define PLAIN_CHUNK_OPTION \
    {"chunk", OPTION_BYTES, 0, UINT64_MAX / 4, "32MiB", "bytes", "least size to ask the device for"}

/* Makes a policy of `size` bytes, whose first member is a struct plain; the rest is zero. ERR_HOST_NOMEM and the errors
 * of the upstream. `set` and the name are static. */
MUST_USE enum err plain_create(const struct policy_config *cfg, size_t size, const struct plain_set *set,
                               struct plain **out, struct err_detail *err);

/* The members of a table of operations. plain_destroy frees the policy; what a set holds besides is freed before. */
void     plain_destroy(struct policy *p);
enum err plain_alloc(struct policy *p, const struct event *req, struct block *out);
void     plain_free(struct policy *p, const struct event *req, const struct block *b);
void     plain_flush(struct policy *p, uint32_t stream);
void     plain_expect(const struct policy *p, const struct event *ev, const struct block *b, bool is_next);
enum err plain_walk(const struct policy *p, block_visit visit, void *arg);
void     plain_stats(const struct policy *p, stat_visit visit, void *arg);
enum err plain_check(const struct policy *p, struct err_detail *err);

/* Takes memory for a request as said above: one block, in no set. */
MUST_USE enum err plain_grow(struct plain *p, uint64_t bytes, uint16_t stream, uint32_t *out);

#endif
