/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The memory of a server's KV cache under a rule of sharing it out, and what each request holds of it. Modelled from
 * public descriptions; none was compared with the program itself.
 *
 *     contiguous   room for the longest request from its first token on (FasterTransformer, Orca), as "Efficient Memory
 *                  Management for Large Language Model Serving with PagedAttention" (SOSP 2023) describes it
 *     unshared     blocks of some tokens of all layers, as they are needed (the same paper)
 *     paged        the same, and prompts that begin alike share whole blocks; those that nobody uses stay until room is
 *                  needed, the one unused longest goes first, of one request its last (vLLM's prefix caching)
 *     mapped       addresses for the longest request, to which pages are mapped as tokens come, in each layer for keys
 *                  and for values (vAttention, ASPLOS 2025). What it keeps mapped for the next request counts as free
 *     kvcached     the blocks of `unshared` lie in pages that are mapped while one of their blocks is used: a page in
 *                  each layer for keys and for values at once (kvcached, kv_cache_manager.py). Pages that it keeps for
 *                  later are left out
 *     jenga        blocks of two sizes, those of layers that keep all tokens and of layers with a window, in pages of
 *                  the least common multiple (Jenga, SOSP 2025, arXiv 2503.18292): first from a page of the same
 *                  request, then a new page, then any. Its cache of prefixes is left out
 *
 *     sleep        `paged`, and of several models on a card only one is there: its pool has all that is left, and goes
 *                  with it (vLLM's sleep mode, level 1: weights go to the host's memory, the cache is dropped)
 *
 * All but `jenga` keep every token in every layer. Where on the card a unit lies plays no part.
 */
#ifndef REPLAY_REPLAY_POOLS_KV_POOL_H
#define REPLAY_REPLAY_POOLS_KV_POOL_H

#include "replay/pools/kv_pages.h"
#include "replay/pools/kv_prefixes.h"

/* What a model keeps of a token, and the units in which it is kept. */
struct kv_shape {
    uint64_t layers, window_layers;  /* of `layers`, those that look back at `window` tokens alone */
    uint64_t window;
    uint64_t layer_bytes;            /* keys and values of a token in one layer: even */
    uint64_t block_tokens, page_bytes;
    uint64_t longest;                /* tokens of a request, for `contiguous` and `mapped` */
    uint64_t step_tokens;            /* that one request may add at once, at most */
    uint32_t n_models;               /* kvcached: alike, whose blocks share no page; 0: one */
};

struct kv_kind;

/* Read-only but for the functions below. */
struct kv_pool {
    const struct kv_kind *kind;
    struct kv_shape shape;
    uint64_t n_units, n_free;        /* kinds that count units */
    uint64_t unit_bytes;
    struct kv_prefixes prefixes;     /* `paged` */
    uint64_t id_tokens;
    struct kv_pages pages;           /* kvcached, jenga */
};

/* What a request holds. Zero but for `number`: nothing. */
struct kv_hold {
    uint32_t number;                 /* below the pool's n_holds; no other that holds anything has it */
    uint32_t model;                  /* whose request it is: below shape.n_models in a pool of several */
    uint64_t units;
    size_t   n_shared;               /* of its prompt's ids, the first so many */
    struct kv_chain chains[KV_CLASSES];
};

/* The i-th kind; NULL after the last. kv_kind_named: NULL for an unknown name. */
const struct kv_kind *kv_kind_at(size_t i);
const struct kv_kind *kv_kind_named(const char *name);
const char *kv_kind_name(const struct kv_kind *kind);
const char *kv_kind_source(const struct kv_kind *kind);

/* Whether several models have one memory in common; whether only one of them is on the card at a time. */
bool kv_kind_shares_card(const struct kv_kind *kind);
bool kv_kind_sleeps(const struct kv_kind *kind);

/* A pool of so many bytes, of which nothing is held. Ids of prefixes are below n_ids, and stand for id_tokens each;
 * requests that hold something at once are at most n_holds. ERR_USAGE for a shape of more units than can be counted,
 * and for blocks that do not divide what an id stands for; ERR_HOST_NOMEM. */
MUST_USE enum err kv_pool_open(const struct kv_kind *kind, const struct kv_shape *shape, uint64_t bytes, size_t n_ids,
                               uint64_t id_tokens, size_t n_holds, struct kv_pool *out, struct err_detail *err);
void kv_pool_close(struct kv_pool *p);
void kv_pool_empty(struct kv_pool *p);

/* Whether a request of so many tokens can run alone. */
bool kv_pool_can_hold(const struct kv_pool *p, uint64_t tokens);

/* Shares what is there of a prompt's beginning. Returns its tokens: less than the prompt's. */
uint64_t kv_pool_share(struct kv_pool *p, struct kv_hold *h, const uint32_t *ids, size_t n_ids, uint64_t prompt);

/* Makes it hold `tokens`, of which it has computed the first `done`. False: there is no room, and it holds what it
 * held; but what no layer looks back at any more may be gone. */
bool kv_pool_grow(struct kv_pool *p, struct kv_hold *h, uint64_t done, uint64_t tokens);

/* It has computed `done` tokens: others may share the beginning of its prompt. */
void kv_pool_computed(struct kv_pool *p, struct kv_hold *h, const uint32_t *ids, size_t n_ids, uint64_t prompt,
                      uint64_t done);

/* It holds nothing any more. */
void kv_pool_give(struct kv_pool *p, struct kv_hold *h, const uint32_t *ids);

/* Bytes of the pool that serve requests: the units, and the blocks in them that are given out. What is kept of prefixes
 * that nobody uses is free. */
uint64_t kv_pool_taken(const struct kv_pool *p);
uint64_t kv_pool_given(const struct kv_pool *p);

/* Bytes that a request of its own needs in a step that begins with `done` tokens and ends with `tokens`; those of them
 * that no layer would need but for the rule that every layer keeps all. */
uint64_t kv_needed(const struct kv_shape *s, uint64_t done, uint64_t tokens);
uint64_t kv_outdated(const struct kv_pool *p, uint64_t done, uint64_t tokens);

/* Bytes that requests need in common with others: all but one of them hold them for nothing. */
uint64_t kv_pool_saved(const struct kv_pool *p);

#endif
