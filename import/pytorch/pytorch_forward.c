/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The forward pass: from the rebuilt start state through all records. It checks that every block lies in a segment and
 * overlaps no other block, fills in what older releases did not record, and finds the sizes of the blocks at the start.
 *
 * Sizes: records carry only requests, and a block of a large segment may be up to 1 MiB larger than its rounded
 * request. But an allocation always takes the front of a free block, and a free block begins where a live one ends. So
 * the first allocation directly after a block tells where the block ends:
 *
 *     at the start     | live block, size unknown     ?  free ...
 *     later            | live block       | new block |
 *                                         ^ the end of the live block
 */
#include "base/array.h"
#include "import/pytorch/pytorch_walk.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "traces/rank_set.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define TAIL_MAX TORCH_SMALL_MAX      /* a rest up to this is not split off: PyTorch, should_split */

/* Addresses in all segments that may be idle, and others. A segment becomes idle only when it comes or when a block in
 * it is freed, so these two note an address, and a look forgets those that are not idle. Each note is thus paid for
 * once, although there are many segments and many looks. */
struct idle_notes {
    uint64_t *addr;
    size_t    n, room;
    bool      is_all;                 /* nothing was noted: any segment may be idle */
};

struct forward {
    struct walk *w;
    struct segment_map now;
    struct rank_set active;           /* ranks of blocks that are live or pending */
    uint64_t *requested;              /* by rank, while active */
    bool *is_pending;                 /* by rank: free requested */
    uint64_t held_bytes, live_bytes;
    uint32_t run_end;                 /* first record after the present run of segment frees */
    enum import_segment_frees wish;
    uint64_t room_bytes;
    uint64_t uncollected_bytes;       /* as in free_run_scene */
    struct idle_notes small, large;   /* segments of TORCH_SMALL_SEGMENT bytes, and all others */
    uint64_t *freed;                  /* ascending: the segments that the present run frees */
    size_t n_freed, freed_room;
};

static void contradiction_add(struct walk_contradictions *t, uint64_t record)
{
    if (t->n++ == 0)
        t->first = record;
}

/* ---- idle segments ---- */

/* True for an ordinary segment of the default pools without an active block. */
static bool is_idle(const struct forward *f, const struct reserved_segment *s)
{
    const struct walk *w = f->w;
    if (s->is_range || s->pool != 0)
        return false;
    const uint32_t rank = walk_rank_from(w, s->addr);
    const uint32_t first = rank == w->n_addr ? RANK_NONE
                           : rank_set_has(&f->active, rank) ? rank : rank_set_above(&f->active, rank);
    return first == RANK_NONE || w->addr[first] - s->addr >= s->bytes;
}

/* Notes an address. With more notes than segments it is as cheap to look at all segments; so it is without memory. */
static void idle_note(const struct forward *f, struct idle_notes *t, uint64_t addr)
{
    enum { NOTES_FREE = 1024 };
    if (t->is_all)
        return;
    uint64_t *grown = t->n > f->now.n + NOTES_FREE ? NULL : array_grow(t->addr, t->n, &t->room, sizeof *grown);
    if (grown == NULL) {
        t->is_all = true;
        return;
    }
    t->addr = grown;
    t->addr[t->n++] = addr;
}

/* A block was freed, in a segment of either size. */
static void idle_note_block(struct forward *f, uint64_t addr)
{
    idle_note(f, &f->small, addr);
    idle_note(f, &f->large, addr);
}

static void idle_note_segment(struct forward *f, const struct reserved_segment *s)
{
    if (!s->is_range)
        idle_note(f, s->bytes == TORCH_SMALL_SEGMENT ? &f->small : &f->large, s->addr);
}

static bool idle_note_all(const struct forward *f, struct idle_notes *t)
{
    const bool is_small = t == &f->small;
    uint64_t *grown = array_reserve(t->addr, 0, f->now.n + 1, &t->room, sizeof *grown);
    if (grown == NULL)
        return false;
    t->addr = grown;
    t->n = 0;
    struct segment_set now;
    if (!segment_map_list(&f->now, &now))
        return false;
    for (size_t i = 0; i < now.n; i++)
        if ((now.at[i].bytes == TORCH_SMALL_SEGMENT) == is_small)
            t->addr[t->n++] = now.at[i].addr;
    segment_set_free(&now);
    t->is_all = false;
    return true;
}

