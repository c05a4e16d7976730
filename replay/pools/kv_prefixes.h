/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Beginnings of prompts that are kept: which of them are there, who uses them, and which one goes first.
 *
 * An id stands for some tokens and all that precede them in a prompt, as Mooncake's traces have it.
 */
#ifndef REPLAY_REPLAY_POOLS_KV_PREFIXES_H
#define REPLAY_REPLAY_POOLS_KV_PREFIXES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kv_prefix { uint32_t users, older, newer; bool is_there; };

struct kv_prefixes {
    struct kv_prefix *at;            /* by id */
    size_t   n_ids;
    size_t   n_used, n_unused;       /* that are there: with users, and without */
    uint64_t n_uses;                 /* the sum of their users */
    uint32_t oldest, newest;         /* of those without; UINT32_MAX: none */
    uint64_t n_evicted;
};

MUST_USE enum err kv_prefixes_open(struct kv_prefixes *p, size_t n_ids, struct err_detail *err);
void kv_prefixes_close(struct kv_prefixes *p);
void kv_prefixes_empty(struct kv_prefixes *p);

/* One more uses it, or makes it; one less. */
void kv_prefix_use(struct kv_prefixes *p, uint32_t id);
void kv_prefix_leave(struct kv_prefixes *p, uint32_t id);

/* The one unused longest goes. There is one. */
void kv_prefixes_evict(struct kv_prefixes *p);

#endif
