/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Following a recording. Linear scans are good enough: mostly the policy would take the very block that the record
 * names, or memory was obtained for the request, and no scan is needed. Others are counted. */
#include "policies/pytorch/pytorch_follow.h"

#include "base/intern.h"
#include "policies/pytorch/pytorch_steps.h"

#include <inttypes.h>
#include <stdlib.h>

static bool block_covers(const struct block_entry *b, uint64_t addr)
{
    return addr >= b->addr && addr - b->addr < b->size;
}

/* Whether a block is free and mapped. */
static bool follow_may_find(const struct block_entry *b)
{
    return (b->flags & BLOCK_IS_USED) != 0 && block_is_free(b) && !(b->flags & BLOCK_IS_UNMAPPED);
}

/* The free, mapped block that covers an address; BLOCK_NONE if there is none. */
static uint32_t follow_find(struct pytorch *p, uint64_t addr)
{
    p->follow_steps += p->blocks.n;
    for (uint32_t i = 0; i < p->blocks.n; i++) {
        const struct block_entry *b = pytorch_at(p, i);
        if (follow_may_find(b) && block_covers(b, addr))
            return i;
    }
    return BLOCK_NONE;
}

/* The unmapped block that covers an address, among the ranges of the request's home. Only these: the sizes of recorded
 * reservations are assumptions, so ranges of different homes may seem to overlap. */
static uint32_t follow_find_unmapped(const struct pytorch *p, const struct pytorch_attempt *a, uint64_t addr)
{
    return pytorch_find_unmapped(p, pytorch_half(p, a->pool, a->class), a->stream, addr);
}

/* ---- predicting ---- */

enum err pytorch_follow_predict(struct policy *base, const struct event *req, struct pytorch_choice *out)
{
    struct pytorch *p = (struct pytorch *)base;
    struct pytorch_attempt a;
    const enum err e = pytorch_attempt_begin(p, req, pytorch_choose_pool(p, req), &a);
    if (e != ERR_OK)
        return e;
    struct pytorch_half *half = a.home.half;
    const uint64_t fit_calls = half->fit_calls;
    const uint32_t b = pytorch_choose(p, &a, a.home);
    half->fit_calls = fit_calls;         /* nothing was asked for yet */
    *out = (struct pytorch_choice){.is_growth = b == BLOCK_NONE, .segment_bytes = pytorch_segment_size(p, a.S),
                                   .block_bytes = a.S, .block = b};
    if (b != BLOCK_NONE) {
        out->is_tie = free_set_has_equal(&half->free, b);
        out->addr = pytorch_at(p, b)->addr + pytorch_gap(p, pytorch_at(p, b), a.S);
    } else {
        out->addr = pytorch_follow_run(base, req);
    }
    return ERR_OK;
}

uint64_t pytorch_follow_run(struct policy *base, const struct event *req)
{
    struct pytorch *p = (struct pytorch *)base;
    struct pytorch_attempt a;
    if (pytorch_attempt_begin(p, req, pytorch_choose_pool(p, req), &a) != ERR_OK || !pytorch_attempt_expands(p, &a))
        return 0;
    const uint32_t b = pytorch_find_run(p, a.home.half, a.S, a.stream);
    return b == BLOCK_NONE ? 0 : pytorch_at(p, b)->addr + pytorch_gap(p, pytorch_at(p, b), a.S);
}

/* ---- doing what the record says ---- */

/* Whether block b would serve a request of S bytes at `addr`. */
static bool follow_starts_at(const struct pytorch *p, uint32_t b, uint64_t addr, uint64_t S)
{
    const struct block_entry *block = pytorch_at(p, b);
    const uint64_t gap = pytorch_gap(p, block, S);
    return block->addr + gap == addr && block->size >= S + gap;
}

enum err pytorch_follow_alloc(struct policy *base, const struct event *req, uint64_t addr,
                              const struct pytorch_choice *hint, struct block *out)
{
    struct pytorch *p = (struct pytorch *)base;
    struct pytorch_attempt a;
    const enum err e = pytorch_attempt_begin(p, req, pytorch_choose_pool(p, req), &a);
    if (e != ERR_OK)
        return e;
    struct pytorch_half *half = a.home.half;
    half->fit_calls += pytorch_has_gc(p);
    uint32_t b = hint->block;
    if (b == BLOCK_NONE || !follow_may_find(pytorch_at(p, b)) || !follow_starts_at(p, b, addr, a.S))
        b = follow_find(p, addr);
    if (b == BLOCK_NONE || !follow_starts_at(p, b, addr, a.S) || pytorch_half_of(p, pytorch_at(p, b)) != half ||
        pytorch_at(p, b)->stream != a.stream)
        return ERR_CORRUPT;
    pytorch_leave_home(p, a.home, b);
    pytorch_finish(p, b, &a, req->bytes, out);
    return ERR_OK;
}