static int addr_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool is_freed_by_run(const struct forward *f, uint64_t addr)
{
    return f->n_freed > 0 && bsearch(&addr, f->freed, f->n_freed, sizeof addr, addr_order) != NULL;
}

/* *found: whether a segment of this kind is idle, other than those that the present run frees. False without memory.
 * What is no longer idle is forgotten; what the run frees will be gone at the next look. */
static bool idle_look(struct forward *f, struct idle_notes *t, bool *found)
{
    *found = false;
    if (t->is_all && !idle_note_all(f, t))
        return false;
    for (size_t i = 0; i < t->n && !*found;) {
        const struct reserved_segment *s = segment_map_find(&f->now, t->addr[i], 1);
        if (s == NULL || (s->bytes == TORCH_SMALL_SEGMENT) != (t == &f->small) || !is_idle(f, s)) {
            t->addr[i] = t->addr[--t->n];
            continue;
        }
        t->addr[i++] = s->addr;
        *found = !is_freed_by_run(f, s->addr);
    }
    return true;
}

/* ---- blocks ---- */

static struct walk_block *start_block(const struct walk *w, uint32_t rank)
{
    return w->block_of[rank] == 0 ? NULL : &w->blocks[w->block_of[rank] - 1];
}

static void active_put(struct forward *f, uint32_t rank, uint64_t requested, bool is_pending)
{
    rank_set_add(&f->active, rank);
    f->requested[rank] = requested;
    f->is_pending[rank] = is_pending;
    if (!is_pending)
        f->live_bytes += requested;
    if (f->live_bytes > f->w->peak_requested)
        f->w->peak_requested = f->live_bytes;
}

static void active_retire(struct forward *f, uint32_t rank)
{
    assert(f->is_pending[rank] || f->live_bytes >= f->requested[rank]);
    if (!f->is_pending[rank])
        f->live_bytes -= f->requested[rank];
    f->is_pending[rank] = true;
}

/* Two live blocks overlap. A block that only the final state shows may be newer than all records, because PyTorch
 * copies the records first: such a block is dropped. Any other overlap is a contradiction. */
static enum err overlap(struct forward *f, uint32_t i, uint32_t other, struct err_detail *err)
{
    struct walk *w = f->w;
    struct walk_block *b = start_block(w, other);
    if (b != NULL && b->is_unmentioned && !b->is_dropped) {
        b->is_dropped = true;
        w->n_unmatched_final++;
        active_retire(f, other);
        rank_set_remove(&f->active, other);
        idle_note_block(f, w->addr[other]);
        return ERR_OK;
    }
    return err_at(err, ERR_FORMAT, i, input_name(w->s->in), "record %u of device %u: the block at 0x%" PRIx64 " (%"
                  PRIu64 " bytes) overlaps the live block at 0x%" PRIx64 " (%" PRIu64 " bytes)", i, w->device,
                  w->records[i].addr, w->records[i].size, w->addr[other], f->requested[other]);
}

/* A new block at `addr` tells where the block below ends. If that was live at the start, its size may become known. */
static void size_block_below(struct forward *f, uint32_t below, uint64_t addr, const struct reserved_segment *segment)
{
    struct walk *w = f->w;
    struct walk_block *b = start_block(w, below);
    const uint64_t bytes = addr - w->addr[below], requested = f->requested[below];
    if (w->addr[below] < segment->addr)
        return;
    if (requested < MIB / 2 && segment->bytes == TORCH_SMALL_SEGMENT)
        walk_vote(w, requested, bytes);
    if (b == NULL || b->is_gone || b->is_sized || bytes < requested ||
        (bytes - requested > 2 * TAIL_MAX && w->s->settings.max_split_size < 0))
        return;
    b->bytes = bytes;
    b->is_sized = true;
}

