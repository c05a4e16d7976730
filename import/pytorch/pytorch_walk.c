/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The backward pass: from the final state of a device to the segments and blocks before its first record.
 *
 * Segment records are undone one by one from the end. Blocks need no undoing: a block was live at the start if the
 * first record of its address frees it, or if it is live at the end and no record mentions it:
 *
 *     records of an address     live at the end   live at the start
 *     alloc ... free ...        -                 no
 *     free ...                  -                 yes
 *     none                      yes               yes
 */
#include "import/pytorch/pytorch_walk.h"

#include "base/array.h"
#include "base/torch_sizes.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NPU_HEADER = 32 };

/* ---- rounding ---- */

static uint64_t round_divisions(uint64_t bytes, uint64_t divisions)
{
    if (is_power_of_two(bytes))
        return bytes;
    const uint64_t floor = UINT64_C(1) << log2_floor(bytes), step = floor >> log2_floor(divisions);
    return step == 0 ? 2 * floor : round_up(bytes, step);
}

static uint64_t round_cuda(const struct walk *w, uint64_t bytes)
{
    if (bytes < TORCH_MIN_BLOCK)
        return TORCH_MIN_BLOCK;
    const unsigned log2 = log2_floor(bytes), k = log2 < 20 ? 0 : log2 - 20;
    const uint64_t divisions = w->s->settings.roundup[k < ROUNDUP_CLASSES ? k : ROUNDUP_CLASSES - 1];
    if (divisions > 1 && bytes > TORCH_MIN_BLOCK * divisions)
        return round_divisions(bytes, divisions);
    return align_up(bytes, TORCH_MIN_BLOCK);
}

static uint64_t round_npu(uint64_t bytes)
{
    return align_up(add_capped(bytes, NPU_HEADER), TORCH_MIN_BLOCK);
}

uint64_t walk_round(const struct walk *w, uint64_t bytes)
{
    return w->is_npu ? round_npu(bytes) : round_cuda(w, bytes);
}

void walk_vote(struct walk *w, uint64_t requested, uint64_t bytes)
{
    const bool fits_cuda = bytes == round_cuda(w, requested), fits_npu = bytes == round_npu(requested);
    w->n_npu_sizes += fits_npu && !fits_cuda;
    w->n_cuda_sizes += fits_cuda && !fits_npu;
}

static void walk_vote_final(struct walk *w)
{
    const struct snapshot *s = w->s;
    for (uint32_t i = 0; i < s->final_segments.n; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        for (uint32_t k = 0; g->device == w->device && g->is_small && k < g->n_blocks; k++)
            if (s->blocks[g->first_block + k].state != SNAPSHOT_BLOCK_INACTIVE)
                walk_vote(w, s->blocks[g->first_block + k].requested, s->blocks[g->first_block + k].size);
    }
}

/* ---- addresses ---- */

static bool is_block_action(unsigned action)
{
    return action == ACTION_ALLOC || action == ACTION_FREE_REQUESTED || action == ACTION_FREE_COMPLETED;
}

struct named_addr { uint64_t addr; uint32_t name; };

