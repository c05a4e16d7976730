/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A request, from rounding to handing out, and a free.
 *
 * The order of the attempts is PyTorch's behaviour: search once, collect garbage, grow, borrow, give oversize blocks
 * back and grow, give everything back and grow. The pool is not searched again after that, even if the waiting has
 * freed a block that fits.
 */
#include "base/array.h"
#include "base/inline.h"
#include "policies/pytorch/pytorch_steps.h"

#include <stdlib.h>

/* ---- sizes ---- */

/* log2 of the step to which sizes in [2^k, 2^(k + 1)) are rounded, for k > 8. 2^k itself is a multiple of the step. */
static unsigned round_shift(const struct pytorch *p, unsigned k)
{
    const unsigned last = PYTORCH_ROUNDUP_INTERVALS - 1, interval = k < 20 ? 0 : k - 20;     /* log2 of the MiB, or 0 */
    const uint64_t divisions = p->settings.roundup_divisions[interval < last ? interval : last];
    if (p->without & RULE_ROUNDING)
        return 0;
    if (p->rounds_to_power_of_two)
        return k;
    if (divisions == 0 || (divisions == 1 && !p->rules.has_raw_divisions_of_1) ||
        UINT64_C(1) << k < TORCH_MIN_BLOCK * divisions)              /* the product wraps, as in PyTorch */
        return log2_floor(TORCH_MIN_BLOCK);
    if (divisions == 1)
        return 0;
    return k < log2_floor(divisions) ? k : k - log2_floor(divisions);
}

void pytorch_plan_rounding(struct pytorch *p)
{
    const unsigned unit = log2_floor(TORCH_MIN_BLOCK);
    bool is_plain = !p->rules.is_npu && !(p->without & RULE_ROUNDING);
    for (unsigned k = unit; k < 64; k++) {
        p->round_shift[k] = (uint8_t)round_shift(p, k);
        is_plain &= p->round_shift[k] == unit;
    }
    p->rounds_to_units = is_plain ? UINT64_MAX - TORCH_MIN_BLOCK : 0;
}

uint64_t pytorch_round_by_plan(const struct pytorch *p, uint64_t n)
{
    if (p->without & RULE_ROUNDING)
        return n;
    if (p->rules.is_npu)
        n = add_capped(n, NPU_PAD);
    if (n < TORCH_MIN_BLOCK)
        return TORCH_MIN_BLOCK;
    const uint64_t up = align_up(n, UINT64_C(1) << p->round_shift[log2_floor(n)]);
    return up == UINT64_MAX ? UINT64_MAX & ~(TORCH_MIN_BLOCK - 1) : up;
}

void pytorch_take_out(struct pytorch *p, unsigned rules)
{
    assert(!(rules & RULE_SEGMENT_SIZES) || is_power_of_two(p->base.device->cfg.page_bytes));
    p->without = rules;
    if (rules & RULE_ROUNDING)
        p->least_rest = 1;
    if (rules & RULE_SIZE_WALL)
        p->small_max = 0;
    pytorch_plan_rounding(p);
}

uint64_t pytorch_segment_span(const struct pytorch *p, uint64_t S)
{
    if (S <= TORCH_SMALL_MAX)
        return TORCH_SMALL_SEGMENT;
    if (S < TORCH_OWN_MIN)
        return p->settings.large_segment_size;
    const uint64_t up = align_up(S, TORCH_OWN_ROUNDING);
    return up == UINT64_MAX ? UINT64_MAX & ~(TORCH_OWN_ROUNDING - 1) : up;
}

uint64_t pytorch_segment_size(const struct pytorch *p, uint64_t S)
{
    return p->without & RULE_SEGMENT_SIZES ? S : pytorch_segment_span(p, S);
}

/* ---- accounting ---- */

void pytorch_hold(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t bytes)
{
    p->held += bytes;
    pytorch_stat_add(&p->stats.reserved_bytes, c, bytes);
    if (pool != 0) {
        p->pools[pool].ever_held = true;
        pytorch_stat_add(&p->pools[pool].reserved, c, bytes);
    }
}

