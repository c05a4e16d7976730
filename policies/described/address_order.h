/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Textbook allocators (plain.h) that keep their free blocks by place: the members of a struct plain_set that do so,
 * and those of a table of operations.
 *
 * There are two sets, for policies that serve small requests from segments of their own. A policy without such has all
 * blocks in the first.
 */
#ifndef REPLAY_POLICIES_DESCRIBED_ADDRESS_ORDER_H
#define REPLAY_POLICIES_DESCRIBED_ADDRESS_ORDER_H

#include "policies/described/plain.h"

#include "policies/parts/first_fit.h"

struct address_order {
    struct plain     plain;                 /* first, so the two pointers convert */
    struct first_fit free;
    uint32_t         roots[2];              /* of the second set are the blocks that are BLOCK_IS_SMALL */
};

/* As plain_create; `size` is that of a struct whose first member is a struct address_order. */
MUST_USE enum err address_order_create(const struct policy_config *cfg, size_t size, const struct plain_set *set,
                                       struct address_order **out, struct err_detail *err);
void     address_order_destroy(struct policy *p);
enum err address_order_alloc(struct policy *p, const struct event *req, struct block *out);
uint64_t address_order_largest_free(const struct policy *p);
enum err address_order_check(const struct policy *p, struct err_detail *err);

void     address_order_insert(struct plain *p, uint32_t b);
void     address_order_remove(struct plain *p, uint32_t b);
void     address_order_update(struct plain *p, uint32_t b);
/* The lowest block of the first set that is large enough. */
uint32_t address_order_find(struct plain *p, uint64_t bytes, uint16_t stream);

#define ADDRESS_ORDER_SET \
    .insert = address_order_insert, .remove = address_order_remove, .update = address_order_update

#endif
