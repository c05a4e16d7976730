/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The kinds of pools: those that count units, and those whose pages hold blocks. */
#include "replay/pools/kv_pool.h"

#include "base/units.h"

#include <string.h>

enum { KEYS_AND_VALUES = 2 };
enum kv_rule { CONTIGUOUS, UNSHARED, PAGED, MAPPED, KVCACHED, JENGA, SLEEP };

struct kv_kind { enum kv_rule rule; const char *name, *source; };

static const struct kv_kind kinds[] = {
    { CONTIGUOUS, "contiguous", "FasterTransformer and Orca (max), as in PagedAttention's paper, SOSP 2023" },
    { UNSHARED, "unshared", "PagedAttention, SOSP 2023" },
    { PAGED, "paged", "PagedAttention with vLLM's prefix caching, least recently used first" },
    { MAPPED, "mapped", "vAttention, ASPLOS 2025" },
    { KVCACHED, "kvcached", "kvcached's kv_cache_manager.py" },
    { JENGA, "jenga", "Jenga, SOSP 2025, arXiv 2503.18292" },
    { SLEEP, "sleep", "vLLM's sleep mode, level 1; when to wake which model is ours" },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const struct kv_kind *kv_kind_at(size_t i)
{
    return i < KINDS ? &kinds[i] : NULL;
}

const struct kv_kind *kv_kind_named(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

const char *kv_kind_name(const struct kv_kind *kind)
{
    return kind->name;
}

const char *kv_kind_source(const struct kv_kind *kind)
{
    return kind->source;
}

bool kv_kind_shares_card(const struct kv_kind *kind)
{
    return kind->rule == KVCACHED || kind->rule == SLEEP;
}

bool kv_kind_sleeps(const struct kv_kind *kind)
{
    return kind->rule == SLEEP;
}

/* ---- sizes ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t token_bytes(const struct kv_shape *s)
{
    return s->layers * s->layer_bytes;
}

/* Tokens of a layer with a window that are needed in a step from `done` to `tokens`. */
static uint64_t window_tokens(const struct kv_shape *s, uint64_t done, uint64_t tokens)
{
    return least(tokens, tokens - done + s->window - 1);
}

uint64_t kv_needed(const struct kv_shape *s, uint64_t done, uint64_t tokens)
{
    const uint64_t others = s->window_layers > 0 ? window_tokens(s, done, tokens) : 0;
    return (tokens * (s->layers - s->window_layers) + others * s->window_layers) * s->layer_bytes;
}

uint64_t kv_outdated(const struct kv_pool *p, uint64_t done, uint64_t tokens)
{
    return p->kind->rule == JENGA ? 0 : tokens * token_bytes(&p->shape) - kv_needed(&p->shape, done, tokens);
}

static bool has_pages(const struct kv_pool *p)
{
    return p->kind->rule == KVCACHED || p->kind->rule == JENGA;
}

static bool shares(const struct kv_pool *p)
{
    return p->prefixes.n_ids > 0;
}

/* Units of a prefix. */
static uint64_t id_units(const struct kv_pool *p)
{
    return p->id_tokens / p->shape.block_tokens;
}

/* Units for so many tokens of its own; UINT64_MAX: there are never enough. */
static uint64_t units_for(const struct kv_pool *p, uint64_t tokens)
{
    const struct kv_shape *s = &p->shape;
    if (tokens == 0)
        return 0;
    if (p->kind->rule == CONTIGUOUS || p->kind->rule == MAPPED)
        if (tokens > s->longest)
            return UINT64_MAX;
    if (p->kind->rule == CONTIGUOUS)
        return 1;
    if (p->kind->rule == MAPPED)
        return KEYS_AND_VALUES * s->layers * divide_up(tokens * s->layer_bytes / KEYS_AND_VALUES, s->page_bytes);
    return divide_up(tokens, s->block_tokens);
}

static uint64_t unit_bytes_of(enum kv_rule rule, const struct kv_shape *s)
{
    return rule == CONTIGUOUS ? s->longest * token_bytes(s)
         : rule == MAPPED     ? s->page_bytes
                              : s->block_tokens * token_bytes(s);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Each model's blocks are a class. */
static struct kv_pages pages_of_models(const struct kv_shape *s)
{
    struct kv_pages out = { .n_classes = s->n_models > 0 ? s->n_models : 1,
                            .page_bytes = KEYS_AND_VALUES * s->layers * s->page_bytes };
    for (uint32_t k = 0; k < out.n_classes; k++)
        out.block_bytes[k] = s->block_tokens * s->layer_bytes * s->layers;
    return out;
}

/* Blocks and pages. Jenga's classes are the layers that keep all, and those with a window. */
static struct kv_pages pages_of(enum kv_rule rule, const struct kv_shape *s)
{
    const uint64_t layer = s->block_tokens * s->layer_bytes, full = s->layers - s->window_layers;
    if (rule == KVCACHED)
        return pages_of_models(s);
    if (full == 0 || s->window_layers == 0)
        return (struct kv_pages){ .is_by_hold = true, .n_classes = 1, .page_bytes = layer * s->layers,
                                  .block_bytes = { layer * s->layers } };
    return (struct kv_pages){ .is_by_hold = true, .n_classes = 2,
                              .page_bytes = layer * full / common_divisor(full, s->window_layers) * s->window_layers,
                              .block_bytes = { layer * full, layer * s->window_layers } };
}

/* ---- a pool ---- */

enum err kv_pool_open(const struct kv_kind *kind, const struct kv_shape *shape, uint64_t bytes, size_t n_ids,
                      uint64_t id_tokens, size_t n_holds, struct kv_pool *out, struct err_detail *err)
{
    const bool is_sharing = (kind->rule == PAGED || kind->rule == SLEEP) && shape->window_layers == 0 && n_ids > 0;
    *out = (struct kv_pool){ .kind = kind, .shape = *shape, .unit_bytes = unit_bytes_of(kind->rule, shape),
                             .id_tokens = id_tokens };
    if (is_sharing && id_tokens % shape->block_tokens != 0)
        return err_set(err, ERR_USAGE, 0, "paged: an id of the requests' file stands for %llu tokens, which blocks of "
                       "%llu do not divide", (unsigned long long)id_tokens, (unsigned long long)shape->block_tokens);
    out->n_units = out->n_free = bytes / out->unit_bytes;
    enum err e = kv_prefixes_open(&out->prefixes, is_sharing ? n_ids : 0, err);
    if (e == ERR_OK && has_pages(out)) {
        out->pages = pages_of(kind->rule, shape);
        e = kv_pages_open(&out->pages, bytes, n_holds, err);
    }
    if (e != ERR_OK)
        kv_pool_close(out);
    return e;
}

void kv_pool_close(struct kv_pool *p)
{
    kv_prefixes_close(&p->prefixes);
    kv_pages_close(&p->pages);
    *p = (struct kv_pool){ .kind = NULL };
}

void kv_pool_empty(struct kv_pool *p)
{
    p->n_free = p->n_units;
    kv_prefixes_empty(&p->prefixes);
    if (has_pages(p))
        kv_pages_empty(&p->pages);
}

/* Blocks of a class for a request that holds `tokens`, and had computed `done` of them before the step; the first of
 * them that is not needed any more in *first. */
static uint64_t blocks_for(const struct kv_pool *p, uint32_t class, uint32_t model, uint64_t done, uint64_t tokens,
                           uint64_t *first)
{
    const struct kv_shape *s = &p->shape;
    *first = 0;
    if (p->kind->rule == KVCACHED && class != model)
        return 0;
    const bool has_window = p->kind->rule == JENGA && s->window_layers > 0 &&
                            (class == 1 || s->window_layers == s->layers);
    *first = has_window ? (tokens - window_tokens(s, done, tokens)) / s->block_tokens : 0;
    return divide_up(tokens, s->block_tokens);
}

bool kv_pool_can_hold(const struct kv_pool *p, uint64_t tokens)
{
    uint64_t pages = 0;
    if (!has_pages(p))
        return units_for(p, tokens) <= p->n_units;
    for (uint32_t k = 0; k < p->pages.n_classes; k++) {
        uint64_t first;
        const uint64_t done = tokens - least(tokens, p->shape.step_tokens);
        const uint64_t end = blocks_for(p, k, 0, done, tokens, &first), most = end - first;
        pages += divide_up(most + (first > 0), p->pages.per_page[k]);
    }
    return pages <= p->pages.n_pages;
}

/* ---- prefixes ---- */

static uint64_t shared_tokens(const struct kv_pool *p, const struct kv_hold *h)
{
    return h->n_shared * p->id_tokens;
}

uint64_t kv_pool_share(struct kv_pool *p, struct kv_hold *h, const uint32_t *ids, size_t n_ids, uint64_t prompt)
{
    while (shares(p) && h->n_shared < n_ids && shared_tokens(p, h) + p->id_tokens < prompt &&
           p->prefixes.at[ids[h->n_shared]].is_there)
        kv_prefix_use(&p->prefixes, ids[h->n_shared++]);
    return shared_tokens(p, h);
}

void kv_pool_computed(struct kv_pool *p, struct kv_hold *h, const uint32_t *ids, size_t n_ids, uint64_t prompt,
                      uint64_t done)
{
    const uint64_t end = least(prompt, done);
    while (shares(p) && h->n_shared < n_ids && shared_tokens(p, h) + p->id_tokens <= end &&
           !p->prefixes.at[ids[h->n_shared]].is_there) {
        kv_prefix_use(&p->prefixes, ids[h->n_shared++]);
        h->units -= id_units(p);
    }
}

/* ---- what requests hold ---- */

static bool units_grow(struct kv_pool *p, struct kv_hold *h, uint64_t tokens)
{
    const uint64_t units = units_for(p, tokens - shared_tokens(p, h)), more = units > h->units ? units - h->units : 0;
    if (units == UINT64_MAX || more > p->n_free + (shares(p) ? p->prefixes.n_unused * id_units(p) : 0))
        return false;
    while (more > p->n_free) {
        kv_prefixes_evict(&p->prefixes);
        p->n_free += id_units(p);
    }
    p->n_free -= more;
    h->units += more;
    return true;
}

static bool blocks_grow(struct kv_pool *p, struct kv_hold *h, uint64_t done, uint64_t tokens)
{
    uint64_t need[KV_CLASSES] = { 0 };
    for (uint32_t k = 0; k < p->pages.n_classes; k++) {
        struct kv_chain *c = &h->chains[k];
        uint64_t first;
        const uint64_t end = blocks_for(p, k, h->model, done, tokens, &first);
        while (c->n > 0 && c->first < first)
            kv_pages_give_oldest(&p->pages, c);
        c->first = c->n == 0 ? first : c->first;
        need[k] = end > c->first + c->n ? end - c->first - c->n : 0;
    }
    if (!kv_pages_have(&p->pages, h->number, need))
        return false;
    for (uint32_t k = 0; k < p->pages.n_classes; k++)
        for (uint64_t i = 0; i < need[k]; i++)
            kv_pages_take(&p->pages, h->number, k, &h->chains[k]);
    return true;
}

bool kv_pool_grow(struct kv_pool *p, struct kv_hold *h, uint64_t done, uint64_t tokens)
{
    return has_pages(p) ? blocks_grow(p, h, done, tokens) : units_grow(p, h, tokens);
}

void kv_pool_give(struct kv_pool *p, struct kv_hold *h, const uint32_t *ids)
{
    p->n_free += h->units;
    h->units = 0;
    while (h->n_shared > 0)                          /* its last one will be evicted first */
        kv_prefix_leave(&p->prefixes, ids[--h->n_shared]);
    if (has_pages(p))
        kv_pages_give_all(&p->pages, h->number, h->chains);
}

/* ---- what is taken ---- */

uint64_t kv_pool_taken(const struct kv_pool *p)
{
    if (has_pages(p))
        return kv_pages_taken(&p->pages);
    const uint64_t cached = shares(p) ? p->prefixes.n_unused * id_units(p) : 0;
    return (p->n_units - p->n_free - cached) * p->unit_bytes;
}

uint64_t kv_pool_given(const struct kv_pool *p)
{
    return has_pages(p) ? kv_pages_given(&p->pages) : kv_pool_taken(p);
}

uint64_t kv_pool_saved(const struct kv_pool *p)
{
    return shares(p) ? (p->prefixes.n_uses - p->prefixes.n_used) * p->id_tokens * token_bytes(&p->shape) : 0;
}