void pytorch_unhold(struct pytorch *p, uint8_t pool, enum pytorch_size_class c, uint64_t bytes)
{
    p->held -= bytes;
    pytorch_stat_subtract(&p->stats.reserved_bytes, c, bytes);
    if (pool != 0)
        pytorch_stat_subtract(&p->pools[pool].reserved, c, bytes);
}

/* ---- searching ---- */

static inline bool block_can_grow(const struct pytorch *p, const struct block_entry *b)
{
    return (pytorch_at(p, b->next)->flags & BLOCK_IS_UNMAPPED) != 0;
}

/* What a block could grow to: its size plus that of the unmapped block after it. */
static uint64_t block_reach(const struct pytorch *p, const struct block_entry *b)
{
    return block_can_grow(p, b) ? b->size + pytorch_at(p, b->next)->size : b->size;
}

/* Prefers a block of smaller reach, so that the one before the large unmapped tail is used last. Later blocks are never
 * smaller, so a block that cannot grow ends the search. */
static APART uint32_t fit_widen(const struct pytorch *p, const struct free_bins *bins, uint32_t it)
{
    while (block_can_grow(p, pytorch_at(p, it))) {
        const uint32_t next = free_bins_next(bins, p->blocks.at, it);
        if (next == BLOCK_NONE || block_reach(p, pytorch_at(p, next)) >= block_reach(p, pytorch_at(p, it)))
            break;
        it = next;
    }
    return it;
}

/* The same for a block that can grow. Mostly it is the last one, and nothing needs to be compared. */
static APART uint32_t fit_widen_last(const struct pytorch *p, const struct free_bins *bins, uint32_t it)
{
    return free_bins_end_with(bins, p->blocks.at, it) ? it : fit_widen(p, bins, it);
}

/* Steps over blocks of expandable segments. */
static uint32_t fit_skip_ranges(const struct pytorch *p, const struct free_bins *bins, uint32_t it)
{
    while (it != BLOCK_NONE && pytorch_at(p, it)->flags & BLOCK_IS_RANGE)
        it = free_bins_next(bins, p->blocks.at, it);
    return it;
}

/* The first block from `it` on that has room for S bytes after the gap that it must leave. */
static uint32_t fit_start(const struct pytorch *p, const struct free_bins *bins, uint32_t it, uint64_t S)
{
    while (it != BLOCK_NONE && pytorch_at(p, it)->size - S < pytorch_gap(p, pytorch_at(p, it), S))
        it = free_bins_next(bins, p->blocks.at, it);
    return it;
}

/* Chooses by the rules of ranges, from the first block that is large enough. */
static APART uint32_t fit_range_from(const struct pytorch *p, const struct free_bins *bins, uint32_t first, uint64_t S,
                                     bool expands)
{
    const uint32_t it = fit_start(p, bins, first, S);
    if (it == BLOCK_NONE)
        return it;
    return expands ? fit_widen(p, bins, it) : fit_skip_ranges(p, bins, it);
}

/* `first` is large enough but lies in an expandable segment: chooses the block really used. Fast path: the request may
 * lie in such segments and needs no gap. */
static inline uint32_t fit_range(const struct pytorch *p, const struct pytorch_attempt *a, const struct free_bins *bins,
                                 uint32_t first)
{
    const bool expands = pytorch_attempt_expands(p, a);
    if (!expands || p->rules.is_npu)
        return fit_range_from(p, bins, first, a->S, expands);
    return block_can_grow(p, pytorch_at(p, first)) ? fit_widen_last(p, bins, first) : first;
}

/* Inline, for the hot pair. */
static HOT_INLINE uint32_t choose(struct pytorch *p, const struct pytorch_attempt *a, struct pytorch_home home)
{
    const struct pytorch_settings *s = &p->settings;
    const uint64_t S = a->S;
    if (pytorch_has_gc(p))
        home.half->fit_calls++;
    uint32_t it = free_bins_at_least(home.bins, p->blocks.at, S);
    if (it == BLOCK_NONE)
        return it;
    if (pytorch_at(p, it)->flags & BLOCK_IS_RANGE) {
        it = fit_range(p, a, home.bins, it);
        if (it == BLOCK_NONE)
            return it;
    }
    const uint64_t size = pytorch_at(p, it)->size;
    if (size >= s->max_split_size && (S < s->max_split_size || size >= add_capped(S, s->max_non_split_rounding)) &&
        !(p->without & RULE_WHOLE_BLOCKS))
        return BLOCK_NONE;
    return it;
}

