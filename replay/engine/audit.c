/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A treap of the live blocks: a binary search tree by address that is also a heap by rank.
 *
 * A node is a slot, so nothing is allocated while a replay runs. Its rank is a hash of the slot, so the expected depth
 * is logarithmic whatever the order of addresses (Seidel and Aragon, "Randomized Search Trees", 1996).
 */
#include "replay/engine/audit.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#define AUDIT_NONE UINT32_MAX

struct audit_node {
    uint64_t addr, bytes;                /* bytes 0: the slot is vacant and not in the tree */
    uint32_t left, right;                /* slots with lower and higher addresses, or AUDIT_NONE */
};

struct audit {
    const struct device *device;
    struct audit_node   *nodes;          /* by slot */
    uint32_t             n_slots;
    uint32_t             root;
    bool                 is_broken;      /* a device call took memory from under a live block */
    struct err_detail    broken;
};

enum err audit_create(uint32_t n_slots, const struct device *device, struct audit **out)
{
    struct audit *a = calloc(1, sizeof *a);
    struct audit_node *nodes = calloc((size_t)n_slots + 1, sizeof *nodes);
    if (a == NULL || nodes == NULL) {
        free(a);
        free(nodes);
        return ERR_HOST_NOMEM;
    }
    *a = (struct audit){ .device = device, .nodes = nodes, .n_slots = n_slots, .root = AUDIT_NONE };
    *out = a;
    return ERR_OK;
}

void audit_destroy(struct audit *a)
{
    if (a == NULL)
        return;
    free(a->nodes);
    free(a);
}

/* The live block that shares a byte with [addr, addr + bytes), or AUDIT_NONE. Live blocks never overlap each other, so
 * only the last one that starts below the end can reach into the range. */
static uint32_t audit_overlap(const struct audit *a, uint64_t addr, uint64_t bytes)
{
    const uint64_t end = addr + bytes;
    uint32_t last = AUDIT_NONE;
    for (uint32_t at = a->root; at != AUDIT_NONE;) {
        const struct audit_node *n = &a->nodes[at];
        if (n->addr < end) {
            last = at;
            at = n->right;
        } else {
            at = n->left;
        }
    }
    return last != AUDIT_NONE && a->nodes[last].addr + a->nodes[last].bytes > addr ? last : AUDIT_NONE;
}

static void audit_insert(struct audit *a, uint32_t slot)
{
    struct audit_node *const node = &a->nodes[slot];
    uint32_t *link = &a->root;
    assert(node->bytes > 0);
    while (*link != AUDIT_NONE && random_mix(*link) >= random_mix(slot))
        link = a->nodes[*link].addr < node->addr ? &a->nodes[*link].right : &a->nodes[*link].left;

    /* Split the subtree at the new address: lower addresses become the left child, higher ones the right child. */
    uint32_t at = *link, *below = &node->left, *above = &node->right;
    *link = slot;
    while (at != AUDIT_NONE) {
        if (a->nodes[at].addr < node->addr) {
            *below = at;
            below = &a->nodes[at].right;
            at = *below;
        } else {
            *above = at;
            above = &a->nodes[at].left;
            at = *above;
        }
    }
    *below = *above = AUDIT_NONE;
}

static void audit_remove(struct audit *a, uint32_t slot)
{
    const struct audit_node *const node = &a->nodes[slot];
    uint32_t *link = &a->root;
    while (*link != slot) {
        assert(*link != AUDIT_NONE);
        link = a->nodes[*link].addr < node->addr ? &a->nodes[*link].right : &a->nodes[*link].left;
    }

    /* Merge the two children: of each pair the higher rank comes on top. */
    uint32_t left = node->left, right = node->right;
    while (left != AUDIT_NONE && right != AUDIT_NONE) {
        if (random_mix(left) > random_mix(right)) {
            *link = left;
            link = &a->nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &a->nodes[right].left;
            right = *link;
        }
    }
    *link = left != AUDIT_NONE ? left : right;
}

static bool audit_is_inside(const struct device *device, const struct block *b)
{
    if (b->segment >= device->n_segments)
        return false;
    const struct segment_state *s = &device->segments[b->segment];
    return b->addr >= s->addr && b->bytes <= s->bytes && b->addr - s->addr <= s->bytes - b->bytes;
}

enum err audit_alloc(struct audit *a, uint32_t slot, uint64_t requested, const struct block *b, struct err_detail *err)
{
    assert(slot < a->n_slots && a->nodes[slot].bytes == 0);
    if (b->bytes < requested)
        return err_set(err, ERR_CORRUPT, 0,
                       "the block at 0x%" PRIx64 " has %" PRIu64 " bytes, fewer than the %" PRIu64 " asked for",
                       b->addr, b->bytes, requested);
    if (!audit_is_inside(a->device, b))
        return err_set(err, ERR_CORRUPT, 0,
                       "the block of %" PRIu64 " bytes at 0x%" PRIx64 " is not inside its segment %" PRIu32, b->bytes,
                       b->addr, b->segment);
    const uint32_t other = audit_overlap(a, b->addr, b->bytes);
    if (other != AUDIT_NONE)
        return err_set(err, ERR_CORRUPT, 0,
                       "the block of %" PRIu64 " bytes at 0x%" PRIx64 " overlaps the live block of %" PRIu64
                       " bytes at 0x%" PRIx64,
                       b->bytes, b->addr, a->nodes[other].bytes, a->nodes[other].addr);
    a->nodes[slot] = (struct audit_node){ .addr = b->addr, .bytes = b->bytes };
    audit_insert(a, slot);
    return ERR_OK;
}

void audit_free(struct audit *a, uint32_t slot)
{
    assert(slot < a->n_slots);
    if (a->nodes[slot].bytes == 0)
        return;
    audit_remove(a, slot);
    a->nodes[slot].bytes = 0;
}

void audit_device_call(void *audit, const struct device_call *c)
{
    struct audit *a = audit;
    if (a->is_broken || (c->kind != DEVICE_CALL_FREE && c->kind != DEVICE_CALL_UNMAP))
        return;
    const uint32_t victim = audit_overlap(a, c->addr, c->bytes);
    if (victim == AUDIT_NONE)
        return;
    a->is_broken = true;
    err_set(&a->broken, ERR_CORRUPT, 0,
            "%" PRIu64 " bytes at 0x%" PRIx64 " were given back to the device under the live block of %" PRIu64
            " bytes at 0x%" PRIx64,
            c->bytes, c->addr, a->nodes[victim].bytes, a->nodes[victim].addr);
}

enum err audit_check(struct audit *a, struct err_detail *err)
{
    if (!a->is_broken)
        return ERR_OK;
    if (err != NULL)
        *err = a->broken;
    return ERR_CORRUPT;
}