/* Places a new block among the active ones: it may overlap none, and may tell the size of the block below. */
static enum err forward_alloc(struct forward *f, uint32_t i, struct err_detail *err)
{
    struct walk *w = f->w;
    struct snapshot_record *r = &w->records[i];
    const uint32_t rank = w->rank[i];
    uint32_t below = rank_set_below(&f->active, rank), above = rank_set_above(&f->active, rank);
    while (below != RANK_NONE && f->requested[below] > r->addr - w->addr[below]) {
        const enum err e = overlap(f, i, below, err);
        if (e != ERR_OK)
            return e;
        below = rank_set_below(&f->active, rank);
    }
    while (above != RANK_NONE && r->size > w->addr[above] - r->addr) {
        const enum err e = overlap(f, i, above, err);
        if (e != ERR_OK)
            return e;
        above = rank_set_above(&f->active, rank);
    }
    const struct reserved_segment *segment = segment_map_find(&f->now, r->addr, r->size);
    if (segment == NULL)
        contradiction_add(&w->outside, i);
    else if (below != RANK_NONE)
        size_block_below(f, below, r->addr, segment);
    active_put(f, rank, r->size, false);
    return ERR_OK;
}

static enum err forward_block(struct forward *f, uint32_t i, struct err_detail *err)
{
    struct snapshot_record *r = &f->w->records[i];
    if (r->pool == SNAPSHOT_NO_POOL) {
        const struct reserved_segment *segment = segment_map_find(&f->now, r->addr, 1);
        r->pool = segment == NULL ? 0 : segment->pool;
    }
    if (r->action == ACTION_ALLOC)
        return forward_alloc(f, i, err);
    active_retire(f, f->w->rank[i]);
    if (r->action == ACTION_FREE_COMPLETED) {
        struct walk_block *b = start_block(f->w, f->w->rank[i]);
        rank_set_remove(&f->active, f->w->rank[i]);
        if (b != NULL)
            b->is_gone = true;
        idle_note_block(f, r->addr);
    }
    return ERR_OK;
}

/* ---- segments ---- */

/* Collects the segments that the run of records [begin, end) frees. */
static bool run_note_freed(struct forward *f, uint32_t begin, uint32_t end)
{
    uint64_t *grown = array_reserve(f->freed, 0, end - begin, &f->freed_room, sizeof *grown);
    if (grown == NULL)
        return false;
    f->freed = grown;
    f->n_freed = 0;
    for (uint32_t i = begin; i < end; i++)
        if (f->w->records[i].action == ACTION_SEGMENT_FREE)
            f->freed[f->n_freed++] = f->w->records[i].addr;
    if (f->n_freed > 0)
        qsort(f->freed, f->n_freed, sizeof *f->freed, addr_order);
    return true;
}

/* *leaves: whether the run leaves an idle segment. */
static bool leaves_idle_segment(struct forward *f, uint32_t begin, uint32_t end, bool *leaves)
{
    return run_note_freed(f, begin, end) && idle_look(f, &f->large, leaves) &&
           (*leaves || idle_look(f, &f->small, leaves));
}

/* At new memory: if an idle large segment stays, the bytes held now are not yet enough to start garbage collection. */
static enum err note_uncollected(struct forward *f, uint32_t i, struct err_detail *err)
{
    bool is_left = false;
    if (f->w->s->settings.gc_threshold <= 0 || i == f->run_end || f->held_bytes <= f->uncollected_bytes)
        return ERR_OK;
    f->n_freed = 0;
    if (!idle_look(f, &f->large, &is_left))
        return err_no_memory(err);
    if (is_left)
        f->uncollected_bytes = f->held_bytes;
    return ERR_OK;
}

/* Applies a segment record. One that does not fit is counted and skipped. */
static enum err forward_segment(struct forward *f, uint32_t i, struct err_detail *err)
{
    struct walk *w = f->w;
    struct snapshot_record *r = &w->records[i];
    struct reserved_segment st = {.addr = r->addr, .bytes = r->size, .stream = r->stream,
                                  .pool = r->pool == SNAPSHOT_NO_POOL ? 0 : r->pool,
                                  .is_range = r->action == ACTION_SEGMENT_MAP};
    const bool adds = r->action == ACTION_SEGMENT_ALLOC || r->action == ACTION_SEGMENT_MAP;
    r->pool = st.pool;
    if (r->size == 0)
        return ERR_OK;
    const enum err e = adds ? note_uncollected(f, i, err) : ERR_OK;
    if (e != ERR_OK)
        return e;
    const enum segment_change c = adds ? segment_map_add(&f->now, &st)
                                       : segment_map_take(&f->now, r->addr, r->size, &st);
    if (c == CHANGE_NOMEM)
        return err_no_memory(err);
    if (c == CHANGE_CONFLICT) {
        contradiction_add(&w->segments, i);
        return ERR_OK;
    }
    if (adds)
        idle_note_segment(f, &st);
    assert(adds || f->held_bytes >= r->size);
    f->held_bytes = adds ? f->held_bytes + r->size : f->held_bytes - r->size;
    if (f->held_bytes > w->peak_reserved)
        w->peak_reserved = f->held_bytes;
    return ERR_OK;
}