uint32_t pytorch_choose(struct pytorch *p, const struct pytorch_attempt *a, struct pytorch_home home)
{
    return choose(p, a, home);
}

/* The same, and takes it out of its set. */
static HOT_INLINE uint32_t fit(struct pytorch *p, const struct pytorch_attempt *a, struct pytorch_home home)
{
    const uint32_t b = choose(p, a, home);
    if (b != BLOCK_NONE)
        pytorch_leave_home(p, home, b);
    return b;
}

/* ---- growing ---- */

enum err pytorch_hold_blocks(struct pytorch *p)
{
    /* Before the first growth as many segments as requests are assumed, seldom too few: growing the table copies it. */
    const struct device_usage *u = &p->base.device->usage;
    const uint64_t n_segments = p->blocks.cap == 0 ? p->peak_live : u->segments + u->ranges;
    const uint64_t most = UINT64_C(1) << 20, n = 2 * (uint64_t)p->peak_live + n_segments + 64;
    return block_table_hold(&p->blocks, n < most ? n : most);
}

uint64_t pytorch_rejection_limit(const struct pytorch *p)
{
    const uint64_t total = p->base.device->cfg.total_bytes;
    if (!p->settings.throw_on_cudamalloc_oom || !p->rules.has_rejections || total == DEVICE_UNLIMITED)
        return PYTORCH_UNLIMITED;
    const double cap = p->settings.fraction * (double)total;
    return (uint64_t)cap;
}

static bool grow_is_rejected(struct pytorch *p, const struct pytorch_attempt *a)
{
    if (add_capped(p->held, a->G) <= pytorch_rejection_limit(p))
        return false;
    p->stats.num_oom_rejections++;
    return true;
}

enum err pytorch_segment_enter(struct pytorch *p, const struct segment *seg, uint64_t *tie)
{
    if (seg->id >= p->cap_segments) {
        const uint64_t cap = (uint64_t)seg->id * 2 + 16;
        struct pytorch_segment *segments = cap > UINT32_MAX ? NULL
                                                            : realloc(p->segments, array_bytes(cap, sizeof *segments));
        if (segments == NULL)
            return ERR_HOST_NOMEM;
        p->segments = segments;
        p->cap_segments = (uint32_t)cap;
    }
    p->segments[seg->id] = (struct pytorch_segment){0};
    *tie = p->rules.ties_by_address ? seg->addr : p->next_place;
    const uint64_t room = p->rules.ties_by_block ? 1 : seg->bytes;
    if (!p->rules.ties_by_address && room > UINT64_MAX - p->next_place)
        return ERR_UNSUPPORTED;      /* 16 EiB since the start: the device gave some addresses twice */
    p->next_place += room;
    return ERR_OK;
}

uint32_t pytorch_grow_segment(struct pytorch *p, struct pytorch_attempt *a)
{
    struct segment seg;
    uint64_t tie;
    enum err e = device_segment_alloc(p->base.device, a->G, &seg);
    if (e == ERR_OK && (e = pytorch_segment_enter(p, &seg, &tie)) != ERR_OK)
        device_segment_free(p->base.device, &seg);
    if (e != ERR_OK) {
        a->failure = e == ERR_DEVICE_OOM ? ERR_OK : e;
        return BLOCK_NONE;
    }
    const uint32_t b = block_table_new(&p->blocks);
    *pytorch_at(p, b) = (struct block_entry){
        .addr = seg.addr, .size = seg.bytes, .tie = tie, .segment = seg.id, .stream = a->stream, .pool = a->pool,
        .flags = (uint8_t)(BLOCK_IS_USED | (a->class == CLASS_SMALL ? BLOCK_IS_SMALL : 0)),
    };
    p->largest_segment = a->G > p->largest_segment ? a->G : p->largest_segment;
    pytorch_hold(p, a->pool, a->class, a->G);
    pytorch_stat_add(&p->stats.segment, a->class, 1);
    if (a->G >= p->settings.max_split_size)
        pytorch_stat_add(&p->stats.oversize_segments, CLASS_LARGE, 1);
    p->stats.num_device_alloc++;
    pytorch_record(p, RECORD_SEGMENT_ALLOC, a->stream, a->pool, seg.addr, seg.bytes);
    return b;
}

