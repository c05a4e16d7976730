/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finds the few live blocks that stand in a request's way. There are two ways to a fit.
 *
 * Merge: blocks end and merge with their free neighbours. In each segment that the request may use, a window slides
 * over the blocks in address order and finds the fewest live ones that free enough in one piece. This is exact.
 *
 *     | live A | free | live B | free | live C |
 *              '-- window: B ends, one piece --'
 *
 * Give back: whole segments become empty, and the device gets room for a new one. Segments are chosen by live blocks
 * per byte freed; then those that prove unneeded are dropped. This is a knapsack, so the answer is only the smallest
 * set found. Of an expandable range, whole pages can be given back.
 */
#include "report/explain/explain.h"

#include <assert.h>
#include <stdlib.h>

/* A set of blocks, and what its end would gain. */
struct set {
    enum explain_way way;
    uint64_t n_live, live_bytes;
    uint64_t gained;
    size_t   first, end;             /* of the window; end 0: whole segments are chosen instead */
};

static bool set_is_better(const struct set *a, const struct set *b)
{
    if (b->way == EXPLAIN_NO_WAY)
        return true;
    return a->n_live != b->n_live ? a->n_live < b->n_live : a->live_bytes < b->live_bytes;
}

/* ---- merge ---- */

struct window {
    uint64_t n_live, live_bytes, free_bytes, unmapped_bytes;
};

/* Adds a block to a window, or takes it out. */
static void window_move(struct window *w, const struct block_view *b, bool is_added)
{
    const uint64_t one = is_added ? 1 : UINT64_MAX, bytes = is_added ? b->bytes : 0 - b->bytes;
    if (explain_is_in_use(b)) {
        w->n_live += one;
        w->live_bytes += bytes;
    } else if (b->state == BLOCK_FREE) {
        w->free_bytes += bytes;
    } else {
        w->unmapped_bytes += bytes;
    }
}

/* The size of the one block that the window becomes when its live blocks have ended. All unmapped addresses in it
 * must be mapped, except at its end, where as many as possible are. */
static uint64_t window_bytes(const struct window *w, const struct block_view *last, uint64_t mappable)
{
    const uint64_t tail = last->state == BLOCK_UNMAPPED ? last->bytes : 0;
    const uint64_t left = mappable - (w->unmapped_bytes - tail);
    return w->live_bytes + w->free_bytes + w->unmapped_bytes - tail + (tail < left ? tail : left);
}

static bool window_is_mappable(const struct window *w, const struct block_view *last, uint64_t mappable)
{
    return w->unmapped_bytes - (last->state == BLOCK_UNMAPPED ? last->bytes : 0) <= mappable;
}

static void set_merge(const struct explain_scene *s, const struct explanation *x, size_t first, size_t end,
                      struct set *best)
{
    const uint64_t page = s->at[first].page_bytes, mappable = page == 0 ? 0 : x->free_bytes - x->free_bytes % page;
    struct window w = { .n_live = 0 };
    for (size_t low = first, high = first; high < end; high++) {
        const struct block_view *last = &s->at[high];
        window_move(&w, last, true);
        while (!window_is_mappable(&w, last, mappable))
            window_move(&w, &s->at[low++], false);
        while (low <= high && window_bytes(&w, last, mappable) >= x->block_bytes) {
            const struct set set = { .way = EXPLAIN_MERGE, .n_live = w.n_live, .live_bytes = w.live_bytes,
                                     .gained = window_bytes(&w, last, mappable), .first = low, .end = high + 1 };
            if (w.n_live > 0 && set_is_better(&set, best))
                *best = set;
            window_move(&w, &s->at[low++], false);
        }
    }
}

/* ---- release ---- */

struct whole {
    size_t   first, end;
    uint64_t bytes, n_live, live_bytes;
    bool     is_chosen;
};

static int whole_order(const void *a, const void *b)
{
    const struct whole *x = a, *y = b;
    const double left = (double)x->n_live / (double)x->bytes, right = (double)y->n_live / (double)y->bytes;
    if (left != right)
        return left < right ? -1 : 1;
    if (x->live_bytes != y->live_bytes)
        return x->live_bytes < y->live_bytes ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Lists the segments that could be given back if their blocks ended: whole ones of the shared pool with live blocks. */
static size_t list_wholes(const struct explain_scene *s, struct whole *out)
{
    size_t n = 0;
    for (size_t i = 0, end; i < s->n; i = end) {
        end = explain_segment_end(s, i);
        struct whole w = { .first = i, .end = end };
        for (size_t k = i; k < end; k++) {
            w.bytes += s->at[k].bytes;
            w.n_live += explain_is_in_use(&s->at[k]);
            w.live_bytes += explain_is_in_use(&s->at[k]) ? s->at[k].bytes : 0;
        }
        if (s->at[i].pool == 0 && s->at[i].page_bytes == 0 && w.n_live > 0)
            out[n++] = w;
    }
    return n;
}

/* The segment with the fewest live blocks that is enough alone; n if there is none. */
static size_t best_single(const struct whole *w, size_t n, uint64_t missing)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (w[i].bytes >= missing && (best == n || w[i].n_live < w[best].n_live ||
                                      (w[i].n_live == w[best].n_live && w[i].live_bytes < w[best].live_bytes)))
            best = i;
    return best;
}

