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
    uint32_t n_slots, longest, count;
};

void order_table_close(struct order_table *t);

/* The number of slots to walk over; slot i is taken if its distance is >= 0. */
static inline uint32_t order_table_slots(const struct order_table *t)
{
    return t->n_slots == 0 ? 0 : t->n_slots + t->longest;
}

/* The bits of a value that are its number; the others belong to the caller. */
#define ORDER_NUMBER UINT32_C(0xffff)

/* The slot of a number, borrowed until the next change; NULL if it is not there. Different numbers may share a hash. */
struct order_slot *order_table_find(const struct order_table *t, uint64_t hash, uint32_t number);

/* Inserts a value whose number is not in the table. ERR_HOST_NOMEM leaves the table as it was. */
MUST_USE enum err order_table_insert(struct order_table *t, uint64_t hash, uint32_t value);

/* Empties slot i and shifts the following ones back, so a walk must look at slot i again. */
void order_table_remove(struct order_table *t, uint32_t i);

/* Empties all slots and keeps their number. */
void order_table_clear(struct order_table *t);

#endif