/* Memory from the device for the attempt; BLOCK_NONE if there is none. */
static uint32_t pytorch_grow(struct pytorch *p, struct pytorch_attempt *a, bool is_retry)
{
    if (is_retry) {
        p->stats.num_alloc_retries++;
        p->base.count.retries++;
    }
    if (p->limit != PYTORCH_UNLIMITED && add_capped(p->held, a->G) > p->limit)
        return BLOCK_NONE;
    if (grow_is_rejected(p, a)) {
        a->is_rejected = true;
        return BLOCK_NONE;
    }
    a->failure = pytorch_hold_blocks(p);
    if (a->failure == ERR_OK)
        a->failure = block_table_reserve(&p->blocks, PYTORCH_SPARE_BLOCKS);
    uint32_t b = BLOCK_NONE;
    if (a->failure == ERR_OK && pytorch_attempt_expands(p, a))
        a->failure = pytorch_grow_expandable(p, a->pool, a->class, a->S, a->stream, &b);
    else if (a->failure == ERR_OK)
        b = pytorch_grow_segment(p, a);
    if (b != BLOCK_NONE && a->pool != 0)
        p->pools[a->pool].device_allocs++;
    return b;
}

/* Searches the private pools that lend. Only requests of the shared pool borrow. */
static uint32_t pytorch_borrow(struct pytorch *p, struct pytorch_attempt *a)
{
    for (uint32_t i = 0; a->pool == 0 && (i = order_table_from(&p->lenders, i)) != MAX_TREE_NONE; i++) {
        const struct order_slot slot = p->lenders.slots[i];
        if (!p->pools[slot.value].exists)
            continue;
        const struct pytorch_home home = pytorch_home(pytorch_half(p, slot.value, a->class), a->stream);
        a->is_borrowed = true;
        const uint32_t b = fit(p, a, home);
        if (b != BLOCK_NONE) {
            a->home = home;
            return b;
        }
    }
    a->is_borrowed = false;
    return BLOCK_NONE;
}

static bool attempt_is_over(const struct pytorch_attempt *a, uint32_t b)
{
    return b != BLOCK_NONE || a->is_rejected || a->failure != ERR_OK;
}

/* The chain of attempts after a failed search. */
static uint32_t pytorch_obtain(struct pytorch *p, struct pytorch_attempt *a)
{
    if (pytorch_has_gc(p))
        pytorch_collect_garbage(p);
    uint32_t b = pytorch_grow(p, a, false);
    p->has_lacked |= b == BLOCK_NONE;
    if (attempt_is_over(a, b))
        return b;
    if (p->rules.borrows_first && (b = pytorch_borrow(p, a)) != BLOCK_NONE)
        return b;
    if (pytorch_give_back_oversize(p, a->home.half, a->S, a->stream)) {
        b = pytorch_grow(p, a, false);
        if (attempt_is_over(a, b))
            return b;
    }
    if (!pytorch_is_capturing_stream(p, a->stream, a->pool)) {
        pytorch_give_back_all(p, 0, false);
        b = pytorch_grow(p, a, true);
        if (attempt_is_over(a, b))
            return b;
    }
    return p->rules.borrows_last ? pytorch_borrow(p, a) : BLOCK_NONE;
}

/* ---- handing out ---- */

/* True if the split remainder may be as small as the minimum block (512 B), as in the small pool. */
static bool finish_is_fine(const struct pytorch *p, const struct pytorch_attempt *a)
{
    return pytorch_expands(p) && (p->rules.has_global_expandable || pytorch_attempt_expands(p, a));
}

static bool finish_splits(const struct pytorch *p, const struct block_entry *b, const struct pytorch_attempt *a)
{
    const uint64_t rest = b->size - a->S;
    if (p->without & RULE_WHOLE_BLOCKS)
        return rest >= p->least_rest;
    if (b->pool != 0 && p->pools[b->pool].no_split)
        return false;
    if (a->S <= TORCH_SMALL_MAX || finish_is_fine(p, a))
        return rest >= p->least_rest;
    return a->S < p->settings.max_split_size && rest > TORCH_SMALL_MAX;
}