enum err pytorch_follow_segment(struct policy *base, const struct event *req, uint64_t bytes,
                                struct pytorch_choice *hint)
{
    struct pytorch *p = (struct pytorch *)base;
    struct pytorch_attempt a;
    enum err e = pytorch_attempt_begin(p, req, pytorch_choose_pool(p, req), &a);
    if (e != ERR_OK)
        return e;
    a.G = bytes;
    const uint32_t b = pytorch_grow_segment(p, &a);
    if (b == BLOCK_NONE)
        return a.failure != ERR_OK ? a.failure : ERR_DEVICE_OOM;
    pytorch_put_free(p, b);
    if (hint != NULL)
        hint->block = b;
    return ERR_OK;
}

/* Maps memory to [addr, addr + bytes), which lies in the unmapped block u. */
static enum err follow_map_at(struct pytorch *p, uint32_t u, uint64_t addr, uint64_t bytes)
{
    if (addr > pytorch_at(p, u)->addr) {
        pytorch_remove_unmapped(p, u);
        const uint32_t front = pytorch_split_front(p, u, addr - pytorch_at(p, u)->addr);
        pytorch_at(p, front)->flags |= BLOCK_IS_UNMAPPED;
        pytorch_insert_unmapped(p, front);
        pytorch_insert_unmapped(p, u);
    }
    enum err e = ERR_OK;
    if (bytes > pytorch_at(p, u)->size)
        return ERR_CORRUPT;
    return pytorch_map_part(p, u, bytes, &e) ? ERR_OK : e != ERR_OK ? e : ERR_DEVICE_OOM;
}

enum err pytorch_follow_map(struct policy *base, const struct event *req, uint64_t addr, uint64_t bytes,
                            struct pytorch_choice *hint)
{
    struct pytorch *p = (struct pytorch *)base;
    struct pytorch_attempt a;
    enum err e = pytorch_attempt_begin(p, req, pytorch_choose_pool(p, req), &a);
    uint32_t u = e == ERR_OK ? follow_find_unmapped(p, &a, addr) : BLOCK_NONE;
    if (e == ERR_OK && u == BLOCK_NONE) {
        const uint64_t reserve = pytorch_reserve(p);
        e = pytorch_create_range(p, a.pool, a.class, 0, a.stream, bytes > reserve ? bytes : reserve, &u);
    }
    if (e == ERR_OK && (u == BLOCK_NONE || !block_covers(pytorch_at(p, u), addr)))
        e = ERR_CORRUPT;
    if (e == ERR_OK)
        e = follow_map_at(p, u, addr, bytes);
    if (e == ERR_OK)
        hint->block = u;                                 /* it has swallowed a free block before it */
    return e;
}

bool pytorch_follow_give_back(struct policy *base, uint64_t addr, uint64_t bytes)
{
    struct pytorch *p = (struct pytorch *)base;
    const uint32_t b = follow_find(p, addr);
    if (b == BLOCK_NONE)
        return false;
    const struct block_entry *block = pytorch_at(p, b);
    if (block->addr != addr || block->size != bytes || block_is_split(block) || block->flags & BLOCK_IS_RANGE)
        return false;
    pytorch_give_back_segment(p, b);
    return true;
}

bool pytorch_follow_unmap(struct policy *base, uint64_t addr, uint64_t bytes)
{
    struct pytorch *p = (struct pytorch *)base;
    const uint32_t b = follow_find(p, addr);
    if (b == BLOCK_NONE || !(pytorch_at(p, b)->flags & BLOCK_IS_RANGE))
        return false;
    const struct block_entry *block = pytorch_at(p, b);
    const struct pytorch_range *range = pytorch_range_of(p, block);
    const uint64_t first = round_up(block->addr - range->seg.addr, range->page_bytes);
    const uint64_t end = (block->addr - range->seg.addr + block->size) / range->page_bytes * range->page_bytes;
    if (range->seg.addr + first != addr || end < first || end - first != bytes)
        return false;
    pytorch_unmap(p, b);
    return true;
}

uint64_t pytorch_follow_steps(const struct policy *base)
{
    return ((const struct pytorch *)base)->follow_steps;
}

void pytorch_follow_wait(struct policy *base)
{
    pytorch_wait_all((struct pytorch *)base, 0, pytorch_is_capturing((struct pytorch *)base));
}

/* ---- taking over a state ---- */

static struct event restore_request(const struct trace_segment *s)
{
    return (struct event){
        .bytes = s->is_small ? TORCH_MIN_BLOCK : TORCH_OWN_MIN, .stream = s->stream, .pool = s->pool};
}

