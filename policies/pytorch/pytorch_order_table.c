/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Robin-hood hashing that fills the same slots as PyTorch's table. */
#include "policies/pytorch/pytorch_order_table.h"

#include <stdlib.h>

/* Slots per entry beyond which hashes meet on purpose. An honest table has two, and rarely four. */
enum { ORDER_SPARSE = 1024 };

void order_table_close(struct order_table *t)
{
    max_tree_close(&t->taken);
    free(t->slots);
    *t = (struct order_table){0};
}

static uint32_t order_table_slots(const struct order_table *t)
{
    return t->n_slots == 0 ? 0 : t->n_slots + t->longest;
}

static void order_fill(struct order_table *t, struct order_slot *s, struct order_slot value)
{
    *s = value;
    max_tree_put(&t->taken, (uint32_t)(s - t->slots), 1);
}

/* n_slots is a power of two of at least 4. */
static uint32_t order_home(const struct order_table *t, uint64_t hash)
{
    return (uint32_t)(UINT64_C(11400714819323198485) * hash >> (64 - __builtin_ctz(t->n_slots)));
}

struct order_slot *order_table_find(const struct order_table *t, uint64_t hash, uint32_t number)
{
    if (t->n_slots == 0)
        return NULL;
    struct order_slot *s = &t->slots[order_home(t, hash)];
    for (int32_t d = 0; d <= s->distance; d++, s++)
        if (s->hash == hash && (s->value & ORDER_NUMBER) == number)
            return s;
    return NULL;
}

static enum err order_table_grow(struct order_table *t)
{
    const uint32_t n = t->n_slots < 2 ? 4 : 2 * t->n_slots;
    const uint32_t k = (uint32_t)__builtin_ctz(n);
    struct order_table grown = {.n_slots = n, .longest = k > 4 ? k : 4};
    if (n / ORDER_SPARSE > t->count + 1)
        return ERR_FORMAT;
    grown.slots = calloc(order_table_slots(&grown) + 1, sizeof *grown.slots);   /* one more at the end, always empty: it
                                                                                 * stops the walks */
    if (grown.slots == NULL || max_tree_open(&grown.taken, order_table_slots(&grown)) != ERR_OK) {
        free(grown.slots);
        return ERR_HOST_NOMEM;
    }
    for (uint32_t i = 0; i <= order_table_slots(&grown); i++)
        grown.slots[i].distance = -1;
    for (uint32_t i = 0; i < order_table_slots(t); i++) {
        if (t->slots[i].distance < 0)
            continue;
        const enum err e = order_table_insert(&grown, t->slots[i].hash, t->slots[i].value);
        if (e != ERR_OK) {
            order_table_close(&grown);
            return e;
        }
    }
    order_table_close(t);
    *t = grown;
    return ERR_OK;
}

static void order_swap(struct order_slot *a, struct order_slot *b)
{
    const struct order_slot s = *a;
    *a = *b;
    *b = s;
}

static enum err order_table_grow_and_insert(struct order_table *t, uint64_t hash, uint32_t value)
{
    const enum err e = order_table_grow(t);
    return e == ERR_OK ? order_table_insert(t, hash, value) : e;
}

enum err order_table_insert(struct order_table *t, uint64_t hash, uint32_t value)
{
    if (t->n_slots == 0)
        return order_table_grow_and_insert(t, hash, value);
    struct order_slot *candidate = &t->slots[order_home(t, hash)];
    int32_t d = 0;
    for (; d <= candidate->distance; d++)
        candidate++;
    const int32_t longest = (int32_t)t->longest;
    if (d == longest || 2 * (t->count + 1) > t->n_slots)
        return order_table_grow_and_insert(t, hash, value);
    struct order_slot carried = {.hash = hash, .value = value, .distance = d};
    if (candidate->distance < 0) {
        order_fill(t, candidate, carried);
        t->count++;
        return ERR_OK;
    }
    order_swap(candidate, &carried);
    carried.distance++;
    for (struct order_slot *s = candidate + 1;; s++) {
        if (s->distance < 0) {
            order_fill(t, s, carried);
            t->count++;
            return ERR_OK;
        }
        if (s->distance < carried.distance) {
            order_swap(s, &carried);
            carried.distance++;
        } else if (++carried.distance == longest) {
            order_swap(candidate, &carried);      /* put back what was there; the new entry goes into a larger table */
            return order_table_grow_and_insert(t, carried.hash, carried.value);
        }
    }
}

void order_table_remove(struct order_table *t, uint32_t i)
{
    struct order_slot *s = &t->slots[i];
    t->count--;
    s->distance = -1;
    for (; s[1].distance > 0; s++) {
        *s = s[1];
        s->distance--;
        s[1].distance = -1;
    }
    max_tree_put(&t->taken, (uint32_t)(s - t->slots), 0);
}

void order_table_clear(struct order_table *t)
{
    for (uint32_t i = 0; (i = order_table_from(t, i)) != MAX_TREE_NONE;) {
        t->slots[i].distance = -1;
        max_tree_put(&t->taken, i, 0);
        t->count--;
    }
}