/* Splits the front off as a new block. The old table entry keeps the remainder and returns to its set, as in
 * PyTorch. */
static inline uint32_t finish_split(struct pytorch *p, struct pytorch_home home, uint32_t b, uint64_t S)
{
    const uint32_t front = pytorch_split_front(p, b, S);
    free_bins_insert(home.bins, p->blocks.at, b);        /* no part is whole */
    p->base.count.splits++;
    return front;
}

static inline void finish_count_split(struct pytorch *p, enum pytorch_size_class c, bool was_split, bool is_split,
                                      uint64_t handed_out, uint64_t rest)
{
    if (was_split) {
        pytorch_stat_subtract(&p->stats.inactive_split_bytes, c, handed_out);
        if (!is_split)
            pytorch_stat_subtract(&p->stats.inactive_split, c, 1);
    } else if (is_split) {
        pytorch_stat_add(&p->stats.inactive_split_bytes, c, rest);
        pytorch_stat_add(&p->stats.inactive_split, c, 1);
    }
}

/* Splits `gap` free bytes off before the request. */
static APART void finish_start(struct pytorch *p, uint32_t b, uint64_t gap)
{
    pytorch_put_free(p, pytorch_split_front(p, b, gap));
}

/* Inline, for the hot pair. */
static HOT_INLINE void finish(struct pytorch *p, uint32_t b, const struct pytorch_attempt *a, uint64_t requested,
                              struct block *out)
{
    const uint64_t gap = pytorch_gap(p, pytorch_at(p, b), a->S);
    if (gap > 0)
        finish_start(p, b, gap);
    const bool was_split = block_is_split(pytorch_at(p, b));
    const bool is_split = finish_splits(p, pytorch_at(p, b), a);
    const uint64_t whole = pytorch_at(p, b)->size;
    if (is_split)
        b = finish_split(p, a->home, b, a->S);
    struct block_entry *block = pytorch_at(p, b);
    if (!(block->flags & BLOCK_IS_RANGE))
        finish_count_split(p, a->class, was_split, is_split, block->size, whole - block->size);
    block->flags |= BLOCK_IS_ALLOCATED;
    block->requested = requested;
    pytorch_record(p, RECORD_ALLOC, block->stream, block->pool, block->addr, requested);
    pytorch_stats_hand_out(&p->stats, a->class, block->size, requested);
    if (block->size >= p->settings.max_split_size)
        pytorch_stat_add(&p->stats.oversize_allocations, CLASS_LARGE, 1);
    *out = (struct block){.addr = block->addr, .bytes = block->size, .segment = block->segment, .cookie = b};
}

void pytorch_finish(struct pytorch *p, uint32_t b, const struct pytorch_attempt *a, uint64_t requested,
                    struct block *out)
{
    finish(p, b, a, requested, out);
}

static enum err pytorch_refuse(struct pytorch *p, const struct pytorch_attempt *a, const struct event *req)
{
    p->refused = a->is_rejected ? REFUSED_REJECTED : REFUSED_OOM;
    p->refused_request = req->bytes;
    p->refused_rounded = a->S;
    p->refused_segment = a->G;
    p->refused_needs = a->G;
    if (pytorch_attempt_expands(p, a))
        p->refused_needs = pytorch_expandable_needs(p, a->pool, a->class, a->S, a->stream);
    if (a->is_rejected)
        return ERR_DEVICE_OOM;
    uint64_t free_bytes, total_bytes;
    device_memory_info(p->base.device, &free_bytes, &total_bytes);
    pytorch_record(p, RECORD_OOM, a->stream, a->pool, free_bytes, a->S);
    p->stats.num_ooms++;
    return ERR_DEVICE_OOM;
}

/* No free block serves the request. The attempt is a copy, so that the caller's can stay in registers. */
static enum err miss(struct pytorch *p, const struct event *req, struct pytorch_attempt a, struct block *out)
{
    p->base.count.misses++;
    a.G = pytorch_segment_size(p, a.S);
    const uint32_t b = pytorch_obtain(p, &a);
    if (a.failure != ERR_OK)
        return a.failure;
    if (b == BLOCK_NONE)
        return pytorch_refuse(p, &a, req);
    pytorch_finish(p, b, &a, req->bytes, out);
    return ERR_OK;
}