/* Chooses segments until they free enough, then drops those that are not needed. */
static struct set choose_wholes(struct whole *w, size_t n, uint64_t missing)
{
    struct set set = { .way = EXPLAIN_NO_WAY };
    size_t end = 0;
    for (; end < n && set.gained < missing; end++) {
        w[end].is_chosen = true;
        set.gained += w[end].bytes;
    }
    if (set.gained < missing)
        return set;
    set.way = EXPLAIN_GIVE_BACK;
    for (size_t i = end; i-- > 0;) {
        assert(set.gained >= w[i].bytes);
        if (set.gained - w[i].bytes >= missing) {
            set.gained -= w[i].bytes;
            w[i].is_chosen = false;
            continue;
        }
        set.n_live += w[i].n_live;
        set.live_bytes += w[i].live_bytes;
    }
    return set;
}

static struct set set_give_back(struct whole *w, size_t n, uint64_t missing)
{
    qsort(w, n, sizeof *w, whole_order);
    struct set set = choose_wholes(w, n, missing);
    const size_t i = best_single(w, n, missing);
    if (i == n)
        return set;
    const struct set single = { .way = EXPLAIN_GIVE_BACK, .n_live = w[i].n_live, .live_bytes = w[i].live_bytes,
                                .gained = w[i].bytes };
    if (!set_is_better(&single, &set))
        return set;
    for (size_t k = 0; k < n; k++)
        w[k].is_chosen = k == i;
    return single;
}

/* ---- pages of a range ---- */

/* The fewest live blocks of a range that leave enough whole pages for a new piece of it. */
static void set_pages(const struct explain_scene *s, const struct explanation *x, size_t first, size_t end,
                      struct set *best)
{
    const uint64_t page = s->at[first].page_bytes, need = (x->block_bytes + page - 1) / page * page;
    struct window w = { .n_live = 0 };
    for (size_t low = first, high = first; high < end; high++) {
        window_move(&w, &s->at[high], true);
        while (low <= high && w.unmapped_bytes > 0)
            window_move(&w, &s->at[low++], false);
        while (low <= high && block_view_pages(&s->at[low], &s->at[high]) + x->free_bytes >= need) {
            const struct set set = { .way = EXPLAIN_GIVE_BACK, .n_live = w.n_live, .live_bytes = w.live_bytes,
                                     .gained = block_view_pages(&s->at[low], &s->at[high]),
                                     .first = low, .end = high + 1 };
            if (w.n_live > 0 && set_is_better(&set, best))
                *best = set;
            window_move(&w, &s->at[low++], false);
        }
    }
}

/* ---- the best of them ---- */

static int block_order(const void *a, const void *b)
{
    const struct explain_block *x = a, *y = b;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void take_blocks(const struct explain_scene *s, size_t first, size_t end, struct explanation *x)
{
    for (size_t i = first; i < end; i++) {
        const struct block_view *b = &s->at[i];
        if (explain_is_in_use(b))
            x->blocks[x->n_blocks++] = (struct explain_block){
                .addr = b->addr, .bytes = b->bytes, .requested = b->requested, .event = -1, .slot = UINT32_MAX,
                .stream = b->stream, .pool = b->pool, .is_pending = b->state == BLOCK_PENDING,
            };
    }
}

static enum err take_set(const struct explain_scene *s, const struct set *set, const struct whole *w, size_t n_wholes,
                         struct explanation *x)
{
    if (set->way == EXPLAIN_NO_WAY)
        return ERR_OK;
    x->blocks = calloc((size_t)set->n_live + 1, sizeof *x->blocks);
    if (x->blocks == NULL)
        return ERR_HOST_NOMEM;
    x->way = set->way;
    x->gained_bytes = set->way == EXPLAIN_MERGE ? set->gained : set->gained + x->free_bytes;
    if (set->end > 0)
        take_blocks(s, set->first, set->end, x);
    for (size_t i = 0; set->end == 0 && i < n_wholes; i++)
        if (w[i].is_chosen)
            take_blocks(s, w[i].first, w[i].end, x);
    qsort(x->blocks, x->n_blocks, sizeof *x->blocks, block_order);
    return ERR_OK;
}

enum err explain_find_set(const struct explain_scene *s, struct explanation *x)
{
    struct whole *wholes = calloc(s->n + 1, sizeof *wholes);
    struct set best = { .way = EXPLAIN_NO_WAY };
    size_t n = 0;
    if (wholes == NULL)
        return ERR_HOST_NOMEM;
    if (!x->is_refusal && (x->largest_usable_bytes >= x->block_bytes || x->free_bytes >= x->segment_bytes)) {
        free(wholes);
        return ERR_OK;               /* nothing has to end */
    }
    for (size_t i = 0, end; i < s->n; i = end) {
        end = explain_segment_end(s, i);
        if (!explain_serves(s, &s->at[i], x))
            continue;
        set_merge(s, x, i, end, &best);
        if (s->at[i].page_bytes > 0 && x->free_bytes < x->segment_bytes)
            set_pages(s, x, i, end, &best);
    }
    /* If the device has the room, it was not asked: a limit of the process itself refused the request. */
    if (x->free_bytes < x->segment_bytes) {
        n = list_wholes(s, wholes);
        const struct set given_back = set_give_back(wholes, n, x->segment_bytes - x->free_bytes);
        if (given_back.way != EXPLAIN_NO_WAY && set_is_better(&given_back, &best))
            best = given_back;
    }
    const enum err e = take_set(s, &best, wholes, n, x);
    free(wholes);
    return e;
}