/* The home of a range, as a key: PyTorch reserves one range for each. */
static uint64_t restore_home(const struct trace_segment *s)
{
    return (uint64_t)s->stream << 16 | (uint64_t)s->pool << 8 | s->is_small;
}

/* Finds the last mapped piece of each reservation. False without memory. */
static bool restore_find_ends(const struct trace_segment *segments, size_t n, struct pair_map *last)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t *known = segments[i].is_range ? pair_map_find(last, restore_home(&segments[i]), 0) : NULL;
        if (known != NULL)
            *known = (uint32_t)i;
        else if (segments[i].is_range && !pair_map_add(last, restore_home(&segments[i]), 0, (uint32_t)i))
            return false;
    }
    return true;
}

/* `end`: the last mapped piece of the same reservation. */
static enum err restore_segment(struct pytorch *p, const struct trace_segment *s, const struct trace_segment *end)
{
    const struct event req = restore_request(s);
    if (!s->is_range)
        return pytorch_follow_segment(&p->base, &req, s->bytes, NULL);
    struct pytorch_attempt a;
    enum err e = pytorch_attempt_begin(p, &req, pytorch_choose_pool(p, &req), &a);
    uint32_t u = e == ERR_OK ? follow_find_unmapped(p, &a, s->addr) : BLOCK_NONE;
    if (e == ERR_OK && u == BLOCK_NONE) {
        const uint64_t span = end->addr - s->addr + end->bytes, reserve = pytorch_reserve(p);
        if (span > TRACE_RANGE_MAX)
            return ERR_CORRUPT;
        e = pytorch_create_range(p, a.pool, a.class, 0, a.stream, span > reserve ? span : reserve, &u);
    }
    if (e == ERR_OK && (u == BLOCK_NONE || !block_covers(pytorch_at(p, u), s->addr)))
        e = ERR_CORRUPT;
    return e == ERR_OK && s->bytes > 0 ? follow_map_at(p, u, s->addr, s->bytes) : e;
}

/* The size of a live block. If the record does not tell it: the size to which the rules would have split. */
static uint64_t restore_size(const struct pytorch *p, const struct trace_block *b, const struct block_entry *around,
                             uint64_t room)
{
    if (b->bytes != 0)
        return b->bytes;
    const uint64_t S = pytorch_round(p, b->requested);
    const bool is_fine = around->flags & (BLOCK_IS_SMALL | BLOCK_IS_RANGE);
    if (S > room)
        return room;
    return !is_fine && room - S <= TORCH_SMALL_MAX ? room : S;
}

/* Free blocks by address. */
struct free_places {
    struct free_place { uint64_t addr; uint32_t block; } *at;
    size_t n;
};

static int free_place_compare(const void *a, const void *b)
{
    const uint64_t x = ((const struct free_place *)a)->addr, y = ((const struct free_place *)b)->addr;
    return x < y ? -1 : x > y;
}

static enum err free_places_open(const struct pytorch *p, struct free_places *out)
{
    struct free_place *at = malloc((p->blocks.n + 1) * sizeof *at);
    size_t n = 0;
    *out = (struct free_places){.at = at};
    if (at == NULL)
        return ERR_HOST_NOMEM;
    for (uint32_t b = 0; b < p->blocks.n; b++)
        if (follow_may_find(pytorch_at(p, b)))
            at[n++] = (struct free_place){.addr = pytorch_at(p, b)->addr, .block = b};
    qsort(at, n, sizeof *at, free_place_compare);
    out->n = n;
    return ERR_OK;
}

/* The free block that covers an address. What was split off since is found, too, but slowly. */
static uint32_t free_places_find(struct pytorch *p, const struct free_places *places, uint64_t addr)
{
    size_t low = 0, high = places->n;
    while (high - low > 1) {
        const size_t mid = low + (high - low) / 2;
        if (places->at[mid].addr <= addr)
            low = mid;
        else
            high = mid;
    }
    if (places->n == 0)
        return BLOCK_NONE;
    const uint32_t b = places->at[low].block;
    return follow_may_find(pytorch_at(p, b)) && block_covers(pytorch_at(p, b), addr) ? b : follow_find(p, addr);
}

/* Splits a live block out of the free block around it. `until`: the start of the next live block. *rest: the free block
 * left after the previous one, in which this one most likely lies; then the one left after this. */