/* With caching off each request goes to the device as it is, and no counter changes. */
static enum err uncached_alloc(struct pytorch *p, const struct event *req, struct block *out)
{
    struct segment seg;
    const enum err e = device_segment_alloc(p->base.device, req->bytes, &seg);
    if (e == ERR_DEVICE_OOM) {
        p->refused = REFUSED_BY_DEVICE;
        p->refused_request = req->bytes;
    }
    if (e != ERR_OK)
        return e;
    *out = (struct block){.addr = seg.addr, .bytes = seg.bytes, .segment = seg.id, .cookie = BLOCK_NONE};
    return ERR_OK;
}

enum err pytorch_alloc(struct policy *base, const struct event *req, struct block *out)
{
    struct pytorch *p = (struct pytorch *)base;
    uint8_t pool = req->pool;
    if (pytorch_has_more(p)) {
        if (p->has_no_cache)
            return uncached_alloc(p, req, out);
        if (p->base.failure != ERR_OK)
            return p->base.failure;
        pool = pytorch_choose_pool(p, req);
        if (!pytorch_is_capturing_stream(p, req->stream, pool))
            pytorch_poll(p);
    }
    struct pytorch_attempt a;
    const enum err e = pytorch_attempt_begin(p, req, pool, &a);
    if (e != ERR_OK)
        return e;
    const uint32_t b = fit(p, &a, a.home);
    if (b == BLOCK_NONE)
        return miss(p, req, a, out);
    p->base.count.hits++;
    finish(p, b, &a, req->bytes, out);
    return ERR_OK;
}

/* ---- freeing ---- */

/* Counts a block that became free and swallowed n others of `won` bytes. PyTorch adds or subtracts one difference, and
 * its sign decides which counter changes. */
static inline void complete_count_split(struct pytorch *p, enum pytorch_size_class c, const struct block_entry *block,
                                        int n, uint64_t won)
{
    struct pytorch_stat *count = &p->stats.inactive_split, *bytes = &p->stats.inactive_split_bytes;
    if (!block_is_split(block)) {
        pytorch_stat_subtract(count, c, (uint64_t)n);
        pytorch_stat_subtract(bytes, c, won);
        return;
    }
    if (n == 0)
        pytorch_stat_add(count, c, 1);
    else
        pytorch_stat_subtract(count, c, (uint64_t)n - 1);
    pytorch_stat_add(bytes, c, block->size - won);
}

/* Inline, for the hot pair. */
static HOT_INLINE void complete_free(struct pytorch *p, uint32_t b)
{
    struct block_entry *block = pytorch_at(p, b);
    const enum pytorch_size_class c = pytorch_class(block);
    pytorch_record(p, RECORD_FREE_COMPLETED, block->stream, block->pool, block->addr, block->requested);
    pytorch_stats_end_use(&p->stats, c, block->size, block->requested);
    const struct pytorch_home home = pytorch_home_of(p, block);
    uint64_t won;
    const int n = pytorch_coalesce(p, home, b, &won);
    pytorch_take_home(p, home, b);
    if (!(block->flags & BLOCK_IS_RANGE))
        complete_count_split(p, c, block, n, won);
}

void pytorch_complete_free(struct pytorch *p, uint32_t b)
{
    complete_free(p, b);
}

/* Ends a free that was requested earlier, or frees a block that other streams have used. */
static void free_late(struct pytorch *p, uint32_t b)
{
    if (pytorch_at(p, b)->flags & BLOCK_IS_RETIRED) {
        pytorch_unretire(p, b);
        pytorch_complete_free(p, b);
    } else {
        pytorch_request_late_free(p, b);
        pytorch_free_used(p, b);
    }
}

void pytorch_free(struct policy *base, const struct event *req, const struct block *b)
{
    struct pytorch *p = (struct pytorch *)base;
    (void)req;
    if (p->has_no_cache) {
        device_segment_free(base->device, &(struct segment){.addr = b->addr, .bytes = b->bytes, .id = b->segment});
        return;
    }
    if (pytorch_at(p, b->cookie)->flags & (BLOCK_IS_RETIRED | BLOCK_HAS_USES)) {
        free_late(p, b->cookie);
        return;
    }
    pytorch_request_free(p, b->cookie);
    complete_free(p, b->cookie);
}