static enum err forward_free_run(struct forward *f, uint32_t i, struct err_detail *err)
{
    if (i < f->run_end)
        return ERR_OK;
    bool leaves_idle;
    f->run_end = free_run_end(f->w, i);
    if (!leaves_idle_segment(f, i, f->run_end, &leaves_idle))
        return err_no_memory(err);
    const struct free_run_scene scene = {.held_bytes = f->held_bytes, .room_bytes = f->room_bytes,
                                        .leaves_idle_segment = leaves_idle,
                                        .uncollected_bytes = f->uncollected_bytes};
    return free_run_read(f->w, i, &scene, f->wish, err);
}

/* ---- what is left unsized ---- */

/* Sizes a block whose end no record tells, by PyTorch's rules (should_split); the result may be a guess. */
static void size_by_rule(struct walk *w, struct walk_block *b, uint64_t end)
{
    const struct snapshot_settings *t = &w->s->settings;
    const uint64_t rounded = walk_round(w, b->requested);
    const struct reserved_segment *segment = b->segment == UINT32_MAX ? NULL : &w->start.at[b->segment];
    b->bytes = rounded;
    if (segment == NULL || rounded > end - b->addr) {
        b->is_guessed = true;
        b->bytes = segment == NULL ? rounded : end - b->addr;
        return;
    }
    const uint64_t rest = end - b->addr - rounded;
    if (rest == 0 || segment->is_small || segment->is_range || t->is_expandable) {
        b->is_sized = true;
    } else if (rest <= TAIL_MAX) {
        b->bytes = rounded + rest;                       /* too small for a block of its own in the large pool */
        b->is_sized = true;
    } else {
        const bool is_whole = t->max_split_size > 0 && rounded >= (uint64_t)t->max_split_size &&
                              b->addr == segment->addr && end == segment->addr + segment->bytes;
        b->bytes = is_whole ? rounded + rest : rounded;
        b->is_guessed = true;
        w->guessed_bytes += is_whole || rest < TAIL_MAX ? rest : TAIL_MAX;
    }
}

/* Gives every start block a size, from the highest address down: a block ends at the next one, or with its segment. */
static void size_start_blocks(struct walk *w)
{
    uint64_t above = 0;                                  /* address of the next block in the same segment */
    uint32_t segment = UINT32_MAX;
    for (size_t i = w->n_blocks; i-- > 0;) {
        struct walk_block *b = &w->blocks[i];
        if (b->is_dropped)
            continue;
        if (b->pool == SNAPSHOT_NO_POOL)
            b->pool = 0;
        if (b->segment != segment && b->segment != UINT32_MAX)
            above = w->start.at[b->segment].addr + w->start.at[b->segment].bytes;
        segment = b->segment;
        if (!b->is_sized)
            size_by_rule(w, b, above);
        if (b->segment != UINT32_MAX && b->bytes > above - b->addr) {
            b->bytes = above - b->addr;                  /* a later placement suggested a wrong size */
            b->is_guessed = true;
        }
        if (b->segment == UINT32_MAX)
            w->guessed_bytes += b->bytes;
        above = b->addr;
    }
}

/* ---- the pass ---- */