static enum err restore_block(struct pytorch *p, const struct free_places *places, const struct trace_block *t,
                              uint64_t until, uint32_t *rest, struct block *out)
{
    enum err e = block_table_reserve(&p->blocks, PYTORCH_SPARE_BLOCKS);
    if (e != ERR_OK)
        return e;
    const bool is_near = *rest != BLOCK_NONE && block_covers(pytorch_at(p, *rest), t->addr);
    const uint32_t b = is_near ? *rest : free_places_find(p, places, t->addr);
    if (b == BLOCK_NONE)
        return ERR_CORRUPT;
    struct block_entry *block = pytorch_at(p, b);
    const uint64_t end = block->addr + block->size;
    const uint64_t size = restore_size(p, t, block, (until < end ? until : end) - t->addr);
    if (size == 0 || size > end - t->addr)
        return ERR_CORRUPT;
    pytorch_leave_home(p, pytorch_home_of(p, block), b);
    if (t->addr > block->addr)
        pytorch_put_free(p, pytorch_split_front(p, b, t->addr - block->addr));
    *rest = size < block->size ? pytorch_split_back(p, b, block->size - size) : BLOCK_NONE;
    if (*rest != BLOCK_NONE)
        pytorch_put_free(p, *rest);
    block->flags |= BLOCK_IS_ALLOCATED;
    block->requested = t->requested;
    const enum pytorch_size_class c = pytorch_class(block);
    pytorch_stats_hand_out(&p->stats, c, size, t->requested);
    if (size >= p->settings.max_split_size)
        pytorch_stat_add(&p->stats.oversize_allocations, CLASS_LARGE, 1);
    *out = (struct block){.addr = block->addr, .bytes = size, .segment = block->segment, .cookie = b};
    if (t->is_pending) {
        pytorch_request_late_free(p, b);
        pytorch_retire_block(p, b, t->slot);
    }
    return ERR_OK;
}

/* Counts the free blocks of split segments, as the recorded counters did. */
static void restore_inactive_split(struct pytorch *p)
{
    for (uint32_t i = 0; i < p->blocks.n; i++) {
        const struct block_entry *b = pytorch_at(p, i);
        if (!(b->flags & BLOCK_IS_USED) || b->flags & BLOCK_IS_RANGE || !block_is_free(b) ||
            !block_is_split(b))
            continue;
        pytorch_stat_add(&p->stats.inactive_split, pytorch_class(b), 1);
        pytorch_stat_add(&p->stats.inactive_split_bytes, pytorch_class(b), b->size);
    }
}

static enum err restore_segments(struct pytorch *p, const struct trace_segment *segments, size_t n,
                                 struct err_detail *err)
{
    struct pair_map last = {.entries = NULL};
    if (!restore_find_ends(segments, n, &last)) {
        pair_map_free(&last);
        return ERR_HOST_NOMEM;
    }
    enum err e = ERR_OK;
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const uint32_t *end = segments[i].is_range ? pair_map_find(&last, restore_home(&segments[i]), 0) : NULL;
        e = restore_segment(p, &segments[i], end == NULL ? NULL : &segments[*end]);
        if (e != ERR_OK)
            err_set(err, e, i, "start segment %zu of %" PRIu64 " bytes cannot be taken over: %s", i, segments[i].bytes,
                    err_text(e));
    }
    pair_map_free(&last);
    return e;
}

/* The blocks are in ascending order, as the trace's reader makes sure. */
static enum err restore_blocks(struct pytorch *p, const struct trace_block *blocks, size_t n, struct block *live,
                               struct err_detail *err)
{
    struct free_places places;
    enum err e = free_places_open(p, &places);
    uint32_t rest = BLOCK_NONE;
    for (size_t i = 0, next; i < n && e == ERR_OK; i = next) {
        for (next = i + 1; next < n && blocks[next].slot == TRACE_NO_SLOT;)
            next++;
        if (blocks[i].slot == TRACE_NO_SLOT)
            continue;
        const uint64_t until = next < n ? blocks[next].addr : UINT64_MAX;
        e = restore_block(p, &places, &blocks[i], until, &rest, &live[blocks[i].slot]);
        if (e != ERR_OK)
            err_set(err, e, i, "the request live at 0x%" PRIx64 " lies in no segment that is known", blocks[i].addr);
    }
    free(places.at);
    return e;
}

enum err pytorch_restore(struct policy *base, const struct trace_segment *segments, size_t n_segments,
                         const struct trace_block *blocks, size_t n_blocks, struct block *live, struct err_detail *err)
{
    struct pytorch *p = (struct pytorch *)base;
    enum err e = restore_segments(p, segments, n_segments, err);
    if (e == ERR_OK)
        e = restore_blocks(p, blocks, n_blocks, live, err);
    if (e != ERR_OK)
        return e;
    restore_inactive_split(p);
    pytorch_stats_reset_peak(&p->stats);
    pytorch_stats_reset_accumulated(&p->stats);
    return ERR_OK;
}
