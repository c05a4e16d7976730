/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The naive allocator that every policy is held against: an array of live blocks, and all pairs compared. It places
 * nothing; it only knows what must not happen.
 */
#ifndef REPLAY_TESTS_MODEL_H
#define REPLAY_TESTS_MODEL_H

#include "tests/rig.h"

enum model_state { MODEL_VACANT, MODEL_LIVE, MODEL_PENDING };

struct model {
    struct {
        enum model_state state;
        struct block     block;
        uint64_t         requested;
        uint16_t         stream;
    } slots[RIG_SLOTS];
};

static inline bool model_overlap(const struct block *a, const struct block *b)
{
    return a->addr < b->addr + b->bytes && b->addr < a->addr + a->bytes;
}

/* A block that was just handed out: as large as asked, inside its segment, and over no other. */
static inline void model_expect_placed(const struct model *m, const struct device *device, uint32_t slot)
{
    const struct block *b = &m->slots[slot].block;
    cr_assert_geq(b->bytes, m->slots[slot].requested, "a block smaller than the request");
    cr_assert_leq(b->addr, UINT64_MAX - b->bytes);
    cr_assert_lt(b->segment, device->n_segments);
    const struct segment_state *s = &device->segments[b->segment];
    cr_assert(b->addr >= s->addr && b->addr + b->bytes <= s->addr + s->bytes, "a block outside its segment");
    for (uint32_t i = 0; i < RIG_SLOTS; i++)
        cr_assert(i == slot || m->slots[i].state == MODEL_VACANT || !model_overlap(b, &m->slots[i].block),
                  "slots %u and %u share memory", slot, i);
}

static inline uint64_t model_live_bytes(const struct model *m)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < RIG_SLOTS; i++)
        if (m->slots[i].state != MODEL_VACANT)
            bytes += m->slots[i].block.bytes;
    return bytes;
}

/* What the device has given is what its table says, and covers what is live. */
static inline void model_expect_reserved(const struct model *m, const struct device *device)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        bytes += device->segments[i].mapped_bytes;
    cr_assert_eq(device->usage.reserved_bytes, bytes);
    cr_assert_geq(bytes, model_live_bytes(m));
}

#endif