/* Starts the pass: the start blocks become active; they may not overlap. */
static enum err forward_open(struct forward *f, struct err_detail *err)
{
    struct walk *w = f->w;
    f->requested = calloc(w->n_addr + 1, sizeof *f->requested);
    f->is_pending = calloc(w->n_addr + 1, sizeof *f->is_pending);
    if (f->requested == NULL || f->is_pending == NULL || !rank_set_open(&f->active, w->n_addr) ||
        !segment_map_open(&f->now, &w->start) || !free_runs_open(w))
        return err_no_memory(err);
    f->held_bytes = w->start_reserved = w->peak_reserved = segment_set_bytes(&w->start);
    f->room_bytes = walk_room(w).bytes;
    for (size_t i = 0; i < w->n_blocks; i++) {
        const struct walk_block *b = &w->blocks[i];
        const struct walk_block *before = i == 0 ? NULL : &w->blocks[i - 1];
        if (before != NULL && before->requested > b->addr - before->addr && b->is_unmentioned) {
            w->blocks[i].is_dropped = true;              /* newer than the records, as in overlap */
            w->n_unmatched_final++;
            continue;
        }
        if (before != NULL && before->requested > b->addr - before->addr)
            return err_at(err, ERR_FORMAT, 0, input_name(w->s->in), "device %u: the blocks at 0x%" PRIx64 " and 0x%"
                          PRIx64 " overlap before the first record", w->device, before->addr, b->addr);
        active_put(f, b->rank, b->requested, b->is_pending);
    }
    return ERR_OK;
}

static enum err forward_step(struct forward *f, uint32_t i, struct err_detail *err)
{
    switch (f->w->records[i].action) {
    case ACTION_ALLOC:
    case ACTION_FREE_REQUESTED:
    case ACTION_FREE_COMPLETED:
        return forward_block(f, i, err);
    case ACTION_SEGMENT_FREE:
    case ACTION_SEGMENT_UNMAP: {
        const enum err e = forward_free_run(f, i, err);
        return e != ERR_OK ? e : forward_segment(f, i, err);
    }
    case ACTION_SEGMENT_ALLOC:
    case ACTION_SEGMENT_MAP:
        return forward_segment(f, i, err);
    default:
        return ERR_OK;
    }
}

/* Counts the blocks that are active after the last record and are not so, or are others, in the final state. Those of
 * the final state alone were counted before. */
static void compare_with_final(struct forward *f)
{
    struct walk *w = f->w;
    const struct snapshot *s = w->s;
    uint64_t n_active = 0, n_met = 0;
    bool has_final = false;
    for (uint32_t i = 0; i < s->final_segments.n; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        has_final |= g->device == w->device;
        for (uint32_t k = 0; g->device == w->device && k < g->n_blocks; k++) {
            const struct snapshot_block *b = &s->blocks[g->first_block + k];
            const uint32_t rank = b->state == SNAPSHOT_BLOCK_INACTIVE ? WALK_NO_RANK : walk_rank_from(w, b->addr);
            if (rank != WALK_NO_RANK && rank_set_has(&f->active, rank)) {
                n_met++;
                w->n_unmatched_final += b->has_requested && b->requested != f->requested[rank];
            }
        }
    }
    for (uint32_t rank = 0; rank < w->n_addr; rank++)
        n_active += rank_set_has(&f->active, rank);
    if (has_final)
        w->n_unmatched_final += n_active - n_met;
}

enum err walk_forward(struct walk *w, enum import_segment_frees segment_frees, struct err_detail *err)
{
    struct forward f = {.w = w, .wish = segment_frees, .small.is_all = true, .large.is_all = true};
    enum err e = forward_open(&f, err);
    for (uint32_t i = 0; e == ERR_OK && i < w->n; i++)
        e = forward_step(&f, i, err);
    if (e == ERR_OK)
        compare_with_final(&f);
    w->is_npu = w->n_npu_sizes > 0 && w->n_cuda_sizes == 0;
    if (e == ERR_OK)
        size_start_blocks(w);
    for (size_t i = 0; e == ERR_OK && i < w->n_blocks; i++)
        if (w->blocks[i].segment == UINT32_MAX && !w->blocks[i].is_dropped)
            contradiction_add(&w->outside, 0);
    rank_set_close(&f.active);
    segment_map_free(&f.now);
    free(f.requested);
    free(f.is_pending);
    free(f.small.addr);
    free(f.large.addr);
    free(f.freed);
    return e;
}
