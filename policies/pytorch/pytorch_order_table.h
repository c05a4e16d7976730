/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A hash table with the slot order of PyTorch's.
 *
 * PyTorch walks over streams, over pools to give back and over lending pools in the order of the slots of such a table,
 * so its decisions depend on the layout, and the layout is modelled: open addressing with stored distances from the
 * home slot, multiplicative hashing, growth by doubling, removal by shifting back.
 * Source: PyTorch, c10/util/flat_hash_map.h (after M. Skarupke's ska::flat_hash_map).
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_ORDER_TABLE_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_ORDER_TABLE_H

#include "base/err.h"
#include "base/max_tree.h"

#include <stdbool.h>
#include <stdint.h>

struct order_slot {
    uint64_t hash;
    uint32_t value;
    int32_t  distance;               /* from the home slot; -1: empty */
};

/* All zero: an empty table. Slots 0 .. n_slots + longest - 1 exist. */
struct order_table {
    struct order_slot *slots;
    struct max_tree taken;           /* by slot: 1 if it is taken */
    uint32_t n_slots, longest, count;
};

void order_table_close(struct order_table *t);

/* The first taken slot from slot i on; MAX_TREE_NONE if there is none. */
static inline uint32_t order_table_from(const struct order_table *t, uint32_t i)
{
    return t->count == 0 ? MAX_TREE_NONE : max_tree_from(&t->taken, i, 1);
}

/* The bits of a value that are its number; the others belong to the caller. */
#define ORDER_NUMBER UINT32_C(0xffff)

/* The slot of a number, borrowed until the next change; NULL if it is not there. Different numbers may share a hash. */
struct order_slot *order_table_find(const struct order_table *t, uint64_t hash, uint32_t number);

/* Inserts a value whose number is not in the table. ERR_HOST_NOMEM; ERR_FORMAT if so many hashes meet that the table
 * would become absurdly large, which no real process has. Both leave the table as it was. */
MUST_USE enum err order_table_insert(struct order_table *t, uint64_t hash, uint32_t value);

/* Empties slot i and shifts the following ones back, so a walk must look at slot i again. */
void order_table_remove(struct order_table *t, uint32_t i);

/* Empties all slots and keeps their number. */
void order_table_clear(struct order_table *t);

#endif