static int named_addr_order(const void *a, const void *b)
{
    const struct named_addr *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* All block addresses in order of appearance; `names` gives the number of an address. */
struct addr_list {
    struct pair_map names;
    struct named_addr *at;
    size_t n, room;
};

static bool addr_name(struct addr_list *l, uint64_t addr, uint32_t *name)
{
    const uint32_t *known = pair_map_find(&l->names, addr, 0);
    if (known != NULL) {
        *name = *known;
        return true;
    }
    struct named_addr *bigger = array_grow(l->at, l->n, &l->room, sizeof *bigger);
    if (bigger == NULL)
        return false;
    l->at = bigger;
    *name = (uint32_t)l->n;
    l->at[l->n++] = (struct named_addr){.addr = addr, .name = *name};
    return pair_map_add(&l->names, addr, 0, *name);
}

static bool addr_collect(struct walk *w, struct addr_list *l)
{
    const struct snapshot *s = w->s;
    for (uint32_t i = 0; i < w->n; i++) {
        w->rank[i] = WALK_NO_RANK;
        if (is_block_action(w->records[i].action) && !addr_name(l, w->records[i].addr, &w->rank[i]))
            return false;
    }
    for (uint32_t i = 0; i < s->final_segments.n; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        for (uint32_t k = 0; g->device == w->device && k < g->n_blocks; k++) {
            const struct snapshot_block *b = &s->blocks[g->first_block + k];
            uint32_t name;
            if (b->state != SNAPSHOT_BLOCK_INACTIVE && !addr_name(l, b->addr, &name))
                return false;
        }
    }
    return true;
}

/* Numbers addresses by rank: their place among all addresses in ascending order. */
static enum err walk_rank(struct walk *w, struct err_detail *err)
{
    struct addr_list l = {.n = 0};
    w->rank = malloc((w->n + 1) * sizeof *w->rank);
    bool ok = w->rank != NULL && addr_collect(w, &l);
    uint32_t *rank_of = ok ? malloc((l.n + 1) * sizeof *rank_of) : NULL;
    w->addr = ok ? malloc((l.n + 1) * sizeof *w->addr) : NULL;
    ok = rank_of != NULL && w->addr != NULL;
    if (ok) {
        if (l.n > 0)
            qsort(l.at, l.n, sizeof *l.at, named_addr_order);
        for (size_t k = 0; k < l.n; k++) {
            w->addr[k] = l.at[k].addr;
            rank_of[l.at[k].name] = (uint32_t)k;
        }
        for (uint32_t i = 0; i < w->n; i++)
            if (w->rank[i] != WALK_NO_RANK)
                w->rank[i] = rank_of[w->rank[i]];
        w->n_addr = (uint32_t)l.n;
    }
    free(rank_of);
    free(l.at);
    pair_map_free(&l.names);
    return ok ? ERR_OK : err_no_memory(err);
}

uint32_t walk_rank_from(const struct walk *w, uint64_t addr)
{
    uint32_t low = 0, high = w->n_addr;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (w->addr[mid] < addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- segments, backward ---- */

/* Sets walk.final, from which the backward pass begins. */
static enum err walk_final_segments(struct walk *w, struct err_detail *err)
{
    const struct snapshot *s = w->s;
    for (uint32_t i = 0; i < s->final_segments.n; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        const struct reserved_segment st = {.addr = g->addr, .bytes = g->size, .stream = g->stream, .pool = g->pool,
                                            .is_small = g->is_small, .is_range = g->is_expandable};
        if (g->device != w->device || g->size == 0)
            continue;
        switch (segment_map_add(&w->undone, &st)) {
        case CHANGE_NOMEM:
            return err_no_memory(err);
        case CHANGE_CONFLICT:
            return err_at(err, ERR_FORMAT, i, input_name(s->in), "segment %u at 0x%" PRIx64 " overlaps another one", i,
                          g->addr);
        case CHANGE_DONE:
            break;
        }
    }
    return segment_map_list(&w->undone, &w->final) ? ERR_OK : err_no_memory(err);
}

/* The capture that is open after record r. A begin in an open capture, an end without a begin, and a capture into no
 * private pool say nothing: they become unknown records. */
static struct snapshot_record *capture_after(struct walk *w, struct snapshot_record *open, struct snapshot_record *r)
{
    const bool has_pool = r->pool != SNAPSHOT_NO_POOL && r->pool != 0;
    if (r->action == ACTION_CAPTURE_BEGIN && has_pool && open == NULL) {
        w->captures[r->pool]++;
        return r;
    }
    if (r->action == ACTION_CAPTURE_END && open != NULL && r->pool == open->pool)
        return NULL;
    r->action = ACTION_UNKNOWN;
    return open;
}

/* Fills in the pools of segment records in captures, and of those that free the segments again. */
static enum err walk_captures(struct walk *w, struct err_detail *err)
{
    struct segment_map made = {.n = 0};
    struct snapshot_record *open = NULL;
    enum segment_change c = CHANGE_DONE;
    w->captures = calloc(w->s->n_pools, sizeof *w->captures);
    if (w->captures == NULL)
        return err_no_memory(err);
    for (uint32_t i = 0; i < w->n && c != CHANGE_NOMEM; i++) {
        struct snapshot_record *r = &w->records[i];
        struct reserved_segment st = {.addr = r->addr, .bytes = r->size, .stream = r->stream,
                                      .is_range = r->action == ACTION_SEGMENT_MAP};
        if (r->action == ACTION_CAPTURE_BEGIN || r->action == ACTION_CAPTURE_END)
            open = capture_after(w, open, r);
        if (r->pool != SNAPSHOT_NO_POOL || r->size == 0)
            continue;
        if (r->action == ACTION_SEGMENT_FREE || r->action == ACTION_SEGMENT_UNMAP) {
            if (segment_map_take(&made, r->addr, r->size, &st) == CHANGE_DONE)
                r->pool = st.pool;
        } else if ((r->action == ACTION_SEGMENT_ALLOC || r->action == ACTION_SEGMENT_MAP) && open != NULL &&
                   open->stream == r->stream) {
            st.pool = r->pool = open->pool;
            c = segment_map_add(&made, &st);
        }
    }
    segment_map_free(&made);
    return c == CHANGE_NOMEM ? err_no_memory(err) : ERR_OK;
}

/* Undoes a segment record. A record without a pool gets that of the segment that it changes. */
static enum segment_change segment_undo(struct walk *w, struct snapshot_record *r)
{
    struct reserved_segment st = {.addr = r->addr, .bytes = r->size, .stream = r->stream};
    if (r->action == ACTION_SEGMENT_ALLOC || r->action == ACTION_SEGMENT_MAP) {
        const enum segment_change c = segment_map_take(&w->undone, r->addr, r->size, &st);
        if (c == CHANGE_DONE && r->pool == SNAPSHOT_NO_POOL)
            r->pool = st.pool;
        return c;
    }
    st.pool = r->pool == SNAPSHOT_NO_POOL ? 0 : r->pool;
    st.is_range = r->action == ACTION_SEGMENT_UNMAP;
    st.is_small = r->size == TORCH_SMALL_SEGMENT;
    r->pool = st.pool;
    return segment_map_add(&w->undone, &st);
}

/* Undoes all segment records, the last first; sets walk.start. A record that does not fit is counted and skipped. */
static enum err walk_back(struct walk *w, struct err_detail *err)
{
    for (uint32_t i = w->n; i-- > 0;) {
        struct snapshot_record *r = &w->records[i];
        if (r->action < ACTION_SEGMENT_ALLOC || r->action > ACTION_SEGMENT_UNMAP)
            continue;
        switch (r->size == 0 ? CHANGE_CONFLICT : segment_undo(w, r)) {
        case CHANGE_NOMEM:
            return err_no_memory(err);
        case CHANGE_CONFLICT:
            w->segments.n++;
            w->segments.first = i;
            r->pool = r->pool == SNAPSHOT_NO_POOL ? 0 : r->pool;
            break;
        case CHANGE_DONE:
            break;
        }
    }
    return segment_map_list(&w->undone, &w->start) ? ERR_OK : err_no_memory(err);
}

/* ---- blocks ---- */

enum life { LIFE_UNSEEN, LIFE_VACANT, LIFE_LIVE, LIFE_PENDING };

static enum err walk_contradiction(const struct walk *w, uint32_t i, const char *what, struct err_detail *err)
{
    const struct snapshot_record *r = &w->records[i];
    return err_at(err, ERR_FORMAT, i, input_name(w->s->in), "record %u of device %u contradicts the ones before it: %s "
                  "at 0x%" PRIx64, i, w->device, what, r->addr);
}

static void block_put(struct walk *w, uint32_t rank, const struct walk_block *b)
{
    assert(w->n_blocks < w->n_addr && w->block_of[rank] == 0);       /* one start block per address */
    w->blocks[w->n_blocks] = *b;
    w->block_of[rank] = (uint32_t)++w->n_blocks;
}

/* Adds a start block whose first record frees it. */
static void block_put_freed(struct walk *w, uint32_t i, bool is_pending)
{
    const struct snapshot_record *r = &w->records[i];
    block_put(w, w->rank[i], &(struct walk_block){.addr = r->addr, .requested = r->size, .rank = w->rank[i],
                                                  .stream = r->stream, .pool = r->pool, .is_pending = is_pending});
}

/* Moves the life of one address on by record i, and refuses an impossible order:
 *
 *     unseen -> any;   vacant -> alloc -> live -> free_requested -> pending -> free_completed -> vacant
 *
 * Without requests of frees in the file, free_completed also ends a live block. */
static enum err life_step(struct walk *w, uint32_t i, uint8_t *life, struct err_detail *err)
{
    const struct snapshot_record *r = &w->records[i];
    const enum life was = *life;
    if (r->size == 0)
        return walk_contradiction(w, i, "a block of 0 bytes", err);
    switch (r->action) {
    case ACTION_ALLOC:
        if (was == LIFE_LIVE || was == LIFE_PENDING)
            return walk_contradiction(w, i, "an allocation of a block that is live", err);
        *life = LIFE_LIVE;
        return ERR_OK;
    case ACTION_FREE_REQUESTED:
        if (was == LIFE_VACANT || was == LIFE_PENDING)
            return walk_contradiction(w, i, "a free of a block that is not live", err);
        if (was == LIFE_UNSEEN)
            block_put_freed(w, i, false);
        *life = LIFE_PENDING;
        return ERR_OK;
    default:
        if (was == LIFE_VACANT)
            return walk_contradiction(w, i, "the completion of a free of nothing", err);
        if (was == LIFE_LIVE && w->has_requests_of_frees)
            return walk_contradiction(w, i, "the completion of a free that was not requested", err);
        if (was == LIFE_UNSEEN)
            block_put_freed(w, i, w->has_requests_of_frees);
        *life = LIFE_VACANT;
        return ERR_OK;
    }
}

/* Takes a block of the final state. If no record mentions it, it was live at the start, and its size is certain. */
static void block_take_final(struct walk *w, const struct snapshot_segment *g, const struct snapshot_block *b,
                             uint8_t *lives)
{
    const uint32_t rank = walk_rank_from(w, b->addr);
    assert(rank < w->n_addr && w->addr[rank] == b->addr);        /* addr_collect went over the final state, too */
    if (lives[rank] == LIFE_UNSEEN) {
        const struct walk_block made = {
            .addr = b->addr, .requested = b->requested, .bytes = b->size, .rank = rank, .stream = g->stream,
            .pool = g->pool, .is_pending = b->state == SNAPSHOT_BLOCK_PENDING, .is_sized = true,
            .is_unmentioned = true};
        block_put(w, rank, &made);
        w->n_forgotten += b->has_stack;
        lives[rank] = LIFE_LIVE;
    } else if (lives[rank] == LIFE_VACANT) {
        w->n_unmatched_final++;
    }
}

static int walk_block_order(const void *a, const void *b)
{
    const struct walk_block *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Sorts the start blocks by address and finds their segments. */
static void walk_sort_blocks(struct walk *w)
{
    if (w->n_blocks > 0)
        qsort(w->blocks, w->n_blocks, sizeof *w->blocks, walk_block_order);
    for (size_t i = 0; i < w->n_blocks; i++) {
        struct walk_block *b = &w->blocks[i];
        const size_t segment = segment_set_find(&w->start, b->addr, b->requested);
        w->block_of[b->rank] = (uint32_t)i + 1;
        b->segment = segment == SIZE_MAX ? UINT32_MAX : (uint32_t)segment;
        if (segment == SIZE_MAX)
            continue;
        if (b->pool == SNAPSHOT_NO_POOL)
            b->pool = w->start.at[segment].pool;
        if (w->start.at[segment].is_range && round_npu(b->requested) <= TORCH_SMALL_MAX)
            w->start.at[segment].is_small = true;        /* unmapped at the end: its blocks tell, small by any rule */
    }
}

/* Finds the start blocks: first those that a record frees, then those that only the final state shows. */
static enum err walk_blocks(struct walk *w, struct err_detail *err)
{
    const struct snapshot *s = w->s;
    uint8_t *lives = calloc(w->n_addr + 1, 1);
    w->blocks = calloc(w->n_addr + 1, sizeof *w->blocks);
    w->block_of = calloc(w->n_addr + 1, sizeof *w->block_of);
    enum err e = lives != NULL && w->blocks != NULL && w->block_of != NULL ? ERR_OK : err_no_memory(err);
    for (uint32_t i = 0; e == ERR_OK && i < w->n; i++)
        if (w->rank[i] != WALK_NO_RANK)
            e = life_step(w, i, &lives[w->rank[i]], err);
    for (uint32_t i = 0; e == ERR_OK && i < s->final_segments.n; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        for (uint32_t k = 0; g->device == w->device && k < g->n_blocks; k++)
            if (s->blocks[g->first_block + k].state != SNAPSHOT_BLOCK_INACTIVE)
                block_take_final(w, g, &s->blocks[g->first_block + k], lives);
    }
    if (e == ERR_OK)
        walk_sort_blocks(w);
    free(lives);
    return e;
}

static void walk_look(struct walk *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        w->has_requests_of_frees |= w->records[i].action == ACTION_FREE_REQUESTED;
        w->n_unknown_actions += w->records[i].action == ACTION_UNKNOWN;
    }
    walk_vote_final(w);
}

enum err walk_device(struct snapshot *s, uint32_t device, enum import_segment_frees segment_frees,
                     struct walk **out, struct err_detail *err)
{
    struct walk *w = calloc(1, sizeof *w);
    if (w == NULL)
        return err_no_memory(err);
    w->s = s;
    w->device = device;
    if (device < s->n_devices && s->devices[device].n > 0) {
        w->records = s->records + s->devices[device].first;
        w->n = s->devices[device].n;
    }
    walk_look(w);
    enum err e = walk_rank(w, err);
    if (e == ERR_OK)
        e = walk_final_segments(w, err);
    if (e == ERR_OK)
        e = walk_captures(w, err);
    if (e == ERR_OK)
        e = walk_back(w, err);
    if (e == ERR_OK)
        e = walk_blocks(w, err);
    if (e == ERR_OK)
        e = walk_forward(w, segment_frees, err);
    if (e == ERR_OK && !walk_range_starts(w))
        e = err_no_memory(err);
    if (e != ERR_OK) {
        walk_free(w);
        return e;
    }
    *out = w;
    return ERR_OK;
}

void walk_free(struct walk *w)
{
    if (w == NULL)
        return;
    segment_map_free(&w->undone);
    segment_set_free(&w->start);
    segment_set_free(&w->final);
    segment_set_free(&w->range_starts);
    free(w->rank);
    free(w->addr);
    free(w->blocks);
    free(w->block_of);
    free(w->free_runs);
    free(w->calls_flush);
    free(w->is_given_up);
    free(w->captures);
    free(w);
}
