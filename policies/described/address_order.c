/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "policies/described/address_order.h"

enum err address_order_create(const struct policy_config *cfg, size_t size, const struct plain_set *set,
                              struct address_order **out, struct err_detail *err)
{
    struct plain *plain;
    enum err e = plain_create(cfg, size, set, &plain, err);
    if (e != ERR_OK)
        return e;
    struct address_order *o = (struct address_order *)plain;
    e = first_fit_open(&o->free, &plain->heap.blocks, PLAIN_UNIT, 2);
    if (e != ERR_OK)
        address_order_destroy(&plain->base);
    else
        *out = o;
    return e;
}

void address_order_destroy(struct policy *p)
{
    first_fit_close(&((struct address_order *)p)->free);
    plain_destroy(p);
}

enum err address_order_alloc(struct policy *p, const struct event *req, struct block *out)
{
    const enum err e = first_fit_reserve(&((struct address_order *)p)->free);
    return e == ERR_OK ? plain_alloc(p, req, out) : e;
}

static uint32_t *address_order_root(struct address_order *o, uint32_t b)
{
    return &o->roots[(heap_at(&o->plain.heap, b)->flags & BLOCK_IS_SMALL) != 0];
}

void address_order_insert(struct plain *p, uint32_t b)
{
    struct address_order *o = (struct address_order *)p;
    first_fit_insert(&o->free, address_order_root(o, b), b);
}

void address_order_remove(struct plain *p, uint32_t b)
{
    struct address_order *o = (struct address_order *)p;
    first_fit_remove(&o->free, address_order_root(o, b), b);
}

void address_order_update(struct plain *p, uint32_t b)
{
    first_fit_update(&((struct address_order *)p)->free, b);
}

uint32_t address_order_find(struct plain *p, uint64_t bytes, uint16_t stream)
{
    const struct address_order *o = (const struct address_order *)p;
    (void)stream;
    return first_fit_find(&o->free, o->roots[0], 0, bytes);
}

uint64_t address_order_largest_free(const struct policy *p)
{
    const struct address_order *o = (const struct address_order *)p;
    uint64_t largest = 0;
    for (int i = 0; i < 2; i++) {
        const uint64_t bytes = first_fit_largest_bytes(&o->free, o->roots[i]);
        largest = bytes > largest ? bytes : largest;
    }
    return upstream_largest_free(&o->plain.upstream, largest);
}

enum err address_order_check(const struct policy *p, struct err_detail *err)
{
    const struct address_order *o = (const struct address_order *)p;
    if (!first_fit_is_sound(&o->free, o->roots[0]) || !first_fit_is_sound(&o->free, o->roots[1]))
        return err_at(err, ERR_CORRUPT, 0, p->ops->name, "the free blocks are not in order");
    return plain_check(p, err);
}
